"""Label embeddings inside self-attention, against a slow reference written from the equations.

The reference recomputes the whole encoder in float64, one unpadded document at a time, with every
attention matrix written out. It shares no code with the package: it takes weights and numbers.
"""

import json
import math

import numpy as np
import pytest
import torch

from attending.errors import EncoderError, RecipeError
from attending.parts.attention import AttentionCall, cls_scores
from attending.parts.encoders import build_pretrained
from attending.parts.lesa import InsertedLesa, StaticLesa, build_lesa, inserted_mask
from attending.specs import LesaAttention, PretrainedEncoder
from attending.tensors import AttentionTrace, LabelStates

FAMILIES = ("bert", "roberta", "electra", "distilbert")
FORMS = [("static", family) for family in FAMILIES]
FORMS += [("inserted", family) for family in FAMILIES if family != "electra"]
ERF = np.vectorize(math.erf)


class DenseBert:
    """BERT with label queries, equation by equation; ``x`` are rows, ``w`` the weights."""

    def __init__(self, encoder):
        state = encoder.model.state_dict()
        self.w = {name: tensor.double().numpy() for name, tensor in state.items()}
        self.heads = encoder.config.num_attention_heads
        self.layers = encoder.config.num_hidden_layers
        self.epsilon = encoder.config.layer_norm_eps

    def linear(self, x, name):
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def embed(self, words, positions):
        x = words + self.w["embeddings.position_embeddings.weight"][positions]
        x = x + self.w["embeddings.token_type_embeddings.weight"][0]
        return self.norm(x, "embeddings.LayerNorm")

    def layer(self, x, number, attention):
        name = f"encoder.layer.{number}"
        q, k, v = (
            self.linear(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value")
        )
        width = q.shape[1] // self.heads
        context = np.zeros_like(x)
        for head in range(self.heads):
            at = slice(head * width, (head + 1) * width)
            context[:, at] = attention(q[:, at], k[:, at], f"{name}.attention.self", at) @ v[:, at]
        x = self.norm(
            self.linear(context, f"{name}.attention.output.dense") + x,
            f"{name}.attention.output.LayerNorm",
        )
        inner = self.linear(x, f"{name}.intermediate.dense")
        inner = inner * (1 + ERF(inner / math.sqrt(2))) / 2
        return self.norm(self.linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    def static(self, ids, labels, layers, bias=None):
        """All states of a document whose [CLS] row takes static label queries in ``layers``.

        ``bias`` (L, T) is added to what labels say of tokens.
        """
        bias = np.zeros((len(labels), len(ids))) if bias is None else bias
        x = self.embed(self.w["embeddings.word_embeddings.weight"][ids], np.arange(len(ids)))
        for number in range(self.layers):

            def attention(q, k, name, at, seen=number in layers):
                root = math.sqrt(q.shape[1])
                scores = q @ k.T / root
                if seen:
                    label_queries = self.linear(labels, f"{name}.query")[:, at]
                    for j in range(1, len(k)):
                        for query, planted in zip(label_queries, bias, strict=True):
                            scores[0, j] = max(scores[0, j], query @ k[j] / root + planted[j])
                return softmax(scores)

            x = self.layer(x, number, attention)
        return x

    def inserted(self, ids, labels, layers, bias=None):
        """[CLS] of a document with label tokens after [CLS] that every layer transforms."""
        count = len(labels)
        bias = np.zeros((count, len(ids))) if bias is None else bias
        words = self.w["embeddings.word_embeddings.weight"][ids]
        rows = np.concatenate([words[:1], labels, words[1:]])
        positions = np.concatenate([np.zeros(1 + count, int), np.arange(1, len(ids))])
        sees = np.ones((len(rows), len(rows)), bool)
        for row in range(len(rows)):
            for column in range(1, 1 + count):
                sees[row, column] = row == column
            if 1 <= row <= count:
                sees[row, 0] = False
        x = self.embed(rows, positions)
        for number in range(self.layers):

            def attention(q, k, name, at, seen=number in layers):
                scores = np.where(sees, q @ k.T / math.sqrt(q.shape[1]), -np.inf)
                if seen:
                    for column in range(1 + count, len(k)):
                        said = scores[1 : 1 + count, column] + bias[:, column - count]
                        scores[0, column] = max(scores[0, column], *said)
                return softmax(scores)

            x = self.layer(x, number, attention)
        return x[0]


def softmax(scores):
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def label_vectors(encoder, count=3, scale=1.5):
    random = torch.Generator().manual_seed(5)
    return LabelStates(torch.randn(count, encoder.width, generator=random) * scale)


def cls_of(part, encoder, ids, mask, labels):
    with torch.no_grad():
        return part(encoder, ids, mask, labels).context


@pytest.mark.parametrize("layers", [None, (0,), (1,)], ids=["all", "first", "last"])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("kind", ["static", "inserted"])
def test_equals_the_equations_with_padding(kind, count, layers, encoder, padded):
    ids, mask = padded(encoder)
    labels = label_vectors(encoder, count)
    chosen = None if layers is None else frozenset(layers)
    part = (StaticLesa if kind == "static" else InsertedLesa)(chosen)
    found = cls_of(part, encoder, ids, mask, labels).numpy()
    dense = DenseBert(encoder)
    vectors = labels.states.double().numpy()
    seen = range(dense.layers) if layers is None else layers
    for row, real in zip(ids, mask, strict=True):
        tokens = row[real].numpy()
        if kind == "static":
            expected = dense.static(tokens, vectors, seen)[0]
        else:
            expected = dense.inserted(tokens, vectors, seen)
        np.testing.assert_allclose(found[0], expected, atol=1e-5)
        found = found[1:]
    assert not len(found)


@pytest.mark.parametrize("kind", ["static", "inserted"])
def test_what_is_planted_is_added_to_what_labels_say(kind, encoder, padded):
    ids, mask = padded(encoder)
    labels = label_vectors(encoder, 3)
    bias = 3 * torch.randn(*mask.shape[:1], 3, mask.shape[1], generator=torch.manual_seed(3))
    part = (StaticLesa if kind == "static" else InsertedLesa)(None)
    with torch.no_grad():
        found = part(encoder, ids, mask, labels, bias=bias).context.numpy()
    dense = DenseBert(encoder)
    for row, real, planted, own in zip(ids, mask, bias, found, strict=True):
        made = dense.static if kind == "static" else dense.inserted
        planted = planted[:, real].double().numpy()
        expected = made(row[real].numpy(), labels.states.double().numpy(), range(2), planted)
        np.testing.assert_allclose(own, expected[0] if kind == "static" else expected, atol=1e-5)
    plain = cls_of(part, encoder, ids, mask, labels).numpy()
    assert np.abs(found - plain).max() > 1e-3
    with torch.no_grad():
        nothing = part(encoder, ids, mask, labels, bias=torch.zeros_like(bias)).context.numpy()
    np.testing.assert_array_equal(nothing, plain)


def test_the_reference_without_labels_is_the_encoder(encoder, padded):
    ids, mask = padded(encoder)
    dense = DenseBert(encoder)
    with torch.no_grad():
        states = encoder(ids, mask).states.numpy()
    for row, real, found in zip(ids, mask, states, strict=True):
        expected = dense.static(row[real].numpy(), np.zeros((0, encoder.width)), ())
        np.testing.assert_allclose(found[real.numpy()], expected, atol=1e-5)


def test_labels_are_no_bystanders(encoder, padded):
    """Else the comparisons above would show nothing: every form changes [CLS], each its own way."""
    ids, mask = padded(encoder)
    labels = label_vectors(encoder)
    plain = cls_of(StaticLesa(None), encoder, ids, mask, None)
    static = cls_of(StaticLesa(None), encoder, ids, mask, labels)
    inserted = cls_of(InsertedLesa(None), encoder, ids, mask, labels)
    first = cls_of(StaticLesa(frozenset({0})), encoder, ids, mask, labels)
    results = (plain, static, inserted, first)
    for i, one in enumerate(results):
        for other in results[i + 1 :]:
            assert (one - other).abs().amax(dim=1).min() > 1e-3


def test_inserted_equals_static_in_a_one_layer_encoder_fed_with_embedded_labels(
    fresh_encoder, padded
):
    """The two forms differ in what happens to a label between layers, and in nothing else."""
    encoder = fresh_encoder(layers=1)
    ids, mask = padded(encoder)
    labels = label_vectors(encoder)
    embeddings = encoder.model.embeddings
    with torch.no_grad():
        embedded = embeddings(
            inputs_embeds=labels.states[None], position_ids=torch.zeros(1, 3, dtype=torch.long)
        )[0]
    inserted = cls_of(InsertedLesa(None), encoder, ids, mask, labels)
    static = cls_of(StaticLesa(None), encoder, ids, mask, LabelStates(embedded))
    torch.testing.assert_close(inserted, static, atol=1e-6, rtol=0)


def test_only_the_cls_row_changes(encoder, padded):
    ids, mask = padded(encoder)
    call = AttentionCall(
        mask=mask, label_rows=label_vectors(encoder).states, layers=frozenset({encoder.layers - 1})
    )
    with torch.no_grad():
        plain, changed = encoder(ids, mask).states, encoder(ids, mask, call).states
    torch.testing.assert_close(changed[:, 1:], plain[:, 1:], atol=0, rtol=0)
    assert (changed[:, 0] - plain[:, 0]).abs().max() > 1e-3


def test_column_of_cls_keeps_its_own_score_and_padding_never_wins():
    random = torch.Generator().manual_seed(1)
    queries = torch.randn(2, 2, 4, 8, generator=random)
    key = torch.randn(2, 2, 5, 8, generator=random) * 50
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    merged, scores = cls_scores(queries, key, mask, scaling=0.5)
    own = (queries[:, :, 0] * key[:, :, 0]).sum(-1) * 0.5
    torch.testing.assert_close(merged[..., 0], own)
    assert (scores[:, :, 1:, 0] > merged[..., :1]).any(), "no label would have beaten [CLS] there"
    for window, head, column in ((0, 0, 1), (0, 1, 4), (1, 0, 2)):
        expected = max(queries[window, head] @ key[window, head, column]) * 0.5
        assert merged[window, head, column] == pytest.approx(float(expected), rel=1e-5)
    assert (merged[1, :, 3:] == torch.finfo(torch.float32).min).all()


@pytest.mark.parametrize("kind", [StaticLesa, InsertedLesa])
def test_gradients_reach_every_label(kind, fresh_encoder, padded):
    encoder = fresh_encoder()
    ids, mask = padded(encoder)
    vectors = label_vectors(encoder).states.requires_grad_()
    kind(None)(encoder, ids, mask, LabelStates(vectors)).context[:, 0].sum().backward()
    assert (vectors.grad.abs().sum(dim=1) > 1e-4).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [StaticLesa, InsertedLesa])
def test_no_labels_equal_the_plain_encoder_bit_for_bit(kind, family, encoder_of, padded):
    encoder = encoder_of(family)
    ids, mask = padded(encoder)
    with torch.no_grad():
        plain = encoder(ids, mask).states[:, 0]
    for nothing in (None, LabelStates(torch.zeros(0, encoder.width))):
        assert torch.equal(cls_of(kind(None), encoder, ids, mask, nothing), plain)
    unseen = cls_of(StaticLesa(frozenset()), encoder, ids, mask, label_vectors(encoder))
    assert torch.equal(unseen, plain)


@pytest.mark.parametrize(("kind", "family"), FORMS)
def test_padding_changes_nothing_in_any_family(kind, family, encoder_of, padded):
    encoder = encoder_of(family)
    part = build_lesa(LesaAttention(labels=kind), encoder=encoder)
    ids, mask = padded(encoder)
    labels = label_vectors(encoder)
    batch = cls_of(part, encoder, ids, mask, labels)
    garbage = torch.where(mask, ids, 17)
    wider = torch.nn.functional.pad(ids, (0, 9), value=encoder.tokenizer.pad_token_id)
    wider_mask = torch.nn.functional.pad(mask, (0, 9), value=False)
    for same in (
        cls_of(part, encoder, garbage, mask, labels),
        cls_of(part, encoder, wider, wider_mask, labels),
    ):
        torch.testing.assert_close(same, batch, atol=1e-5, rtol=0)
    for row, (one, real) in enumerate(zip(ids, mask, strict=True)):
        alone = cls_of(part, encoder, one[real][None], real[real][None], labels)
        torch.testing.assert_close(alone[0], batch[row], atol=1e-5, rtol=0)
    assert (batch - cls_of(part, encoder, ids, mask, None)).abs().max() > 1e-3


@pytest.mark.parametrize(("kind", "family"), FORMS)
def test_recording_changes_nothing_and_gives_distributions(kind, family, encoder_of, padded):
    encoder = encoder_of(family)
    part = build_lesa(LesaAttention(labels=kind), encoder=encoder)
    ids, mask = padded(encoder)
    labels = label_vectors(encoder)
    trace = AttentionTrace()
    with torch.no_grad():
        watched = part(encoder, ids, mask, labels, trace).context
    unwatched = cls_of(part, encoder, ids, mask, labels)
    torch.testing.assert_close(watched, unwatched, atol=1e-6, rtol=0)
    heads = encoder.config.num_attention_heads
    assert len(trace.cls) == len(trace.labels) == encoder.layers
    for weights, shape in zip(
        (*map(trace.of_text, trace.cls), *map(trace.of_text, trace.labels)),
        [(3, heads, 11)] * encoder.layers + [(3, heads, 3, 11)] * encoder.layers,
        strict=True,
    ):
        assert weights.shape == shape
        real = mask.view(3, *[1] * (weights.ndim - 2), 11)
        assert weights.masked_select(~real).eq(0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_who_sees_whom_among_inserted_labels():
    keys = torch.tensor([[True, False, False, True, True, False]])
    sees = inserted_mask(keys, 2)[0, 0].int().tolist()
    assert sees == [
        [1, 0, 0, 1, 1, 0],
        [0, 1, 0, 1, 1, 0],
        [0, 0, 1, 1, 1, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 1, 1, 0],
    ]


def test_layers_count_from_either_end(encoder):
    assert build_lesa(LesaAttention(), encoder=encoder).layers is None
    assert build_lesa(LesaAttention(layers=(-1,)), encoder=encoder).layers == {1}
    assert build_lesa(LesaAttention(layers=(0, -2, 1)), encoder=encoder).layers == {0, 1}
    for wrong in (2, -3):
        with pytest.raises(RecipeError, match=f"no layer {wrong} .*allowed: -2 to 1"):
            build_lesa(LesaAttention(layers=(wrong,)), encoder=encoder)


def test_inserted_labels_need_word_vectors_as_wide_as_states(encoder_of):
    with pytest.raises(RecipeError, match=r"16 and 32.*labels = static"):
        build_lesa(LesaAttention(labels="inserted"), encoder=encoder_of("electra"))


@pytest.mark.parametrize("family", ["albert", "mpnet", "t5"])
def test_a_family_whose_attention_takes_no_labels_is_refused(family, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}), encoding="utf-8")
    with pytest.raises(EncoderError) as caught:
        build_pretrained(PretrainedEncoder(name=str(tmp_path)))
    line = str(caught.value)
    assert f'"{family}"' in line and "does not take labels" in line
    assert "allowed: bert, camembert, distilbert, electra, roberta, xlm-roberta" in line
    assert "\n" not in line

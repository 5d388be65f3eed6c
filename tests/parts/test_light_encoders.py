"""Light encoders against slow references in numpy, and what all of them must keep."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from attending import registry
from attending.data.batches import collate
from attending.data.windows import Windower
from attending.errors import EncoderError, RecipeError
from attending.parts.convolutions import RealBatchNorm
from attending.parts.lesa import build_lesa
from attending.recipe import Recipe
from attending.specs import (
    AwdLstmEncoder,
    BiGruEncoder,
    BiLstmEncoder,
    CnnEncoder,
    LesaAttention,
    MultiCnnEncoder,
    MultiResCnnEncoder,
    Windows,
)
from attending.tensors import AttentionTrace

TEXTS = (
    "Chest pain since three days, worse at night, no fever at all.",
    "Please refill my metformin.",
    "Fever of 38.5, chills and a cough; chest pain when coughing.",
    "Pain",
)
SPECS = {
    "cnn": CnnEncoder(dimension=6, kernel=4, filters=5, min_count=1),
    "cnn-relu": CnnEncoder(dimension=6, kernel=3, filters=5, activation="relu", min_count=1),
    "multi-cnn": MultiCnnEncoder(dimension=6, kernels=(1, 2, 5), filters=(3, 2, 4), min_count=1),
    "multi-res-cnn": MultiResCnnEncoder(dimension=6, kernels=(3, 4), filters=5, min_count=1),
    "bilstm": BiLstmEncoder(dimension=6, hidden=4, layers=2, min_count=1),
    "bigru": BiGruEncoder(dimension=6, hidden=4, min_count=1),
    "awd-lstm": AwdLstmEncoder(
        dimension=6,
        hidden=5,
        width=4,
        layers=2,
        min_count=1,
        input_dropout=0.0,
        hidden_dropout=0.0,
        weight_dropout=0.0,
    ),
}
KINDS = tuple(SPECS)


def build(kind, seed=1, **settings):
    spec = SPECS[kind].model_copy(update=settings)
    torch.manual_seed(seed)
    encoder = registry.build(spec, folder=None, texts=TEXTS, seed=seed)
    with torch.no_grad():
        for parameter in encoder.body.parameters():  # so that biases and norms count
            parameter.add_(torch.randn_like(parameter) * 0.1)
        for module in encoder.modules():
            if isinstance(module, RealBatchNorm):
                module.running_mean.normal_(std=0.2)
                module.running_var.uniform_(0.5, 2)
    return encoder.eval()


def batch_of(encoder, texts=TEXTS):
    windower = Windower(Windows(), tokenizer=encoder.tokenizer, limit=encoder.limits.effective)
    return collate(windower(texts), encoder.tokenizer.pad_token_id)


# Slow references, one text at a time, in numpy.


def arrays(module):
    return {name: value.detach().double().numpy() for name, value in module.state_dict().items()}


def convolved(x, weight, bias=None):
    """x (T, C), weight (F, C, k); position t sees t - k // 2 and the k - 1 after that."""
    filters, _, kernel = weight.shape
    out = np.zeros((len(x), filters))
    for t in range(len(x)):
        for j in range(kernel):
            at = t - kernel // 2 + j
            if 0 <= at < len(x):
                out[t] += weight[:, :, j] @ x[at]
    return out if bias is None else out + bias


def parallel_reference(encoder, x, activation):
    w = arrays(encoder.body)
    count = len(encoder.body.branches)
    parts = [convolved(x, w[f"branches.{i}.weight"], w[f"branches.{i}.bias"]) for i in range(count)]
    joined = np.concatenate(parts, axis=1)
    return np.tanh(joined) if activation == "tanh" else np.maximum(joined, 0)


def normalised(x, w, name):
    centred = (x - w[f"{name}.running_mean"]) / np.sqrt(w[f"{name}.running_var"] + 1e-5)
    return centred * w[f"{name}.weight"] + w[f"{name}.bias"]


def residual_reference(encoder, x):
    parts = []
    for branch in encoder.body.branches:
        w = arrays(branch)
        first = np.tanh(convolved(x, w["first.weight"]))
        inner = np.tanh(normalised(convolved(first, w["second.weight"]), w, "second_norm"))
        block = normalised(convolved(inner, w["third.weight"]), w, "third_norm")
        short = normalised(first @ w["shortcut.weight"][:, :, 0].T, w, "shortcut_norm")
        parts.append(np.tanh(block + short))
    return np.tanh(np.concatenate(parts, axis=1))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def recurrent(x, w, cell):
    """Read x (T, D) from its first row on; torch keeps gates in the order i f g o, or r z n."""
    size = w["weight_hh_l0"].shape[1]
    hidden, memory, out = np.zeros(size), np.zeros(size), []
    for row in x:
        given = w["weight_ih_l0"] @ row + w["bias_ih_l0"]
        kept = w["weight_hh_l0"] @ hidden + w["bias_hh_l0"]
        if cell == "lstm":
            i, f, g, o = np.split(given + kept, 4)
            memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(memory)
        else:
            (ri, zi, ni), (rk, zk, nk) = np.split(given, 3), np.split(kept, 3)
            z = sigmoid(zi + zk)
            hidden = (1 - z) * np.tanh(ni + sigmoid(ri + rk) * nk) + z * hidden
        out.append(hidden)
    return np.array(out)


def recurrent_reference(encoder, x, cell):
    for ahead, back in zip(encoder.body.ahead, encoder.body.back, strict=True):
        onward = recurrent(x, arrays(ahead), cell)
        backward = recurrent(x[::-1], arrays(back), cell)[::-1]
        x = np.concatenate([onward, backward], axis=1)
    return x


def reference(kind, encoder, ids):
    x = encoder.embeddings.weight.detach().double().numpy()[ids]
    if kind == "multi-res-cnn":
        return residual_reference(encoder, x)
    if kind == "awd-lstm":
        for layer in encoder.body.layers:
            x = recurrent(x, arrays(layer), "lstm")
        return x
    if kind in ("bilstm", "bigru"):
        return recurrent_reference(encoder, x, kind[2:])
    return parallel_reference(encoder, x, SPECS[kind].activation)


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_a_slow_reference(kind):
    encoder = build(kind)
    batch = batch_of(encoder)
    with torch.no_grad():
        tokens = encoder(batch.ids, batch.mask)
    assert tokens.states.shape == (*batch.ids.shape, encoder.width)
    for states, ids, mask in zip(tokens.states, batch.ids, batch.mask, strict=True):
        expected = reference(kind, encoder, ids[mask].numpy())
        np.testing.assert_allclose(states[mask].numpy(), expected, atol=1e-5)
        assert not states[~mask].any()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_batch_mates_change_nothing(kind):
    encoder = build(kind)
    batch = batch_of(encoder)
    wider = torch.nn.functional.pad
    with torch.no_grad():
        together = encoder(batch.ids, batch.mask).states
        padded = encoder(wider(batch.ids, (0, 9)), wider(batch.mask, (0, 9))).states
        torch.testing.assert_close(padded[:, :-9], together, atol=1e-5, rtol=0)
        for row, (ids, mask) in enumerate(zip(batch.ids, batch.mask, strict=True)):
            alone = encoder(ids[mask][None], mask[mask][None]).states[0]
            torch.testing.assert_close(alone, together[row][mask], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_gets_no_gradient_and_changes_none(kind):
    encoder = build(kind, dropout=0.0).train()
    batch = batch_of(encoder)
    gradients = []
    for extra in (0, 5):
        encoder.zero_grad()
        ids, mask = (torch.nn.functional.pad(x, (0, extra)) for x in (batch.ids, batch.mask))
        encoder(ids, mask).states.square().sum().backward()
        gradients.append([p.grad.clone() for p in encoder.parameters()])
    assert not encoder.embeddings.weight.grad[0].any()
    for short, wide in zip(*gradients, strict=True):
        torch.testing.assert_close(short, wide, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_equals_loaded(kind, tmp_path):
    encoder = build(kind)
    batch = batch_of(encoder)
    encoder.save(tmp_path / "encoder")
    save_file(encoder.state_dict(), tmp_path / "w.safetensors")
    again = registry.build(SPECS[kind], folder=tmp_path / "encoder", texts=None)
    again.load_state_dict(load_file(tmp_path / "w.safetensors"))
    again.eval()
    assert (again.name, again.width) == (encoder.name, encoder.width)
    other = batch_of(again)
    torch.testing.assert_close(other.ids, batch.ids, atol=0, rtol=0)
    with torch.no_grad():
        found = again(other.ids, other.mask).states
        assert torch.equal(found, encoder(batch.ids, batch.mask).states)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    def states(seed):
        torch.manual_seed(seed)
        encoder = registry.build(SPECS[kind], texts=TEXTS, seed=seed).eval()
        batch = batch_of(encoder)
        with torch.no_grad():
            return encoder(batch.ids, batch.mask).states

    assert torch.equal(states(1), states(1))
    assert not torch.equal(states(1), states(2))


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_gives_nearly_the_same(kind):
    encoder = build(kind)
    batch = batch_of(encoder)
    with torch.no_grad():
        whole = encoder(batch.ids, batch.mask).states
        with torch.autocast("cpu", dtype=torch.bfloat16):
            half = encoder(batch.ids, batch.mask).states
    assert (half.float() - whole).abs().max() < 0.05
    encoder.train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        encoder(batch.ids, batch.mask).states.float().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in encoder.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_without_tokens_is_zero(kind):
    encoder = build(kind)
    ids, mask = torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.bool)
    ids[0], mask[0] = 2, True
    with torch.no_grad():
        states = encoder(ids, mask).states
    assert torch.isfinite(states).all() and not states[1].any()


def test_states_of_a_whole_text_and_no_limit():
    encoder = build("cnn")
    assert encoder.limits.effective > 10**6
    long = " ".join(["pain"] * 5000)
    windower = Windower(
        Windows(max_tokens=4000, overlap=0), tokenizer=encoder.tokenizer, limit=10**30
    )
    (windowed,) = windower([long])
    assert [w.tokens for w in windowed.windows] == [4000, 1000]
    assert all(w.before == 0 and len(w.ids) == w.tokens for w in windowed.windows)


def test_word_vectors_are_handed_out_and_taken():
    encoder = build("bigru")
    batch = batch_of(encoder)
    vectors = encoder.word_embeddings(batch.ids)
    with torch.no_grad():
        given = encoder(None, batch.mask, embeddings=vectors).states
        assert torch.equal(given, encoder(batch.ids, batch.mask).states)
    assert encoder.as_input(vectors) is None


def test_fixed_vectors_stay_fixed():
    encoder = build("cnn", trainable=False)
    encoder.train_only(torch.tensor([2, 3]))
    assert not encoder.embeddings.weight.requires_grad
    assert build("cnn").embeddings.weight.requires_grad


def test_only_vectors_in_use_are_trained():
    encoder = build("cnn", dropout=0.0)
    before = encoder.embeddings.weight.detach().clone()
    batch = batch_of(encoder)
    with torch.no_grad():
        plain = encoder(batch.ids, batch.mask).states
    encoder.train_only(torch.tensor([3, 2, 3]))
    assert encoder.embeddings.weight.shape == (2, 6)
    assert torch.equal(encoder(batch.ids, batch.mask).states, plain)
    with torch.no_grad():
        encoder.embeddings.weight.add_(1)
    encoder.train_all()
    before[2:4] += 1
    assert torch.equal(encoder.embeddings.weight, before)


# Word vectors.


def test_vectors_of_a_file(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("pain 1 2 2\nchest 3 4 0\nstroke 5 6 7\nSTROKE 1 1 1\n", encoding="utf-8")
    spec = CnnEncoder(vectors=str(path), dimension=3, min_count=1)
    assert spec.name == "cnn, some.txt"
    encoder = registry.build(spec, texts=TEXTS)
    row = encoder.tokenizer("pain")["input_ids"]
    assert encoder.embeddings.weight[row].tolist() == [[1, 2, 2]]
    assert encoder.tokenizer("stroke")["input_ids"] == [1]
    (note,) = encoder.notes
    assert note.startswith("2 of 26 words have a vector in the file")
    wide = registry.build(spec.model_copy(update={"unseen": True}), texts=TEXTS)
    row = wide.tokenizer("Stroke")["input_ids"]
    assert wide.embeddings.weight[row].tolist() == [[5, 6, 7]]
    assert len(wide.tokenizer) == len(encoder.tokenizer) + 1
    unit = registry.build(spec.model_copy(update={"unit_length": True}), texts=TEXTS)
    row = unit.tokenizer("chest")["input_ids"]
    torch.testing.assert_close(unit.embeddings.weight[row], torch.tensor([[0.6, 0.8, 0]]))


def test_vectors_that_are_trained():
    spec = CnnEncoder(vectors="train", dimension=4, min_count=1)
    first = registry.build(spec, texts=TEXTS, seed=5)
    again = registry.build(spec, texts=TEXTS, seed=5)
    assert torch.equal(first.embeddings.weight, again.embeddings.weight)
    other = registry.build(spec, texts=TEXTS, seed=6)
    assert not torch.equal(first.embeddings.weight, other.embeddings.weight)
    assert spec.name == "cnn, word2vec of the training texts"


def test_what_can_be_wrong_with_vectors(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("dolor 1 2\n", encoding="utf-8")
    with pytest.raises(EncoderError, match=r"v\.txt: holds none of the words"):
        registry.build(CnnEncoder(vectors=str(path), dimension=2), texts=TEXTS)
    with pytest.raises(EncoderError, match=r"Set encoder\.dimension = 2"):
        registry.build(CnnEncoder(vectors=str(path)), texts=TEXTS)
    with pytest.raises(EncoderError, match="no such file of word vectors"):
        registry.build(CnnEncoder(vectors="glove"), texts=TEXTS)
    with pytest.raises(EncoderError, match="learns its words from the training texts"):
        registry.build(CnnEncoder())
    with pytest.raises(EncoderError, match="words can't be read"):
        registry.build(CnnEncoder(), folder=tmp_path)


# Recipes.


@pytest.mark.parametrize("labels", ["static", "inserted"])
def test_lesa_is_refused(labels):
    with pytest.raises(RecipeError, match=r'encoder cnn.*"lesa" works inside self-attention'):
        build_lesa(LesaAttention(labels=labels), encoder=build("cnn"))


@pytest.mark.parametrize(
    ("settings", "say"),
    [
        ({"encoder.filters": [1, 2]}, r'"encoder\.filters".*one number of filters a kernel'),
        ({"encoder.kernels": []}, r'"encoder\.kernels"'),
        ({"encoder.kernels": [0]}, r'"encoder\.kernels'),
        ({"encoder.unseen": True}, r'"encoder\.unseen".*only a file of word vectors'),
    ],
)
def test_faulty_settings_are_refused(settings, say):
    with pytest.raises(RecipeError, match=say):
        Recipe.load("bert").override({"encoder.kind": "multi-cnn", **settings})


def test_filters_one_for_all_or_one_a_branch():
    assert MultiCnnEncoder(filters=7).filters_of == (7, 7, 7)
    assert MultiCnnEncoder(filters=(1, 2, 3)).filters_of == (1, 2, 3)


def test_a_trace_records_nothing():
    encoder = build("cnn")
    batch = batch_of(encoder)
    pooling = registry.build(
        Recipe.load("bert-mean")["label_attention"], encoder=encoder, labels=None
    )
    trace = AttentionTrace()
    with torch.no_grad():
        pooling(encoder, batch.ids, batch.mask, None, trace)
    assert not trace.cls

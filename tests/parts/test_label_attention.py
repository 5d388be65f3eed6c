"""Label-wise attention: what every kind obeys, and the two plain kinds against a slow reference."""

import numpy as np
import pytest
import torch
from torch.nn.functional import pad
from torch.utils._python_dispatch import TorchDispatchMode

from attending import registry
from attending.errors import ShapeError
from attending.parts.masking import masked_mean
from attending.records import Label, LabelSet
from attending.specs import (
    CosineAttention,
    CrossAttention,
    JointAttention,
    LsanAttention,
    PerLabelHead,
    PositionBilinearAttention,
    ProjectedAttention,
    SoftmaxAttention,
    Windows,
)
from attending.specs.label_attention import LabelWiseAttention
from attending.tensors import LabelStates, TokenStates

LENGTHS = (11, 4, 7)
IDS = ("C34.1", "A01.0", "C34.9", "B02", "A01.2", "Z99.9", "C50")
LABELS = LabelSet.from_ids(IDS)
COUNT = len(IDS)
KINDS = {
    "cross": CrossAttention(heads=4, ffn=48),
    "cross-stacked": CrossAttention(heads=2, ffn=48, blocks=3),
    "softmax": SoftmaxAttention(),
    "softmax-sqrt": SoftmaxAttention(scale="sqrt"),
    "cosine": CosineAttention(temperature=0.3),
    "projected": ProjectedAttention(size=20),
    "projected-wide": ProjectedAttention(scale="sqrt"),
    "position-bilinear": PositionBilinearAttention(label_tokens=6),
    "lsan": LsanAttention(size=12),
    "lsan-one-way": LsanAttention(size=12, directions=1, normalise="softmax"),
    "lsan-projected": LsanAttention(size=12, self_queries="projected"),
    "joint": JointAttention(size=20, appended=5),
}


def some(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tokens(width, lengths=LENGTHS, longest=None):
    """Token states with noise under the padding, (B, T, H)."""
    longest = longest or max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
    return TokenStates(some(len(lengths), longest, width), mask)


def label_states(part, count=COUNT, *, tokens_each=5):
    mask = torch.arange(tokens_each) < (1 + torch.arange(count) % tokens_each).unsqueeze(1)
    read = some(count, tokens_each, part.label_width, seed=2)
    return LabelStates(some(count, part.label_width, seed=1), read, mask)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def build(encoder):
    """A function that builds a kind, off its starting values and in evaluation mode."""

    def make(kind, labels=LABELS):
        torch.manual_seed(5)
        context = {"encoder": encoder, "labels": labels, "windows": Windows(max_tokens=24)}
        part = registry.build(KINDS[kind], **context)
        with torch.no_grad():
            for number, parameter in enumerate(part.parameters()):
                parameter += 0.3 * some(*parameter.shape, seed=number)
        return part.eval()

    return make


def run(part, states, labels, weights=True):
    return part(part.prepare(states), labels, weights)


def test_the_sweep_sees_every_kind():
    specs = {type(spec) for spec in KINDS.values()}
    registered = {p.spec for p in registry.parts()["label_attention"].values()}
    assert specs == {s for s in registered if issubclass(s, LabelWiseAttention)}
    assert len(specs) >= 6
    assert all(spec.needs() == ("label_states",) for spec in KINDS.values())


def test_what_a_part_says_of_itself_is_so(kind, build, encoder):
    part = build(kind)
    assert (part.per_label, part.reads_cls) == (True, False)
    attended = run(part, tokens(encoder.width), label_states(part))
    assert attended.context.shape == (3, len(IDS), part.width)
    assert part.reads_tokens == (kind == "position-bilinear") != part.has_weights
    assert (attended.weights is not None) == part.has_weights
    assert not any(len(IDS) in p.shape for p in part.parameters())


def test_weights_are_a_distribution_over_real_tokens(kind, build, encoder):
    part, states = build(kind), tokens(encoder.width)
    weights = run(part, states, label_states(part)).weights
    if weights is None:
        assert not part.has_weights
        return
    assert weights.shape == (3, len(IDS), 11)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, len(IDS)))
    hidden = ~states.mask.unsqueeze(1).expand_as(weights)
    assert (weights >= 0).all() and (weights[hidden] == 0).all()


def test_nobody_looking_changes_nothing(kind, build, encoder):
    part, states = build(kind), tokens(encoder.width)
    labels = label_states(part)
    seen, unseen = run(part, states, labels), run(part, states, labels, weights=False)
    assert unseen.weights is None
    torch.testing.assert_close(unseen.context, seen.context, atol=1e-5, rtol=0)


@pytest.mark.parametrize("weights", [True, False])
def test_padding_changes_nothing(kind, weights, build, encoder):
    part, labels = build(kind), label_states(build(kind))
    together = run(part, tokens(encoder.width), labels, weights).context
    wide = tokens(encoder.width)
    wide = TokenStates(
        pad(wide.states.masked_fill(~wide.mask.unsqueeze(-1), 7.0), (0, 0, 0, 20), value=-9.0),
        pad(wide.mask, (0, 20), value=False),
    )
    scale = together.abs().max().clamp(min=1)
    assert (run(part, wide, labels, weights).context - together).abs().max() <= 1e-5 * scale
    for row, length in enumerate(LENGTHS):
        alone = TokenStates(wide.states[row : row + 1, :length], wide.mask[row : row + 1, :length])
        gap = run(part, alone, labels, weights).context[0] - together[row]
        assert gap.abs().max() <= 1e-5 * scale


def test_chunks_of_labels_equal_all_at_once(kind, build, encoder):
    part, states = build(kind), tokens(encoder.width)
    labels = label_states(part)
    head = registry.build(PerLabelHead(), encoder=encoder, labels=LABELS, width=part.width)
    prepared = part.prepare(states)
    whole = head(part(prepared, labels).context, labels)
    pieces = []
    for start in range(0, len(IDS), 3):
        which = slice(start, start + 3)
        chunk = labels.rows(which)
        pieces.append(head(part(prepared, chunk).context, chunk, which))
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-5, rtol=1e-5)
    picked = torch.tensor([5, 0])
    few = head(part(prepared, labels.rows(picked)).context, labels.rows(picked), picked)
    torch.testing.assert_close(few, whole[:, picked], atol=1e-5, rtol=1e-5)


def test_permuting_labels_permutes(kind, build, encoder):
    order = [3, 0, 6, 2, 5, 1, 4]
    part = build(kind)
    moved = build(kind, LabelSet.from_ids([IDS[i] for i in order]))
    moved.load_state_dict(part.state_dict())
    states, labels = tokens(encoder.width), label_states(part)
    before = run(part, states, labels).context
    after = run(moved, states, labels.rows(torch.tensor(order))).context
    torch.testing.assert_close(after, before[:, order], atol=1e-5, rtol=1e-5)


def test_gradient_reaches_everything_but_padding(kind, build, encoder):
    part, labels = build(kind).train(), label_states(build(kind))
    states = tokens(encoder.width)
    states.states.requires_grad_()
    used = labels.tokens if part.reads_tokens else labels.states
    used.requires_grad_()
    attended = run(part, states, labels, weights=False)
    (attended.context * some(*attended.context.shape, seed=9)).sum().backward()
    for name, parameter in part.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        if not name.endswith("key.bias"):  # moves all scores of a label alike
            assert (parameter.grad != 0).any(), name
    assert (states.states.grad[~states.mask] == 0).all()
    assert (states.states.grad[states.mask].abs().sum(dim=-1) > 0).all()
    read = used.grad[labels.mask] if part.reads_tokens else used.grad
    assert (read.abs().sum(dim=-1) > 0).all()


class Largest(TorchDispatchMode):
    """Notes the largest number of bytes that any one operation's result takes."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor):
                self.bytes = max(self.bytes, value.untyped_storage().nbytes())
        return result


@pytest.mark.parametrize("weights", [True, False])
def test_no_array_is_larger_than_a_chunk_needs(kind, weights, build, encoder):
    """At most documents x labels x (tokens or a few widths): nothing per head, nothing 4-D."""
    part = build(kind)
    rows, length, count = 3, 24, 500
    states = tokens(encoder.width, (24, 20, 3))
    labels = label_states(part, count)
    prepared = part.prepare(states)
    with torch.no_grad(), Largest() as largest:
        part(prepared, labels, weights)
    across = max(length, part.width, 48, encoder.width)
    assert largest.bytes <= 4 * count * max(rows * across, labels.tokens[0].numel())


def test_label_vectors_of_another_width_are_refused(kind, build, encoder):
    part = build(kind)
    if part.reads_tokens:
        return
    labels = LabelStates(some(2, part.label_width + 1))
    with pytest.raises(ShapeError, match=rf"width {part.label_width + 1}.*{part.label_width}"):
        run(part, tokens(encoder.width), labels)


def test_half_precision_does_not_overflow(build, encoder):
    """Products of large states are beyond float16's range: weights stay a distribution."""
    part = build("softmax")
    states = tokens(encoder.width)
    loud = TokenStates((states.states * 30).bfloat16(), states.mask)
    labels = LabelStates((label_states(part).states * 300).bfloat16())
    weights = run(part, loud, labels).weights
    assert torch.isfinite(weights).all()
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(3, len(IDS)), atol=0.02, rtol=0)


def slow_attention(queries, keys, values, lengths, scale=1.0):
    """Label by label, document by document, without padding: contexts and weights."""
    contexts, rows = [], []
    for key, value, length in zip(keys, values, lengths, strict=True):
        for query in queries:
            scores = [scale * float(query @ k) for k in key[:length]]
            raised = [np.exp(s - max(scores)) for s in scores]
            row = [r / sum(raised) for r in raised] + [0.0] * (len(key) - length)
            contexts.append(sum(w * v for w, v in zip(row, value, strict=True)))
            rows.append(row)
    shape = len(keys), len(queries), -1
    return np.reshape(contexts, shape), np.reshape(rows, shape)


def arrays(*tensors):
    return [t.detach().double().numpy() for t in tensors]


@pytest.mark.parametrize("kind", ["softmax", "softmax-sqrt"])
def test_softmax_equals_the_slow_reference(kind, build, encoder):
    part, states = build(kind), tokens(encoder.width)
    labels = label_states(part)
    h, u = arrays(states.states, labels.states)
    scale = 1 if kind == "softmax" else encoder.width**-0.5
    context, weights = slow_attention(u, h, h, LENGTHS, scale)
    attended = run(part, states, labels)
    np.testing.assert_allclose(attended.context.numpy(), context, atol=1e-5)
    np.testing.assert_allclose(attended.weights.numpy(), weights, atol=1e-5)


@pytest.mark.parametrize("kind", ["projected", "projected-wide"])
def test_projected_equals_the_slow_reference(kind, build, encoder):
    part, states = build(kind), tokens(encoder.width)
    assert part.label_width == (20 if kind == "projected" else encoder.width)
    labels = label_states(part)
    h, u, w = arrays(states.states, labels.states, part.project.weight)
    scale = 1 if kind == "projected" else part.label_width**-0.5
    context, weights = slow_attention(u, np.tanh(h @ w.T), h, LENGTHS, scale)
    attended = run(part, states, labels)
    np.testing.assert_allclose(attended.context.detach().numpy(), context, atol=1e-5)
    np.testing.assert_allclose(attended.weights.detach().numpy(), weights, atol=1e-5)


def test_cosine_equals_the_slow_reference(build, encoder):
    part, states = build("cosine"), tokens(encoder.width)
    labels = label_states(part)
    h, u = arrays(states.states, labels.states)
    context, weights = slow_attention(units(u), units(h), h, LENGTHS, 1 / 0.3)
    attended = run(part, states, labels)
    np.testing.assert_allclose(attended.context.numpy(), context, atol=1e-5)
    np.testing.assert_allclose(attended.weights.numpy(), weights, atol=1e-5)


def test_cosines_do_not_see_lengths_and_know_zeros(build, encoder):
    part, states = build("cosine"), tokens(encoder.width)
    labels = label_states(part)
    loud = run(part, TokenStates(states.states * 40, states.mask), LabelStates(labels.states / 9))
    torch.testing.assert_close(loud.weights, run(part, states, labels).weights)
    silent = run(part, states, LabelStates(torch.zeros(1, encoder.width))).context[:, 0]
    torch.testing.assert_close(silent, masked_mean(states.states, states.mask))


def units(rows):
    return rows / np.sqrt((rows**2).sum(axis=-1, keepdims=True))


def test_a_label_of_zeros_reads_the_mean(build, encoder):
    part, states = build("softmax"), tokens(encoder.width)
    context = run(part, states, LabelStates(torch.zeros(1, encoder.width))).context[:, 0]
    torch.testing.assert_close(context, masked_mean(states.states, states.mask))


def test_laat_starts_as_published(encoder):
    part = registry.build(ProjectedAttention(size=512), encoder=encoder)
    assert part.project.bias is None
    assert part.project.weight.std().item() == pytest.approx(0.03, rel=0.05)


def test_labels_with_parents_group_by_them(build):
    labels = LabelSet((Label("x1", parent="x"), Label("y"), Label("x")))
    assert build("joint", labels).group_ids == ("x", "y")

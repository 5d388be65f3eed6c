"""Label vectors: what the model knows of each label before it reads a text."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attending.parts.encoders import Encoder
from attending.parts.label_sample import LabelSample
from attending.records import Label, LabelSet
from attending.specs import HierarchicalLabelStates, LearnedLabelStates
from attending.specs.label_states import FreeVectors
from attending.tensors import LabelStates

_NOTES = 20
"""More notes than this are summed up in one."""


class LearnedLabels(nn.Module):
    """One trained vector per label, (L, H).

    Attributes:
        notes: What did not start from the label's words although it should have, by label id.
    """

    def __init__(self, vectors: Tensor, notes: Sequence[str] = ()) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors)
        self.notes = tuple(notes)

    def forward(
        self, targets: Tensor | None = None, sample: LabelSample | None = None
    ) -> LabelStates:
        """Return the label states (L, H), whatever the batch's targets and labels of the step."""
        return LabelStates(self.vectors)


class HierarchicalLabels(LearnedLabels):
    """A label's own trained vector plus the mean of its ancestors', (L, H).

    So a label without training documents starts from what its relatives learned. An ancestor that
    is a label itself lends its own trained vector, one that is only broader has a row in
    ``above``.

    Args:
        vectors: The labels' own vectors, (L, H).
        above: Vectors of ancestors that are no labels, (A, H).
        pairs: Label and ancestor, (N, 2) int64; ancestors count on from the labels.
        notes: As of ``LearnedLabels``.
    """

    pairs: Tensor
    shares: Tensor

    def __init__(
        self, vectors: Tensor, above: Tensor, pairs: Tensor, notes: Sequence[str] = ()
    ) -> None:
        super().__init__(vectors, notes)
        self.above = nn.Parameter(above)
        # Not saved: both follow from the labels, whose order is theirs.
        self.register_buffer("pairs", pairs, persistent=False)
        counts = torch.bincount(pairs[:, 0], minlength=len(vectors))
        self.register_buffer("shares", 1.0 / counts[pairs[:, 0]].unsqueeze(1), persistent=False)

    def forward(
        self, targets: Tensor | None = None, sample: LabelSample | None = None
    ) -> LabelStates:
        """Return the label states (L, H), whatever the batch's targets and labels of the step."""
        lent = torch.cat([self.vectors, self.above])[self.pairs[:, 1]] * self.shares
        return LabelStates(self.vectors.index_add(0, self.pairs[:, 0], lent.to(self.vectors.dtype)))


def build_learned(
    spec: LearnedLabelStates,
    *,
    encoder: Encoder,
    labels: LabelSet,
    width: int | None = None,
    **_: object,
) -> LearnedLabels:
    """Start label vectors, ``width`` wide, from the labels' words or at random.

    A phrase is the mean of its word pieces' rows in the word table, a label the mean of its
    phrases, or its description as one phrase; without known words, or where the word table has
    another width, a vector is drawn from N(0, s^2) with s the encoder's own initialiser range.
    Source: Si et al. 2020, section 3.2. Deviation: the public code draws the label without
    keywords from N(0, 1), about fifty times the scale of the others.
    """
    return LearnedLabels(*_start(spec, encoder, tuple(labels), width or encoder.width))


def build_hierarchical(
    spec: HierarchicalLabelStates,
    *,
    encoder: Encoder,
    labels: LabelSet,
    width: int | None = None,
    **_: object,
) -> HierarchicalLabels:
    """Start the vectors of labels and of what is broader; see ``build_learned``."""
    own = set(labels.ids)
    above: dict[str, Label] = {}
    lines = [labels.ancestors(i) for i in labels.ids]
    for line in lines:
        above |= {label.id: label for label in line if label.id not in own}
    broader = tuple(above[i] for i in sorted(above))
    places = {label.id: i for i, label in enumerate((*labels, *broader))}
    pairs = [(row, places[a.id]) for row, line in enumerate(lines) for a in line]
    wide = width or encoder.width
    vectors, notes = _start(spec, encoder, tuple(labels), wide)
    others, _notes = _start(spec, encoder, broader, wide)
    if not pairs:
        notes.append("no label has a parent: the hierarchy adds nothing")
    table = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    return HierarchicalLabels(vectors, others, table, notes)


def _start(
    spec: FreeVectors, encoder: Encoder, labels: Sequence[Label], width: int
) -> tuple[Tensor, list[str]]:
    """Return the vectors (N, width) that labels start from, and what is to be said of them.

    With ``scale = "input"`` they are as long as what a layer sees: a mean of raw word vectors is
    so short beside the bias of a layer's query map that all labels would ask for the same.
    """
    vectors, notes = _raw(spec, encoder, labels, width)
    if spec.scale == "input" and len(labels):
        scaled = encoder.as_input(vectors)
        if scaled is None:
            notes.append("label vectors keep the scale of the word table: the encoder has no other")
        else:
            vectors = scaled
    return vectors, notes


def _raw(
    spec: FreeVectors, encoder: Encoder, labels: Sequence[Label], width: int
) -> tuple[Tensor, list[str]]:
    usual = float(getattr(getattr(encoder, "config", None), "initializer_range", 0.02))
    vectors = torch.randn(len(labels), width) * (spec.spread or usual)
    if spec.init == "random":
        return vectors, []
    if spec.init == "xavier":
        return nn.init.xavier_uniform_(vectors) if len(labels) else vectors, []
    phrases = [_phrases(spec.init, label) for label in labels]
    known = _means(encoder, [p for some in phrases for p in some], width)
    if known is None:
        return vectors, [
            f"label vectors of width {width} can't start from word vectors of another width: "
            "they start at random"
        ]
    rows = iter(known)
    notes: list[str] = []
    missing = 0
    for i, (label, some) in enumerate(zip(labels, phrases, strict=True)):
        found = [row for row in [next(rows) for _ in some] if row is not None]
        notes += _said(spec.init, label, len(some), len(found))
        missing += not found
        if found:
            vectors[i] = torch.stack(found).mean(dim=0)
    if len(notes) > _NOTES:
        what = "keyword" if spec.init == "keywords" else "description"
        notes = [f"{missing} of {len(labels)} labels have no known {what} and start at random"]
    return vectors, notes


def _phrases(init: str, label: Label) -> tuple[str, ...]:
    if init == "keywords":
        return label.keywords
    words = label.description or (label.name if label.name != label.id else "")
    return (words,) if words.strip() else ()


def _said(init: str, label: Label, given: int, known: int) -> list[str]:
    """Return what there is to say of a label with ``known`` of its ``given`` phrases known."""
    head = f'label "{label.id}":'
    if init == "description":
        return [] if known else [f"{head} no known description, its vector starts at random"]
    said = []
    if known < given:
        said.append(f"{head} {given - known} of {given} keywords unknown to the encoder")
    if not known:
        said.append(f"{head} no known keyword, its vector starts at random")
    return said


def _means(encoder: Encoder, phrases: Sequence[str], width: int) -> list[Tensor | None] | None:
    """Return each phrase's mean word vector (width,), or ``None`` for one of unknown words.

    The whole answer is ``None`` if word vectors are of another width.
    """
    unknown = encoder.tokenizer.unk_token_id
    table = encoder.word_embeddings
    project = getattr(encoder, "project", None)
    widths = table(torch.tensor([0])).shape[-1], encoder.width if project else None
    if width not in widths:
        return None
    # After a space, as inside a text: byte-level tokenizers tell the two apart.
    texts = [f" {phrase}" for phrase in phrases]
    coded = (
        encoder.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        if texts
        else []
    )
    found: list[Tensor | None] = []
    for ids in coded:
        known = [i for i in ids if i != unknown]
        if not known:
            found.append(None)
            continue
        with torch.no_grad():
            rows = table(torch.tensor(known))
            found.append((rows if width == widths[0] else encoder.project(rows)).mean(dim=0))
    return found

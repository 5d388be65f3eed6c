"""Typed bundles of tensors with checked shapes.

Letters: B documents in a batch, W windows (W >= B), T tokens, L labels, H width.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from attending.errors import ShapeError


def _require(ok: bool, what: str, found: str, allowed: str) -> None:
    if not ok:
        raise ShapeError(what, found=found, allowed=allowed)


STEP = 8
"""Widths of batches in training are multiples of this: for every new shape the library of matrix
products compiles and keeps code, which slows short trainings and can take gigabytes."""


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """What words say of the labels of each document, as log-odds: sparse, and flat in memory.

    document (Z,) int64, label (Z,) int64 and score (Z,) of the pairs with a match. Documents were
    looked at by K views: view (B,) int64 says which; silent (K, L) is the score of labels without
    a match, counts (K, L) the labels' training documents that the view saw.
    """

    document: Tensor
    label: Tensor
    score: Tensor
    view: Tensor
    silent: Tensor
    counts: Tensor

    def __post_init__(self) -> None:
        _require(
            self.document.shape == self.label.shape == self.score.shape
            and self.silent.shape == self.counts.shape,
            "lexical matches don't fit each other",
            ", ".join(str(tuple(getattr(self, f.name).shape)) for f in fields(self)),
            "(Z,), (Z,), (Z,), (B,), (K, L), (K, L)",
        )

    def to(self, device: torch.device) -> "LexicalMatches":
        """Return the matches on a device."""
        return LexicalMatches(*(getattr(self, f.name).to(device) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows of the documents of one step.

    ids (W, T) int64; mask (W, T) bool, true on real tokens; document (W,) int64, the row of each
    window's document in the batch, non-decreasing; targets (B,) int64 for single-label tasks,
    (B, L) float32 of 0 and 1 for multi-label ones, or ``None``; weights of documents are not
    here: losses own them. ``soft`` (B, L) are a teacher's probabilities; targets of a document
    without labels are then -1. ``vectors`` (B, H) are those that a teacher makes of the documents.

    Where label attention reads whole documents, ``layout`` (B, S) int64 says which cell of the
    W x T windows, counted row by row, is each column of a document (-1: padding), each token
    once; ``positions`` (B, S) int64 is the number of the text's token there, -1 for special
    tokens and padding. ``evidence`` (E, 3) int64 lists annotated cells as document row, label
    position, column of the layout. ``lexical`` is what words say, for networks that listen.
    ``words`` (W, T) int64 is the word under each token, 0 for none, for planted attention.
    ``shortlist`` (B, K) int64 are the labels to score of each document, if not all.
    """

    ids: Tensor
    mask: Tensor
    document: Tensor
    size: int
    targets: Tensor | None = None
    soft: Tensor | None = None
    layout: Tensor | None = None
    positions: Tensor | None = None
    evidence: Tensor | None = None
    lexical: LexicalMatches | None = None
    words: Tensor | None = None
    shortlist: Tensor | None = None
    vectors: Tensor | None = None

    def __post_init__(self) -> None:
        _require(
            self.ids.ndim == 2 and self.ids.shape == self.mask.shape,
            "token ids and mask must both be (W, T)",
            f"{tuple(self.ids.shape)} and {tuple(self.mask.shape)}",
            "equal shapes",
        )
        _require(self.mask.dtype == torch.bool, "mask must be bool", str(self.mask.dtype), "bool")
        _require(
            self.document.shape == self.ids.shape[:1],
            "one document index a window",
            str(tuple(self.document.shape)),
            f"({self.ids.shape[0]},)",
        )

    @property
    def labelled(self) -> Tensor:
        """Which documents have targets of their own, (B,) bool."""
        assert self.targets is not None
        known = self.targets >= 0
        return known if known.ndim == 1 else known.all(dim=1)

    def to(self, device: torch.device) -> "Batch":
        """Return the batch with its tensors on a device."""
        moved: dict[str, Any] = {
            f.name: value.to(device)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor | LexicalMatches)
        }
        return replace(self, **moved)


@dataclass(frozen=True, slots=True)
class TokenStates:
    """Encoder output: states (W, T, H) and mask (W, T) bool."""

    states: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        _require(
            self.states.ndim == 3 and self.states.shape[:2] == self.mask.shape,
            "token states must be (W, T, H) with mask (W, T)",
            f"{tuple(self.states.shape)} and {tuple(self.mask.shape)}",
            "matching first two axes",
        )


@dataclass(frozen=True, slots=True)
class LabelStates:
    """Label vectors: states (L, H).

    Where a part reads labels token by token also ``tokens`` (L, M, H) with ``mask`` (L, M) bool,
    true on real tokens.
    """

    states: Tensor
    tokens: Tensor | None = None
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        _require(
            self.states.ndim == 2, "label states must be (L, H)", str(self.states.shape), "2 axes"
        )

    def rows(self, which: slice | Tensor) -> "LabelStates":
        """Return the states of some labels."""
        return LabelStates(
            self.states[which],
            None if self.tokens is None else self.tokens[which],
            None if self.mask is None else self.mask[which],
        )


@dataclass(frozen=True, slots=True)
class Attended:
    """What a pooling hands to the head: context (W, H), or (B, L, H) with one row a label.

    weights (B, L, T) sum to 1 over real tokens, for parts that attend label by label.
    """

    context: Tensor
    weights: Tensor | None = None


@dataclass(slots=True)
class AttentionTrace:
    """What the [CLS] row did, layer by layer; filled only when asked for.

    cls: per layer (W, heads, T), the weights of the [CLS] row after the softmax.
    labels: per layer (W, heads, L, T), the labels' own softmax over the columns; may be empty.
    inserted: how many columns after the first are label tokens and not of the text.
    """

    cls: list[Tensor] = field(default_factory=list)
    labels: list[Tensor] = field(default_factory=list)
    inserted: int = 0

    def of_text(self, columns: Tensor) -> Tensor:
        """Leave the inserted labels' columns out of (..., T)."""
        if not self.inserted:
            return columns
        return torch.cat([columns[..., :1], columns[..., 1 + self.inserted :]], dim=-1)


@dataclass(slots=True)
class LabelTrace:
    """Label attention of some labels, filled where a part attends label by label.

    labels: their positions, (l,) int64. weights: (B, l, S) over the columns of documents, or
    (W, l, T) of windows; ``None`` where the part has none.
    """

    labels: Tensor
    weights: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outcome of a forward pass: logits (B, L) raw; loss () where targets were given."""

    logits: Tensor
    loss: Tensor | None = None
    pooled: Tensor | None = None

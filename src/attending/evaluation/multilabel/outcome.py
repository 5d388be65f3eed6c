"""Documents with any number of labels and what a model said of them, as sparse matrices."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from attending.errors import DataError, ShapeError
from attending.evaluation.counts import BoolArray, FloatArray, IntArray
from attending.evaluation.outcome import (
    NO_LABEL,
    check_match,
    coverage_of,
    nothing_labelled,
    position_of,
    where_of,
    why_no_answer,
)
from attending.records import Document, Label, LabelSet, Prediction, Row

Sparse = Any
"""A ``scipy.sparse.csr_array`` (or ``csc_array``), which has no types of its own."""
Unknown = Literal["error", "miss"]
CELLS_AT_ONCE = 4_000_000
NOT_COMPARABLE = "the answers hold labels without scores, so documents can't be compared"
NO_SCORES = "no document has scores"


@dataclass(frozen=True, slots=True, eq=False)
class MultiLabelOutcome:
    """Labelled documents of a multi-label task and what a model said of them.

    N labelled documents, L labels. truth and assigned are (N, L) sparse and boolean; scores is
    (N, L) sparse. In scores a cell that isn't stored ranks below every stored one of its document
    (a stored 0 is a score); equal scores rank by the order of the labels. What is assigned also
    has a score. A document without an answer has nothing assigned and nothing stored.

    Attributes:
        ids: Ids of the documents.
        truth: Which document truly has which label.
        assigned: Which document got which label.
        scores: What ranks the labels of a document.
        reasons: Why a document has no answer, ``None`` where it has one.
        incomparable: Why scores of different documents can't be compared, ``None`` if they can.
        coverage: Counts of every document given, whatever became of it.
    """

    ids: tuple[str, ...]
    truth: Sparse
    assigned: Sparse
    scores: Sparse
    reasons: tuple[str | None, ...]
    incomparable: str | None = None
    coverage: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        truth: Any,
        assigned: Any,
        scores: Any,
        *,
        ids: Sequence[str] | None = None,
        reasons: Sequence[str | None] | None = None,
    ) -> "MultiLabelOutcome":
        """Make an outcome from matrices (N, L), sparse or dense.

        Of dense scores every cell is stored. Every document counts as answered unless ``reasons``
        says otherwise.

        Raises:
            ShapeError: If shapes differ, a score is not finite, or an assigned label has none.
        """
        true, given, ranking = _marks(truth), _marks(assigned), _scores(scores)
        shapes = [matrix.shape for matrix in (true, given, ranking)]
        if len(set(shapes)) != 1:
            raise ShapeError(
                "truth, assigned labels and scores must all be (documents, labels)",
                found=", ".join(str(shape) for shape in shapes),
                allowed="equal shapes",
            )
        rows = shapes[0][0]
        if not np.isfinite(ranking.data).all():
            raise ShapeError("a score is not a number", found="NaN or infinity", allowed="numbers")
        outcome = cls(
            tuple(ids) if ids is not None else tuple(str(k) for k in range(rows)),
            true,
            given,
            ranking,
            reasons=tuple(reasons) if reasons is not None else (None,) * rows,
            coverage={"documents": rows, "labelled": rows, "answered": rows, "not_answered": 0},
        )
        if int(outcome.stored_in(outcome.assigned).sum()) != outcome.assigned.nnz:
            raise ShapeError("an assigned label has no score", allowed="a score for each")
        return outcome

    @property
    def documents(self) -> int:
        """How many labelled documents there are, N."""
        return int(self.truth.shape[0])

    @property
    def width(self) -> int:
        """How many labels there are, L."""
        return int(self.truth.shape[1])

    @property
    def answered(self) -> BoolArray:
        """Which documents got an answer, (N,) bool. An answer may hold no label."""
        return np.array([reason is None for reason in self.reasons], bool)

    def blocks(self) -> Iterator[slice]:
        """Yield slices of documents whose cells, were they dense, stay within a fixed memory."""
        step = max(1, CELLS_AT_ONCE // max(self.width, 1))
        for start in range(0, self.documents, step):
            yield slice(start, min(start + step, self.documents))

    def stored_in(self, matrix: Sparse) -> BoolArray:
        """Mark the stored scores whose cell is set in matrix (N, L) bool, in stored order."""
        marks = np.zeros(self.scores.nnz, bool)
        pointer = self.scores.indptr
        for block in self.blocks():
            span = slice(int(pointer[block.start]), int(pointer[block.stop]))
            marks[span] = cells_of(matrix, block)[
                rows_of(self.scores, block), self.scores.indices[span]
            ]
        return marks


def rows_of(matrix: Sparse, block: slice) -> IntArray:
    """Return the row, counted from the block's first, of every stored cell of a block."""
    sizes = np.diff(matrix.indptr[block.start : block.stop + 1])
    return np.repeat(np.arange(sizes.size), sizes)


def cells_of(matrix: Sparse, block: slice) -> BoolArray:
    """Return a block of rows of a boolean matrix, dense."""
    dense: BoolArray = matrix[block.start : block.stop].toarray()
    return dense


def _marks(matrix: Any) -> Sparse:
    made = csr_array(matrix, copy=True).astype(bool)
    made.eliminate_zeros()
    made.sort_indices()
    return made


def _scores(matrix: Any) -> Sparse:
    if not isinstance(matrix, np.ndarray):
        made = csr_array(matrix, copy=True).astype(np.float64)
        made.sort_indices()
        return made
    # A dense zero is a score like any other; the usual conversion would drop it.
    rows, width = matrix.shape
    columns = np.tile(np.arange(width), rows)
    pointer = np.arange(0, rows * width + 1, width) if width else np.zeros(rows + 1, np.int64)
    return csr_array((matrix.astype(np.float64).ravel(), columns, pointer), shape=(rows, width))


class _Rows:
    """Cells collected row by row into one sparse matrix."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.columns, self.values, self.pointer = array("i"), array("d"), array("q", [0])

    def add(self, columns: Sequence[int], values: Sequence[float] = ()) -> None:
        self.columns.extend(columns)
        self.values.extend(values)
        self.pointer.append(len(self.columns))

    def build(self, dtype: Any) -> Sparse:
        columns: NDArray[Any] = np.frombuffer(self.columns, np.intc)
        data = np.frombuffer(self.values) if len(self.values) else np.ones(columns.size)
        shape = (len(self.pointer) - 1, self.width)
        made = csr_array(
            (data.astype(dtype), columns, np.frombuffer(self.pointer, np.int64)), shape
        )
        made.sort_indices()
        return made


def why_no_labels(prediction: Prediction) -> str | None:
    """Say why a prediction is no answer, or ``None``; to give no label at all is an answer."""
    reason = why_no_answer(prediction)
    return None if reason == NO_LABEL else reason


def extended(labels: LabelSet, documents: Sequence[Row]) -> LabelSet:
    """Return the label set with the labels of documents that it lacks at its end, sorted.

    What was only broader so far and is the label of a document becomes a label of the set.
    """
    given = {i for d in documents if isinstance(d, Document) for i in d.labels or ()}
    more = sorted(given - set(labels.ids))
    if not more:
        return labels
    above = {x.id: x for x in labels.broader}
    added = tuple(above.pop(i) if i in above else Label(i) for i in more)
    return replace(labels, labels=(*labels.labels, *added), broader=tuple(above.values()))


def _scored(prediction: Prediction, labels: LabelSet) -> tuple[list[int], list[float]]:
    """Return positions and scores that rank a document's labels."""
    where = f'prediction of document "{prediction.id}"'
    given = list(dict.fromkeys(prediction.labels))
    if not prediction.scores:
        # Without scores the order of the labels is the ranking.
        return [position_of(i, labels, where) for i in given], [
            -float(k) for k in range(len(given))
        ]
    missing = [i for i in given if i not in prediction.scores]
    if missing:
        raise DataError(
            f'the assigned label "{missing[0]}" has no score',
            where=where,
            found=f"{len(prediction.scores)} scores, {len(missing)} of {len(given)} labels without",
            allowed="scores for all assigned labels, or none at all",
        )
    positions = [position_of(i, labels, where) for i in prediction.scores]
    return positions, [float(v) for v in prediction.scores.values()]


def _check_finite(scores: Sparse, ids: Sequence[str]) -> None:
    wrong = np.flatnonzero(~np.isfinite(scores.data))
    if wrong.size:
        row = int(np.searchsorted(scores.indptr, wrong[0], side="right")) - 1
        raise DataError(
            "a score is not a number",
            where=f'scores of document "{ids[row]}"',
            found="NaN or infinity",
        )


def _comparable(predictions: Sequence[Prediction]) -> str | None:
    if any(p.labels and not p.scores for p in predictions):
        return NOT_COMPARABLE
    return None if any(p.scores for p in predictions) else NO_SCORES


def match_multilabel(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    unknown: Unknown = "error",
) -> tuple[MultiLabelOutcome, LabelSet]:
    """Match predictions to documents by order and id, and keep the labelled ones as matrices.

    Rows that couldn't be read and unlabelled documents have no truth: they are counted and left
    out. A labelled document without an answer (too long, failed, abstained, ...) stays, with
    nothing assigned and nothing ranked. A label given twice counts once. A prediction that has
    labels but no scores is ranked in the order of its labels.

    ``unknown="miss"`` adds labels of documents that the label set lacks at its end: a model can't
    give them, so each counts as missed. Returns the outcome and the label set of its columns.

    Raises:
        DataError: If ids or numbers of rows differ, an assigned label has no score although
            others have, a score is not finite, or nothing is labelled.
        LabelError: If a prediction's label, or with ``unknown="error"`` a document's label, is
            not in the label set.
    """
    check_match(documents, predictions)
    known = extended(labels, documents) if unknown == "miss" else labels
    truth, assigned, scores = (_Rows(len(known)) for _ in range(3))
    labelled: list[int] = []
    for index, row in enumerate(documents):
        if not isinstance(row, Document) or row.labels is None:
            continue
        labelled.append(index)
        truth.add([position_of(i, known, where_of(row)) for i in dict.fromkeys(row.labels)])
        given = predictions[index]
        silent = why_no_labels(given) is not None
        columns, values = ([], []) if silent else _scored(given, labels)
        scores.add(columns, values)
        own = () if silent else dict.fromkeys(given.labels)
        assigned.add([labels.position(i) for i in own])
    if not labelled:
        raise nothing_labelled(len(documents))
    ids = tuple(documents[i].id for i in labelled)
    ranked = scores.build(np.float64)
    _check_finite(ranked, ids)
    reasons = tuple(why_no_labels(predictions[i]) for i in labelled)
    outcome = MultiLabelOutcome(
        ids=ids,
        truth=truth.build(bool),
        assigned=assigned.build(bool),
        scores=ranked,
        reasons=reasons,
        incomparable=_comparable(
            [predictions[i] for i, r in zip(labelled, reasons, strict=True) if r is None]
        ),
        coverage=coverage_of(documents, predictions, labelled, reasons),
    )
    return outcome, known


def sizes(matrix: Sparse) -> IntArray:
    """Return how many cells each row holds, (N,)."""
    number: IntArray = np.diff(matrix.indptr).astype(np.int64)
    return number


def weights_of(drawn: IntArray, documents: int) -> FloatArray:
    """Count how often each document was drawn: row numbers (R, n) give (R, documents)."""
    flat = (np.arange(len(drawn))[:, None] * documents + drawn).ravel()
    times = np.bincount(flat, minlength=len(drawn) * documents)
    return times.reshape(len(drawn), documents).astype(np.float64)


def weighted(weights: FloatArray, matrix: Sparse) -> FloatArray:
    """Multiply weights (R, N) with a sparse matrix (N, D): dense (R, D)."""
    product: FloatArray = np.asarray((matrix.T @ weights.T).T, np.float64)
    return product

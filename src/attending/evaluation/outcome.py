"""Documents and their predictions, matched and turned into arrays; nothing is lost on the way."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attending.errors import DataError, LabelError
from attending.evaluation.counts import BoolArray, FloatArray, IntArray
from attending.records import Document, LabelSet, Prediction, Row, Unreadable

ABSTAINED = "abstained"
NO_LABEL = "no_label"
NOT_ANSWERED = ("empty_text", "too_long", "failed", ABSTAINED, NO_LABEL)
"""Why a document has no answer: its status, an abstention, or an answer without a label."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Labelled documents of a single-label task and what a model said of them.

    N labelled documents, L labels. ids (N,); truth (N,) positions; predicted (N,) positions, -1
    where there is no answer; reasons (N,) say why there is none, ``None`` where there is one;
    scores (N, L), meaningful where scored (N,) bool; coverage counts every document given,
    whatever became of it.
    """

    ids: tuple[str, ...]
    truth: IntArray
    predicted: IntArray
    reasons: tuple[str | None, ...]
    scores: FloatArray
    scored: BoolArray
    coverage: Mapping[str, int]

    @property
    def answered(self) -> BoolArray:
        """Which documents got an answer, (N,) bool."""
        result: BoolArray = self.predicted >= 0
        return result


def why_no_answer(prediction: Prediction) -> str | None:
    """Say why a prediction is no answer (one of ``NOT_ANSWERED``), or ``None`` if it is one."""
    if prediction.status != "ok":
        return prediction.status
    if prediction.abstained:
        return ABSTAINED
    return None if prediction.labels else NO_LABEL


def where_of(row: Row) -> str:
    """Return file and line of a row, or its id."""
    return str(row.source) if row.source else f'document "{row.id}"'


def _true_position(document: Document, labels: LabelSet) -> int | None:
    if document.labels is None:
        return None
    if len(document.labels) != 1:
        raise DataError(
            "a document of a single-label task must have exactly one label",
            where=where_of(document),
            found=f"{len(document.labels)} labels",
            allowed="1",
            step="Documents with several labels or none are a multi-label task.",
        )
    return position_of(document.labels[0], labels, where_of(document))


def position_of(label: str, labels: LabelSet, where: str) -> int:
    """Return the position of a label.

    Raises:
        LabelError: If it is not in the label set; says where it stood.
    """
    try:
        return labels.position(label)
    except LabelError as error:
        raise LabelError(error.what, where=where, step=error.step) from None


def _given_position(prediction: Prediction, labels: LabelSet) -> int:
    if why_no_answer(prediction) is not None:
        return -1
    if len(prediction.labels) > 1:
        raise DataError(
            "a prediction of a single-label task must name one label",
            where=f'prediction of document "{prediction.id}"',
            found=f"{len(prediction.labels)} labels",
            allowed="1",
        )
    return position_of(prediction.labels[0], labels, f'prediction of document "{prediction.id}"')


def _score_row(prediction: Prediction, labels: LabelSet) -> list[float] | None:
    if prediction.status != "ok" or not prediction.scores:
        return None
    where = f'scores of document "{prediction.id}"'
    missing = [i for i in labels.ids if i not in prediction.scores]
    if missing or len(prediction.scores) != len(labels):
        raise DataError(
            "scores must cover the label set",
            where=where,
            found=f"{len(prediction.scores)} scores"
            + (f', none for "{missing[0]}"' if missing else ""),
            allowed=f"one for each of the {len(labels)} labels",
        )
    row = [float(prediction.scores[i]) for i in labels.ids]
    if not np.isfinite(row).all():
        raise DataError("a score is not a number", where=where, found="NaN or infinity")
    return row


def check_match(documents: Sequence[Row], predictions: Sequence[Prediction]) -> None:
    """Make sure that there is one prediction a document, in the same order.

    Raises:
        DataError: If numbers or ids differ.
    """
    step = "Predict the same file again: predictions must be in the order of its rows."
    if len(documents) != len(predictions):
        raise DataError(
            "documents and predictions don't match",
            found=f"{len(documents)} documents and {len(predictions)} predictions",
            allowed="one prediction a document",
            step=step,
        )
    for number, (document, prediction) in enumerate(
        zip(documents, predictions, strict=True), start=1
    ):
        if document.id != prediction.id:
            raise DataError(
                "documents and predictions don't match",
                where=f"row {number}",
                found=f'document "{document.id}" and prediction "{prediction.id}"',
                allowed="the same id in both",
                step=step,
            )


def coverage_of(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labelled: Sequence[int],
    reasons_of: Sequence[str | None],
) -> dict[str, int]:
    """Count what became of every document; ``reasons_of`` goes with the labelled ones."""
    reasons = Counter(reasons_of)
    read = [predictions[i].read for i in labelled if predictions[i].status == "ok"]
    groups = [d.group for d in documents if isinstance(d, Document) and d.group is not None]
    return {
        "documents": len(documents),
        "unreadable_rows": sum(isinstance(d, Unreadable) for d in documents),
        "unlabelled": sum(isinstance(d, Document) and d.labels is None for d in documents),
        "labelled": len(labelled),
        "answered": reasons[None],
        "not_answered": len(labelled) - reasons[None],
        **{reason: reasons[reason] for reason in NOT_ANSWERED},
        "read_in_part": sum(c.truncated for c in read),
        "tokens_read": sum(c.tokens for c in read),
        "tokens_given": sum(c.of for c in read),
        "groups": len(set(groups)),
        "documents_in_groups": len(groups),
    }


def nothing_labelled(documents: int) -> DataError:
    """Return the error for documents of which none has a label."""
    return DataError(
        "there is nothing to evaluate: no document has a label",
        found=f"{documents} documents",
        step="Name the label column, or give a file with labels.",
    )


def match(documents: Sequence[Row], predictions: Sequence[Prediction], labels: LabelSet) -> Outcome:
    """Match predictions to documents by order and id, and keep the labelled ones as arrays.

    Rows that couldn't be read and unlabelled documents have no truth: they are counted and left
    out. A labelled document without an answer stays, as "no answer".

    Raises:
        DataError: If ids or numbers of rows differ, a document has no single label, scores don't
            cover the label set, or nothing is labelled.
        LabelError: If a label is not in the label set.
    """
    check_match(documents, predictions)
    labelled: list[int] = []
    truth: list[int] = []
    for index, row in enumerate(documents):
        position = _true_position(row, labels) if isinstance(row, Document) else None
        if position is not None:
            labelled.append(index)
            truth.append(position)
    if not labelled:
        raise nothing_labelled(len(documents))
    rows = [_score_row(predictions[i], labels) for i in labelled]
    reasons = tuple(why_no_answer(predictions[i]) for i in labelled)
    nothing = [0.0] * len(labels)
    return Outcome(
        ids=tuple(documents[i].id for i in labelled),
        truth=np.array(truth, np.int64),
        predicted=np.array([_given_position(predictions[i], labels) for i in labelled], np.int64),
        reasons=reasons,
        scores=np.array([nothing if row is None else row for row in rows], np.float64),
        scored=np.array([row is not None for row in rows]),
        coverage=coverage_of(documents, predictions, labelled, reasons),
    )

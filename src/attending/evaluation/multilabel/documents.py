"""Which documents went most wrong, and which got no answer: ids and labels, never text."""

from dataclasses import dataclass

import numpy as np

from attending.evaluation.multilabel.decisions import Decided, per_document
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, Sparse
from attending.records import LabelSet

NAMED_AT_MOST = 8


@dataclass(frozen=True, slots=True)
class WrongDocument:
    """A document whose labels are not the true ones.

    missed and false name the first of the labels that it lacks and that it got wrongly; true,
    given and right count its labels; f1 is between them.
    """

    id: str
    true: int
    given: int
    right: int
    f1: float
    missed: tuple[str, ...]
    false: tuple[str, ...]


def worst_documents(
    outcome: MultiLabelOutcome, labels: LabelSet, most: int
) -> tuple[list[WrongDocument], int]:
    """Return the answered documents with the lowest F1, most wrong labels first among equals.

    Returns at most ``most`` of them, and how many documents are wrong in all.
    """
    decided = Decided.of(outcome)
    right, true, given = decided.document.T
    f1 = per_document(decided.document, outcome.answered)["example_f1"]
    wrong = np.flatnonzero(outcome.answered & (f1 < 1))
    order = np.lexsort((wrong, -(true + given - 2 * right)[wrong], f1[wrong]))
    found = []
    for row in wrong[order][:most].tolist():
        has, got = (_row(m, row) for m in (outcome.truth, outcome.assigned))
        found.append(
            WrongDocument(
                outcome.ids[row],
                int(true[row]),
                int(given[row]),
                int(right[row]),
                float(f1[row]),
                tuple(labels.ids[k] for k in sorted(has - got)[:NAMED_AT_MOST]),
                tuple(labels.ids[k] for k in sorted(got - has)[:NAMED_AT_MOST]),
            )
        )
    return found, int(wrong.size)


def silent_documents(
    outcome: MultiLabelOutcome, labels: LabelSet
) -> list[tuple[str, tuple[str, ...], str]]:
    """Return documents without an answer: id, true labels, and the reason, most labels first."""
    found = [
        (outcome.ids[row], tuple(labels.ids[k] for k in sorted(_row(outcome.truth, row))), reason)
        for row, reason in enumerate(outcome.reasons)
        if reason is not None
    ]
    return sorted(found, key=lambda item: -len(item[1]))


def _row(matrix: Sparse, row: int) -> set[int]:
    pointer, columns = matrix.indptr, matrix.indices
    return set(columns[pointer[row] : pointer[row + 1]].tolist())

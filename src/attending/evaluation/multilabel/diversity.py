"""How varied answers are: a system that gives every document the same labels can score well."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attending.evaluation.counts import BoolArray
from attending.evaluation.multilabel.outcome import MultiLabelOutcome, Sparse, sizes
from attending.records import LabelSet

SHOWN_OF_SET = 20


@dataclass(frozen=True, slots=True)
class Variety:
    """How varied the label sets of documents are.

    Attributes:
        unique_labels: Labels that occur.
        labels_per_document: Mean, ``median`` and ``most`` labels of a document.
        median: See above.
        most: See above.
        without: Documents without any label.
        sets: Different sets of labels, the empty one included.
        sharing: Documents whose set is that of at least one other document.
        share_sharing: The same as a share.
        common_set: Label ids of the most frequent set, the first of them where it is large.
        common_size: Labels in it.
        common_documents: Documents that have it.
        common_share: The same as a share.
    """

    unique_labels: int
    labels_per_document: float
    median: float
    most: int
    without: int
    sets: int
    sharing: int
    share_sharing: float
    common_set: tuple[str, ...]
    common_size: int
    common_documents: int
    common_share: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """Variety of the truth over all documents, and of what was given over answered ones.

    ``given`` is ``None`` where no document was answered.
    """

    truth: Variety
    given: Variety | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "truth": _plain(self.truth),
            "given": None if self.given is None else _plain(self.given),
        }


def _plain(variety: Variety) -> dict[str, Any]:
    return asdict(variety) | {"common_set": list(variety.common_set)}


def variety(matrix: Sparse, rows: BoolArray, labels: LabelSet) -> Variety | None:
    """Describe the label sets of the marked rows (N,) of a boolean matrix (N, L)."""
    number = int(rows.sum())
    if not number:
        return None
    lengths = sizes(matrix)[rows]
    pointer, columns = matrix.indptr, matrix.indices
    seen = Counter(columns[pointer[k] : pointer[k + 1]].tobytes() for k in np.flatnonzero(rows))
    # Of equally frequent sets the smallest is named, so that the order of rows doesn't matter.
    common, most = min(seen.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    members = np.frombuffer(common, columns.dtype)
    sharing = sum(n for n in seen.values() if n > 1)
    held = np.repeat(rows, sizes(matrix))
    return Variety(
        unique_labels=int(np.unique(columns[held]).size),
        labels_per_document=float(lengths.mean()),
        median=float(np.median(lengths)),
        most=int(lengths.max()),
        without=int((lengths == 0).sum()),
        sets=len(seen),
        sharing=sharing,
        share_sharing=sharing / number,
        common_set=tuple(labels.ids[int(k)] for k in members[:SHOWN_OF_SET]),
        common_size=int(members.size),
        common_documents=most,
        common_share=most / number,
    )


def diversity(outcome: MultiLabelOutcome, labels: LabelSet) -> Diversity:
    """Compare the variety of the truth with that of the answers."""
    truth = variety(outcome.truth, np.ones(outcome.documents, bool), labels)
    assert truth is not None, "an outcome holds at least one document"
    return Diversity(truth, variety(outcome.assigned, outcome.answered, labels))

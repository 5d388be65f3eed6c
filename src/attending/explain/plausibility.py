"""Do the words that a model used agree with the words that a person marked?

Plausibility is agreement with human evidence, not truth about the model: a model can be right for
words nobody marked. Human evidence is ``Document.spans``. Everything is counted in words, so long
and short words weigh the same and tokenizers can be compared. Source: DeYoung et al. 2020
(ERASER), section 4.1: token-level F1 of discrete rationales, area under the precision-recall curve
of soft ones. Deviations: words instead of tokens, and average precision (the step-wise area, no
interpolation) for the curve.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError
from attending.explain.evidence import WordScores
from attending.explain.words import word_spans
from attending.records import Document, Evidence, Prediction, Row, Span


@dataclass(frozen=True, slots=True)
class Agreement:
    """One document's agreement, or the mean over documents. All values lie in [0, 1].

    word_precision, word_recall, word_f1: words inside evidence spans against words inside human
    spans; 0 where no evidence was given. average_precision: how well the words' scores rank the
    human words first. chance: the share of words that are human evidence, which is what a random
    span's precision and, nearly, a random ranking's average precision come to. hit: 1 if the
    evidence has any human word, whose mean over documents is the hit rate.
    """

    word_precision: float
    word_recall: float
    word_f1: float
    average_precision: float
    chance: float
    hit: float


@dataclass(frozen=True, slots=True)
class Plausibility:
    """Agreement with human evidence over documents.

    mean: each document counts once ("macro over documents"). documents: how many were counted.
    without_spans: documents left out because no person marked anything in them. per_document: one
    entry a document given, ``None`` where left out, for paired tests.
    """

    mean: Agreement | None
    documents: int
    without_spans: int
    per_document: tuple[Agreement | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary for a metrics file, without the single documents."""
        return {
            "documents": self.documents,
            "without_spans": self.without_spans,
            "mean_over_documents": asdict(self.mean) if self.mean else None,
        }


def plausibility(
    documents: Sequence[Document],
    words: Sequence[Sequence[Evidence]],
    spans: Sequence[Sequence[Evidence]],
) -> Plausibility:
    """Compare evidence with human spans.

    Args:
        documents: Documents; those without ``spans`` are left out and counted.
        words: Per document every word with its score for the label that the human spans speak for.
        spans: Per document the evidence spans for that label.

    Raises:
        DataError: If the three are not of one length.
    """
    if not len(documents) == len(words) == len(spans):
        raise DataError(
            "documents, words and spans must belong together, one of each a document",
            found=f"{len(documents)}, {len(words)} and {len(spans)}",
        )
    rows = [_agreement(*row) for row in zip(documents, words, spans, strict=True)]
    counted = [row for row in rows if row is not None]
    mean = None
    if counted:
        table = np.array([list(asdict(row).values()) for row in counted])
        mean = Agreement(*(float(value) for value in table.mean(axis=0)))
    return Plausibility(mean, len(counted), len(rows) - len(counted), tuple(rows))


def average_precision(relevant: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Return the average precision of a ranking; nan where nothing is relevant.

    relevant (N,) bool; scores (N,), higher is ranked earlier. The sum over distinct scores of the
    precision there times the gain in recall, so tied words share one point and their order does
    not matter.
    """
    if not relevant.any():
        return math.nan
    order = np.argsort(-scores, kind="stable")
    hits, ranked = relevant[order].cumsum(), scores[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    precision = hits[last] / (last + 1)
    recall = hits[last] / hits[-1]
    return float(np.sum(precision * np.diff(recall, prepend=0.0)))


def spans_of_labels(
    documents: Sequence[Row], predictions: Sequence[Prediction], words: Sequence[WordScores]
) -> tuple[list[Document], list[Sequence[Evidence]], list[Sequence[Evidence]]]:
    """Return what ``plausibility`` takes, one entry a label that was rightly given.

    A document stands there once for each label that it was given and has (or was given, where its
    labels aren't known), with the spans that people marked for that label or for none in
    particular. Where words have scores for no label in particular, it stands there once, if all
    its labels are right.
    """
    found: list[tuple[Document, Sequence[Evidence], Sequence[Evidence]]] = []
    for row, prediction, by_label in zip(documents, predictions, words, strict=True):
        if not isinstance(row, Document) or prediction.status != "ok":
            continue
        known = prediction.labels if row.labels is None else row.labels
        if set(by_label) == {None} and set(known) == set(prediction.labels):
            found.append((row, by_label[None], prediction.evidence))
        for label in prediction.labels:
            if label in by_label and label in known:
                marked = tuple(s for s in row.spans if s.label in (None, label))
                given = [e for e in prediction.evidence if e.label == label]
                found.append((replace(row, spans=marked), by_label[label], given))
    return [x for x, _, _ in found], [x for _, x, _ in found], [x for _, _, x in found]


def words_inside(text: str, spans: Sequence[Span] | Sequence[Evidence]) -> NDArray[np.bool_]:
    """Return which of a text's words overlap any of the spans: (N,) bool in text order."""
    words = word_spans(text)
    inside = np.zeros(len(words), dtype=bool)
    for span in spans:
        for i, (start, end) in enumerate(words):
            inside[i] |= start < span.end and span.start < end
    return inside


def _agreement(
    document: Document, words: Sequence[Evidence], spans: Sequence[Evidence]
) -> Agreement | None:
    human = words_inside(document.text, document.spans)
    if not human.any():
        return None
    found = words_inside(document.text, spans)
    by_start = {word.start: word.score for word in words}
    scores = np.array([by_start.get(start, 0.0) for start, _ in word_spans(document.text)])
    both = int((human & found).sum())
    return Agreement(
        word_precision=both / int(found.sum()) if found.any() else 0.0,
        word_recall=both / int(human.sum()),
        word_f1=2 * both / (int(human.sum()) + int(found.sum())),
        average_precision=average_precision(human, scores),
        chance=float(human.mean()),
        hit=float(both > 0),
    )

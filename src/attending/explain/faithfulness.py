"""Did the words that an explanation names matter to the model? Take them away and look.

Comprehensiveness is the drop of the predicted label's probability when the top words are deleted
(high is good: they were needed); sufficiency is the drop when only they are kept (low is good:
they were enough). Both are taken for the top 1, 5, 10, 20 and 50 % of the words and averaged: the
area over the perturbation curve. Source: DeYoung et al. 2020 (ERASER), section 4.2. Deviations:
words are deleted instead of tokens, each with the punctuation that follows it; the mean runs over
the five shares alone (the paper's sum also counts the untouched text, a constant 0, for
comprehensiveness); at least one word is always taken.

Deleting words makes odd texts, on which any model wavers. So the same is done with words drawn at
random, and only the difference to that says something about the explanation.

A document with several labels counts once: its drops are the means over its first five labels,
each with its own words. Random words are the same for all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import DataError
from attending.explain.evidence import WordScores, check_pairs, explained_labels
from attending.explain.words import word_spans
from attending.models.base import Model, Progress
from attending.records import Document, Prediction, Row

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""The shares of a document's words that are deleted or kept, as in ERASER."""

_MOST_LABELS = 5

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean drops of probability over documents, one value a share, and their mean (``area``)."""

    comprehensiveness: tuple[float, ...]
    sufficiency: tuple[float, ...]

    @property
    def comprehensiveness_area(self) -> float:
        """Area over the perturbation curve for deleting the top words; higher is better."""
        return float(np.mean(self.comprehensiveness))

    @property
    def sufficiency_area(self) -> float:
        """Area over the perturbation curve for keeping only the top words; lower is better."""
        return float(np.mean(self.sufficiency))


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Faithfulness of an explanation beside that of random words.

    shares: the shares of words taken. explained, random: mean curves over the documents; ``random``
    is the mean over the seeds too. random_spread: standard deviation over seeds (ddof 1; 0 with one
    seed) of the two random areas. documents, skipped: how many counted, and how many could not:
    status not ok, no scores for the predicted label, fewer than two words, or a deletion that left
    nothing the model reads. per_document: areas of the counted documents (D, 2, 2); axes are
    comprehensiveness or sufficiency, then explained or random; for paired tests.
    """

    shares: tuple[float, ...]
    explained: Curve
    random: Curve
    random_spread: tuple[float, float]
    seeds: tuple[int, ...]
    documents: int
    skipped: int
    per_document: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return the summary for a metrics file, without the single documents."""
        return {
            "definition": "mean drop of the predicted label's probability over the shares of words",
            "shares": list(self.shares),
            "documents": self.documents,
            "skipped": self.skipped,
            "random_seeds": list(self.seeds),
            "comprehensiveness": _summary(
                self.explained.comprehensiveness,
                self.random.comprehensiveness,
                self.random_spread[0],
            ),
            "sufficiency": _summary(
                self.explained.sufficiency, self.random.sufficiency, self.random_spread[1]
            ),
        }


def faithfulness(
    model: Model,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words: Sequence[WordScores],
    *,
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = (0, 1, 2),
    batch: int = 512,
    progress: Progress | None = None,
) -> Faithfulness:
    """Measure comprehensiveness and sufficiency of word scores against random words.

    Args:
        model: Any model; only ``predict`` is called.
        documents: The documents explained.
        predictions: Their predictions, in the same order.
        words: Their words with scores, as ``explained_words`` gives them. Those of the predicted
            labels are used, else those of the label ``None``.
        shares: Shares of the words to take, each in (0, 1).
        seeds: One random order of the words a seed and document.
        batch: How many changed texts go to the model at a time.
        progress: Called with documents done and documents in all.

    Raises:
        DataError: If the three don't belong together, a share is not in (0, 1), there is no seed,
            or no document can be measured.
    """
    _check(documents, predictions, words, shares, seeds)
    trials = [
        trial
        for i in range(len(documents))
        if (trial := _trial(i, documents[i], predictions[i], words[i], seeds))
    ]
    drops: list[Floats] = []
    done = 0
    while done < len(trials):
        some = _some(trials[done:], batch // (len(shares) * 2))
        drops += _drops(model, some, shares)
        done += len(some)
        if progress:
            progress(done, len(trials))
    if not drops:
        raise DataError(
            "no document can be measured",
            found=f"{len(documents)} documents",
            allowed="documents of status ok with two words or more and scores for them",
        )
    table = np.stack(drops)
    random = table[:, 1:].mean(axis=1)
    areas = table[:, 1:].mean(axis=(0, 2))
    spread = areas.std(axis=0, ddof=1) if len(seeds) > 1 else np.zeros(2)
    return Faithfulness(
        shares=tuple(shares),
        explained=_curve(table[:, 0]),
        random=_curve(random),
        random_spread=(float(spread[0]), float(spread[1])),
        seeds=tuple(seeds),
        documents=len(drops),
        skipped=len(documents) - len(drops),
        per_document=np.stack([table[:, 0].mean(axis=1), random.mean(axis=1)], axis=-1),
    )


def without_words(text: str, removed: Sequence[int] | set[int]) -> str:
    """Return a text with some of its words deleted, by position among its words.

    A word takes along what follows it up to the next word, the first word also what comes before
    it. So a text is the sum of its words, and what is deleted here is what is kept there.
    """
    words = word_spans(text)
    starts = [0, *(start for start, _ in words[1:]), len(text)]
    gone = set(removed)
    kept = [text[starts[i] : starts[i + 1]] for i in range(len(words)) if i not in gone]
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A document, the labels watched, and orders of its words: one a label, then random ones."""

    document: Document
    labels: tuple[str, ...]
    full: Floats
    orders: tuple[NDArray[np.int64], ...]

    def drops(self, scores: Floats) -> Floats:
        """Return mean drops (1 + random orders, shares, 2) from scores (labels, orders, shares, 2).

        The first are those of each label under its own order.
        """
        fallen = self.full[:, None, None, None] - scores
        count = len(self.labels)
        own = fallen[np.arange(count), np.arange(count)].mean(axis=0)
        drops: Floats = np.concatenate([own[None], fallen[:, count:].mean(axis=0)])
        return drops


def _trial(
    position: int, row: Row, prediction: Prediction, by_label: WordScores, seeds: Sequence[int]
) -> _Trial | None:
    labels = explained_labels(prediction)
    if not isinstance(row, Document) or prediction.status != "ok" or not labels:
        return None
    watched = [x for x in labels if x in by_label][:_MOST_LABELS] or [labels[0]]
    scored = [by_label.get(x, by_label.get(None, ())) for x in watched]
    count = min(map(len, scored))
    if count < 2:
        return None
    rankings = [np.argsort([-word.score for word in words], kind="stable") for words in scored]
    random = [np.random.default_rng([seed, position]).permutation(count) for seed in seeds]
    full = np.array([prediction.scores[x] for x in watched])
    return _Trial(row, tuple(watched), full, (*rankings, *random))


def _some(trials: Sequence[_Trial], orders: int) -> Sequence[_Trial]:
    """Return the first trials, of so many orders in all, but at least one."""
    total = 0
    for i, trial in enumerate(trials):
        total += len(trial.orders)
        if i and total > orders:
            return trials[:i]
    return trials


def _drops(model: Model, trials: Sequence[_Trial], shares: Sequence[float]) -> list[Floats]:
    """Return (orders, shares, 2) drops a trial; trials that the model can't read are left out."""
    changed = [
        [text for order in t.orders for share in shares for text in _changed(t, order, share)]
        for t in trials
    ]
    rows = {
        (i, text): replace(trials[i].document, id=f"{i}-{n}", text=text, labels=None, spans=())
        for i, texts in enumerate(changed)
        for n, text in enumerate(dict.fromkeys(texts))
    }
    answers = dict(zip(rows, model.predict(list(rows.values())), strict=True))
    drops = []
    for i, (trial, texts) in enumerate(zip(trials, changed, strict=True)):
        answered = [answers[i, text] for text in texts]
        if all(answer.status == "ok" for answer in answered):
            shape = (len(trial.labels), len(trial.orders), len(shares), 2)
            kept = [[_score(answer, x) for answer in answered] for x in trial.labels]
            drops.append(trial.drops(np.array(kept).reshape(shape)))
    return drops


def _score(answer: Prediction, label: str) -> float:
    """Return a label's probability; of one whose score was not kept, the lowest that was."""
    kept = answer.scores
    return kept[label] if label in kept else min(kept.values(), default=0.0)


def _changed(trial: _Trial, order: NDArray[np.int64], share: float) -> tuple[str, str]:
    count = max(1, math.ceil(round(share * len(order), 9)))
    top, rest = order[:count].tolist(), order[count:].tolist()
    text = trial.document.text
    return without_words(text, top), without_words(text, rest)


def _curve(drops: Floats) -> Curve:
    mean = drops.mean(axis=0)
    return Curve(tuple(mean[:, 0].tolist()), tuple(mean[:, 1].tolist()))


def _summary(explained: Sequence[float], random: Sequence[float], spread: float) -> dict[str, Any]:
    area, chance = float(np.mean(explained)), float(np.mean(random))
    return {
        "area": area,
        "random_area": chance,
        "random_area_sd_over_seeds": spread,
        "difference": area - chance,
        "by_share": list(explained),
        "random_by_share": list(random),
    }


def _check(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words: Sequence[WordScores],
    shares: Sequence[float],
    seeds: Sequence[int],
) -> None:
    check_pairs(documents, predictions, words)
    if not shares or not all(0 < share < 1 for share in shares):
        raise DataError(
            "shares of words must lie between 0 and 1",
            found=", ".join(str(share) for share in shares) or "none",
            allowed="for example 0.01, 0.05, 0.1, 0.2, 0.5",
        )
    if not seeds:
        raise DataError("random words need a seed or more", found="none", allowed="0, 1, 2")

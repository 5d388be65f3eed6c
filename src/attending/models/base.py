"""What every model can do, whatever it is made of. No torch here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import (
    Coverage,
    Document,
    LabelSet,
    Prediction,
    Row,
    Unreadable,
    is_blank,
)

Progress = Callable[[int, int], None]
"""Called with the number of documents done and the number of all."""


_CHUNK = 2048
MOST_SCORES = 200
"""Up to so many labels, a prediction holds the score of each."""
MOST_KEPT = 50_000_000
"""Of more rows times labels than this, a sample chooses thresholds: 400 MB of scores."""


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Scores of one document's tokens.

    ``offsets``: T half-open (start, end) in code points of the text, in text order, special
    tokens left out. ``scores``: per label id (``None``: no single label) T floats; at least 0
    for attention methods, signed for gradient methods and weights.
    """

    offsets: tuple[tuple[int, int], ...]
    scores: Mapping[str | None, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Scored:
    """Raw scores of one row: logits (L,) where ``status`` is ``ok``, else ``None``."""

    status: str
    read: Coverage
    logits: NDArray[np.float64] | None = None
    reason: str | None = None


class Model(Protocol):
    """A fitted system.

    Attributes:
        recipe: How it was made, every setting spelled out.
        labels: The labels it knows, in the order of its scores.
        decision: How its scores become labels.
        methods: Attribution methods that it can give, best first.
        facts: What is known of its training: data fingerprint, versions, seed.
    """

    recipe: Recipe
    labels: LabelSet
    decision: Decision
    facts: Mapping[str, Any]

    @property
    def methods(self) -> tuple[str, ...]:
        """Attribution methods that it can give, best first."""
        ...

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return raw scores of each row, in order."""
        ...

    def predict(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Prediction]:
        """Return a prediction for each row, in order."""
        ...

    def token_scores(
        self,
        documents: Sequence[Document],
        *,
        method: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> list[TokenScores]:
        """Return scores of each document's tokens."""
        ...

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Return the vectors that the head reads, (N, H)."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights and what is needed to use them."""
        ...


def shifted(progress: Progress | None, start: int, total: int) -> Progress | None:
    """Return a progress for a part of the rows, told as one for all of them."""
    if progress is None:
        return None
    told = progress
    return lambda done, _: told(start + done, total)


def predict_in_chunks(
    model: Model, rows: Sequence[Row], progress: Progress | None = None
) -> list[Prediction]:
    """Return a model's prediction for each row, in order, keeping the scores of few at a time."""
    predictions: list[Prediction] = []
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        scored = model.scores(chunk, progress=shifted(progress, start, len(rows)))
        predictions += decide(chunk, scored, model.labels, model.decision)
    return predictions


def keepable(rows: Sequence[int], labels: int, seed: int) -> list[int]:
    """Return the rows, by their places, whose scores are kept while thresholds are chosen.

    Of more than memory allows some are drawn; their order stays.
    """
    most = max(1, MOST_KEPT // max(1, labels))
    if len(rows) <= most:
        return list(rows)
    drawn = np.random.default_rng(seed).choice(len(rows), most, replace=False)
    return [rows[i] for i in sorted(drawn.tolist())]


def unreadable(row: Unreadable) -> Scored:
    """Return the outcome of a row that could not be read."""
    return Scored("failed", Coverage(0, 0, 0), None, row.reason)


def score_words(
    rows: Sequence[Row],
    logits: Callable[[Sequence[Document]], Iterable[NDArray[np.float64]]],
    progress: Progress | None = None,
) -> list[Scored]:
    """Return the scores of rows by a model that reads whole texts; ``read`` counts words.

    ``logits`` gives (L,) for each of the documents that have something to read.
    """
    readable = [r for r in rows if isinstance(r, Document) and not is_blank(r.text)]
    found = iter(logits(readable))
    results = []
    for done, row in enumerate(rows, 1):
        if isinstance(row, Unreadable):
            results.append(unreadable(row))
        elif is_blank(row.text):
            results.append(Scored("empty_text", Coverage(0, 0, 0), None, "empty_text"))
        else:
            words = len(row.text.split())
            results.append(Scored("ok", Coverage(words, words, 1), next(found)))
        if progress is not None:
            progress(done, len(rows))
    return results


def decide(
    rows: Sequence[Row], scored: Sequence[Scored], labels: LabelSet, decision: Decision
) -> list[Prediction]:
    """Turn raw scores into predictions: the one decision step of every model."""
    known = [i for i, s in enumerate(scored) if s.logits is not None]
    chosen: dict[int, tuple[tuple[str, ...], Mapping[str, float]]] = {}
    if known:
        logits = np.stack([s.logits for s in scored if s.logits is not None])
        probabilities = decision.probabilities(logits)
        decoded = decision.decode(probabilities, labels)
        for i, ids, row in zip(known, decoded, probabilities, strict=True):
            chosen[i] = ids, _kept(row, ids, labels, decision)
    predictions = []
    for i, (row, score) in enumerate(zip(rows, scored, strict=True)):
        ids, scores = chosen.get(i, ((), {}))
        predictions.append(
            Prediction(
                id=row.id,
                status=score.status,  # type: ignore[arg-type]
                labels=ids,
                scores=scores,
                abstained=i in chosen and not ids and decision.kind == "argmax",
                read=score.read,
                reason=score.reason,
            )
        )
    return predictions


def _kept(
    row: NDArray[np.float64], chosen: Sequence[str], labels: LabelSet, decision: Decision
) -> dict[str, float]:
    """Return the scores to report: all, or of very many labels the best and the assigned ones."""
    if len(labels) <= MOST_SCORES:
        return dict(zip(labels.ids, row.tolist(), strict=True))
    best = np.argsort(-row, kind="stable")[: decision.keep_scores].tolist()
    kept = dict.fromkeys([*best, *(labels.position(i) for i in chosen)])
    return {labels.ids[k]: float(row[k]) for k in kept}


def require_method(method: str | None, methods: Sequence[str], name: str) -> str:
    """Return the method to use: the one asked for, else the model's best.

    Raises:
        ModelError: If the model has no such method, or none at all.
    """
    if not methods:
        raise ModelError(
            f'a "{name}" model reads no words, or not so that it shows without gradients: '
            "it has no evidence"
        )
    if method is None:
        return methods[0]
    if method not in methods:
        raise ModelError(
            f'no evidence method "{method}" for a "{name}" model', allowed=", ".join(methods)
        )
    return method

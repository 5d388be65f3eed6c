"""Two models that answer as one: a quick one first, a thorough one where that is unsure. No torch.

Source: Viola and Jones 2001 for the idea; Varshney and Baral 2022, "Model Cascading", for texts and
for the probability as what decides.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError
from attending.models.base import (
    Model,
    Progress,
    Scored,
    TokenScores,
    predict_in_chunks,
    require_method,
    shifted,
)
from attending.parts.choices import lead
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Prediction, Row

FAMILY = "cascade"
"""The ``family`` in the manifest of a cascade's folder."""
PARTS = ("first", "second")
"""The folders of both models in the cascade's own."""
FILE = "cascade.json"
FORMAT = 1
OWN = "own"
"""The evidence of whichever model answered, by the best of its methods."""


class CascadeModel:
    """Answers by the first model where its best label is far enough ahead, else by the second.

    Scores are logarithms of calibrated probabilities, so that those of both models compare; the
    decision is one of both together. A row that the first can't read is left to the second.

    Args:
        first: The quick model.
        second: The thorough one.
        margin: The lead of the first model's best label over its next, as probabilities, from
            which on the first answers.
        decision: How scores become labels; that of the second by default.
        facts: What is known of both; that of the second by default.

    Raises:
        ModelError: If the models don't give one label a document, or not the same ones.
    """

    def __init__(
        self,
        first: Model,
        second: Model,
        margin: float,
        decision: Decision | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        require_alike(first, second)
        self.first, self.second, self.margin = first, second, margin
        self.recipe: Recipe = second.recipe
        self.labels: LabelSet = second.labels
        self.decision = decision or of_probabilities(second.decision)
        self.facts: Mapping[str, Any] = {
            **(second.facts if facts is None else facts),
            "family": FAMILY,
        }

    @property
    def parts(self) -> Mapping[str, Model]:
        """Both models, by the names of their folders."""
        return dict(zip(PARTS, (self.first, self.second), strict=True))

    @property
    def methods(self) -> tuple[str, ...]:
        """``own``, if one of the models can say what words spoke for its answers."""
        return (OWN,) if self.first.methods or self.second.methods else ()

    def scores(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Scored]:
        """Return the logarithm of each row's probabilities, in order."""
        found = self.first_scores(rows)
        passed = np.flatnonzero(~self.settled(found)).tolist()
        tell = shifted(progress, len(rows) - len(passed), len(rows))
        later = self.second.scores([rows[i] for i in passed], progress=tell) if passed else []
        for i, scored in zip(passed, logarithms(self.second, later), strict=True):
            found[i] = scored
        if progress is not None and not passed:
            progress(len(rows), len(rows))
        return found

    def first_scores(self, rows: Sequence[Row]) -> list[Scored]:
        """Return the logarithm of the probabilities that the first model gives each row."""
        return logarithms(self.first, self.first.scores(rows))

    def settled(self, found: Sequence[Scored]) -> NDArray[np.bool_]:
        """Return which rows the first model answers, (N,), by its ``first_scores`` of them."""
        read = np.array([s.logits is not None for s in found], bool)
        sure = np.zeros(len(found), bool)
        if read.any():
            sure[read] = leads(probabilities(found)) >= self.margin
        return sure

    def joined(self, first: Sequence[Scored], second: Sequence[Scored]) -> list[Scored]:
        """Return what ``scores`` would, of rows that both models have scored."""
        quick, thorough = logarithms(self.first, first), logarithms(self.second, second)
        sure = self.settled(quick)
        return [a if s else b for s, a, b in zip(sure, quick, thorough, strict=True)]

    def predict(self, rows: Sequence[Row], *, progress: Progress | None = None) -> list[Prediction]:
        """Return a prediction for each row, in order."""
        return predict_in_chunks(self, rows, progress)

    def token_scores(
        self,
        documents: Sequence[Document],
        *,
        method: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> list[TokenScores]:
        """Return scores of each document's tokens, by the model that answers it.

        A document whose model has no evidence gets no tokens.

        Raises:
            ModelError: If neither model has any, or ``method`` is not ``own``.
        """
        require_method(method, self.methods, self.recipe.name)
        quick = self.settled(self.first_scores(documents))
        found = [TokenScores((), {})] * len(documents)
        for model, chosen in ((self.first, quick), (self.second, ~quick)):
            places = np.flatnonzero(chosen).tolist()
            if places and model.methods:
                own = model.token_scores([documents[i] for i in places], labels=labels)
                for i, scores in zip(places, own, strict=True):
                    found[i] = scores
        return found

    def pooled(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """Return the vectors that the second model's head reads, (N, H)."""
        return self.second.pooled(documents)

    def save(self, folder: Path) -> None:
        """Write both models and what decides between them."""
        from attending.models.store import ALONG, folder_of, load_metrics, save_model

        for name, model in self.parts.items():
            source = folder_of(model)
            save_model(model, folder / name, metrics=load_metrics(source) if source else None)
            for file in ALONG:
                if source is not None and (source / file).is_file():
                    shutil.copyfile(source / file, folder / name / file)
        body = {"format": FORMAT, "margin": self.margin}
        (folder / FILE).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, decision: Decision, facts: Mapping[str, Any]) -> "CascadeModel":
        """Load both models; opens no socket.

        Raises:
            ModelError: If something is missing or damaged.
        """
        from attending.models.store import load_model

        margin = _read_margin(folder / FILE)
        first, second = (load_model(folder / name) for name in PARTS)
        return cls(first, second, margin, decision, facts)


def require_alike(first: Model, second: Model) -> None:
    """Make sure that two models can answer as one.

    Raises:
        ModelError: If one gives any number of labels, or their labels are others or in another
            order.
    """
    for model in (first, second):
        if model.recipe.task != "single":
            raise ModelError(
                f'a "{model.recipe.name}" model of any number of labels a document can be no part '
                "of a cascade",
                allowed="models that give one label",
                step="There is no one lead that would say how sure it is.",
            )
    if first.labels.hash != second.labels.hash:
        raise ModelError(
            "the two models have other labels, or the same ones described otherwise or in another "
            "order",
            found=f"{', '.join(first.labels.ids[:5])} and {', '.join(second.labels.ids[:5])}",
            step="Train both with one file of labels: --labels FILE.",
        )


def logarithms(model: Model, scored: Sequence[Scored]) -> list[Scored]:
    """Return rows' scores as logarithms of the probabilities that a model gives."""
    known = [s.logits for s in scored if s.logits is not None]
    if not known:
        return list(scored)
    tiny = np.finfo(np.float64).tiny
    rows = iter(np.log(np.maximum(model.decision.probabilities(np.stack(known)), tiny)))
    return [s if s.logits is None else replace(s, logits=next(rows)) for s in scored]


def probabilities(found: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the probabilities (N', L) that logarithms are of, for rows that were read."""
    return np.exp(np.stack([s.logits for s in found if s.logits is not None]))


def leads(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the best label of each row (N, L) is ahead of the next, (N,)."""
    return lead(known, known.argmax(axis=1))


def of_probabilities(decision: Decision) -> Decision:
    """Return a decision as it is on logarithms of probabilities that it has calibrated."""
    return replace(decision, temperature=1.0, scales=(), biases=())


def _read_margin(path: Path) -> float:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] != FORMAT:
            raise ModelError("is of another format", where=str(path))
        margin = body["margin"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin <= 1:
        raise ModelError("its margin is no share", where=str(path), allowed="0 to 1")
    return float(margin)

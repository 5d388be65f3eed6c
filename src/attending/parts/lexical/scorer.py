"""From a lexical view to log-odds of (document, label) pairs, kept where words speak.

Letters: N documents, L labels, Z pairs with a match, K views.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attending.parts.lexical.combiner import LEAST_RIGHT, Combiner, fit_combiner, input_count
from attending.parts.lexical.folder import read_combiner, write_combiner
from attending.parts.lexical.sparse import SparseFeatures
from attending.parts.lexical.surfaces import FLOOR
from attending.parts.lexical.view import LexicalView, truth_matrix
from attending.records import Document, LabelSet
from attending.specs import LexicalSurfaces

Floats = NDArray[np.float32]
_SURFACES = ("annotated", "label_text", "mined")
_LEAST_DOCUMENTS = 2


@dataclass(frozen=True, eq=False)
class LexicalScores:
    """Log-odds (N, L) of documents and labels, of which only those with a match differ by row.

    Attributes:
        indptr: (N + 1,); row n has matches ``indptr[n]`` to ``indptr[n + 1]``.
        labels: (Z,), positions of matched labels, rising within a row.
        values: (Z,), their log-odds.
        silent: (K, L), log-odds of labels without a match, by the view that looked.
        counts: (K, L), training documents of each label that the view saw.
        view: (N,), which view looked at a row.
    """

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    values: Floats
    silent: Floats
    counts: Floats
    view: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.view)

    def followed_by(self, other: "LexicalScores") -> "LexicalScores":
        """Return the scores of these rows and then of others, over the same labels."""
        return LexicalScores(
            np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.silent, other.silent]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.view, len(self.silent) + other.view]),
        )

    def dense(self) -> Floats:
        """Return all log-odds, (N, L)."""
        out = self.silent[self.view]
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        out[rows, self.labels] = self.values
        return out


@dataclass(frozen=True, eq=False)
class LexicalScorer:
    """A lexical view and what weighs its features.

    Without a combiner, as where too few training pairs have a match to learn from, a label scores
    the log-odds of its best surface, -6 without any; a text that holds all of a label's words in
    one sentence counts as half a chance where nothing else is known.
    """

    spec: LexicalSurfaces
    view: LexicalView
    combiner: Combiner | None = None

    @classmethod
    def fit(
        cls, spec: LexicalSurfaces, documents: Sequence[Document], labels: LabelSet
    ) -> tuple["LexicalScorer", LexicalScores]:
        """Fit view and combiner on labelled training documents.

        Returns the scorer, for any other document, and the training documents' own scores, each
        by a view that had not seen the document (``LexicalView.features_training``). The scorer
        would look far surer of training documents than of any other.

        Raises:
            LabelError: If a document has a label that is not in the set.
            TrainingError: If a document is unlabelled.
        """
        return cls(spec, LexicalView.fit(spec, documents, labels)).learned(documents)

    def learned(self, documents: Sequence[Document]) -> tuple["LexicalScorer", LexicalScores]:
        """Learn to weigh the view's features on the documents that it was fitted on.

        Returns the scorer with a combiner, and the documents' own scores; see ``fit``.
        """
        features = self.view.features_training(documents)
        positions = self.view.labels.position
        truth = [frozenset(positions(i) for i in d.labels or ()) for d in documents]
        truth_table = truth_matrix(truth, len(self.view.labels))
        scorer = replace(self, combiner=fit_combiner(features, truth_table, c=self.spec.c))
        return scorer, scorer.weigh(features)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the fit."""
        if self.combiner is not None or not self.spec.weight:
            return ()
        few = f"fewer than {LEAST_RIGHT} training labels have their words in the text"
        return (f"{few}, or only right ones do: a label's best surface counts, unweighed",)

    def scores(self, documents: Sequence[Document]) -> LexicalScores:
        """Return the log-odds of documents that the view was not fitted on."""
        return self.weigh(self.view.features(documents))

    def weigh(self, features: SparseFeatures) -> LexicalScores:
        """Return log-odds of features."""
        cells = [features.row(i)[1] for i in range(len(features))]
        width = features.shape[2]
        found = np.concatenate([np.zeros((0, width), np.float32), *cells])
        nothing = np.zeros((*features.examples.shape, width), np.float32)
        nothing[..., -1] = features.examples
        return LexicalScores(
            features.indptr,
            features.labels,
            self._odds(found, features.names),
            self._odds(nothing, features.names),
            np.expm1(features.examples),
            features.view,
        )

    def _odds(self, features: Floats, names: Sequence[str]) -> Floats:
        if self.combiner is None:
            return best_surface(features, names).astype(np.float32)
        return self.combiner.score(features).astype(np.float32)

    def with_synonyms(self, labels: LabelSet, most: int) -> LabelSet:
        """Return labels with their surest annotated surfaces as further synonyms, put first.

        Only surfaces that two training documents or more have, so that no document is described
        to a network by words that it alone brought in.
        """
        surfaces = self.view.surfaces.get("annotated")
        if surfaces is None or not most:
            return labels
        found: dict[int, list[tuple[float, int, str]]] = {}
        for surface, group in enumerate(surfaces.groups):
            cells = slice(surfaces.indptr[surface], surfaces.indptr[surface + 1])
            for label, sure, documents in zip(
                surfaces.labels[cells],
                surfaces.strengths[cells],
                surfaces.documents[cells],
                strict=True,
            ):
                if documents >= _LEAST_DOCUMENTS:
                    entry = (-float(sure), -int(documents), " ".join(group))
                    found.setdefault(int(label), []).append(entry)
        more = {i: [words for *_, words in sorted(own)[:most]] for i, own in found.items()}
        known = [
            replace(x, synonyms=tuple(dict.fromkeys((*more.get(i, ()), *x.synonyms))))
            for i, x in enumerate(labels)
        ]
        return replace(labels, labels=tuple(known))

    def save(self, folder: Path) -> None:
        """Write the view and, if there is one, the combiner into a folder."""
        self.view.save(folder)
        if self.combiner is not None:
            write_combiner(folder, self.combiner)

    @classmethod
    def load(cls, folder: Path, spec: LexicalSurfaces, labels: LabelSet) -> "LexicalScorer":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If a file is missing or damaged, or doesn't fit spec and labels.
        """
        view = LexicalView.load(folder, spec, labels)
        return cls(spec, view, read_combiner(folder, input_count(len(view.names))))


def best_surface(features: Floats, names: Sequence[str]) -> NDArray[np.float64]:
    """Return log-odds (...) of a pair's best surface, from features (..., F)."""
    columns = [names.index(name) for name in _SURFACES if name in names]
    found = features[..., columns].max(axis=-1, initial=0.0).astype(np.float64)
    if "overlap_full" in names:
        found = np.maximum(found, -FLOOR * features[..., names.index("overlap_full")])
    return np.asarray(found + FLOOR)

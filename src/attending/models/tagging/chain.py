"""A linear-chain CRF on features of words: trained by CRFsuite, used without it.

What CRFsuite learned is read out of its own file and kept as plain matrices, so that a saved model
holds safetensors and prediction needs neither CRFsuite nor its format.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from attending import registry
from attending.data.tagging.words import Words
from attending.errors import MissingExtra, ModelError
from attending.models.tagging.scores import WordScores
from attending.parts.tagging.chains import Chain
from attending.parts.tagging.crf import FORBIDDEN
from attending.parts.tagging.features import WordWindow
from attending.recipe import Recipe
from attending.records import Coverage, is_blank
from attending.specs import ChainEstimator
from attending.tags import TagSet

WEIGHTS = "model.safetensors"
FEATURES = "features.json"


class ChainScorer:
    """Weights of features, and what follows what.

    Args:
        recipe: How it was made.
        names: The features, F.
        weights: (F, K, C).
        moves: Scores of transitions, (K, C before, C after).
    """

    def __init__(
        self,
        recipe: Recipe,
        names: Sequence[str],
        weights: NDArray[np.float32],
        moves: NDArray[np.float32],
    ) -> None:
        self.features: WordWindow = registry.build(recipe["features"])
        self.names, self.weights, self.moves = list(names), weights, moves
        self._rows = {name: row for row, name in enumerate(self.names)}

    @property
    def chain(self) -> Chain:
        """What follows what; a text may begin and end with any tag."""
        nothing = np.zeros(self.moves.shape[:2])
        return Chain(self.moves.astype(np.float64), nothing, nothing)

    def score(self, texts: Sequence[str], words: Sequence[Words]) -> list[WordScores]:
        """Return the scores of the words of each text."""
        return [self._score(t, w) for t, w in zip(texts, words, strict=True)]

    def _score(self, text: str, words: Words) -> WordScores:
        logits = np.zeros((len(words), *self.weights.shape[1:]))
        if is_blank(text):
            return WordScores(
                np.arange(0), logits[:0], Coverage(0, 0, 0), "empty_text", "empty_text"
            )
        found = self.features([text[a:b] for a, b in words])
        for row, names in enumerate(found):
            known = [r for n in names if (r := self._rows.get(n)) is not None]
            logits[row] = self.weights[known].sum(axis=0)
        read = Coverage(len(words), len(words), 1)
        return WordScores(np.arange(len(words)), logits, read)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors) and the features' names."""
        tensors = {"weights": self.weights, "moves": self.moves}
        save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, folder / WEIGHTS)
        (folder / FEATURES).write_text(json.dumps(self.names), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, recipe: Recipe, tags: TagSet) -> "ChainScorer":
        """Read what ``save`` wrote.

        Raises:
            ModelError: If something is missing or doesn't fit.
        """
        try:
            tensors = load_file(folder / WEIGHTS)
            names = json.loads((folder / FEATURES).read_text(encoding="utf-8"))
            weights, moves = tensors["weights"], tensors["moves"]
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            what = f"the model folder is damaged: {error}"
            raise ModelError(what, where=str(folder)) from error
        if weights.shape != (len(names), *tags.shape) or moves.shape != tags.can_follow.shape:
            raise ModelError(
                "the weights don't fit the recipe",
                where=str(folder),
                found=f"{weights.shape} and {moves.shape}",
            )
        return cls(recipe, names, weights, moves)


class ChainTrainer:
    """Trains one chain a layer with CRFsuite.

    Args:
        spec: Penalties and limits.
        recipe: Whose features are weighed.
        tags: The tags.

    Raises:
        MissingExtra: If CRFsuite isn't installed.
    """

    def __init__(self, spec: ChainEstimator, recipe: Recipe, tags: TagSet) -> None:
        try:
            import pycrfsuite
        except ImportError:
            raise MissingExtra("python-crfsuite", "crf", 'estimator "crf"') from None
        self._library: Any = pycrfsuite
        self.spec, self.recipe, self.tags = spec, recipe, tags
        self.features: WordWindow = registry.build(recipe["features"])

    def fit(
        self, surfaces: Sequence[Sequence[str]], targets: Sequence[NDArray[np.int64]]
    ) -> ChainScorer:
        """Train on the words of texts and their tags, (n, K) each."""
        features = [self.features(words) for words in surfaces]
        learned = [
            self._layer(features, [t[:, layer] for t in targets])
            for layer in range(self.tags.shape[0])
        ]
        names = sorted({name for state, _ in learned for name, _ in state})
        rows = {name: row for row, name in enumerate(names)}
        weights = np.zeros((len(names), *self.tags.shape), dtype=np.float32)
        moves = np.zeros(self.tags.can_follow.shape, dtype=np.float32)
        for layer, (state, transitions) in enumerate(learned):
            for (name, tag), weight in state.items():
                weights[rows[name], layer, int(tag)] = weight
            for (before, after), weight in transitions.items():
                moves[layer, int(before), int(after)] = weight
            seen = np.unique(np.concatenate([t[:, layer] for t in targets]))
            unseen = np.setdiff1d(np.arange(self.tags.shape[1]), seen)
            moves[layer][:, unseen] = FORBIDDEN  # CRFsuite knows no tag that no word has
        return ChainScorer(self.recipe, names, weights, moves)

    def _layer(
        self, features: Sequence[list[list[str]]], targets: Sequence[NDArray[np.int64]]
    ) -> tuple[dict[Any, float], dict[Any, float]]:
        """Train one layer; return weights by (feature, tag) and by (tag before, tag after)."""
        trainer = self._library.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(
            {
                "c1": self.spec.c1,
                "c2": self.spec.c2,
                "max_iterations": self.spec.max_iterations,
                "feature.minfreq": self.spec.min_count,
                "feature.possible_transitions": True,
            }
        )
        for rows, tags in zip(features, targets, strict=True):
            if rows:
                trainer.append(rows, [str(t) for t in tags.tolist()])
        with tempfile.TemporaryDirectory(prefix="attending-") as folder:
            path = str(Path(folder) / "chain")
            trainer.train(path)
            tagger = self._library.Tagger()
            tagger.open(path)
            info = tagger.info()
            state, transitions = dict(info.state_features), dict(info.transitions)
            tagger.close()
        return state, transitions


def build_chain(spec: ChainEstimator, *, recipe: Recipe, tags: TagSet, **_: object) -> ChainTrainer:
    """Build what trains the chain."""
    return ChainTrainer(spec, recipe, tags)

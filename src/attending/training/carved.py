"""What carving rows off does to a threshold, and how that is taken off again.

A row that holds the only example of a label is never carved off, so carved-off rows are easier
than new documents and a threshold that is tuned on them is too high. What words say of a training
row, by a view that had not seen it, is as for a new document; so the words alone tell how much.

Letters: N rows, L labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attending.evaluation.thresholds import Metric, best_threshold
from attending.models.base import keepable
from attending.models.neural import NeuralModel
from attending.parts.decoders import Decision
from attending.parts.lexical import LexicalScores
from attending.parts.lexical_mixture import matches_of
from attending.recipe import Recipe
from attending.records import is_blank
from attending.training.rows import Rows, listens
from attending.training.score import truth_of
from attending.training.settle import MOVED, log_odds, moved

_AT_ONCE = 256


def undo_carving(
    model: Any,
    decision: Decision,
    rows: Rows | None,
    recipe: Recipe,
    seed: int,
    facts: dict[str, Any],
) -> tuple[Decision, str | None]:
    """Return the decision of a neural model with its threshold moved, and a note that says so.

    As it is where the recipe has no words, no tuned threshold, or doesn't ask for it
    (``lexical.tune``), and where no rows were carved off (``rows`` is ``None``). What the model
    held for this is let go.
    """
    held, model.held = model.held, None
    decoder = recipe["decoder"]
    tuned = decoder.kind == "threshold" and decoder.tune != "none"
    wanted = tuned and listens(recipe) and recipe["lexical"].tune == "cross-fitted"
    if rows is None or held is None or not wanted:
        return decision, None
    facts[MOVED] = _effect(model, held, decision, rows, decoder.metric, seed)
    if not facts[MOVED]:
        return decision, None
    found = moved(decision, facts[MOVED])
    return found, (
        f"the threshold is {found.threshold:.2f} in place of {decision.threshold:.2f}, which the "
        "rows carved off chose: none of them has a label's only example, so they are too easy"
    )


def _effect(
    model: NeuralModel,
    held: LexicalScores,
    decision: Decision,
    rows: Rows,
    metric: Metric,
    seed: int,
) -> float:
    """Return the log-odds by which all rows choose another threshold than those carved off.

    Both are the best thresholds of words alone, as the model mixes them in, with the network
    silent: training rows are scored by views that had not seen them, and of more than memory
    allows some are drawn. 0 where either can't be found.
    """
    words = model.words
    if words is None or not rows.development:
        return 0.0
    readable = [i for i, d in enumerate(rows.train) if not is_blank(d.text)]
    some = keepable(readable, len(model.labels), seed)
    trained = _probabilities(model, decision, held, some)
    unseen = [d for d in rows.development if not is_blank(d.text)]
    carved = _probabilities(model, decision, words.scores(unseen), range(len(unseen)))
    own = truth_of([rows.train[i] for i in some], model.labels), truth_of(unseen, model.labels)
    every = best_threshold(np.concatenate([trained, carved]), np.concatenate(own), metric)
    few = best_threshold(carved, own[1], metric)
    if every.reason is not None or few.reason is not None:
        return 0.0
    return log_odds(every.value) - log_odds(few.value)


def _probabilities(
    model: NeuralModel, decision: Decision, scores: LexicalScores, which: Sequence[int]
) -> NDArray[np.float64]:
    """Return what words alone make of some rows, (n, L)."""
    out = np.zeros((len(which), len(model.labels)))
    mixture = model.network.lexical
    assert mixture is not None
    for start in range(0, len(which), _AT_ONCE):
        here = list(which[start : start + _AT_ONCE])
        silent = torch.zeros(len(here), len(model.labels))
        with torch.inference_mode():
            logits = mixture(silent, matches_of(scores, here))
        out[start : start + len(here)] = decision.probabilities(logits.double().numpy())
    return out

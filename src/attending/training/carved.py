"""A threshold that rows carved off chose, and what the words of all training rows say to it.

A row that holds the only example of a label is never carved off, so carved-off rows are easier
than new documents; and where rows are few they are very few: eleven of five hundred choose
anything. What words say of a training row, by a view that had not seen it, is as for a new
document. So words alone tell how many labels a threshold gives, and how many rightly, and the rows
carved off what the network changes in that; see ``steadied_threshold``.

Letters: N rows, L labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attending.evaluation.steadied import steadied_threshold
from attending.evaluation.thresholds import log_odds
from attending.models.base import Scored, keepable
from attending.models.neural import NeuralModel
from attending.parts.decoders import Decision
from attending.parts.lexical import LexicalScores
from attending.parts.lexical_mixture import matches_of
from attending.recipe import Recipe
from attending.records import is_blank
from attending.training.rows import Rows, listens
from attending.training.score import answered_multilabel, truth_of
from attending.training.settle import MOVED, moved

_AT_ONCE = 256


def undo_carving(
    model: Any,
    decision: Decision,
    rows: Rows | None,
    scored: Sequence[Scored],
    recipe: Recipe,
    seed: int,
    facts: dict[str, Any],
) -> tuple[Decision, str | None]:
    """Return the decision of a neural model with its threshold moved, and a note that says so.

    As it is where the recipe has no words, no threshold tuned for micro-F1, or doesn't ask for it
    (``lexical.tune``), and where no rows were carved off (``rows`` is ``None``). ``scored`` are
    the model's scores of those. What the model held for this is let go.
    """
    held, model.held = model.held, None
    decoder = recipe["decoder"]
    tuned = decoder.kind == "threshold" and decoder.tune != "none" and decoder.metric == "micro_f1"
    wanted = tuned and listens(recipe) and recipe["lexical"].tune == "cross-fitted"
    if rows is None or held is None or not wanted:
        return decision, None
    facts[MOVED] = _effect(model, held, decision, rows, scored, seed)
    if not facts[MOVED]:
        return decision, None
    found = moved(decision, facts[MOVED])
    return found, (
        f"the threshold is {found.threshold:.2f} in place of {decision.threshold:.2f}, which the "
        "rows carved off chose: they are few and none of them has a label's only example"
    )


def _effect(
    model: NeuralModel,
    held: LexicalScores,
    decision: Decision,
    rows: Rows,
    scored: Sequence[Scored],
    seed: int,
) -> float:
    """Return the log-odds by which all rows choose another threshold than those carved off.

    Words alone are as the model mixes them in, with the network silent: training rows are scored
    by views that had not seen them, and of more than memory allows some are drawn. 0 where the
    rows carved off can't choose.
    """
    logits, truth = answered_multilabel(scored, rows.development, model.labels)
    if model.words is None or not truth.any():
        return 0.0
    unseen = [d for d, s in zip(rows.development, scored, strict=True) if s.logits is not None]
    readable = [i for i, d in enumerate(rows.train) if not is_blank(d.text)]
    some = keepable(readable, len(model.labels), seed)
    found = steadied_threshold(
        decision.probabilities(logits),
        _probabilities(model, decision, model.words.scores(unseen), range(len(unseen))),
        truth,
        _probabilities(model, decision, held, some),
        truth_of([rows.train[i] for i in some], model.labels),
        seed=seed,
    )
    return log_odds(found) - log_odds(decision.threshold)


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

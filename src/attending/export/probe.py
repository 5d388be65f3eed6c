"""A few inputs with the scores that they got, so that another machine can see if it agrees.

The inputs are token ids drawn at random, no text.
"""

import json
from collections.abc import Sized
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attending.data.windows import Window, Windowed
from attending.errors import ModelError
from attending.export.signature import PROBE
from attending.records import Coverage, Document

if TYPE_CHECKING:
    from attending.export.runtime import ExportedModel

_TEXTS, _TOKENS, _LABELS, _SEED = 3, 48, 200, 2020
_FIRST = 5
"""Lower ids are often special tokens."""
_ALLOWED = 0.05
"""Largest difference of a logit, as a share of the largest logit, or of 1 where that is less.

Processors that agree on integers differ by less than a hundredth of this; overflow moves more.
"""


def write_probe(model: "ExportedModel") -> None:
    """Write the probe of an exported folder."""
    rng = np.random.default_rng(_SEED)
    length = min(_TOKENS, model.signature.limit)
    words = model.windower.tokenizer.words
    texts = rng.integers(min(_FIRST, words - 1), words, (_TEXTS, length)).tolist()
    body = {"ids": texts, "logits": _scores(model, texts).tolist()}
    (model.folder / PROBE).write_text(json.dumps(body) + "\n", encoding="utf-8")


def require_same_scores(model: "ExportedModel") -> None:
    """Make sure that the probe gets the scores that it got where the model was exported.

    Raises:
        ModelError: If it doesn't, or can't be read.
    """
    path = model.folder / PROBE
    if not path.is_file():
        return
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        texts = [[int(i) for i in ids] for ids in body["ids"]]
        expected = np.array(body["logits"], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None
    found = _scores(model, texts)
    if found.shape != expected.shape:
        raise ModelError("is of another graph", where=str(path))
    scale = max(1.0, float(np.abs(expected).max()))
    gap = float(np.abs(found - expected).max()) / scale
    if not gap <= _ALLOWED:
        raise ModelError(
            "this machine scores otherwise than the one that exported the model",
            where=str(model.folder),
            found=f"scores of the probe differ by {gap:.1%}",
            allowed=f"{_ALLOWED:.0%}",
            step="Its processor may lack VNNI instructions: export with --int8 --portable."
            if model.signature.int8
            else "The graph may be damaged: export it again.",
        )


def _scores(model: "ExportedModel", texts: list[list[int]]) -> NDArray[np.float64]:
    """Return logits (N, L) of token ids, of many labels the first."""
    rows = []
    known = len(model.windower.index) if isinstance(model.windower.index, Sized) else 1
    for ids in texts:
        window = Window(tuple(ids), 0, len(ids), before=0)
        windowed = Windowed(
            (window,),
            ((0, 0),) * len(ids),
            Coverage(len(ids), len(ids), 1),
            words=tuple(i % known for i in ids),
        )
        rows.append(model.logits([Document("probe", "")], [windowed])[0, :_LABELS])
    return np.array(rows)

"""A lexical view on disk: words as JSON, numbers as safetensors, nothing pickled."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy import sparse

from attending.errors import ModelError
from attending.parts.lexical.combiner import Combiner
from attending.parts.lexical.overlap import Overlap
from attending.parts.lexical.related import Related
from attending.parts.lexical.surfaces import Surfaces
from attending.records import LabelSet

WORDS, NUMBERS, COMBINER = "lexical.json", "lexical.safetensors", "combiner.safetensors"
Parts = tuple[dict[str, Surfaces], Overlap | None, Related | None, NDArray[np.int64]]
_BAGS = ("overlap", "related")
_PIECES = ("data", "indices", "indptr")


def write_view(
    folder: Path,
    surfaces: dict[str, Surfaces],
    overlap: Overlap | None,
    related: Related | None,
    counts: NDArray[np.int64],
) -> None:
    """Write the parts of a view into a folder."""
    words: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {"counts": counts}
    for source, own in surfaces.items():
        words[source] = {
            "groups": [" ".join(g) for g in own.groups],
            "overlapping": own.overlapping,
        }
        arrays[f"{source}.indptr"] = own.indptr
        arrays[f"{source}.labels"] = own.labels
        arrays[f"{source}.strengths"] = own.strengths
        arrays[f"{source}.documents"] = own.documents
    if overlap is not None:
        words["overlap"] = {"stems": list(overlap.stems), "size": overlap.size}
        arrays["overlap.weights"], arrays["overlap.labels"] = overlap.weights, overlap.labels
        arrays |= {f"overlap.shares.{name}": getattr(overlap.shares, name) for name in _PIECES}
    if related is not None:
        words["related"] = {"stems": list(related.stems)}
        arrays["related.leak"] = related.leak
        arrays |= {f"related.chances.{name}": getattr(related.chances, name) for name in _PIECES}
    (folder / WORDS).write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / NUMBERS)


def read_view(folder: Path, sources: tuple[str, ...], labels: LabelSet) -> Parts:
    """Read the parts of a view.

    Raises:
        ModelError: If a file is missing or damaged, or doesn't fit the sources and labels.
    """
    try:
        words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        arrays = load_file(folder / NUMBERS)
        counts = arrays["counts"]
        known = {s: _surfaces(s, words[s], arrays) for s in sources if s not in _BAGS}
        overlap = _overlap(words["overlap"], arrays) if "overlap" in sources else None
        related = _related(words["related"], arrays) if "related" in sources else None
    except (OSError, KeyError, ValueError, TypeError, SafetensorError) as error:
        what = f"the model folder is damaged: {type(error).__name__} in the lexical view"
        raise ModelError(what, where=str(folder)) from None
    positions = [counts[:0], *(s.labels for s in known.values())]
    positions += [] if overlap is None else [overlap.labels]
    if len(counts) != len(labels) or any((p >= len(labels)).any() for p in positions):
        raise ModelError("the lexical view doesn't fit the labels", where=str(folder))
    return known, overlap, related, counts


def write_combiner(folder: Path, combiner: Combiner) -> None:
    """Write a combiner into a folder."""
    arrays = {k: np.ascontiguousarray(v) for k, v in combiner.arrays().items()}
    save_file(arrays, folder / COMBINER)


def read_combiner(folder: Path, inputs: int) -> Combiner | None:
    """Read the combiner of a folder, ``None`` if there is none; ``inputs`` is its M.

    Raises:
        ModelError: If it is damaged or of other inputs.
    """
    if not (folder / COMBINER).is_file():
        return None
    try:
        combiner = Combiner.of_arrays(load_file(folder / COMBINER))
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        what = f"the model folder is damaged: {type(error).__name__} in {COMBINER}"
        raise ModelError(what, where=str(folder)) from None
    if len(combiner.linear) != inputs:
        raise ModelError("the combiner doesn't fit the features", where=str(folder))
    return combiner


def _surfaces(source: str, words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Surfaces:
    groups = tuple(tuple(g.split(" ")) for g in words["groups"])
    indptr = arrays[f"{source}.indptr"]
    if len(indptr) != len(groups) + 1 or indptr[-1] != len(arrays[f"{source}.labels"]):
        raise ValueError(source)
    return Surfaces(
        groups,
        indptr,
        arrays[f"{source}.labels"],
        arrays[f"{source}.strengths"],
        arrays[f"{source}.documents"],
        words["overlapping"],
    )


def _overlap(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Overlap:
    stems, weights = tuple(words["stems"]), arrays["overlap.weights"]
    pieces = tuple(arrays[f"overlap.shares.{name}"] for name in _PIECES)
    shares = sparse.csr_matrix(pieces, shape=(len(stems), len(weights)))
    return Overlap(stems, shares, weights, arrays["overlap.labels"], words["size"])


def _related(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Related:
    stems, leak = tuple(words["stems"]), arrays["related.leak"]
    pieces = tuple(arrays[f"related.chances.{name}"] for name in _PIECES)
    chances = sparse.csr_matrix(pieces, shape=(len(stems), len(leak)))
    return Related(stems, chances, leak)

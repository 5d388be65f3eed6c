"""What the models of a study look at, and how they see the test documents, drawn system by system.

Source: Figures 4 and 5 of the LESA-BERT paper (Si et al. 2020, section 4.8).
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attending.errors import ModelError
from attending.explain.rows import draw_map, draw_words, explain_rows, pick_examples
from attending.models.base import Model
from attending.models.store import load_model
from attending.outputs import write_text
from attending.records import Document
from attending.study.folders import StudyFolder, plain_name
from attending.study.plan import Cell
from attending.study.train import first_cells

FOLDER = "drawings"
_MADE = "made.json"


def draw_study(home: StudyFolder, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Draw what the study file asks for, unless that is done already; return what was drawn now.

    All systems of a corpus show the same documents: those that the reference, or else the first
    system with evidence, gives one a label of. Systems without evidence (or without document
    vectors) have no such picture. ``progress`` is told which system is drawn.
    """
    drawn: list[Path] = []
    if not home.study.head.pictures:
        return drawn
    for corpus in home.study.corpora:
        cells = first_cells(home, corpus)
        folder = home.path / FOLDER / plain_name(corpus)
        key = _key(home, cells)
        if not cells or _is_drawn(folder, key):
            continue
        drawn += _draw(home, corpus, _reference_first(home, cells), folder, progress)
        write_text(folder / _MADE, json.dumps({"digest": key}) + "\n", force=True)
    return drawn


def _reference_first(home: StudyFolder, cells: Mapping[str, Cell]) -> dict[str, Cell]:
    reference = home.study.head.reference
    return dict(sorted(cells.items(), key=lambda item: item[0] != reference))


def _draw(
    home: StudyFolder,
    corpus: str,
    cells: Mapping[str, Cell],
    folder: Path,
    progress: Callable[[str], None] | None,
) -> list[Path]:
    wanted, drawn = home.study.head.pictures, []
    folder.mkdir(parents=True, exist_ok=True)
    shown: Sequence[Document] | None = None
    for name, cell in cells.items():
        if progress is not None:
            progress(name)
        model = load_model(home.cell(cell).model)
        test = home.study.corpora[corpus].parts(cell.seed, cell.fold).test
        if "words" in wanted and model.methods:
            if shown is None:
                shown = [test[i] for i in pick_examples(model, test)]
            path = folder / f"{plain_name(name)}-words.png"
            draw_words(path, explain_rows(model, shown), model, force=True)
            drawn.append(path)
        if "map" in wanted:
            drawn += _map(folder / f"{plain_name(name)}-map.png", model, test)
    return drawn


def _map(path: Path, model: Model, test: Sequence[Document]) -> list[Path]:
    """Draw a map, of a model that has document vectors."""
    try:
        draw_map(path, model, test, force=True)
    except ModelError:
        return []
    return [path]


def _key(home: StudyFolder, cells: Mapping[str, Cell]) -> str:
    parts = [*home.study.head.pictures, *(home.digest(cell) for cell in cells.values())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_drawn(folder: Path, key: str) -> bool:
    try:
        found = json.loads((folder / _MADE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("digest") == key

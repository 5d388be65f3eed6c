"""What the models of a study look at, and how they see the test documents, drawn system by system.

Source: Figures 4 and 5 of the LESA-BERT paper (Si et al. 2020, section 4.8).
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attending.errors import DataError, ModelError
from attending.explain.rows import draw_map, draw_words, explain_rows, pick_examples
from attending.models.base import Model
from attending.models.store import load_model
from attending.outputs import write_text
from attending.records import Document
from attending.study.folders import StudyFolder, plain_name, read_if_whole
from attending.study.plan import Cell
from attending.study.train import first_cells

FOLDER = "drawings"
_MADE = "made.json"


def draw_study(home: StudyFolder, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Draw what the study file asks for, unless that is done already; return what was drawn now.

    The systems of a corpus show the same documents: one a label, chosen by the answers of the
    reference, or else of the first system with evidence. One that may have learned from them, as
    another seed's split can bring about, shows documents of its own test part. What can't be drawn
    is left out: words of systems without evidence, maps of those without document vectors or of
    too few documents. ``progress`` is told which system is drawn.
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
            own = shown
            if own is None or not {d.id for d in own} <= {d.id for d in test}:
                own = [test[i] for i in pick_examples(model, test)]
            shown = shown or own
            path = folder / f"{plain_name(name)}-words.png"
            drawn += _drawn(path, partial(_words, path, model, own))
        if "map" in wanted:
            path = folder / f"{plain_name(name)}-map.png"
            drawn += _drawn(path, partial(draw_map, path, model, test, force=True))
    return drawn


def _words(path: Path, model: Model, rows: Sequence[Document]) -> None:
    draw_words(path, explain_rows(model, rows), model, force=True)


def _drawn(path: Path, draw: Callable[[], None]) -> list[Path]:
    """Draw a picture, if it can be drawn; returns it, or nothing."""
    try:
        draw()
    except (DataError, ModelError):
        return []
    return [path]


def _key(home: StudyFolder, cells: Mapping[str, Cell]) -> str:
    head = home.study.head
    parts = [*head.pictures, str(head.reference), *(home.digest(cell) for cell in cells.values())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_drawn(folder: Path, key: str) -> bool:
    return read_if_whole(folder / _MADE).get("digest") == key

"""Where a student's teachers and rows are, and which rows it must not see."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.origin import Holdout, Origin, as_trained
from attending.cli.rows import tell_reading
from attending.cli.seeds import seed_folders
from attending.cli.training_data import HoldoutWish, TrainingData
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.records import Document


def places(words: Sequence[str]) -> tuple[list[Path], str]:
    """Return the folders of the teachers and the file of the rows.

    Raises:
        DataError: If one of them is missing.
    """
    if len(words) < 2:
        raise DataError(
            "a teacher and a file of rows are needed",
            found=f'only "{words[0]}"',
            step="Run: attending distil MODEL FILE --layers K --out DIR.",
        )
    *models, file = words
    several = (seed_folders(Path(model)) or [Path(model)] for model in models)
    return [folder for folders in several for folder in folders], file


def held_out(folders: Sequence[Path], file: str, loaded: "Corpus", encoding: str) -> HoldoutWish:
    """Return what is to be held out: what the teachers' trainings on this file held out.

    Raises:
        DataError: If teachers held out different rows, or the file is read in another way than
            for the teachers, so that these rows can't be found.
    """
    found: dict[Holdout | None, Path] = {}
    for folder in folders:
        origin = Origin.read(folder)
        if origin is None or as_trained(file, loaded, origin, encoding) is None:
            continue
        if origin.holdout is not None and not origin.is_of(loaded):
            raise DataError(
                "the teacher was trained on these rows, read in another way, and held some out",
                where=str(folder),
                found=", ".join(f'{k} "{v}"' for k, v in origin.columns.items()),
                step="Name the same columns and conditions as for the teacher.",
            )
        found[origin.holdout] = folder
    if len(found) > 1:
        raise DataError(
            "the teachers held out different rows, so each learned from what another held out",
            where=", ".join(map(str, found.values())),
            step="Train them with the same --holdout, --split-by and --split-seed.",
        )
    held = next(iter(found), None)
    if held is None:
        return HoldoutWish(None, "label", 0, None)
    share = None if held.groups is not None else held.share
    return HoldoutWish(share, held.by, held.seed, held.groups)


def transfer_texts(
    screen: Screen,
    files: Sequence[str],
    columns: Columns,
    loaded: "Corpus",
    data: TrainingData,
) -> list["Document"]:
    """Read texts without labels; those that are held out of the training file are left out."""
    from attending.data.folding import text_key

    held = data.origin.holdout
    kept_out = {text_key(loaded.documents[i].text) for i in (held.positions if held else ())}
    found = []
    for file in files:
        reader = Columns(text=columns.text, label="", id=columns.id, encoding=columns.encoding)
        corpus = reader.load(file)
        tell_reading(screen, corpus)
        found += list(corpus)
    kept = [d for d in found if text_key(d.text) not in kept_out]
    if len(kept) < len(found):
        count = f"{len(found) - len(kept):,} transfer rows"
        screen.tell("note", f"{count} with a text that is held out: left out")
    return kept

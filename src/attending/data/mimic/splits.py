"""Published splits of MIMIC: lists of admissions that the user brings."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attending.data.columns import listing
from attending.data.files import decode, read_bytes
from attending.data.readers import cell_text, read_table
from attending.data.wording import some
from attending.errors import DataError
from attending.records import Document

PARTS = ("train", "dev", "test")
_NAMES = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "test": "test"}
_IDS = ("hadm_id", "_id", "id")


@dataclass(frozen=True)
class Parted:
    """Documents by part, and what to know: ids of no document, documents of no part."""

    parts: Mapping[str, tuple[Document, ...]]
    notes: tuple[str, ...]


def read_splits(path: str | Path, name: str | None = None) -> dict[str, str]:
    """Read which part each admission belongs to; returns id -> train, dev or test.

    Two forms are read: a folder with one list of ids for each part, the part's name first
    (``train_full_hadm_ids.csv``, ``dev_50_hadm_ids.csv``, ``test.txt``; ``name`` is the word after
    it where a folder holds several), and a table (CSV, TSV, JSON lines, Parquet) with a column of
    ids (``hadm_id``, ``_id`` or ``id``) and one called ``split``.

    Raises:
        DataError: If a list is missing, is not of ids, or an id is in two parts.
    """
    path = Path(path)
    pairs = _from_lists(path, name) if path.is_dir() else _from_table(path)
    found: dict[str, str] = {}
    twice = [i for i, part in pairs if found.setdefault(i, part) != part]
    if twice:
        raise DataError(
            f"{len(set(twice))} admissions are in two parts",
            where=str(path),
            found=some(sorted(set(twice))),
            step="A document may be in one part only.",
        )
    return found


def part(documents: Sequence[Document], parts: Mapping[str, str]) -> Parted:
    """Sort documents into parts; each gets the attribute ``split``.

    Raises:
        DataError: If no document is in the lists.
    """
    known = {d.id for d in documents}
    unknown = [i for i in parts if i not in known]
    if len(unknown) == len(parts):
        raise DataError(
            "no admission of the lists has a document",
            found=f"{len(parts)} ids",
            step="Are the lists of this release?",
        )
    made: dict[str, list[Document]] = {name: [] for name in PARTS}
    for d in documents:
        if d.id in parts:
            own = parts[d.id]
            made[own].append(replace(d, attributes={**d.attributes, "split": own}))
    notes = []
    if unknown:
        notes.append(f"ids of the lists without a document: {len(unknown):,} ({some(unknown)})")
    left = len(documents) - sum(map(len, made.values()))
    if left:
        notes.append(f"documents in no list, left out: {left:,}")
    return Parted({name: tuple(own) for name, own in made.items() if own}, tuple(notes))


def most_frequent(
    documents: Sequence[Document], training: Sequence[Document], most: int
) -> tuple[list[Document], int]:
    """Keep the codes that most training documents have; returns documents and how many fell out.

    Equal counts are ordered by code. A document without any of them falls out, as in the
    published sets of the 50 most frequent codes. Deviation: those were counted over all parts.
    """
    counts = Counter(code for d in training for code in d.labels or ())
    kept = {c for c, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]}
    found = []
    for d in documents:
        own = tuple(c for c in d.labels or () if c in kept)
        if own:
            found.append(replace(d, labels=own))
    return found, len(documents) - len(found)


def _from_lists(folder: Path, name: str | None) -> list[tuple[str, str]]:
    lists: dict[str, list[Path]] = {p: [] for p in PARTS}
    for file in sorted(folder.iterdir()):
        words = re.split(r"[_.\-]", file.name.lower())
        own = _NAMES.get(words[0])
        if file.is_file() and own and (name is None or name.lower() in words[1:]):
            lists[own].append(file)
    pairs = []
    for own, files in lists.items():
        if len(files) != 1:
            raise DataError(
                f"there must be one list of ids for {own}",
                where=str(folder),
                found=listing(tuple(f.name for f in files)) if files else "none",
                allowed=f"{own}_NAME_hadm_ids.csv",
                step="Several sets in one folder? Say which with --set, as in --set full.",
            )
        text = decode(read_bytes(files[0]), files[0].name, "utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            cell = line.strip().strip('"').removesuffix(".0")
            if number == 1 and cell.lower() in _IDS:
                continue
            if cell and not cell.isdigit():
                raise DataError(
                    "is no id of an admission",
                    where=f"{files[0]} line {number}",
                    allowed="one number a line",
                )
            pairs += [(cell, own)] if cell else []
    return pairs


def _from_table(path: Path) -> list[tuple[str, str]]:
    table = read_table(path)
    alike = {c.strip().lower(): c for c in table.columns}
    id_ = next((alike[x] for x in _IDS if x in alike), None)
    if id_ is None or "split" not in alike:
        raise DataError(
            "a table of parts needs a column of ids and one called split",
            where=table.file,
            found=listing(table.columns),
            allowed=f"{', '.join(_IDS)}; split",
        )
    pairs = []
    for row in table.rows:
        cells = row.cells or {}
        own = _NAMES.get((cell_text(cells.get(alike["split"])) or "").strip().lower())
        key = (cell_text(cells.get(id_)) or "").strip().removesuffix(".0")
        if own and key:
            pairs.append((key, own))
    return pairs

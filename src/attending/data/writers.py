"""Writers of documents and predictions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from attending.data.label_cells import LabelCells
from attending.data.libmultilabel import FORMAT, write_libmultilabel
from attending.data.readers import cell_text, finite, kind_of
from attending.data.separated import write_separated
from attending.errors import DataError, MissingExtra, OutputError
from attending.outputs import new_file
from attending.records import Document, LabelSet, Prediction

_ROLES = ("id", "text", "label", "group", "date", "spans")


def write_documents(
    documents: Iterable[Document],
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    label_separator: str | None = None,
    format: Literal["libmultilabel"] | None = None,
    force: bool = False,
) -> None:
    """Write documents as CSV, TSV, JSON lines (each also ``.gz``) or Parquet, by suffix.

    What is written comes back the same when these columns and the separator are named, except
    that CSV and TSV hold attributes as strings and that NaN and infinite numbers become null (CSV,
    TSV: an empty cell; Parquet keeps them). Several labels are written as a JSON list, or with
    a separator in between; none at all is ``[]``; an unlabelled document has an empty cell (JSON
    lines, Parquet: null).

    Args:
        documents: What to write.
        path: Where to.
        columns: Role -> column name, such as ``Corpus.columns``; the role's name otherwise.
        label_separator: What to write between labels; in JSON lines they stay lists.
        format: ``libmultilabel`` writes ids, labels and texts in that library's form, under any
            name; see ``attending.data.libmultilabel`` for what it can't hold.
        force: Write over an existing file.

    Raises:
        OutputError: If the file exists, can't be written, or an attribute has the name of
            another column.
        DataError: If the suffix is unknown, a label holds the separator, or the format can't hold
            the labels.
        MissingExtra: If it is Parquet and ``pyarrow`` is not installed.
    """
    path = Path(path)
    if format is not None:
        if format != FORMAT:
            raise DataError(f'there is no format "{format}"', allowed=FORMAT)
        with new_file(path, force=force) as file:
            write_libmultilabel(documents, file)
        return
    kind = kind_of(path)
    label_cells = LabelCells(None if kind == "jsonl" else label_separator)
    rows = list(documents)
    names = {role: (columns or {}).get(role, role) for role in _ROLES}
    used = _used_roles(rows)
    attributes = list(dict.fromkeys(key for d in rows for key in d.attributes))
    for key in attributes:
        if key in (names[role] for role in used):
            raise OutputError(
                f'an attribute is called "{key}" like a column of the documents',
                where=str(path),
                step="Name the columns with columns={...} or rename the attribute.",
            )
    cells = [_cells(d, names, used, label_cells) for d in rows]
    # One column may be the id and the group.
    header = list(dict.fromkeys([*(names[role] for role in used), *attributes]))
    with new_file(path, force=force) as file:
        if kind == "jsonl":
            _write_lines(map(finite, cells), file)
        elif kind == "parquet":
            _write_parquet(cells, header, [names[role] for role in used], file)
        else:
            flat = ([_flat(row.get(name)) for name in header] for row in cells)
            write_separated(chain([header], flat), file, "\t" if kind == "tsv" else ",")


def _used_roles(rows: Sequence[Document]) -> list[str]:
    used = {
        "label": any(d.labels is not None for d in rows),
        "group": any(d.group is not None for d in rows),
        "date": any(d.when is not None for d in rows),
        "spans": any(d.spans for d in rows),
    }
    return [role for role in _ROLES if used.get(role, True)]


def _cells(
    d: Document, names: Mapping[str, str], used: Sequence[str], label_cells: LabelCells
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": d.id,
        "text": d.text,
        "label": label_cells.write(d.labels),
        "group": d.group,
        "date": None if d.when is None else d.when.isoformat(),
        "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in d.spans],
    }
    return {**{names[role]: values[role] for role in used}, **d.attributes}


def _flat(value: Any) -> str:
    return cell_text(finite(value)) or ""


def _write_lines(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> None:
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=str, allow_nan=False)
        file.write(line.encode("utf-8") + b"\n")


def _write_parquet(
    rows: Sequence[Mapping[str, Any]], header: Sequence[str], roles: Sequence[str], file: BinaryIO
) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "Writing Parquet") from None
    columns: dict[str, Any] = {}
    for name in header:
        values = [row.get(name) for row in rows]
        if name in roles:
            columns[name] = pyarrow.array([cell_text(v) for v in values], pyarrow.string())
            continue
        try:
            columns[name] = pyarrow.array(values)
        except pyarrow.ArrowException:
            # Values of several kinds have no Parquet type; as strings they are all kept.
            columns[name] = pyarrow.array([cell_text(v) for v in values], pyarrow.string())
    parquet.write_table(pyarrow.table(columns), file)


def write_predictions(
    predictions: Iterable[Prediction],
    path: str | Path,
    format: Literal["jsonl", "csv"] | None = None,
    *,
    labels: LabelSet | None = None,
    force: bool = False,
) -> None:
    """Write predictions in the order given, one row each.

    JSON lines hold ``Prediction.to_dict()``. CSV holds id, status, label (several joined by
    ``|``), score (of the first label), abstained, tokens, of, windows, reason, and a column
    ``score:LABEL`` for every label id.

    Args:
        predictions: What to write; JSON lines are written as they come.
        path: Where to; ``.gz`` is compressed.
        format: ``jsonl`` or ``csv``; by the suffix where it is left out.
        labels: Order of the score columns; by first appearance where it is left out.
        force: Write over an existing file.

    Raises:
        OutputError: If the file exists or can't be written.
        DataError: If there is no such format.
    """
    path = Path(path)
    kind = format or kind_of(path)
    if kind not in ("jsonl", "csv"):
        raise DataError("no such format of predictions", found=kind, allowed="jsonl, csv")
    with new_file(path, force=force) as file:
        if kind == "jsonl":
            _write_lines((p.to_dict() for p in predictions), file)
            return
        rows = list(predictions)
        ids = labels.ids if labels else tuple(dict.fromkeys(x for p in rows for x in p.scores))
        header = [*_PREDICTION, *(f"score:{x}" for x in ids)]
        cells = (_prediction_cells(p, ids) for p in rows)
        write_separated(chain([header], cells), file, ",")


_PREDICTION = (
    "id", "status", "label", "score", "abstained", "tokens", "of", "windows", "reason",
)  # fmt: skip


def _prediction_cells(p: Prediction, ids: Sequence[str]) -> list[str]:
    best = p.scores.get(p.labels[0]) if p.labels else None
    return [
        p.id, p.status, "|".join(p.labels), _flat(best), _flat(p.abstained),
        str(p.read.tokens), str(p.read.of), str(p.read.windows), p.reason or "",
        *(_flat(p.scores.get(x)) for x in ids),
    ]  # fmt: skip

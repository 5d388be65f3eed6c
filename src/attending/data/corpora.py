"""A corpus: documents in file order, with every row that could not become one."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, Literal

from attending.data.columns import SPANS, find_columns, find_named, quoted
from attending.data.fhir.loading import fhir_files, fhir_stream, load_rows
from attending.data.fhir.rows import COLUMNS as FHIR_COLUMNS
from attending.data.files import decode, read_bytes
from attending.data.label_cells import EmptyCells, LabelCells
from attending.data.libmultilabel import FORMAT, read_libmultilabel
from attending.data.readers import cell_text, read_table, read_table_bytes
from attending.data.rows import Notes, RowReader
from attending.data.tables import Table, TableRow
from attending.data.wording import plural, some
from attending.errors import DataError
from attending.records import Document, Row, Unreadable

BUNDLED = "portal"
"""Name of the corpus that comes with the package."""


@dataclass(frozen=True)
class Corpus:
    """Documents and unreadable rows, in file order.

    Args:
        rows: A ``Document`` or an ``Unreadable`` for every row of the files.
        name: What to call the corpus in reports.
        notes: What a person should know of how it was read; counts and lines, never text.
        columns: Role (``text``, ``label``, ``id``, ``group``, ``date``, ``spans`` if named) ->
            column of the file.
    """

    rows: tuple[Row, ...]
    name: str = "corpus"
    notes: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The rows that could be read."""
        return tuple(row for row in self.rows if isinstance(row, Document))

    @cached_property
    def problems(self) -> tuple[Unreadable, ...]:
        """The rows that could not be read, by line."""
        return tuple(row for row in self.rows if isinstance(row, Unreadable))

    @property
    def labelled(self) -> bool:
        """Whether there are documents and every one has labels (``()`` counts, ``None`` not)."""
        return bool(self.documents) and all(d.labels is not None for d in self.documents)

    @cached_property
    def multi_label(self) -> bool:
        """Whether some document is labelled with several labels, or with none."""
        return any(d.labels is not None and len(d.labels) != 1 for d in self.documents)

    @cached_property
    def label_counts(self) -> dict[str, int]:
        """How many documents carry each label, by sorted label id."""
        counts = Counter(label for d in self.documents for label in d.labels or ())
        return dict(sorted(counts.items()))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over id, text and labels of all documents in order."""
        digest = hashlib.sha256()
        for d in self.documents:
            row = [d.id, d.text, None if d.labels is None else list(d.labels)]
            line = json.dumps(row, ensure_ascii=False) + "\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def subset(self, selection: Iterable[int] | Iterable[str], name: str | None = None) -> "Corpus":
        """Return the chosen documents, in the order given.

        Args:
            selection: Positions among ``documents``, or ids (an id that several documents share
                gives all of them).
            name: Name of the part; this corpus' name where it is left out.

        Raises:
            DataError: If a position or an id isn't there.
        """
        chosen: list[Document] = []
        for key in selection:
            found = self._by_id.get(key, ()) if isinstance(key, str) else self._at(key)
            if not found:
                raise DataError(
                    f"there is no document {key!r}",
                    where=f'corpus "{self.name}"',
                    allowed=f"positions 0 to {len(self) - 1}, or ids",
                )
            chosen += found
        return self.with_documents(chosen, name)

    def _at(self, position: int) -> tuple[Document, ...]:
        return (self.documents[position],) if 0 <= position < len(self) else ()

    @cached_property
    def _by_id(self) -> dict[str, list[Document]]:
        found: dict[str, list[Document]] = {}
        for d in self.documents:
            found.setdefault(d.id, []).append(d)
        return found

    def select(self, where: Mapping[str, str], name: str | None = None) -> "Corpus":
        """Return the documents whose attributes have these values, such as ``{"split": "dev"}``.

        Args:
            where: Attribute, or the column of the group -> value; all must hold.
            name: The new corpus's name; the values joined by ``-`` if left out.

        Raises:
            DataError: If no document has such an attribute, or none has the value.
        """
        kept = list(self.documents)
        for column, value in where.items():
            values = [self._value(d, column) for d in kept]
            if kept and all(v is None for v in values):
                known = sorted({key for d in self.documents for key in d.attributes})
                raise DataError(
                    f'no document has an attribute "{column}"',
                    where=f'corpus "{self.name}"',
                    found=f"the attributes {quoted(known)}" if known else "no attributes",
                )
            kept = [d for d, v in zip(kept, values, strict=True) if v == value.strip()]
        if not kept:
            raise DataError(f"no document has {_condition(where)}", where=f'corpus "{self.name}"')
        return self.with_documents(kept, "-".join(where.values()) if name is None else name)

    def parts(self, column: str) -> dict[str, "Corpus"]:
        """Return the parts of a corpus by a column's values, in the order of their first rows.

        Raises:
            DataError: If no document has such an attribute.
        """
        values = dict.fromkeys(v for d in self.documents if (v := self._value(d, column)))
        return {v: self.select({column: v}) for v in values or [""]}

    def _value(self, document: Document, column: str) -> str | None:
        if column == self.columns.get("group", "group") and column not in document.attributes:
            return document.group
        value = cell_text(document.attributes.get(column))
        return None if value is None else value.strip()

    def with_documents(self, documents: Iterable[Document], name: str | None = None) -> "Corpus":
        """Return a corpus of other documents, without unreadable rows, with the same notes."""
        return replace(self, rows=tuple(documents), name=self.name if name is None else name)


def load_corpus(
    source: str | Path | Sequence[Path] | BinaryIO,
    *,
    text: str | None = None,
    label: str | None = None,
    id: str | None = None,
    group: str | None = None,
    date: str | None = None,
    where: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    label_separator: str | None = None,
    empty_labels: EmptyCells = "unlabelled",
    spans: str | None = None,
    format: Literal["libmultilabel", "fhir"] | None = None,
    strict: bool = False,
    zone: str | None = None,
) -> Corpus:
    """Read documents from a file, from several files in turn, or the bundled ``portal``.

    Columns that aren't named are found by their usual names; every other column becomes an
    attribute. Text is taken as it is. White space around labels and groups is removed and
    counted. A row without a usable text stays in the corpus as ``Unreadable``.

    FHIR messages (a resource, a Bundle, NDJSON) are told by their content; their fields become
    attributes, and no column needs to be named. See ``attending.data.fhir``.

    Args:
        source: ``"portal"``, or CSV, TSV, JSON lines (each also ``.gz``) or Parquet, or an open
            binary file of JSON lines, such as ``sys.stdin.buffer``.
        text: Column of the text.
        label: Column of the label; ``""`` reads no label. A JSON list holds several labels,
            ``[]`` none.
        id: Column of the id; without one, documents are called ``row-1``, ``row-2`` and so on.
        group: Column of the person or place that several documents share.
        date: Column of the date, in ISO 8601.
        where: Column -> value; only rows with these values are kept, and the count is noted.
        encoding: How the files' characters are stored.
        separator: Character between cells, where it is not the usual one.
        label_separator: What stands between the labels of a cell, such as ``;``; a blank stands
            for any white space. Without one, a cell that is no JSON list is one label.
        empty_labels: Whether an empty label cell means ``unlabelled`` or labelled with ``none``.
        spans: Column of annotated spans, in one of the shapes of ``attending.data.annotations``.
            Those outside the text or with other words than stand there are left out and counted.
            Without it, ``spans`` or ``evidence`` is read if it holds objects with start and end.
        format: ``libmultilabel`` for that library's files without header, whatever their name;
            ``fhir`` for FHIR that isn't recognised.
        strict: Raise on the first unreadable row instead of keeping it.
        zone: FHIR only: zone of times that name none, such as ``Europe/Berlin``.

    Raises:
        DataError: If a file or a column can't be used, or nothing is left.
    """
    named = {"text": text, "label": label, "id": id, "group": group, "date": date, SPANS: spans}
    if format is not None and label_separator is None:
        label_separator = " "
    cells = LabelCells(label_separator, empty_labels)
    manner: Any = {"strict": strict, "zone": zone}
    if source == BUNDLED:
        tables, name = [bundled_table()], BUNDLED
    elif hasattr(source, "read"):
        name = str(getattr(source, "name", "input")).strip("<>")
        data, is_fhir = fhir_stream(source.read(), format)
        if is_fhir:
            read = load_rows([(name, data)], named, where or {}, encoding=encoding, **manner)
            return _of_fhir(*read, name, label)
        tables = [read_table_bytes(data, name, "jsonl", encoding)]
    else:
        paths = [Path(source)] if isinstance(source, str | Path) else [Path(p) for p in source]
        if not paths:
            raise DataError("no file was named", step="Name a file of documents.")
        name = "+".join(_stem(p) for p in paths)
        if fhir_files(paths, format):
            files = [(p.name, p) for p in paths]
            read = load_rows(files, named, where or {}, encoding=encoding, **manner)
            return _of_fhir(*read, name, label)
        tables = [_table(p, encoding, separator, format) for p in paths]
    corpus = _assemble(tables, name, named, where or {}, cells, strict)
    return _with_writers(corpus) if source == BUNDLED else corpus


def _of_fhir(rows: Sequence[Row], notes: Sequence[str], name: str, label: str | None) -> Corpus:
    columns = {**FHIR_COLUMNS, **({"label": label} if label else {})}
    return Corpus(tuple(rows), name, (*notes, *_repeated_ids(rows)), columns)


def _table(path: Path, encoding: str, separator: str | None, format: str | None) -> Table:
    if format is None:
        return read_table(path, encoding=encoding, separator=separator)
    if format != FORMAT:
        raise DataError(f'there is no format "{format}"', allowed=f"{FORMAT}, fhir")
    return read_libmultilabel(decode(read_bytes(path), path.name, encoding), path.name)


def _with_writers(corpus: Corpus) -> Corpus:
    """Keep the writer of a bundled message among its attributes too, for tables by writer."""
    rows = [
        replace(row, attributes={**row.attributes, "writer": row.group})
        if isinstance(row, Document) and corpus.columns.get("group") == "writer"
        else row
        for row in corpus.rows
    ]
    return replace(corpus, rows=tuple(rows))


def bundled_table() -> Table:
    """Return the rows of the bundled corpus."""
    file = resources.files("attending.data").joinpath("portal", "portal.jsonl")
    return read_table_bytes(file.read_bytes(), "portal.jsonl", "jsonl")


def _stem(path: Path) -> str:
    stem = path.stem if path.suffix.lower() == ".gz" else path.name
    return Path(stem).stem


def _assemble(
    tables: Sequence[Table],
    name: str,
    named: Mapping[str, str | None],
    where: Mapping[str, str],
    cells: LabelCells,
    strict: bool,
) -> Corpus:
    rows: list[Row] = []
    remarks: list[str] = []
    columns: dict[str, str] = {}
    read = 0
    for table in tables:
        roles, chosen_notes = find_columns(table.columns, table.file, named)
        kept = _filtered(table, where, roles["text"])
        notes = Notes(table.file)
        reader = RowReader(table.file, roles, named, notes, cells)
        rows += [reader.row(row, read + ordinal) for ordinal, row in kept]
        read += len(table.rows)
        remarks += [*table.notes, *chosen_notes, *reader.finish()]
        if where:
            met = sum(row.cells is not None for _, row in kept)
            remarks.append(_where_note(table, where, met))
        columns = {**roles, **columns}
    if not rows:
        raise DataError("there are no rows", where=tables[-1].file, found="column names only")
    if strict:
        _raise_first(rows)
    remarks += _repeated_ids(rows)
    return Corpus(tuple(rows), name, tuple(remarks), columns)


def _filtered(table: Table, where: Mapping[str, str], text: str) -> list[tuple[int, TableRow]]:
    """Return (ordinal, row) of the rows that have the wanted values; unreadable ones are kept."""
    wanted = {
        find_named(column, table.columns, table.file, "as a condition"): value.strip()
        for column, value in where.items()
    }
    kept = [
        (ordinal, row)
        for ordinal, row in enumerate(table.rows, start=1)
        if row.cells is None
        or all((cell_text(row.cells.get(c)) or "").strip() == v for c, v in wanted.items())
    ]
    if table.rows and wanted and not any(row.cells is not None for _, row in kept):
        raise DataError(
            f"no row has {_condition(where)}",
            where=table.file,
            found="; ".join(_values(table, c) for c in wanted if c != text) or None,
        )
    return kept


def _values(table: Table, column: str) -> str:
    """Return the values of a column for an error: few and short ones, else their number."""
    values = sorted({cell_text(r.cells.get(column)) or "" for r in table.rows if r.cells})
    if len(values) <= 12 and all(len(v) <= 30 for v in values):
        return f'the values {quoted(values)} of "{column}"'
    return f'{plural(len(values), "value")} of "{column}"'


def _condition(where: Mapping[str, str]) -> str:
    return " and ".join(f'{column} = "{value}"' for column, value in where.items())


def _where_note(table: Table, where: Mapping[str, str], kept: int) -> str:
    return f"{table.file}: {kept:,} of {plural(len(table.rows), 'row')} have {_condition(where)}"


def _raise_first(rows: Sequence[Row]) -> None:
    for row in rows:
        if isinstance(row, Unreadable):
            raise DataError(f"the row can't be read: {row.reason}", where=str(row.source))


def _repeated_ids(rows: Sequence[Row]) -> list[str]:
    """Note ids that occur more than once: they stay as they are, since they are the user's."""
    seen: dict[str, list[Row]] = {}
    for row in rows:
        seen.setdefault(row.id, []).append(row)
    repeated = [same for same in seen.values() if len(same) > 1]
    if not repeated:
        return []
    places = [row.source for same in repeated for row in same[1:] if row.source]
    file = places[0].file if places else "corpus"
    total = sum(len(same) for same in repeated)
    lines = some([p.line for p in places])
    again = f"again on {'line' if len(places) == 1 else 'lines'} {lines}"
    return [
        f"{file}: {plural(len(repeated), 'id')} {'occurs' if len(repeated) == 1 else 'occur'} more"
        f" than once ({total:,} rows; {again}); all are kept"
    ]

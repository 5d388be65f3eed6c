"""LibMultiLabel's text files: no header, ``[id TAB] labels TAB text``, labels set apart by blanks.

The first line settles how many columns there are, since the id is optional: with one tab two,
with more three. In every line, all that follows the last column's tab is text, tabs included.
Format: LibMultiLabel documentation, "Data Format for Neural Networks".
"""

import re
from collections.abc import Iterable
from typing import BinaryIO

from attending.data.tables import Table, TableRow
from attending.data.wording import plural
from attending.errors import DataError
from attending.records import Document

FORMAT = "libmultilabel"
COLUMNS = ("id", "labels", "text")
_BREAK = re.compile(r"[\r\n]")


def read_libmultilabel(text: str, file: str) -> Table:
    """Read the content of such a file; quotation marks mean nothing in it.

    Raises:
        DataError: If the file is empty, or its first line has no tab.
    """
    lines = [(n, line.removesuffix("\r")) for n, line in enumerate(text.split("\n"), start=1)]
    filled = [(n, line) for n, line in lines if line.strip()]
    if not filled:
        raise DataError("the file is empty", where=file)
    tabs = filled[0][1].count("\t")
    if not tabs:
        raise DataError(
            "the first line has no tab, so this is no LibMultiLabel file",
            where=f"{file} line {filled[0][0]}",
            allowed="labels, a tab and the text; or id, labels and text",
        )
    columns = COLUMNS[1:] if tabs == 1 else COLUMNS
    notes = [f"{file}: {len(columns)} columns by its first line: {', '.join(columns)}"]
    skipped = filled[-1][0] - len(filled)
    if skipped:
        notes.append(f"{file}: {plural(skipped, 'blank line')} skipped")
    rows = [_row(n, line, columns) for n, line in filled]
    return Table(file, columns, tuple(rows), tuple(notes))


def _row(number: int, line: str, columns: tuple[str, ...]) -> TableRow:
    cells = line.split("\t", len(columns) - 1)
    if len(cells) < len(columns):
        found = plural(len(cells), "column")
        return TableRow(number, None, f"{found}, expected {len(columns)} as on the first line")
    return TableRow(number, dict(zip(columns, cells, strict=True)))


def write_libmultilabel(documents: Iterable[Document], file: BinaryIO) -> None:
    """Write documents as id, labels and text.

    The format has no place for a line break: each of its characters becomes one blank, so that
    offsets stay. Groups, dates, spans and attributes are left out.

    Raises:
        DataError: If an id holds a tab or line break, a label holds white space, or some
            documents are unlabelled while others are labelled with none: both have no labels here.
    """
    rows = list(documents)
    if any(d.labels is None for d in rows) and any(d.labels == () for d in rows):
        raise DataError(
            "unlabelled documents and documents labelled with none would look the same",
            found="both",
            step="Write JSON lines, or leave one kind out.",
        )
    for d in rows:
        spaced = next((x for x in d.labels or () if x.split() != [x]), None)
        if spaced is not None or re.search(r"[\t\r\n]", d.id):
            raise DataError(
                f'the label "{spaced[:60]}" holds white space'
                if spaced is not None
                else "the id holds a tab or a line break",
                where=str(d.source) if d.source else f'document "{" ".join(d.id.split())[:60]}"',
                step="LibMultiLabel separates labels by blanks. Write JSON lines instead.",
            )
        line = "\t".join((d.id, " ".join(d.labels or ()), _BREAK.sub(" ", d.text)))
        file.write(line.encode("utf-8") + b"\n")

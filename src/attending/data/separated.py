"""CSV and TSV: cells are strings, and no row is lost to a stray quotation mark."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from attending.data.tables import Table, TableRow
from attending.data.wording import plural
from attending.errors import DataError

Lines = Sequence[str]
"""Lines with their ends: a list, or ``attending.data.streams.LazyLines``."""
_CELL_LIMIT = 2**31 - 1
_GUESSES = (";", "\t", "|")


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells of any length."""
    before = csv.field_size_limit(_CELL_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_separated(text: str, file: str, separator: str | None, default: str) -> Table:
    """Read separated values; the first line holds the column names.

    Every cell stays the string that it is. A row with a wrong number of cells or a quotation mark
    that is never closed becomes a problem of its line, and reading goes on with the next line.
    In tab-separated files a line that isn't well quoted is taken as it stands if it has the right
    number of tabs.

    Args:
        text: The whole file.
        file: Its name, for errors.
        separator: The character between cells, or ``None`` to use ``default`` and, if that gives
            a single column, a semicolon, tab or bar found in the first line (with a note).
        default: The usual separator of this kind of file.

    Raises:
        DataError: If the file is empty, the first line can't be a header, or names repeat.
    """
    lines = list(io.StringIO(text, newline=""))
    with long_cells():
        columns, start, used, notes = head_of(lines, file, separator, default)
        rows, blank = _rows(lines, start, used, columns)
    if blank:
        notes.append(f"{file}: {plural(blank, 'blank line')} skipped")
    return Table(file, columns, tuple(rows), tuple(notes))


def read_headless(text: str, file: str, separator: str) -> Table:
    """Read separated values whose first line is a row already; columns are called 1, 2 and so on.

    The first row says how many there are. What is wrong with a row becomes a problem of its line.

    Raises:
        DataError: If the file is empty.
    """
    lines = list(io.StringIO(text, newline=""))
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise DataError("the file is empty", where=file)
    with long_cells():
        record = _next_record(lines, first, separator)
        cells = lines[first].split(separator) if record.problem else record.cells
        columns = tuple(str(number) for number in range(1, len(cells) + 1))
        rows, _ = _rows(lines, first, separator, columns)
    return Table(file, columns, tuple(rows))


def head_of(
    lines: Lines, file: str, separator: str | None, default: str
) -> tuple[tuple[str, ...], int, str, list[str]]:
    """Return the columns, the index of the line after them, the separator used, and notes.

    Raises:
        DataError: If the file is empty, the first line can't be a header, or names repeat.
    """
    first, separator = _skip_preamble(lines, separator)
    header, start, first_line = _header(lines, first, separator or default, file)
    notes: list[str] = []
    if separator is None and len(header) == 1:
        for guess in _GUESSES:
            if guess in header[0]:
                separator = guess
                header, start, first_line = _header(lines, first, guess, file)
                shown = "a tab" if guess == "\t" else f'"{guess}"'
                notes.append(f"{file}: cells are separated by {shown}")
                break
    columns = _column_names(header, f"{file} line {first_line}")
    return columns, start, separator or default, notes


def _skip_preamble(lines: Lines, separator: str | None) -> tuple[int, str | None]:
    """Step over the ``sep=;`` line that spreadsheets write, and use what it says."""
    mark = re.fullmatch(r'"?sep=(.)"?', lines[0].rstrip("\r\n"), re.IGNORECASE) if lines else None
    return (1, separator or mark.group(1)) if mark else (0, separator)


def _header(lines: Lines, first: int, separator: str, file: str) -> tuple[list[str], int, int]:
    """Return the header's cells, the index of the line after it, and its line number."""
    while first < len(lines) and not lines[first].strip():
        first += 1
    if first == len(lines):
        raise DataError("the file is empty", where=file, step="Its first line names the columns.")
    reader = csv.reader(_from(lines, first), delimiter=separator, strict=True)
    try:
        header = next(reader)
    except csv.Error as error:
        raise DataError(
            f"the column names can't be read: {_reason(error)}", where=f"{file} line {first + 1}"
        ) from None
    return header, first + reader.line_num, first + 1


def _column_names(header: list[str], where: str) -> tuple[str, ...]:
    names = tuple(
        cell.strip() or f"column {position}" for position, cell in enumerate(header, start=1)
    )
    for position, name in enumerate(names):
        if name in names[:position]:
            raise DataError(
                f'two columns are called "{name[:40]}"', where=where, step="Rename one of them."
            )
    return names


def _rows(
    lines: Lines, start: int, separator: str, columns: tuple[str, ...]
) -> tuple[list[TableRow], int]:
    """Return the rows and how many blank lines were skipped."""
    blanks: list[int] = []
    return list(rows_of(lines, start, separator, columns, blanks)), len(blanks)


def rows_of(
    lines: Lines,
    start: int,
    separator: str,
    columns: tuple[str, ...],
    skipped: list[int],
) -> Iterator[TableRow]:
    """Yield the rows from a line on; the numbers of blank lines inside the file go to ``skipped``.

    In a file of one column a blank line inside the file is an empty cell, not nothing.
    """
    blank: list[int] = []
    for record in _records(lines, start, separator, len(columns)):
        line = record.first + 1
        if record.problem is None and not record.cells:
            blank.append(line)
            continue
        if len(columns) == 1:
            for earlier in blank:
                yield TableRow(earlier, {columns[0]: ""})
        else:
            skipped += blank
        blank.clear()
        problem = record.problem or _miscounted(record, len(columns))
        cells = None if problem else dict(zip(columns, record.cells, strict=True))
        yield TableRow(line, cells, problem)


def _miscounted(record: "_Record", width: int) -> str | None:
    if len(record.cells) == width:
        return None
    reason = f"{plural(len(record.cells), 'cell')}, expected {width}"
    if record.after - record.first > 1:
        reason += f" (one quoted cell reaches to line {record.after})"
    return reason


class _Record(NamedTuple):
    """Cells of the lines ``first`` to ``after - 1`` (indices), or why there are none."""

    first: int
    after: int
    cells: list[str]
    problem: str | None = None


def _records(lines: Lines, start: int, separator: str, width: int) -> Iterator[_Record]:
    """Yield every record.

    After a fault only the line it began on is given up, so an unclosed quotation mark can't
    swallow the rest of the file; the lines after it are trusted again from the first one that is
    well quoted and has the right number of cells.
    """
    clean = _well_quoted(separator)
    fault: int | None = None
    while start < len(lines):
        record = _next_record(lines, start, separator)
        if separator == "\t":
            record = _as_it_stands(lines, record, width) or record
        start = record.after
        if record.problem:
            fault = record.first if fault is None else fault
        elif fault is not None and record.cells:
            whole = "".join(lines[i] for i in range(record.first, record.after)).rstrip("\r\n")
            if len(record.cells) != width or not clean.fullmatch(whole):
                reason = f"seems to belong to the badly quoted row on line {fault + 1}"
                record = _Record(record.first, record.first + 1, [], reason)
                start = record.after
            else:
                fault = None
        yield record


def _next_record(lines: Lines, start: int, separator: str) -> _Record:
    reader = csv.reader(_from(lines, start), delimiter=separator, strict=True)
    try:
        cells = next(reader)
    except csv.Error as error:
        return _Record(start, start + 1, [], _reason(error))
    return _Record(start, start + reader.line_num, cells)


def _well_quoted(separator: str) -> re.Pattern[str]:
    mark = re.escape(separator)
    cell = rf'(?:"(?:[^"]|"")*+"|[^"{mark}]*+)'
    return re.compile(rf"{cell}(?:{mark}{cell})*+")


def _as_it_stands(lines: Lines, record: _Record, width: int) -> _Record | None:
    """Return a badly quoted TSV line with its tabs taken literally, if their number is right.

    A record that is well quoted stays one, even if each of its lines could be a row by itself: a
    table that was pasted into a text looks so.
    """
    if record.problem is None and len(record.cells) in (0, width):
        return None
    plain = lines[record.first].rstrip("\r\n").split("\t")
    return _Record(record.first, record.first + 1, plain) if len(plain) == width else None


def _from(lines: Lines, start: int) -> Iterator[str]:
    """Yield lines as they are needed; of lines that are read as needed, no more than it may."""
    length = 0
    while start < len(lines):
        line = lines[start]
        length += len(line)
        if length > getattr(lines, "longest", length):
            return
        yield line
        start += 1


def _reason(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quotation mark is opened and never closed"
    if "expected after" in str(error):
        return "text follows a closing quotation mark (inside a cell, write it twice)"
    return str(error)


def write_separated(rows: Iterable[Sequence[str]], file: BinaryIO, separator: str) -> None:
    """Write rows of cells as CSV or TSV in UTF-8, so that every cell comes back the same."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    plain = csv.writer(text, delimiter=separator, lineterminator="\n")
    # A lone carriage return must be quoted, which not every version of the csv module does.
    quoted = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        (quoted if any("\r" in cell for cell in row) else plain).writerow(row)
    text.detach()

"""Rows of JSON files: one object a line, or one array of objects over many lines."""

import json

from attending.data.readers import cell_value, read_table_bytes
from attending.data.tables import TableRow
from attending.errors import DataError

_BLANK = " \t\r\n"


def json_rows(data: bytes, text: str, file: str) -> list[TableRow]:
    """Return the objects of a file with the line that each begins on.

    Args:
        data: The file's bytes in UTF-8.
        text: Its characters.
        file: Its name, for messages.

    Raises:
        DataError: If the file holds no JSON object, an array that is broken off, or something
            behind it.
    """
    if not text.lstrip(_BLANK).startswith("["):
        rows = read_table_bytes(data, file, "jsonl").rows
        return [
            TableRow(
                row.line,
                None if row.cells is None else {k: cell_value(v) for k, v in row.cells.items()},
                row.problem,
            )
            for row in rows
        ]
    return _array(text, file)


def _array(text: str, file: str) -> list[TableRow]:
    decoder = json.JSONDecoder()
    rows: list[TableRow] = []
    place = _after_blanks(text, text.index("[") + 1)
    line, counted = 1, 0
    while text[place : place + 1] not in ("]", ""):
        line += text.count("\n", counted, place)
        counted = place
        try:
            value, place = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            raise DataError(
                "broken JSON", where=f"{file} line {at}", step="Export the file again."
            ) from None
        is_object = isinstance(value, dict)
        rows.append(TableRow(line, value if is_object else None, None if is_object else
                             "not a JSON object"))  # fmt: skip
        place = _after_blanks(text, place)
        if text[place : place + 1] == ",":
            place = _after_blanks(text, place + 1)
    if not text[place:]:
        raise DataError("the JSON array has no end", where=file, step="Export the file again.")
    more = _after_blanks(text, place + 1)
    if text[more:]:
        line = text.count("\n", 0, more) + 1
        raise DataError(
            "something follows the end of the JSON array",
            where=f"{file} line {line}",
            allowed="one array, or one object a line",
            step="Write each array to a file of its own.",
        )
    if not rows:
        raise DataError("the file holds no document", where=file, found="an empty JSON array")
    return rows


def _after_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place

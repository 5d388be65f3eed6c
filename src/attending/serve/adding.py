"""Putting messages into the tables, with what a model said of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from attending.errors import DataError
from attending.records import Document, Prediction, Row
from attending.serve.entries import message_values, moment_of, prediction_values
from attending.serve.identity import reference_of
from attending.serve.placing import reading_of
from attending.serve.queries import first, new_id, set_values
from attending.serve.tables import messages, predictions

LONGEST_NAME = 200
_CHUNK = 500


def add_rows(
    connection: Connection,
    rows: Sequence[Row],
    answers: Sequence[Prediction],
    source: str,
    model: str,
    upload: int | None = None,
    order: Sequence[str] = (),
) -> tuple[list[int], int]:
    """Insert messages and predictions; return the ids in order, and how many are new."""
    if len(rows) != len(answers):
        raise DataError(
            "rows and predictions must belong together, one of each a message",
            found=f"{len(rows)} and {len(answers)}",
        )
    values = [message_values(row) for row in rows]
    known = _known(connection, [v["fingerprint"] for v in values])
    ids: list[int] = []
    added = 0
    for row, value, answer in zip(rows, values, answers, strict=True):
        if _is_named(row) and value["fingerprint"] in known:
            ids.append(known[value["fingerprint"]])
            continue
        ids.append(_insert(connection, row, value, answer, (source, model, upload), order))
        known[value["fingerprint"]] = ids[-1]
        added += 1
    return ids, added


def _is_named(row: Row) -> bool:
    """Say whether a row can be known again: by its reference, or by a text under an id of its own.

    Of other rows that can't be read nobody knows what they hold, so each of them is kept.
    """
    if reference_of(row) is not None:
        return True
    return isinstance(row, Document) and not _is_place(row.id)


def _is_place(name: str) -> bool:
    """Say whether an id is only a row's place in its file, as readers name rows without one."""
    return name.startswith("row-") and name[4:].isdecimal()


def _known(connection: Connection, prints: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(prints), _CHUNK):
        some = prints[start : start + _CHUNK]
        query = select(messages.c.fingerprint, messages.c.id)
        found |= {
            row.fingerprint: row.id
            for row in connection.execute(query.where(messages.c.fingerprint.in_(some)))
        }
    return found


def _insert(
    connection: Connection,
    row: Row,
    value: dict[str, Any],
    answer: Prediction,
    origin: tuple[str, str, int | None],
    order: Sequence[str],
) -> int:
    source, model, upload = origin
    now = datetime.now(UTC)
    reading = "not-read" if value["text"] is None else reading_of(row, answer)
    standing = first(answer.labels, order) if reading == "read" else None
    made = connection.execute(
        insert(messages).values(
            **value,
            moment=moment_of(row, now),
            received=now,
            source=source[:LONGEST_NAME],
            upload=upload,
            reading=reading,
            standing=standing,
            sure=answer.scores.get(standing) if standing is not None else None,
        )
    )
    message = new_id(made)
    said = connection.execute(
        insert(predictions).values(
            **prediction_values(answer), message=message, made_at=now, model=model
        )
    )
    set_values(connection, message, prediction=new_id(said))
    return message

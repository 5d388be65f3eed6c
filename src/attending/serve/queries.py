"""What is asked of the tables by everyone who reads or changes messages."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Select,
    and_,
    case,
    or_,
    select,
    update,
)

from attending.serve.entries import UNSURE_BELOW, Filters
from attending.serve.tables import messages, predictions

NO_LABEL = ""
"""Where a message stands of which a person said that no label applies."""
_IS_DONE = messages.c.done_at.is_not(None)


def entry_rows() -> Select[Any]:
    """Ask for messages with what the model said of them, as ``entry_of`` takes them."""
    chosen = [c for c in predictions.c if c.name not in ("id", "message", "made_at", "reason")]
    return select(messages, *chosen, predictions.c.reason.label("prediction_reason")).join(
        predictions, predictions.c.id == messages.c.prediction
    )


def rank(order: Sequence[str]) -> Any:
    """Sort by label: those for a person on top, then the order given, then all others."""
    whens: list[tuple[ColumnElement[bool], int]] = [(messages.c.standing.is_(None), -1)]
    whens += [(messages.c.standing == label, place) for place, label in enumerate(order)]
    return case(*whens, else_=len(order))


def condition(filters: Filters) -> Any:
    """Return what holds of the messages that filters ask for."""
    parts: list[Any] = [messages.c.id.is_not(None)]
    if filters.state == "open":
        parts.append(~_IS_DONE)
    elif filters.state == "done":
        parts.append(_IS_DONE)
    elif filters.state == "corrected":
        parts.append(messages.c.correction.is_not(None))
    if filters.person:
        parts.append(messages.c.standing.is_(None))
    elif filters.label is not None:
        parts.append(messages.c.standing == filters.label)
    if filters.unsure:
        unsure = and_(messages.c.correction.is_(None), messages.c.sure < UNSURE_BELOW)
        parts.append(or_(unsure, messages.c.standing.is_(None)))
    for word in filters.search.replace("\0", " ").split():
        columns = (messages.c.text, messages.c.patient, messages.c.document)
        parts.append(or_(*(c.icontains(word, autoescape=True) for c in columns)))
    return and_(*parts)


def first(labels: Sequence[str], order: Sequence[str]) -> str | None:
    """Return the label under which a message stands: of those in an order the first, else its own.

    Args:
        labels: The message's labels.
        order: Labels, the most urgent first.
    """
    places = {label: place for place, label in enumerate(order)}
    return min(labels, key=lambda x: places.get(x, len(places)), default=None)


def stands(labels: Sequence[str], order: Sequence[str]) -> str:
    """Return where a corrected message stands: a person has read it, so never with the unread."""
    return first(labels, order) or NO_LABEL


def locked(connection: Connection, message: int) -> Any:
    """Return a message that nobody else changes before the transaction ends; ``None`` if gone."""
    return connection.execute(
        select(messages).where(messages.c.id == message).with_for_update()
    ).first()


def set_values(connection: Connection, message: int, **values: Any) -> None:
    """Change columns of a message."""
    connection.execute(update(messages).where(messages.c.id == message).values(**values))


def new_id(made: CursorResult[Any]) -> int:
    """Return the id that an insertion made."""
    assert made.inserted_primary_key is not None
    return int(made.inserted_primary_key[0])

"""The store of the inbox: messages, what a model said of them, what people corrected.

Text is kept here and nowhere else. Everything that reads or writes is told to the audit, by ids,
before it happens: what can't be recorded is not done.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from attending.errors import DataError
from attending.records import Document, Prediction, Row
from attending.serve.adding import LONGEST_NAME, add_rows
from attending.serve.database import open_database, writing
from attending.serve.entries import (
    Audit,
    Entry,
    Filters,
    Page,
    Reviewed,
    Upload,
    change_of,
    dump,
    entry_of,
    row_of,
)
from attending.serve.queries import (
    condition,
    entry_rows,
    first,
    locked,
    new_id,
    rank,
    set_values,
    stands,
)
from attending.serve.tables import corrections, messages, predictions, uploads

LOCAL = "local"
"""Who acts where nobody is named: the user of this machine."""
_NOTE = 2000


class Store:
    """A database of messages; may be used by several threads and processes at once.

    Args:
        url: A SQLite file, ``sqlite:///FILE`` or ``postgresql://...``.
        audit: What is told of every read and write.
        create: Whether a SQLite file that doesn't exist is made, and tables where there are none.

    Raises:
        DataError: If the database can't be opened.
        MissingExtra: If the driver of PostgreSQL is not installed.
    """

    def __init__(self, url: str, audit: Audit | None = None, *, create: bool = True) -> None:
        self.audit = audit
        self._engine = open_database(url, create=create)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def add_messages(
        self,
        rows: Sequence[Row],
        predictions: Sequence[Prediction],
        source: str,
        *,
        who: str = LOCAL,
        model: str = "",
        order: Sequence[str] = (),
    ) -> list[int]:
        """Keep messages with their predictions; all of them or, after an error, none.

        A message that is there already, by id, text, patient and time, is not kept again; one
        whose id is only its place in a file always is. One with several labels stands under the
        one that comes first in ``order``. Returns the ids, in order.
        """
        with writing(self._engine) as connection:
            ids, _ = add_rows(connection, rows, predictions, source, model, None, order)
            self._record("store", who, ids)
        return ids

    def add_upload(
        self,
        name: str,
        rows: Sequence[Row],
        predictions: Sequence[Prediction],
        *,
        who: str = LOCAL,
        model: str = "",
        order: Sequence[str] = (),
    ) -> Upload:
        """Keep the messages of an uploaded file; see ``add_messages``."""
        unreadable = sum(p.status != "ok" for p in predictions)
        values = {
            "name": name[:LONGEST_NAME],
            "reviewer": who[:LONGEST_NAME],
            "received": datetime.now(UTC),
            "rows": len(rows),
            "added": 0,
            "unreadable": unreadable,
        }
        with writing(self._engine) as connection:
            made = connection.execute(insert(uploads).values(values))
            upload = new_id(made)
            ids, added = add_rows(connection, rows, predictions, "upload", model, upload, order)
            connection.execute(update(uploads).where(uploads.c.id == upload).values(added=added))
            self._record("upload", who, ids)
        return Upload(upload, name[:LONGEST_NAME], len(rows), added, unreadable, tuple(ids))

    def message(self, message: int, *, who: str = LOCAL) -> Entry | None:
        """Return a message with all its corrections, oldest first; ``None`` if there is none."""
        with self._engine.connect() as connection:
            row = connection.execute(entry_rows().where(messages.c.id == message)).first()
            if row is None:
                return None
            made = connection.execute(
                select(corrections)
                .where(corrections.c.message == message)
                .order_by(corrections.c.id)
            ).all()
        self._record("read", who, [message])
        current = next((change_of(c) for c in made if c.id == row.correction), None)
        return entry_of(row, current, [change_of(c) for c in made])

    def inbox(self, filters: Filters | None = None, *, who: str = LOCAL) -> Page:
        """Return a page of messages: those for a person first, then by label, then the oldest.

        Within the order of ``filters``; a page beyond the last is the last.
        """
        filters = filters or Filters()
        wanted = condition(filters)
        with self._engine.connect() as connection:
            found = connection.execute(
                select(messages.c.standing, func.count())
                .where(condition(replace(filters, label=None, person=False)))
                .group_by(messages.c.standing)
            )
            counts = {row[0]: int(row[1]) for row in found}
            page = min(max(1, filters.page), Page((), counts, filters).pages)
            rows = connection.execute(
                entry_rows()
                .where(wanted)
                .order_by(rank(filters.order), messages.c.moment, messages.c.id)
                .limit(filters.size)
                .offset((page - 1) * filters.size)
            ).all()
            current = [row.correction for row in rows if row.correction is not None]
            made = connection.execute(select(corrections).where(corrections.c.id.in_(current)))
            changes = {row.id: change_of(row) for row in made}
        entries = tuple(entry_of(row, changes.get(row.correction)) for row in rows)
        self._record("list", who, [e.id for e in entries])
        return Page(entries, counts, replace(filters, page=page))

    def correct(
        self,
        message: int,
        label: str | Sequence[str],
        reviewer: str,
        note: str | None = None,
        *,
        order: Sequence[str] = (),
    ) -> bool:
        """Give a message its labels as a person sees them, also if the model said the same.

        It stands under the one that comes first in ``order``. Returns whether there is such a
        message. Earlier corrections stay in its history.
        """
        labels = [label] if isinstance(label, str) else list(dict.fromkeys(label))
        with writing(self._engine) as connection:
            if locked(connection, message) is None:
                return False
            made = connection.execute(
                insert(corrections).values(
                    message=message,
                    labels=dump(labels),
                    reviewer=reviewer[:LONGEST_NAME],
                    made_at=datetime.now(UTC),
                    note=_note(note),
                )
            )
            correction = new_id(made)
            standing = stands(labels, order)
            set_values(connection, message, correction=correction, standing=standing)
            self._record("correct", reviewer, [message])
        return True

    def finish(self, message: int, reviewer: str) -> bool:
        """Mark a message as done; returns whether there is such a message."""
        with writing(self._engine) as connection:
            row = locked(connection, message)
            if row is None:
                return False
            if row.done_at is None:
                now = datetime.now(UTC)
                set_values(connection, message, done_at=now, done_by=reviewer[:LONGEST_NAME])
            self._record("finish", reviewer, [message])
        return True

    def undo(
        self, message: int, reviewer: str, *, order: Sequence[str] = ()
    ) -> Literal["finish", "correct"] | None:
        """Take back what was last done to a message; returns what that was, if anything.

        It then stands under the label that comes first in ``order``, as before.
        """
        with writing(self._engine) as connection:
            row = locked(connection, message)
            if row is None:
                return None
            made = connection.execute(
                select(corrections).where(corrections.c.id == row.correction)
            ).first()
            if row.done_at is not None and (made is None or row.done_at >= made.made_at):
                set_values(connection, message, done_at=None, done_by=None)
                undone: Literal["finish", "correct"] = "finish"
            elif made is not None:
                _withdraw(connection, row, made.id, reviewer, order)
                undone = "correct"
            else:
                return None
            self._record(f"undo-{undone}", reviewer, [message])
        return undone

    def corrections(self, since: datetime | None = None, *, who: str = LOCAL) -> list[Reviewed]:
        """Return every message with a text whose labels a person gave, as they hold now.

        Args:
            since: Only corrections made at this moment or later.
            who: Who asks.
        """
        wanted = and_(messages.c.text.is_not(None), corrections.c.withdrawn_at.is_(None))
        if since is not None:
            wanted = and_(wanted, corrections.c.made_at >= since)
        changed = select(
            messages, predictions.c.labels.label("predicted"), corrections.c.labels,
            corrections.c.reviewer, corrections.c.made_at, corrections.c.note,
            corrections.c.withdrawn_by,
        ).join(corrections, corrections.c.id == messages.c.correction).join(
            predictions, predictions.c.id == messages.c.prediction
        ).where(wanted).order_by(corrections.c.id)  # fmt: skip
        with self._engine.connect() as connection:
            rows = connection.execute(changed).all()
        self._record("export", who, [row.id for row in rows])
        return [_reviewed(row) for row in rows]

    def expire(self, before: datetime, *, who: str = LOCAL) -> list[int]:
        """Delete messages received before a moment, with all that is known of them.

        Their corrections go too: export them first. Returns the ids that are gone.
        """
        old = messages.c.received < before
        with writing(self._engine) as connection:
            ids = list(connection.scalars(select(messages.c.id).where(old).order_by(messages.c.id)))
            gone = select(messages.c.id).where(old)
            connection.execute(delete(corrections).where(corrections.c.message.in_(gone)))
            connection.execute(delete(predictions).where(predictions.c.message.in_(gone)))
            connection.execute(delete(messages).where(old))
            kept = select(messages.c.upload).where(messages.c.upload.is_not(None))
            connection.execute(
                delete(uploads).where(uploads.c.received < before, uploads.c.id.not_in(kept))
            )
            self._record("expire", who, ids)
        if ids and self._engine.dialect.name == "sqlite":
            self._empty_log()
        return ids

    def _empty_log(self) -> None:
        """Let no deleted text stay in SQLite's write-ahead log."""
        raw = self._engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            raw.close()

    def _record(self, action: str, who: str, ids: Sequence[int]) -> None:
        if self.audit is not None and ids:
            self.audit.record(action, who, ids)


def _note(note: str | None) -> str | None:
    return (note or "").replace("\0", " ").strip()[:_NOTE] or None


def _withdraw(
    connection: Connection, row: Any, correction: int, reviewer: str, order: Sequence[str]
) -> None:
    """Take a correction back; the one before it holds again, else what the model said."""
    connection.execute(
        update(corrections)
        .where(corrections.c.id == correction)
        .values(withdrawn_at=datetime.now(UTC), withdrawn_by=reviewer[:LONGEST_NAME])
    )
    before = connection.execute(
        select(corrections)
        .where(corrections.c.message == row.id, corrections.c.withdrawn_at.is_(None))
        .order_by(corrections.c.id.desc())
    ).first()
    if before is not None:
        standing = stands(change_of(before).labels, order)
        set_values(connection, row.id, correction=before.id, standing=standing)
        return
    said = connection.execute(entry_rows().where(messages.c.id == row.id)).one()
    labels = entry_of(said, None).prediction.labels
    first_label = first(labels, order) if row.reading == "read" else None
    set_values(connection, row.id, correction=None, standing=first_label)


def _reviewed(row: Any) -> Reviewed:
    document = row_of(row)
    if not isinstance(document, Document):
        raise DataError("a message without text has no training row")
    change = change_of(row)
    labelled = Document(
        id=document.id,
        text=document.text,
        labels=change.labels,
        group=document.group,
        when=document.when,
        attributes=document.attributes,
    )
    return Reviewed(row.id, labelled, tuple(json.loads(row.predicted)), change, row.source)

"""The tables that messages, predictions, corrections and uploads are kept in.

Structures (labels, scores, evidence, attributes) are JSON in text columns: every database has
those, and escaped JSON holds characters that some can't. What the inbox sorts and filters by has a
column of its own. Ids are never given twice, since an audit refers to them after a message is gone.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)


class Utc(TypeDecorator[datetime]):
    """A moment: kept in UTC, given back with its zone; SQLite keeps no zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Turn a moment into UTC; one without a zone is a fault of the caller."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a zone")
        moved = value.astimezone(UTC)
        return moved.replace(tzinfo=None) if dialect.name == "sqlite" else moved

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give a moment its zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()
_OWN_IDS: dict[str, Any] = {"sqlite_autoincrement": True}

uploads = Table(
    "uploads",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("reviewer", String(200), nullable=False),
    Column("received", Utc, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("added", Integer, nullable=False),
    Column("unreadable", Integer, nullable=False),
    **_OWN_IDS,
)

messages = Table(
    "messages",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("document", Text, nullable=False),
    Column("text", Text),
    Column("reason", Text),
    Column("patient", Text),
    Column("sent", String(64)),
    Column("moment", Utc, nullable=False),
    Column("received", Utc, nullable=False),
    Column("attributes", Text, nullable=False),
    Column("source", String(200), nullable=False),
    Column("upload", Integer, ForeignKey("uploads.id")),
    Column("fingerprint", String(64), nullable=False),
    Column("reading", String(16), nullable=False),
    Column("standing", Text),
    Column("sure", Float),
    Column("prediction", Integer),
    Column("correction", Integer),
    Column("done_at", Utc),
    Column("done_by", String(200)),
    Index("messages_fingerprint", "fingerprint"),
    Index("messages_received", "received"),
    Index("messages_queue", "done_at", "standing", "moment"),
    **_OWN_IDS,
)

predictions = Table(
    "predictions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("message", Integer, ForeignKey("messages.id"), nullable=False),
    Column("made_at", Utc, nullable=False),
    Column("model", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("labels", Text, nullable=False),
    Column("scores", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("coverage", Text, nullable=False),
    Column("abstained", Integer, nullable=False),
    Column("reason", Text),
    Index("predictions_message", "message"),
    **_OWN_IDS,
)

corrections = Table(
    "corrections",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("message", Integer, ForeignKey("messages.id"), nullable=False),
    Column("labels", Text, nullable=False),
    Column("reviewer", String(200), nullable=False),
    Column("made_at", Utc, nullable=False),
    Column("note", Text),
    Column("withdrawn_at", Utc),
    Column("withdrawn_by", String(200)),
    Index("corrections_message", "message"),
    Index("corrections_made_at", "made_at"),
    **_OWN_IDS,
)

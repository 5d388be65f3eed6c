"""Messages, predictions, corrections and uploads.

The columns are spelled out, not taken from ``tables``: a step does for ever what it did once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "uploads",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("reviewer", sa.String(200), nullable=False),
        sa.Column("received", _MOMENT, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("added", sa.Integer, nullable=False),
        sa.Column("unreadable", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("patient", sa.Text),
        sa.Column("sent", sa.String(64)),
        sa.Column("moment", _MOMENT, nullable=False),
        sa.Column("received", _MOMENT, nullable=False),
        sa.Column("attributes", sa.Text, nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("upload", sa.Integer, sa.ForeignKey("uploads.id")),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("reading", sa.String(16), nullable=False),
        sa.Column("standing", sa.Text),
        sa.Column("sure", sa.Float),
        sa.Column("prediction", sa.Integer),
        sa.Column("correction", sa.Integer),
        sa.Column("done_at", _MOMENT),
        sa.Column("done_by", sa.String(200)),
        sqlite_autoincrement=True,
    )
    _answers()
    op.create_index("messages_fingerprint", "messages", ["fingerprint"])
    op.create_index("messages_received", "messages", ["received"])
    op.create_index("messages_queue", "messages", ["done_at", "standing", "moment"])
    op.create_index("predictions_message", "predictions", ["message"])
    op.create_index("corrections_message", "corrections", ["message"])
    op.create_index("corrections_made_at", "corrections", ["made_at"])


def _answers() -> None:
    op.create_table(
        "predictions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("message", sa.Integer, sa.ForeignKey("messages.id"), nullable=False),
        sa.Column("made_at", _MOMENT, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("scores", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("coverage", sa.Text, nullable=False),
        sa.Column("abstained", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "corrections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("message", sa.Integer, sa.ForeignKey("messages.id"), nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("reviewer", sa.String(200), nullable=False),
        sa.Column("made_at", _MOMENT, nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("withdrawn_at", _MOMENT),
        sa.Column("withdrawn_by", sa.String(200)),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Take the tables away, with all that they hold."""
    for name in ("corrections", "predictions", "messages", "uploads"):
        op.drop_table(name)

"""Opening a database by its URL: SQLite in a file, or PostgreSQL; brought up to date at once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from attending.errors import DataError, MissingExtra

ALLOWED = "a file such as inbox.db, sqlite:///inbox.db, postgresql://user:password@host/name"
_LOCK = 0x417474656E64
_BUSY_SECONDS = 30
_INBOX = ("alembic_version", "messages", "corrections")


def open_database(url: str, *, create: bool = True) -> Engine:
    """Open a database and bring its tables to this version.

    A SQLite file is made for its owner alone; it is written ahead (WAL), so that reading goes on
    while something is written and what was committed survives a crash, and what is deleted is
    overwritten. Several processes may open one database at the same time.

    Args:
        url: A file, ``sqlite:///FILE`` or ``postgresql://...``.
        create: Whether a SQLite file that doesn't exist is made, and tables in a database that
            has none.

    Raises:
        DataError: If the URL is none of these, the database can't be opened, or it holds no inbox
            and none is to be made, or a SQLite file holds something else; no password is told.
        MissingExtra: If the driver of PostgreSQL is not installed.
    """
    parsed = _parsed(url)
    try:
        if parsed.get_backend_name() == "sqlite":
            engine = _sqlite(parsed, create)
        else:
            engine = create_engine(parsed, pool_pre_ping=True)
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "PostgreSQL") from None
    try:
        _require_inbox(engine, shown(parsed), create)
        with _alone(engine), writing(engine) as connection:
            _upgrade(connection)
    except (SQLAlchemyError, CommandError) as error:
        engine.dispose()
        raise DataError(
            f"the database can't be opened ({type(error).__name__})",
            where=shown(parsed),
            step="See that it is there, that you may write to it, and that its version of the "
            "tables is not newer than this program.",
        ) from None
    return engine


def shown(url: URL) -> str:
    """Return a URL without its password."""
    return url.render_as_string(hide_password=True)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that writes: all of it is kept, or nothing."""
    with (
        engine.connect().execution_options(attending_writes=True) as connection,
        connection.begin(),
    ):
        yield connection


def _parsed(url: str) -> URL:
    if "://" not in url:
        if not url.strip():
            raise DataError("no database was named", allowed=ALLOWED)
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise DataError(
                "no such kind of database", found=parsed.drivername[:40], allowed=ALLOWED
            )
    except (ArgumentError, NoSuchModuleError, ValueError):
        # The URL itself may hold a password, so it isn't shown.
        raise DataError("the database's URL can't be read", allowed=ALLOWED) from None
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise DataError(
            "a database in memory would forget every correction",
            where="sqlite://",
            allowed=ALLOWED,
        )
    return parsed


def _sqlite(url: URL, create: bool) -> Engine:
    path = Path(str(url.database)).expanduser()
    if path.is_dir():
        raise DataError("this is a folder, not a database", where=str(path))
    if not path.exists():
        if not create:
            raise DataError("no such database", where=str(path), step="Check the path.")
        if not path.parent.is_dir():
            raise DataError(
                "the database's folder does not exist",
                where=str(path),
                step=f"Make the folder {path.parent} first.",
            )
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DataError(f"can't be made: {error.strerror}", where=str(path)) from None
    engine = create_engine(
        url.set(database=str(path)),
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _require_inbox(engine: Engine, where: str, create: bool) -> None:
    """Refuse a database that is not an inbox's, before anything in it is changed.

    With ``create`` one without tables will do, and a PostgreSQL database may hold others' beside.

    Raises:
        DataError: If a table is missing.
    """
    if create and engine.dialect.name != "sqlite":
        return
    if engine.dialect.name == "sqlite":  # as it is: a connection of the engine's changes settings
        path = Path(str(engine.url.database)).resolve()
        looking = create_engine(f"sqlite:///{path.as_uri()}?mode=ro&uri=true", poolclass=NullPool)
    else:
        looking = engine
    with looking.connect() as connection:
        there = set(inspect(connection).get_table_names())
    if not there >= set(_INBOX) and (there or not create):
        engine.dispose()
        raise DataError(
            "this is no database of an inbox",
            where=where,
            found=f"{len(there)} tables, not those of an inbox" if there else "no tables",
            step="Name the database that attending serve keeps messages in.",
        )


def _prepare(connection: Any, _: Any) -> None:
    # Transactions are begun by ``_begin``: the driver would begin them too late.
    connection.isolation_level = None
    for setting in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        f"busy_timeout={_BUSY_SECONDS * 1000}",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Connection) -> None:
    # One that reads first and writes later can't wait for its turn; it has to say so at once.
    writes = connection.get_execution_options().get("attending_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Let one process at a time bring the tables up to date."""
    if engine.dialect.name == "sqlite":
        with FileLock(f"{engine.url.database}.lock", mode=0o600):
            yield
        return
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _LOCK})


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", "attending.serve:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")

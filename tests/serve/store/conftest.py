"""Stores in SQLite and in a PostgreSQL server that is started here, where its programs are."""

import glob
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from attending.serve.store import Store


def _program(name):
    found = shutil.which(name)
    newest = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found or (newest[-1] if newest else None)


@pytest.fixture(scope="session")
def postgres():
    """Return the URL of a server on a Unix socket, without a name of a database."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("the programs of a PostgreSQL server (initdb, postgres) are not there")
    folder = Path(tempfile.mkdtemp(prefix="attending-postgres-"))
    user = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "nobody")
        user = {"user": "nobody"}
    try:
        where = ["--pgdata", str(folder / "data")]
        manner = ["--auth=trust", "--username=tester", "--no-sync", "--encoding=UTF8", "--locale=C"]
        subprocess.run([initdb, *where, *manner], check=True, capture_output=True, cwd="/", **user)
        yield from _running(server, folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _running(server, folder, user):
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    settings += ["-c", "fsync=off", "-c", "shared_buffers=16MB"]
    process = subprocess.Popen(
        [server, "-D", str(folder / "data"), *settings],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", **user,
    )  # fmt: skip
    try:
        for line in process.stderr:
            if b"ready to accept connections" in line:
                break
        assert process.poll() is None, "the server did not start"
        yield f"postgresql+psycopg://tester@/{{}}?host={folder}"
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """Return the URL of a new database, of each kind in turn."""
    if request.param == "sqlite":
        yield str(tmp_path / "inbox.sqlite")
        return
    server = request.getfixturevalue("postgres")
    name = f"t{uuid.uuid4().hex[:12]}"
    engine = create_engine(server.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield server.format(name).replace("+psycopg", "")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


class Noted:
    """An audit that remembers."""

    def __init__(self):
        self.lines = []

    def record(self, action, who, ids=()):
        self.lines.append((action, who, tuple(ids)))


@pytest.fixture
def audit():
    return Noted()


@pytest.fixture
def store(url, audit):
    opened = Store(url, audit)
    yield opened
    opened.close()

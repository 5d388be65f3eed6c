"""Who scored, read and corrected what: an append-only file of ids, each line chained to the last.

A line is JSON: number, time, action, who, ids, and the hash of the line before. A line that was
changed, taken out or moved breaks the chain from there on. What was cut off at the end leaves a
chain that holds, so keep the head (number and hash of the last line) elsewhere now and then: a
service logs it when it starts and when it stops.
"""

import errno
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attending.errors import ServeError

FIRST = "0" * 64
_TAIL = 1 << 16
_MOST_IDS = 10_000


@dataclass(frozen=True, slots=True)
class Head:
    """Where an audit stands: how many lines, and the hash of the last."""

    lines: int
    hash: str

    def __str__(self) -> str:
        return f"{self.lines}:{self.hash}"


class Audit:
    """An audit file that is open for one service; every record is on disk before it returns.

    Records of several threads share the wait for the disk.

    Args:
        path: The file; made if it isn't there. A line that a crash left unfinished, which nobody
            was told of, is cut off and that is recorded.

    Raises:
        ServeError: If another process has it open, or it can't be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._writing, self._syncing = threading.Lock(), threading.Lock()
        self._synced = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), mode=0o600)
            self._lock.acquire(timeout=0)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._file = os.open(self.path, flags, 0o600)
        except Timeout:
            raise ServeError(
                "the audit is open in another service",
                where=str(self.path),
                step="Give each service a folder of its own with --data.",
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self.head, torn = _last(self._file, str(self.path))
            if torn:
                os.ftruncate(self._file, os.fstat(self._file).st_size - torn)
                self.record("recover", "service", bytes=torn)
        except BaseException:
            self.close()
            raise

    def record(
        self, action: str, who: str, ids: Sequence[object] = (), **more: str | int | None
    ) -> None:
        """Add a line.

        Args:
            action: What was done: ``score``, ``read``, ``correct``, ...
            who: Name of a key or of a user, or ``local``.
            ids: Of the messages; never their text.
            more: Ids and counts besides: ``request``, ``model``, ``label``.

        Raises:
            ServeError: If it can't be written; then what was to be recorded must not happen.
        """
        kept = [str(i) for i in ids[:_MOST_IDS]]
        entry = {"action": action, "who": who, "ids": kept, "count": len(ids)}
        entry |= {k: v for k, v in more.items() if v is not None}
        try:
            with self._writing:
                line, head = _chained(self.head, entry)
                written = os.write(self._file, line)
                if written != len(line):  # a full disk; the next line must not follow a piece
                    os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self.head = head
            self._sync(head.lines)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Close the file and let another process have it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def _sync(self, line: int) -> None:
        with self._syncing:
            if self._synced >= line:  # another thread's wait covered this line
                return
            written = self.head.lines
            os.fsync(self._file)
            self._synced = written

    def _unwritable(self, error: OSError) -> ServeError:
        what = f"the audit can't be written: {error.strerror or type(error).__name__}"
        return ServeError(what, where=str(self.path))


def verify(path: str | Path, head: str | None = None) -> Head:
    """Check a chain from its first line to its last.

    Args:
        path: The file; it may be open in a service.
        head: A head that was noted before, ``LINES:HASH``; the chain must have passed it.

    Raises:
        ServeError: If a line breaks the chain, or the head isn't part of it.
    """
    where, stands = Path(path), Head(0, FIRST)
    wanted = _noted(head) if head else None
    passed = wanted is None or wanted == stands
    try:
        with where.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # being written, or left by a crash: nobody was told of it
                stands = _checked(line, stands, f"{where} line {number}")
                passed = passed or stands == wanted
    except OSError as error:
        raise ServeError(f"can't be read: {error.strerror}", where=str(where)) from None
    if not passed:
        raise ServeError(
            "the audit does not contain the head that was noted: lines were cut off or rewritten",
            where=str(where),
            found=str(stands),
        )
    return stands


def entries(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of an audit, unchecked."""
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def _chained(before: Head, entry: dict[str, Any]) -> tuple[bytes, Head]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    whole = {"line": before.lines + 1, "at": now, **entry, "before": before.hash}
    body = json.dumps(whole, ensure_ascii=True).encode() + b"\n"
    return body, Head(before.lines + 1, hashlib.sha256(body).hexdigest())


def _checked(line: bytes, before: Head, where: str) -> Head:
    try:
        entry = json.loads(line)
        fits = entry["before"] == before.hash and entry["line"] == before.lines + 1
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        raise ServeError(
            "the chain is broken: this line, or one before it, was changed, removed or put in",
            where=where,
        )
    return Head(before.lines + 1, hashlib.sha256(line).hexdigest())


def _noted(head: str) -> Head:
    lines, _, digest = head.partition(":")
    if not lines.isdigit() or len(digest) != len(FIRST):
        raise ServeError("this is no head of an audit", allowed="LINES:HASH, as a service logs it")
    return Head(int(lines), digest)


def _last(file: int, where: str) -> tuple[Head, int]:
    """Return the head of a file, and how many bytes of an unfinished line follow it."""
    size = os.fstat(file).st_size
    span = _TAIL
    while True:
        tail = os.pread(file, min(span, size), max(0, size - span))
        torn = len(tail) - (tail.rfind(b"\n") + 1)
        lines = tail[: len(tail) - torn].splitlines(keepends=True)
        if len(lines) > 1 or span >= size:
            break
        span *= 4  # one line may hold many ids
    if not lines:
        return Head(0, FIRST), torn
    try:
        number = int(json.loads(lines[-1])["line"])
    except (ValueError, KeyError, TypeError):
        raise ServeError(
            "the last line of the audit can't be read",
            where=where,
            step="Keep the file for inquiry and begin with another --data.",
        ) from None
    return Head(number, hashlib.sha256(lines[-1]).hexdigest()), torn

"""API keys: who may ask. A key is shown once; what is kept is its hash.

A key is 32 random bytes, so a plain SHA-256 can't be turned around by guessing as a password's
could, and checking it costs nothing.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from attending.errors import ServeError, nearest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_PREFIX = "att_"


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key: whose it is, its hash, since when."""

    name: str
    sha256: str
    since: str


class Keys:
    """A file of keys; a key that is added or removed counts from the next request on.

    Args:
        path: The file; made by the first ``add``, for its owner's eyes only.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._known: dict[str, Key] = {}
        self._seen: tuple[int, int, int] | None = None

    def add(self, name: str) -> str:
        """Make a key and return it; it can't be shown again.

        Raises:
            ServeError: If the name is taken or no name, or the file can't be written.
        """
        if not _NAME.fullmatch(name):
            raise ServeError(
                "this can't be the name of a key",
                allowed="up to 64 letters, digits, dots, hyphens, underscores and @",
            )
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._locked():
            known = self._read()
            if any(key.name == name for key in known):
                raise ServeError(
                    f'there is a key named "{name}" already',
                    where=str(self.path),
                    step="Choose another name, or remove that key first.",
                )
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._write([*known, Key(name, _hash(secret), now)])
        return secret

    def remove(self, name: str) -> None:
        """Make a key worthless.

        Raises:
            ServeError: If there is no such key.
        """
        with self._locked():
            known = self._read()
            left = [key for key in known if key.name != name]
            if len(left) == len(known):
                hint = nearest(name, [key.name for key in known]).strip()
                raise ServeError(
                    f'there is no key named "{name}"', where=str(self.path), step=hint or None
                )
            self._write(left)

    def all(self) -> Sequence[Key]:
        """Return what is kept of every key.

        Raises:
            ServeError: If the file can't be read.
        """
        return tuple(self._read())

    def who(self, secret: str) -> str | None:
        """Return whose key this is, if anyone's.

        A file that can't be read lets nobody in.
        """
        self._renew()
        digest = _hash(secret)
        key = self._known.get(digest)
        return key.name if key is not None and hmac.compare_digest(key.sha256, digest) else None

    def _renew(self) -> None:
        try:
            about = self.path.stat()
            seen = (about.st_mtime_ns, about.st_size, about.st_ino)
            if seen != self._seen:
                self._known = {key.sha256: key for key in self._read()}
                self._seen = seen
        except (OSError, ServeError):
            self._known, self._seen = {}, None

    def _read(self) -> list[Key]:
        try:
            rows: Any = json.loads(self.path.read_text(encoding="utf-8"))["keys"]
            return [Key(**row) for row in rows]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ServeError(
                f"the file of keys can't be read ({type(error).__name__})", where=str(self.path)
            ) from None

    def _write(self, keys: Sequence[Key]) -> None:
        body = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(body)
            part.replace(self.path)
        except OSError as error:
            raise ServeError(f"can't be written: {error.strerror}", where=str(self.path)) from None

    def _locked(self) -> FileLock:
        if not self.path.parent.is_dir():
            self.path.parent.mkdir(parents=True, mode=0o700)
        return FileLock(self.path.with_name(f".{self.path.name}.lock"), mode=0o600)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

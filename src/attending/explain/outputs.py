"""Files that are written whole or not at all, and never over another one unasked."""

import os
import tempfile
from pathlib import Path

from attending.errors import OutputError


def claim(path: Path, force: bool) -> None:
    """Make sure that a file may be written, before the work that fills it.

    Raises:
        OutputError: If it exists and ``force`` is not set, or is or lies in something else.
    """
    if path.is_dir():
        raise OutputError("this is a folder, not a file", where=str(path), step="Name a file.")
    if path.exists() and not force:
        raise OutputError(
            "the file exists already", where=str(path), step="Choose another name or pass --force."
        )
    if not path.parent.is_dir():
        raise OutputError(
            "its folder does not exist", where=str(path), step=f"Make {path.parent} first."
        )


def write(path: Path, content: bytes, force: bool) -> None:
    """Write a file in one step, so that a reader never sees half of it.

    Raises:
        OutputError: As ``claim``, or if the disk refuses.
    """
    claim(path, force)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise OutputError(f"can't be written: {error.strerror}", where=str(path)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

"""Names of files for documents, and folders that are written into."""

import re
from pathlib import Path

from attending.data.wording import plural
from attending.errors import OutputError

_UNFIT = re.compile(r'[\x00-\x1f<>:"|?*\\]')
_LONGEST = 180


class FileNames:
    """Gives every document a file of its own inside one folder.

    Args:
        folder: The folder, for messages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._given, self._changed = folder, set[str](), 0

    def stem(self, id_: str) -> str:
        """Return the path of a document's files in the folder, without ending.

        A ``/`` in an id makes a folder; what no file may be called becomes ``_``; no path leads
        out of the folder.

        Raises:
            OutputError: If another document has the same path.
        """
        parts = [part.strip(" ") for part in _UNFIT.sub("_", id_).split("/")]
        safe = [part[:_LONGEST] for part in parts if part.strip(".")]
        stem = "/".join(f"_{part[1:]}" if part[0] == "." else part for part in safe) or "document"
        self._changed += stem != id_
        if stem.casefold() in self._given:
            raise OutputError(
                f'two documents would be written to "{stem}"',
                where=str(self._folder),
                step="Give them distinct ids.",
            )
        self._given.add(stem.casefold())
        return stem

    @property
    def notes(self) -> tuple[str, ...]:
        """How many documents are called otherwise than their files."""
        if not self._changed:
            return ()
        return (f"{plural(self._changed, 'file is', 'files are')} not called as the document's id",)


def require_folder(folder: Path, *, force: bool = False) -> None:
    """Make a folder for new files.

    Raises:
        OutputError: If it is a file, or holds something and ``force`` isn't set.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError("this is a file, not a folder", where=str(folder), step="Name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise OutputError(
            "the folder holds files already",
            where=str(folder),
            step="Choose another name or pass --force.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OutputError(f"can't be made: {reason}", where=str(folder)) from None

"""Bytes and characters of an input file, with errors that say where."""

import gzip
import zlib
from pathlib import Path

from attending.errors import DataError, nearest

_UTF8 = {"utf-8", "utf8", "utf-8-sig", "utf_8", "utf_8_sig"}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked where its name ends in ``.gz``.

    Raises:
        DataError: If the file is missing, is a folder, can't be opened or is a damaged archive.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError("no such file", where=str(path), step=_similar_file(path)) from None
    except IsADirectoryError:
        raise DataError(
            "this is a folder, not a file", where=str(path), step="Name the file in it."
        ) from None
    except OSError as error:
        raise DataError(f"can't be opened: {error.strerror}", where=str(path)) from None
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise DataError(
            "not a whole gzip archive", where=str(path), step="Copy or compress it again."
        ) from None


def _similar_file(path: Path) -> str:
    try:
        names = [p.name for p in path.parent.iterdir()]
    except OSError:
        return f"The folder {path.parent} does not exist either."
    return nearest(path.name, names).strip() or "Check the path."


def decode(data: bytes, file: str, encoding: str) -> str:
    """Return the characters of a file; a byte-order mark is removed at the very start only.

    Raises:
        DataError: If the encoding is unknown, or a byte can't be read in it. The position counts
            bytes from 0, the line from 1.
    """
    name = encoding.lower()
    if name in _UTF8:
        name = "utf-8"
        if data.startswith(_UTF16_MARKS):
            raise DataError(
                "the file is UTF-16 (by its first two bytes), not utf-8",
                where=file,
                step="Pass --encoding utf-16.",
            )
    try:
        return data.decode(name).removeprefix("\ufeff")
    except LookupError:
        raise DataError(
            f'there is no encoding called "{encoding}"',
            allowed="utf-8, cp1252, latin-1, utf-16 and other names that Python knows",
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"byte {error.start} can't be read",
            where=f"{file} line {line}",
            found=f"0x{data[error.start]:02x}; encoding tried: {name}",
            step="If the file was saved on Windows, pass --encoding cp1252."
            if name == "utf-8"
            else "Pass the encoding that the file was saved in.",
        ) from None
    except UnicodeError as error:
        raise DataError(
            f"the file can't be read as {encoding}: {error}",
            where=file,
            step="Pass the encoding that the file was saved in.",
        ) from None

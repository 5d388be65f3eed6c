"""FHIR files as the command line reads them: several in turn, with conditions on rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attending.data.fhir.bounds import DEFAULT, read_bounded
from attending.data.fhir.rows import COLUMNS, read_rows
from attending.data.fhir.sniff import FORMAT, is_fhir, is_fhir_file
from attending.data.wording import plural
from attending.errors import DataError
from attending.records import Document, Row

Named = Mapping[str, str | None]


def fhir_files(paths: Sequence[Path], format: str | None) -> bool:
    """Say whether files are read as FHIR: it was said so, or their content says so.

    Raises:
        DataError: If some are FHIR and some are not.
    """
    if format is not None:
        return format == FORMAT
    kinds = [is_fhir_file(path) for path in paths]
    if any(kinds) and not all(kinds):
        raise DataError(
            "files of FHIR and other files can't be read as one corpus",
            where=str(paths[kinds.index(False)]),
            step="Read them one by one.",
        )
    return all(kinds)


def fhir_stream(data: bytes, format: str | None) -> tuple[bytes, bool]:
    """Return the content of an open file again, and whether it is read as FHIR."""
    return data, format == FORMAT or (format is None and is_fhir(data))


def load_rows(
    sources: Sequence[tuple[str, Path | bytes]],
    named: Named,
    where: Mapping[str, str],
    *,
    encoding: str = "utf-8",
    zone: str | None = None,
    strict: bool = False,
) -> tuple[list[Row], list[str]]:
    """Return the rows of FHIR files in turn, and notes.

    Args:
        sources: Name and file, or content.
        named: Role -> attribute, as for the columns of a table. Only ``label`` can be chosen.
        where: Attribute -> value; messages that can't be read are kept.
        encoding: How characters are stored; FHIR is UTF-8.
        zone: As for ``read_rows``.
        strict: As for ``read_rows``.

    Raises:
        DataError: If a file can't be read, there are no messages, or a role or attribute isn't
            there.
    """
    _require_roles(named)
    rows: list[Row] = []
    notes: list[str] = []
    for name, source in sources:
        data = source if isinstance(source, bytes) else read_bounded(source, DEFAULT)
        read = read_rows(
            data, name, encoding=encoding, zone=zone, strict=strict, first=len(rows) + 1
        )
        rows += read.rows
        notes += read.notes
    if not rows:
        raise DataError(
            "there are no messages", where=sources[-1][0], found=notes[-1] if notes else None
        )
    if named.get("label"):
        rows = _labelled(rows, str(named["label"]))
    return (rows, notes) if not where else _filtered(rows, notes, where)


def _require_roles(named: Named) -> None:
    for role, column in named.items():
        if role != "label" and column and column != COLUMNS.get(role):
            raise DataError(
                f"FHIR has no columns: the {role} can't be read from another place",
                found=f"--{role} {column}",
                step=f"Leave --{role} out.",
            )


def _labelled(rows: Sequence[Row], attribute: str) -> list[Row]:
    documents = [row for row in rows if isinstance(row, Document)]
    if not any(attribute in d.attributes for d in documents):
        known = sorted({key for d in documents for key in d.attributes})
        raise DataError(
            f'no message has an attribute "{attribute}" as the label', allowed=", ".join(known)
        )
    return [
        replace(row, labels=tuple(_values(row.attributes[attribute])))
        if isinstance(row, Document) and attribute in row.attributes
        else row
        for row in rows
    ]


def _values(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


def _filtered(
    rows: Sequence[Row], notes: list[str], where: Mapping[str, str]
) -> tuple[list[Row], list[str]]:
    kept = [
        row
        for row in rows
        if not isinstance(row, Document)
        or all(
            value.strip() in _values(row.attributes[key]) if key in row.attributes else False
            for key, value in where.items()
        )
    ]
    met = sum(isinstance(row, Document) for row in kept)
    total = sum(isinstance(row, Document) for row in rows)
    condition = " and ".join(f'{key} = "{value}"' for key, value in where.items())
    if total and not met:
        known = sorted({key for row in rows if isinstance(row, Document) for key in row.attributes})
        raise DataError(f"no message has {condition}", allowed=f"attributes: {', '.join(known)}")
    return kept, [*notes, f"{met:,} of {plural(total, 'message')} have {condition}"]

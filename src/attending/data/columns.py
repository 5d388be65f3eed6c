"""Which column is the text, the label, the id, the group, the date."""

import re
from collections.abc import Mapping, Sequence

from attending.data.wording import some
from attending.errors import DataError, nearest

USUAL: Mapping[str, tuple[str, ...]] = {
    "text": (
        "text", "message", "message_text", "message_body", "body", "note", "notes", "note_text",
        "content", "free_text", "document", "report", "report_text", "abstract", "narrative",
        "sentence", "chief_complaint", "chief_complain",
        "complaint", "comment", "comments",
    ),
    "label": (
        "label", "labels", "category", "categories", "class", "urgency", "triage", "priority",
        "code", "codes", "target",
    ),
    "id": (
        "id", "doc_id", "document_id", "message_id", "msg_id", "note_id", "row_id", "record_id",
        "uid", "uuid", "hadm_id",
    ),
    "group": (
        "group", "group_id", "patient", "patient_id", "person", "person_id", "subject",
        "subject_id", "mrn", "writer", "author",
    ),
    "date": (
        "date", "when", "datetime", "date_time", "timestamp", "time", "created", "created_at",
        "sent", "sent_at", "received", "received_at", "charttime", "chartdate",
    ),
}  # fmt: skip
"""Usual column names of each role, best first; compared without case, ``-`` and blanks as ``_``."""

SPANS = "spans"
"""The role of a column of annotations; one that isn't named must be plainly of spans."""

_NAME_LENGTH = 40
_NAME_WORDS = 6


def find_columns(
    columns: Sequence[str], file: str, named: Mapping[str, str | None]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return role -> column, and notes on choices a person may want to check.

    A column that was named is used; a name of ``""`` says that there is none. Otherwise the usual
    names decide. Two candidates for the text or for the label are an error, for the other roles
    the better known name is taken and noted.

    Raises:
        DataError: If a named column is missing, no column looks like the text, two look like the
            text or the label, or one column was named for two roles.
    """
    chosen = {
        role: find_named(name, columns, file, f"as the {role}")
        for role in USUAL
        if (name := named.get(role))
    }
    notes: list[str] = []
    for role in USUAL:
        if named.get(role) is None:
            free = [c for c in columns if c not in chosen.values()]
            candidates = _candidates(role, free, file)
            if candidates:
                chosen[role] = candidates[0]
            if len(candidates) > 1 and _bare(candidates[0]) != USUAL[role][0]:
                notes.append(
                    f'{file}: the {role} is read from "{candidates[0]}"'
                    f" ({quoted(candidates[1:])} would do too; choose with --{role})"
                )
    if named.get(SPANS):
        chosen[SPANS] = find_named(str(named[SPANS]), columns, file, "as the spans")
    if "text" not in chosen:
        raise _no_text(chosen, columns, file)
    _require_distinct(chosen, file)
    return {role: chosen[role] for role in (*USUAL, SPANS) if role in chosen}, tuple(notes)


def _candidates(role: str, free: Sequence[str], file: str) -> list[str]:
    """Return the columns with a usual name of a role, the best known first."""
    usual = USUAL[role]
    found = sorted((c for c in free if _bare(c) in usual), key=lambda c: usual.index(_bare(c)))
    if len(found) > 1 and role in ("text", "label"):
        raise DataError(
            f"{len(found)} columns look like the {role}: {quoted(found)}",
            where=file,
            step=f"Say which: --{role} {found[0]}.",
        )
    return found


def _no_text(chosen: Mapping[str, str], columns: Sequence[str], file: str) -> DataError:
    step = "Name it with --text COLUMN."
    for role, column in chosen.items():
        if _bare(column) in USUAL["text"]:
            return DataError(
                f'the column "{column}" was named as the {role}, and no other column looks like '
                "the text",
                where=file,
                step=step,
            )
    return DataError("no column looks like the text", where=file, found=listing(columns), step=step)


def _bare(name: str) -> str:
    return re.sub(r"[\s\-_]+", "_", name.strip()).casefold()


def find_named(name: str, columns: Sequence[str], file: str, purpose: str) -> str:
    """Return the column of this name: exactly, or else the only one that differs by case.

    Raises:
        DataError: If there is none; says which columns there are and the nearest name.
    """
    if name in columns:
        return name
    alike = [c for c in columns if c.casefold() == name.strip().casefold()]
    if len(alike) == 1:
        return alike[0]
    raise DataError(
        f'no column is called "{name}" (wanted {purpose})',
        where=file,
        found=listing(columns),
        step=nearest(name, columns).strip() if _look_like_names(columns) else None,
    )


def _look_like_names(columns: Sequence[str]) -> bool:
    return all(len(c) <= _NAME_LENGTH and len(c.split()) <= _NAME_WORDS for c in columns)


def listing(columns: Sequence[str]) -> str:
    """Return the columns for an error; a first line that is no header may be text: not shown."""
    if not _look_like_names(columns):
        return f"{len(columns)} cells in the first line, which does not look like column names"
    return f"the columns {quoted(columns)}"


def quoted(names: Sequence[str]) -> str:
    """Return names in quotation marks, the first dozen of them."""
    return some([f'"{name}"' for name in names], most=12)


def _require_distinct(chosen: Mapping[str, str], file: str) -> None:
    for role, column in chosen.items():
        twin = next((r for r, c in chosen.items() if c == column and r != role), None)
        if twin is not None and {role, twin} != {"id", "group"}:
            raise DataError(
                f'the column "{column}" was named as the {twin} and as the {role}', where=file
            )

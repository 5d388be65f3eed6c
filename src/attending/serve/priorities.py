"""Which label has which FHIR priority: an explicit map, never a copy of words.

FHIR orders its priorities routine < urgent < asap < stat (value set ``request-priority``, R4 and
R5), so its "urgent" is the second lowest. A label that is called "urgent" means more than that more
often than not, which is why nothing is guessed here.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from attending.data.files import decode, read_bytes
from attending.errors import LabelError, nearest
from attending.records import LabelSet

Priority = Literal["routine", "urgent", "asap", "stat"]
"""FHIR's request priorities, from least to most."""

PRIORITIES: tuple[Priority, ...] = get_args(Priority)
UNREAD: Priority = "asap"
"""Priority of what nobody has read, where a map says nothing else."""
_BUNDLED = "urgency.toml"
_KEYS = ("unread", "priority")
_SHOWN = 6


def rank(priority: Priority) -> int:
    """Return the place of a priority: 0 is the least."""
    return PRIORITIES.index(priority)


@dataclass(frozen=True, slots=True)
class Priorities:
    """A map from labels to priorities.

    Args:
        of: Label id -> priority.
        unread: The least that a message gets which wasn't read, was read in part only, or got no
            label; never ``routine``.
        name: The file that it was read from.
        notes: What a person should look at again.
    """

    of: Mapping[str, Priority]
    unread: Priority = UNREAD
    name: str = ""
    notes: tuple[str, ...] = ()


def load_priorities(path: str | Path | None, labels: LabelSet) -> Priorities:
    """Read a map for a label set; without a file, the bundled map if these are its labels.

    Args:
        path: A TOML file: a table ``[priority]`` of label ids, and ``unread``.
        labels: Every label must be mapped, and no other.

    Raises:
        LabelError: If there is no map, it is no TOML, misses a label or knows another, names no
            priority of FHIR, gives the unread the lowest, or turns an ordered label set around.
        DataError: If the file can't be read.
    """
    if path is not None:
        found = read_bytes(Path(path))
        return read_priorities(decode(found, str(path), "utf-8"), str(path), labels)
    file = resources.files("attending.serve").joinpath(_BUNDLED)
    text = file.read_text(encoding="utf-8")
    if set(tomllib.loads(text)["priority"]) == set(labels.ids):
        return read_priorities(text, f"bundled {_BUNDLED}", labels)
    few = [*labels.ids[:_SHOWN], *(["..."] if len(labels) > _SHOWN else [])]
    raise LabelError(
        f'there is no map from the labels "{labels.name}" to FHIR priorities',
        allowed=", ".join(PRIORITIES),
        step=f'Write a TOML file with unread = "{UNREAD}" and a table [priority] that gives each '
        f"label ({', '.join(few)}) one of these, from least to most, and name it as the map. "
        'FHIR\'s "urgent" is its second-lowest priority.',
    )


def read_priorities(text: str, where: str, labels: LabelSet) -> Priorities:
    """Read a map from the content of a file.

    Raises:
        LabelError: As ``load_priorities``.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise LabelError(f"not TOML: {error}", where=where) from None
    for key in table:
        if key not in _KEYS:
            raise LabelError(
                f'the map has no setting "{key}"', where=where, allowed=", ".join(_KEYS)
            )
    given = table.get("priority")
    if not isinstance(given, dict):
        raise LabelError("the table [priority] is missing", where=where)
    of = {label: _priority(value, f'label "{label}"', where) for label, value in given.items()}
    _require_labels(of, labels, where)
    unread = _priority(table.get("unread", UNREAD), '"unread"', where)
    if unread == PRIORITIES[0]:
        raise LabelError(
            f'messages that nobody has read can\'t be "{PRIORITIES[0]}"',
            where=where,
            allowed=", ".join(PRIORITIES[1:]),
        )
    return Priorities(MappingProxyType(of), unread, where, _notes(of, labels, where))


def priorities_template(labels: LabelSet) -> str:
    """Return a map to be filled in: every label without its priority, so that it can't be used."""
    lines = [
        f'# FHIR priorities of the labels "{labels.name}"; from least to most: '
        f"{', '.join(PRIORITIES)}.",
        '# FHIR\'s "urgent" is only the second lowest.',
        f'unread = "{UNREAD}"',
        "",
        "[priority]",
    ]
    return "\n".join([*lines, *(f'{_quoted(label)} = ""' for label in labels.ids)]) + "\n"


def _quoted(key: str) -> str:
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else f"\\{c}" if c in '\\"' else c
        for c in key
    )
    return f'"{escaped}"'


def _priority(value: Any, whose: str, where: str) -> Priority:
    if isinstance(value, str) and value in PRIORITIES:
        return PRIORITIES[PRIORITIES.index(value)]
    raise LabelError(
        f"{whose} has no priority of FHIR",
        where=where,
        found=repr(value)[:40],
        allowed=", ".join(PRIORITIES),
    )


def _require_labels(of: Mapping[str, Priority], labels: LabelSet, where: str) -> None:
    for label in of:
        if label not in labels.ids:
            raise LabelError(
                f'the label "{label}" is not in the label set "{labels.name}"',
                where=where,
                step=nearest(label, labels.ids).strip() or None,
            )
    missing = [label for label in labels.ids if label not in of]
    if missing:
        raise LabelError(
            f'the label "{missing[0]}" has no priority',
            where=where,
            found=f"{len(missing)} of {len(labels)} labels without one",
            allowed=", ".join(PRIORITIES),
            step="Give every label one in the table [priority].",
        )
    if not labels.ordered:
        return
    for lower, higher in zip(labels.ids, labels.ids[1:], strict=False):
        if rank(of[higher]) < rank(of[lower]):
            raise LabelError(
                f'"{higher}" is more than "{lower}" but would have the lower priority',
                where=where,
                found=f"{higher}: {of[higher]}, {lower}: {of[lower]}",
                allowed=f"from least to most: {', '.join(PRIORITIES)}",
            )


def _notes(of: Mapping[str, Priority], labels: LabelSet, where: str) -> tuple[str, ...]:
    copied = [x for x, priority in of.items() if x.casefold() == priority == "urgent"]
    notes = [
        f'{where}: the label "{x}" has FHIR\'s second-lowest priority, "urgent"; "asap" and "stat" '
        "are above it"
        for x in copied
    ]
    if labels.ordered and len(labels) > 1 and of[labels.ids[-1]] == PRIORITIES[0]:
        notes.append(f"{where}: every label has the lowest priority")
    return tuple(notes)

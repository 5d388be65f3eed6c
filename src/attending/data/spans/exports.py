"""Rows that annotation tools export: Label Studio, doccano and rows of our own.

What differs is where the text and its annotations are, and what offsets count:

- *ours*: ``{"id", "text", "spans": [{"start", "end", "label", "fragments"?, "text"?}]}``;
- *doccano*: ``{"id", "text", "label": [[start, end, type]]}``, or ``"entities"`` with
  ``start_offset`` and ``end_offset`` where relations are annotated too;
- *Label Studio*: a task with ``data`` and ``annotations`` (JSON), or one object with
  ``label: [{"start", "end", "labels"}]`` (JSON-MIN). Its offsets come from a browser: UTF-16 units.

Sources: doccano and Label Studio, their pages on exports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attending.data.annotations import annotation_of, is_plain
from attending.data.columns import USUAL
from attending.data.readers import cell_text
from attending.data.spans.offsets import Counting
from attending.data.spans.placing import Annotation

SPANS, UNIT = "spans", "offset_unit"
"""Our keys: the annotations, and what their offsets count."""

UNITS: Mapping[str, Counting] = {
    "code-points": Counting(),
    "utf-16": Counting("utf-16"),
    "utf-8": Counting("utf-8"),
}
"""What a file may declare, or a caller may say, of its offsets."""

_LISTS = (SPANS, "entities", "label", "labels", "annotations")
_REGIONS = ("labels", "hypertextlabels")


@dataclass(slots=True)
class Exported:
    """A row: its text and annotations, what offsets count, and what a person should know."""

    id: str | None = None
    text: Any = None
    annotations: list[Annotation] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)
    declared: Counting | None = None
    usual: Counting | None = None
    odd: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_row(
    cells: Mapping[str, Any], line: int, *, text: str | None = None, id: str | None = None
) -> Exported:
    """Take a row apart, whichever tool wrote it.

    Args:
        cells: The row.
        line: Its line in the file.
        text: Key of the text; by its usual names where left out.
        id: Key of the id; by its usual names where left out.
    """
    found = Exported()
    if isinstance(cells.get("data"), dict):
        _task(cells, line, text, id, found)
    else:
        _plain(cells, line, text, id, found)
    return found


def _plain(
    cells: Mapping[str, Any], line: int, text: str | None, id: str | None, found: Exported
) -> None:
    rest = dict(cells)
    key = text or _key(cells, "text")
    found.text = rest.pop(key if key in rest else "data", None)
    found.id = cell_text(rest.pop(id or _key(cells, "id"), None))
    unit = rest.pop(UNIT, None)
    if unit is not None:
        found.declared = UNITS.get(str(unit).casefold().replace("_", "-"))
        if found.declared is None:
            found.odd.append(f"the {UNIT} is none of {', '.join(UNITS)}")
    listed = next((k for k in _LISTS if k in cells and _is_spans(cells[k])), None)
    listed = listed or next((k for k, v in cells.items() if _is_regions(v)), None)
    if listed is None:
        if any(cells.get(k) for k in (SPANS, "entities")):
            found.odd.append("its spans are no list of annotations")
        found.rest = rest
        return
    for item in rest.pop(listed):
        if isinstance(item, dict) and isinstance(item.get("labels"), list):
            found.usual = UNITS["utf-16"]
        found.annotations += _items(item, line, found)
    found.rest = rest


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, list | dict) for item in value)


def _is_regions(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_plain, value))


def _key(cells: Mapping[str, Any], role: str) -> str:
    return next((name for name in USUAL[role] if name in cells), role)


def _items(item: Any, line: int, found: Exported) -> list[Annotation]:
    """Return the annotations of one item: one for each of its types."""
    own = item if isinstance(item, dict) else {}
    types = own.get("labels")
    pairs = own.get("fragments")
    shaped: Any = item
    if isinstance(pairs, list) and pairs:
        shaped = {**own, "offsets": pairs}
    read = annotation_of(shaped)
    if read is None:
        found.odd.append("an annotation has no start and end")
        return []
    id_, score = cell_text(own.get("id")), own.get("score")
    made: list[Annotation] = []
    for label in types if isinstance(types, list) and types else [read.label]:
        if not isinstance(label, str | None):
            found.odd.append("a span has a type that is no string")
            continue
        sure = float(score) if isinstance(score, int | float) else None
        made.append(Annotation(tuple(read.pairs), label, read.surface, line, id_, sure))
    return made


def _task(
    cells: Mapping[str, Any], line: int, text: str | None, id: str | None, found: Exported
) -> None:
    data = dict(cells["data"])
    key = text or _key(data, "text")
    if key not in data:
        strings = [k for k, v in data.items() if isinstance(v, str)]
        key = strings[0] if len(strings) == 1 else key
    found.text = data.pop(key, None)
    name = id or _key(data, "id")
    found.id = cell_text(data.pop(name)) if name in data else cell_text(cells.get("id"))
    found.usual = UNITS["utf-16"]
    found.rest = data
    made = [
        a
        for a in _list(cells.get("annotations", cells.get("completions")))
        if isinstance(a, dict) and not a.get("was_cancelled")
    ]
    made.sort(key=lambda a: not a.get("ground_truth"))
    if len(made) > 1:
        found.warnings.append(f"has {len(made)} annotations: the first is read")
    if not made:
        found.warnings.append("has no annotation: read as a document without entities")
    relations = []
    for region in _list(made[0].get("result")) if made else []:
        value = region.get("value") if isinstance(region, dict) else None
        if isinstance(region, dict) and region.get("type") == "relation":
            relations.append(region)
        elif isinstance(value, dict) and region.get("type") in _REGIONS:
            place = value.get("globalOffsets") or value
            item = {**value, "start": place.get("start"), "end": place.get("end")}
            found.annotations += _items({**item, "id": region.get("id")}, line, found)
    if relations:
        found.rest["relations"] = relations


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()

"""Label files: what the labels are and what they mean, as TOML, CSV or JSON lines."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from attending.data.corpora import BUNDLED, Corpus
from attending.data.files import decode, read_bytes
from attending.data.readers import cell_text, read_table_bytes
from attending.data.separated import write_separated
from attending.data.wording import nearest_label, plural, shown_label
from attending.errors import AttendingError, DataError, LabelError, nearest
from attending.outputs import new_file, write_text
from attending.records import Document, Label, LabelSet, Row

_FIELDS = ("id", "name", "description", "keywords", "synonyms", "parent")
_LISTS = ("keywords", "synonyms")
_BROADER = "broader"
_YES = ("yes", "true", "1", "x")
_ID_COLUMNS = ("id", "label", "code")
_KINDS = {".toml": "toml", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl"}
_MARK = "|"


def load_labels(path: str | Path) -> LabelSet:
    """Read a label set from a TOML, CSV, TSV or JSON lines file; ``"portal"`` is bundled.

    Fields: ``id`` (required), ``name``, ``description``, ``keywords``, ``synonyms``, ``parent``,
    and ``broader`` for what is a parent only and given to no document; order is the file's. In
    CSV, keywords and synonyms are separated by ``|``. TOML holds ``name`` and ``ordered`` above
    its ``[[label]]`` tables, JSON lines in an optional first line
    ``{"set": ..., "ordered": ...}``; CSV has no place for them.

    Raises:
        LabelError: If the file is missing, broken or empty, a field is unknown or of the wrong
            type, two labels share an id, or a parent isn't in the set.
    """
    if path == BUNDLED:
        data = resources.files("attending.data").joinpath("portal", "labels.toml").read_bytes()
        return _read_labels(data, "labels.toml", "toml")
    path = Path(path)
    kind = _kind(path)
    try:
        return _read_labels(read_bytes(path), path.name, kind)
    except DataError as error:
        raise LabelError(
            error.what, where=error.where, found=error.found, allowed=error.allowed, step=error.step
        ) from None


def _kind(path: Path) -> str:
    kind = _KINDS.get(path.suffix.lower())
    if kind is None and not path.is_dir():
        raise LabelError(
            "the kind of label file can't be told from its name",
            where=str(path),
            found=f'ending "{path.suffix}"',
            allowed=", ".join(_KINDS),
        )
    return kind or ""


def _read_labels(data: bytes, file: str, kind: str) -> LabelSet:
    name, ordered = "label", False
    if kind == "toml":
        name, ordered, rows = _toml_rows(decode(data, file, "utf-8"), file)
    else:
        table = read_table_bytes(data, file, kind)
        rows = []
        for row in table.rows:
            where = f"{file} line {row.line}"
            if row.cells is None:
                raise LabelError(f"the label can't be read: {row.problem}", where=where)
            if kind == "jsonl" and not rows and set(row.cells) <= {"set", "ordered"}:
                name = _text(row.cells.get("set", name), "set", where)
                ordered = _flag(row.cells.get("ordered", False), where)
            else:
                rows.append((where, row.cells))
    if not rows:
        raise LabelError("the file holds no labels", where=file)
    flat = kind in ("csv", "tsv")
    read = [(_label(cells, where, flat=flat), _is_broader(cells, where)) for where, cells in rows]
    _require_consistent([label for label, _ in read], [where for where, _ in rows])
    labels = tuple(label for label, broader in read if not broader)
    if not labels:
        raise LabelError("every label is a broader one that no document gets", where=file)
    above = tuple(label for label, broader in read if broader)
    return LabelSet(labels, name=name, ordered=ordered, broader=above)


def _toml_rows(text: str, file: str) -> tuple[str, bool, list[tuple[str, Mapping[str, Any]]]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LabelError(f"broken TOML: {error}", where=file) from None
    for key in content:
        if key not in ("name", "ordered", "label"):
            raise LabelError(
                f'unknown key "{key}"',
                where=file,
                allowed="name, ordered, [[label]]",
                step=nearest(key, ("name", "ordered", "label")).strip() or None,
            )
    labels = content.get("label", [])
    if not isinstance(labels, list) or not all(isinstance(x, dict) for x in labels):
        raise LabelError("labels must be written as [[label]] tables", where=file)
    rows = [(f"{file} label {number}", row) for number, row in enumerate(labels, start=1)]
    name = _text(content.get("name", "label"), "name", file)
    return name, _flag(content.get("ordered", False), file), rows


def _label(cells: Mapping[str, Any], where: str, *, flat: bool) -> Label:
    cells = {k.strip(): v for k, v in cells.items()}
    id_key = next((k for k in _ID_COLUMNS if k in cells), None)
    fields = (*_FIELDS, _BROADER)
    known = (*fields, *_ID_COLUMNS)
    for key in cells:
        if key not in fields and key != id_key:
            raise LabelError(
                f'unknown field "{key[:40]}"',
                where=where,
                allowed=", ".join(fields),
                step=nearest(key, known).strip() or None,
            )
    if id_key is None:
        raise LabelError("the label has no id", where=where, allowed=", ".join(_FIELDS))
    id_ = _text(cells[id_key], "id", where).strip()
    if not id_:
        raise LabelError("the label's id is blank", where=where)
    lists = {key: _strings(cells.get(key), key, where, flat=flat) for key in _LISTS}
    parent = cells.get("parent")
    return Label(
        id=id_,
        name=_text(cells.get("name") or id_, "name", where),
        description=_text(cells.get("description") or "", "description", where),
        parent=_text(parent, "parent", where).strip() if parent else None,
        **lists,
    )


def _is_broader(cells: Mapping[str, Any], where: str) -> bool:
    value = next((v for k, v in cells.items() if k.strip() == _BROADER), None)
    if isinstance(value, str):
        mark = value.strip().casefold()
        if mark in _YES or mark in ("", "no", "false", "0"):
            return mark in _YES
    elif value is None or isinstance(value, bool):
        return bool(value)
    raise LabelError(f"{_BROADER} must be true or false", where=where, found=cell_text(value))


def _text(value: Any, key: str, where: str) -> str:
    if type(value) is not str:
        raise LabelError(
            f"{key} must be text",
            where=where,
            found=cell_text(value),
            step=f'Write it in quotation marks: {key} = "{cell_text(value)}".'
            if isinstance(value, int | float | str)
            else None,
        )
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise LabelError("ordered must be true or false", where=where, found=cell_text(value))
    return value


def _strings(value: Any, key: str, where: str, *, flat: bool) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    if flat:
        value = value.split(_MARK)
    if not isinstance(value, list) or not all(type(item) is str for item in value):
        raise LabelError(
            f"{key} must be a list of texts", where=where, allowed=f'{key} = ["one", "two"]'
        )
    return tuple(item.strip() for item in value if item.strip())


def _require_consistent(labels: Sequence[Label], places: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for label, where in zip(labels, places, strict=True):
        if label.id in first:
            raise LabelError(
                f'the label id "{label.id}" occurs twice',
                where=where,
                found=f"first at {first[label.id]}",
                step="Leave one of them out, or give it an id of its own.",
            )
        first[label.id] = where
    for label, where in zip(labels, places, strict=True):
        if label.parent is not None and label.parent not in first:
            raise LabelError(
                f'the parent "{label.parent}" is not a label of the set',
                where=where,
                step=nearest(label.parent, first).strip() or None,
            )


def write_labels(labels: LabelSet, path: str | Path, *, force: bool = False) -> None:
    """Write a label set as TOML, JSON lines (both come back the same) or CSV.

    CSV keeps neither the set's name nor whether it is ordered.

    Raises:
        LabelError: If the suffix is unknown, or CSV can't hold a keyword because of a ``|``.
        OutputError: If the file exists and ``force`` isn't set, or can't be written.
    """
    path = Path(path)
    kind = _kind(path)
    rows = [_row(label) for label in labels]
    rows += [{**_row(label), _BROADER: True} for label in labels.broader]
    if kind == "toml":
        import tomli_w

        body: dict[str, Any] = {"name": labels.name, "ordered": labels.ordered, "label": rows}
        write_text(path, tomli_w.dumps(body), force=force)
    elif kind == "jsonl":
        head = {"set": labels.name, "ordered": labels.ordered}
        lines = [json.dumps(row, ensure_ascii=False) for row in (head, *rows)]
        write_text(path, "\n".join(lines) + "\n", force=force)
    else:
        fields = (*_FIELDS, _BROADER) if labels.broader else _FIELDS
        flat = [_flat(row, fields) for row in rows]
        with new_file(path, force=force) as file:
            write_separated([fields, *flat], file, "\t" if kind == "tsv" else ",")


def _row(label: Label) -> dict[str, Any]:
    row: dict[str, Any] = {"id": label.id, "name": label.name, "description": label.description}
    row |= {"keywords": list(label.keywords), "synonyms": list(label.synonyms)}
    row["parent"] = label.parent
    return {key: value for key, value in row.items() if value or key == "id"}


def _flat(row: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    for key in _LISTS:
        if any(_MARK in item for item in row.get(key, ())):
            raise LabelError(
                f'{key} of "{row["id"]}" hold a "{_MARK}", which separates them in CSV',
                step="Write TOML or JSON lines instead.",
            )
    cells = {**row, **{key: _MARK.join(row.get(key, ())) for key in _LISTS}}
    cells[_BROADER] = "yes" if row.get(_BROADER) else ""
    return [cells.get(field, "") for field in fields]


def infer_labels(corpus: Corpus) -> LabelSet:
    """Make a label set of the labels that occur, sorted by code points.

    The order depends on nothing else, so every run and machine gives the same set.

    Raises:
        LabelError: If no document has a label.
    """
    ids = list(corpus.label_counts)
    if not ids:
        raise LabelError(
            "no document has a label",
            where=f'corpus "{corpus.name}"',
            step="Name the column of the label with --label.",
        )
    return LabelSet.from_ids(ids)


def require_known(
    corpus: Corpus, labels: LabelSet, unknown: Literal["error", "skip"] = "error"
) -> Corpus:
    """Return the corpus if every label is in the set.

    With ``unknown="skip"``, unknown labels are taken off and documents that are left with none
    are left out; a note counts them.

    Raises:
        LabelError: With ``unknown="error"``: names file, line, label and the nearest known one.
    """
    known = frozenset(labels.ids)
    strange = [d for d in corpus.documents if not known.issuperset(d.labels or ())]
    if not strange:
        return corpus
    if unknown == "error":
        raise _unknown_label(strange, labels)
    rows: list[Row] = []
    dropped = 0
    for row in corpus.rows:
        if isinstance(row, Document) and not known.issuperset(row.labels or ()):
            kept = tuple(x for x in row.labels or () if x in known)
            dropped += not kept
            if kept:
                rows.append(replace(row, labels=kept))
        else:
            rows.append(row)
    note = (
        f"{plural(len(strange), 'document')} with a label that is not in the label set: "
        f"{dropped:,} left out, {len(strange) - dropped:,} kept with the other labels"
    )
    return replace(corpus, rows=tuple(rows), notes=(*corpus.notes, note))


def _unknown_label(strange: Sequence[Document], labels: LabelSet) -> AttendingError:
    first = strange[0]
    known = frozenset(labels.ids)
    label = next(x for x in first.labels or () if x not in known)
    near = nearest_label(label, labels.ids)
    size = plural(len(labels), "label") + (f"; nearest {shown_label(near)}" if near else "")
    more = f", as in {plural(len(strange) - 1, 'more row')}" if len(strange) > 1 else ""
    return LabelError(
        f"label {shown_label(label)} is not in the label set ({size}){more}",
        where=str(first.source) if first.source else f'document "{first.id}"',
        step="Add it to the label file or pass --unknown-labels skip.",
    )

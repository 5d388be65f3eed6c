"""BRAT folders: a ``.txt`` and an ``.ann`` for every document.

A document keeps its ``.ann`` file as it was (``attributes["brat"]``), so that what is written
back is the same to the byte, relations, events, attributes and notes included; where spans were
changed, only their lines change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from attending.data.files import decode, read_bytes
from attending.data.spans.ann import (
    AnnLine,
    brat_type,
    check_lines,
    entity_line,
    parse_ann,
    without,
)
from attending.data.spans.corpus import Faults, SpanCorpus, Written, spans_to_write
from attending.data.spans.names import FileNames, require_folder
from attending.data.spans.offsets import Counting, Ruler, Unit
from attending.data.spans.placing import counting_notes, place
from attending.data.wording import plural, some
from attending.errors import DataError
from attending.outputs import write_text
from attending.records import Document, Prediction, Row, Source, Span, Unreadable

KEY = "brat"
"""Attribute that holds what a span can't: the ``.ann`` as it was and how its offsets count."""

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class _Pair:
    id: str
    text: Path
    ann: Path | None


def read_brat(
    path: str | Path,
    *,
    strict: bool = True,
    counting: Counting | None = None,
    encoding: str = "utf-8",
) -> SpanCorpus:
    """Read a folder of BRAT documents (also in folders below it), or one ``.txt`` or ``.ann``.

    A document is called as its files are, without the ending. Text is taken as it is; a
    byte-order mark is taken off and comes back when it is written. A ``.txt`` without ``.ann`` has
    no spans and a warning. Offsets become code points.

    Args:
        path: Folder or file.
        strict: Raise if anything can't be read; otherwise leave it out and list it.
        counting: How offsets count. Where left out, a document whose marked words fit another way
            better than code points is read that way, and counted in the notes.
        encoding: How the files' characters are stored.

    Returns:
        The documents in the order of their names; ``faults`` lists problems by file and line.

    Raises:
        DataError: If there is nothing to read, or ``strict`` and something can't be read.
    """
    root = Path(path)
    pairs = list(_pairs(root))
    if not pairs:
        raise DataError(
            "there are no BRAT documents", where=str(path), allowed=".txt files with .ann beside"
        )
    faults = Faults()
    rows: list[Row] = []
    countings = []
    for pair in pairs:
        row = _document(pair, root, faults, counting, encoding)
        rows.append(row)
        if isinstance(row, Document) and row.attributes[KEY].get("counting"):
            countings.append(Counting(**row.attributes[KEY]["counting"]))
    found = faults.settle(strict)
    name = root.name if root.is_dir() else root.stem
    return SpanCorpus(tuple(rows), name, counting_notes(countings), {}, found, "brat")


def _pairs(root: Path) -> Iterator[_Pair]:
    if not root.is_dir():
        if not root.exists():
            read_bytes(root)
        if root.suffix not in (".txt", ".ann"):
            raise DataError("not a BRAT file", where=str(root), allowed="a folder, .txt or .ann")
        ann = root.with_suffix(".ann")
        yield _Pair(root.stem, root.with_suffix(".txt"), ann if ann.exists() else None)
        return
    files = [
        file
        for file in root.rglob("*")
        if file.suffix in (".txt", ".ann")
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(root).parts)
    ]
    stems = sorted({file.relative_to(root).as_posix()[: -len(".txt")] for file in files})
    known = frozenset(files)
    for stem in stems:
        ann = root / f"{stem}.ann"
        yield _Pair(stem, root / f"{stem}.txt", ann if ann in known else None)


def _document(
    pair: _Pair, root: Path, faults: Faults, counting: Counting | None, encoding: str
) -> Row:
    folder = root if root.is_dir() else root.parent
    file = pair.text.relative_to(folder).as_posix()
    source = Source(file, 1)
    if not pair.text.exists():
        ann = f"{file.removesuffix('.txt')}.ann"
        faults.error(ann, 1, f"its text, {pair.text.name}, is not there")
        return Unreadable(pair.id, "the text is not there", Source(ann, 1))
    try:
        text, mark = _read(pair.text, file, encoding)
        ann_file = f"{file.removesuffix('.txt')}.ann"
        content = _read(pair.ann, ann_file, encoding) if pair.ann else None
    except DataError as error:
        where = str(error.where or file)
        line = where.rpartition(" line ")[2]
        broken = where.rpartition(" line ")[0] or where
        faults.error(broken, int(line) if line.isdecimal() else 1, error.what)
        return Unreadable(pair.id, error.what, source)
    if content is None:
        faults.warn(file, 1, "has no .ann: read as a document without entities")
        return Document(pair.id, text, attributes={KEY: _kept(None, mark)}, source=source)
    entities = check_lines(parse_ann(content[0]), ann_file, faults)
    spans, way = place(
        entities, text, ann_file, faults, counting=counting, lead=mark and bool(entities)
    )
    kept = _kept(content[1] * _MARK + content[0], mark, way)
    return Document(pair.id, text, spans=spans, attributes={KEY: kept}, source=source)


def _read(path: Path, file: str, encoding: str) -> tuple[str, bool]:
    """Return the text of a file and whether a byte-order mark stood before it."""
    data = read_bytes(path)
    text = decode(data, file, encoding)
    return text, data.startswith(b"\xef\xbb\xbf") and encoding.lower().startswith("utf")


def _kept(ann: str | None, mark: bool, way: Counting | None = None) -> dict[str, Any]:
    kept: dict[str, Any] = {"ann": ann}
    if mark:
        kept["mark"] = True
    if way is not None and not way.plain:
        kept["counting"] = way.to_dict()
    return kept


def _own(document: Document) -> Mapping[str, Any]:
    """Return what was kept of a document's files; nothing if the attribute isn't ours."""
    kept = document.attributes.get(KEY)
    if not isinstance(kept, dict) or not isinstance(kept.get("ann", 0), str | None):
        return {}
    counting = kept.get("counting")
    return kept if counting is None or _is_counting(counting) else {}


def _is_counting(value: Any) -> bool:
    kinds = {"unit": str, "crlf_as_one": bool, "lead": int}
    return (
        isinstance(value, dict)
        and all(type(x) is kinds.get(name) for name, x in value.items())
        and value.get("unit", "code-points") in get_args(Unit)
    )


def write_brat(
    documents: Sequence[Document],
    folder: str | Path,
    *,
    predictions: Sequence[Prediction] | None = None,
    scores: bool = False,
    force: bool = False,
) -> Written:
    """Write documents as a folder of ``.txt`` and ``.ann``.

    A document that was read from BRAT and not changed is written as it was. Where its spans were
    changed, new ones get new ids, and lines that speak of spans that are gone go too. With
    predictions, the ``.ann`` holds what was predicted and nothing else. If no document comes from
    BRAT, or predictions are written, ``annotation.conf`` lists the types, so that BRAT shows them.

    Args:
        documents: What to write.
        folder: Where to; made if it isn't there.
        predictions: One for every document, in order, to write instead of its own spans.
        scores: Write a span's score as a note on it.
        force: Write into a folder that holds files, over those of the same names.

    Raises:
        OutputError: If the folder holds files and ``force`` isn't set, or two documents would
            have the same file.
        DataError: If a span lies outside its text.
    """
    folder = Path(folder)
    spans = spans_to_write(documents, predictions)
    names = FileNames(folder)
    stems = [names.stem(document.id) for document in documents]
    require_folder(folder, force=force)
    gone = 0
    for document, stem, own in zip(documents, stems, spans, strict=True):
        target = folder / stem
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = _own(document)
        ann, lost = _ann(document, own, kept, fresh=predictions is not None, scores=scores)
        mark = _MARK if kept.get("mark") else ""
        write_text(target.with_name(f"{target.name}.txt"), mark + document.text, force=force)
        if ann is not None:
            write_text(target.with_name(f"{target.name}.ann"), ann, force=force)
        gone += lost
    types = sorted({brat_type(s.label) for own in spans for s in own})
    if predictions is not None or not any(map(_own, documents)):
        write_text(folder / "annotation.conf", _configuration(types), force=force)
    notes = [*names.notes, *_type_notes(spans)]
    if gone:
        notes.append(
            f"{plural(gone, 'line')} of .ann left out: they spoke of spans that are not there now"
        )
    return Written(len(documents), sum(map(len, spans)), tuple(notes))


def _type_notes(spans: Sequence[Sequence[Span]]) -> Iterator[str]:
    labels = {s.label for own in spans for s in own}
    odd = sorted(x or "" for x in labels if brat_type(x) != x)
    if odd:
        yield (
            f"{plural(len(odd), 'type')} written without white space, as BRAT needs it: "
            + some([f'"{x}"' for x in odd])
        )


def _configuration(types: Sequence[str]) -> str:
    return "\n".join(["[entities]", *types, "", "[relations]", "", "[events]", "", "[attributes]",
                      ""])  # fmt: skip


def _ann(
    document: Document,
    spans: Sequence[Span],
    kept: Mapping[str, Any],
    *,
    fresh: bool,
    scores: bool,
) -> tuple[str | None, int]:
    """Return the ``.ann`` of a document (``None``: it has none), and how many lines were lost."""
    for span in spans:
        if not all(0 <= start < end <= len(document.text) for start, end in span.pieces):
            raise DataError(
                "a span lies outside its text",
                where=f'document "{document.id}"',
                found=f"offsets {span.start} {span.end}, text of {len(document.text):,} characters",
            )
    original = None if fresh else kept.get("ann")
    counting = Counting(**kept["counting"]) if kept.get("counting") and not fresh else Counting()
    ruler = Ruler(document.text, counting)
    if original is None:
        if not spans and not fresh and kept:
            return None, 0
        made = _new_lines(spans, 1, document.text, ruler, scores)
        return "".join(f"{line}\n" for line in made), 0
    mark, content = original[: original.startswith(_MARK)], original.removeprefix(_MARK)
    lines = parse_ann(content)
    before, _ = place(
        check_lines(lines, "", Faults()), document.text, "", Faults(), counting=counting
    )
    if _same(before, spans):
        return original, 0
    changed, lost = _changed(lines, before, spans, document.text, ruler, scores)
    return mark + changed, lost


def _same(before: Sequence[Span], now: Sequence[Span]) -> bool:
    return sorted(map(_identity, before)) == sorted(map(_identity, now))


def _identity(span: Span) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    return span.id or "", span.label or "", span.pieces


def _changed(
    lines: Sequence[AnnLine],
    before: Sequence[Span],
    now: Sequence[Span],
    text: str,
    ruler: Ruler,
    scores: bool,
) -> tuple[str, int]:
    """Return the file with the lines of spans that changed written anew."""
    old = {span.id: span for span in before if span.id}
    new: dict[str | None, Span] = {}
    added: list[Span] = []
    for one in now:
        # Pieces of one span have its id: the first keeps it, the others are new.
        if one.id in old and one.id not in new:
            new[one.id] = one
        else:
            added.append(one)
    kept = without(lines, [id_ for id_ in old if id_ not in new])
    lost = len(lines) - len(kept) - (len(old) - len(new))
    shown = []
    for line in kept:
        span = new.get(line.id or "") if line.entity else None
        if span is None or line.id is None or _identity(span) == _identity(old[line.id]):
            shown.append(line.raw)
        else:
            end = "\r" if line.raw.endswith("\r") else ""
            shown.append(entity_line(span, line.id, text, ruler) + end)
    end = "\r" if any(line.raw.endswith("\r") for line in lines) else ""
    free = 1 + max((int(x.id[1:]) for x in lines if x.id and _numbered(x.id)), default=0)
    made = [line + end for line in _new_lines(added, free, text, ruler, scores)]
    if shown and not shown[-1].strip():
        shown.pop()
    return "\n".join([*shown, *made, ""]), lost


def _numbered(id_: str) -> bool:
    return id_[0] in "T#" and id_[1:].isascii() and id_[1:].isdecimal()


def _new_lines(
    spans: Sequence[Span], first: int, text: str, ruler: Ruler, scores: bool
) -> list[str]:
    lines = []
    for number, span in enumerate(spans, start=first):
        lines.append(entity_line(span, f"T{number}", text, ruler))
        if scores and span.score is not None:
            lines.append(f"#{number}\tAnnotatorNotes T{number}\tscore {span.score:.4f}")
    return lines

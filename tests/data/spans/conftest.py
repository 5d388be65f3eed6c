"""Texts that offsets go wrong on, and a BRAT folder to write."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from attending.records import Document, Span

# A letter with a combining mark, emoji of one and of several characters, a flag, a no-break and a
# thin space, a zero-width space, line ends of both kinds, a line separator and a vertical tab.
PIECES = [
    "a", "fever", "e\u0301", "Å", "😀", "👩\u200d⚕️", "🇫🇷", "\u00a0", "\u2009", "\u200b", " ",
    "\n", "\r\n", "\u2028", "\x0b", "ﬁ", ".", "-", "中",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=25).map("".join)


@st.composite
def documents(draw, blank_edges: bool = False) -> Document:
    """Draw a document with spans; without blank edges, spans begin and end with visible text."""
    text = draw(texts.filter(lambda t: not t.isspace()))
    places = st.integers(0, len(text))
    spans: dict[Span, None] = {}
    for _ in range(draw(st.integers(0, 4))):
        ends = sorted(draw(st.sets(places, min_size=2, max_size=4)))
        pairs = list(zip(ends[::2], ends[1::2], strict=False))
        if not blank_edges and any(not ok(text[a:b]) for a, b in pairs):
            continue
        label = draw(st.sampled_from(["Sign_symptom", "Mass", "Ärger"]))
        fragments = tuple(pairs) if len(pairs) > 1 else ()
        spans[Span(pairs[0][0], pairs[-1][1], label, fragments)] = None
    return Document("d1", text, spans=tuple(spans))


def ok(piece: str) -> bool:
    return bool(piece) and not piece[0].isspace() and not piece[-1].isspace()


def entities(document: Document) -> list[tuple]:
    return sorted((s.label, s.pieces) for s in document.spans)


@pytest.fixture
def brat(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a BRAT folder: ``name=(text, ann)``, as they are."""

    def write(**files: tuple[str | bytes, str | bytes | None]) -> Path:
        folder = tmp_path / "brat"
        folder.mkdir(exist_ok=True)
        for name, contents in files.items():
            for ending, content in zip(("txt", "ann"), contents, strict=True):
                if content is not None:
                    data = content if isinstance(content, bytes) else content.encode()
                    (folder / f"{name}.{ending}").write_bytes(data)
        return folder

    return write


def same_files(one: Path, other: Path) -> bool:
    names = {p.relative_to(one) for p in one.rglob("*") if p.is_file()}
    assert names == {p.relative_to(other) for p in other.rglob("*") if p.is_file()}
    return all((one / n).read_bytes() == (other / n).read_bytes() for n in names)

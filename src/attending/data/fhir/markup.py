"""HTML to the text that a reader of the page would see.

The standard library's parser takes quadratic time on markup that is never closed, so an upload of
a few hundred kilobytes could hold a service up for minutes. Here every token either ends or runs to
the end of the page, as it does in a browser, and time is linear.
Source: HTML Living Standard, section 13.2.5 (tokenization), as far as text depends on it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape

_HIDDEN = frozenset({"head", "object", "template"})
# Anything else ends a head, whose end tag and whose body's start tag may be left out: HTML Living
# Standard, section 13.2.6.4.4 ("in head").
_IN_HEAD = frozenset(
    {
        "base", "basefont", "bgsound", "head", "html", "link", "meta", "noscript", "script",
        "style", "template", "title",
    }
)  # fmt: skip
_BLANK = " \t\n\r\f"
# What stands in these is no markup; in the first ones it isn't text for the reader either.
_UNSEEN = frozenset({"script", "style", "title", "iframe", "noembed", "noframes"})
_RAW = _UNSEEN | {"textarea", "xmp"}
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
        "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
        "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend", "li", "main",
        "menu", "nav", "ol", "optgroup", "option", "p", "pre", "section", "summary", "table",
        "tbody", "tfoot", "thead", "tr", "ul",
    }
)  # fmt: skip
_APART = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "table", "ul", "ol", "pre"}
)
_CELLS = frozenset({"td", "th"})
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|(?P<open_comment>\Z)))"
    r"|<(?P<close>/?)(?P<tag>[a-zA-Z][^\s/>]*+)"
    # A quotation mark counts only behind an equals sign, else it is a part of a name.
    r"(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?+)*+)"
    r"(?:>|(?P<open_tag>\Z))"
    r"|<(?:[!?]|/(?=[^a-zA-Z]))[^>]*+(?:>|(?P<open_other>\Z))",
    re.DOTALL,
)
_ENDS = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in _RAW}
# HTML's own white space; a no-break space is not folded with what stands beside it.
_SPACE = re.compile(r"[ \t\n\r\f]+")


def text_of_html(markup: str) -> tuple[str, bool]:
    """Return the text of a page, and whether all of it was closed.

    Scripts, styles, titles, templates and comments are left out; character references are
    resolved; ``br`` and blocks break the line, paragraphs, lists and tables leave one line empty,
    cells of a row are parted by a tab, items of a list begin with ``- ``. White space is folded as
    a browser does, except in ``pre``. Nothing that a page refers to is loaded.

    The second value is false where something that hides text (a script, a comment, a tag) was never
    closed, so that what follows it is missing.
    """
    page = _Page()
    for kind, content in _tokens(markup):
        page.take(kind, content)
    return page.text(), not page.swallowed


def _tokens(markup: str) -> Iterator[tuple[str, str]]:
    """Yield ``text``, ``raw`` (text without references), ``start``, ``end`` and ``cut``."""
    place = 0
    while place < len(markup):
        found = _TOKEN.search(markup, place)
        if found is None:
            yield "text", markup[place:]
            return
        yield "text", markup[place : found.start()]
        place = found.end()
        if found.lastgroup in ("open_comment", "open_tag", "open_other"):
            yield "cut", ""
            return
        tag = (found["tag"] or "").lower()
        if not tag:
            continue
        yield ("end" if found["close"] else "start"), tag
        if tag not in _RAW or found["close"] or found["rest"].endswith("/"):
            continue
        end = _ENDS[tag].search(markup, place)
        content = markup[place : end.start() if end else len(markup)]
        if tag not in _UNSEEN:
            yield ("text" if tag == "textarea" else "raw"), content
        elif end is None:
            yield "cut", ""
        place = end.start() if end else len(markup)


class _Page:
    """Collects lines of text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden: list[str] = []
        self._open_tags: Counter[str] = Counter()
        self._cut = False
        self._pre = 0

    @property
    def swallowed(self) -> bool:
        """Whether the page ended inside something that hides text."""
        return self._cut or any(tag != "head" for tag in self._hidden)

    def text(self) -> str:
        """Return the lines, without empty ones at either end."""
        self._break()
        return "\n".join(self._lines).strip("\n")

    def take(self, kind: str, content: str) -> None:
        """Take a token."""
        if kind == "start":
            self._open(content)
        elif kind == "end":
            self._close(content)
        elif kind == "cut":
            self._cut = True
        else:
            self._text(content if kind == "raw" else unescape(content))

    def _open(self, tag: str) -> None:
        if tag == "body":
            self._hidden.clear()
            self._open_tags.clear()
        if tag not in _IN_HEAD:
            self._end_head()
        if tag in _HIDDEN:
            self._hidden.append(tag)
            self._open_tags[tag] += 1
        elif self._hidden:
            return
        elif tag == "br":
            self._break(empty=True)
        elif tag in _CELLS:
            if any(piece.strip(" ") for piece in self._line):
                self._line.append("\t")
        elif tag in _BLOCKS:
            self._break(apart=tag in _APART)
            self._pre += tag == "pre"
            if tag == "li":
                self._line.append("- ")

    def _end_head(self) -> None:
        while self._hidden and self._hidden[-1] == "head":
            self._close("head")

    def _close(self, tag: str) -> None:
        """Close an element; one that was never opened closes nothing."""
        if self._open_tags[tag]:
            last = ""
            while last != tag:
                last = self._hidden.pop()
                self._open_tags[last] -= 1
        elif not self._hidden and tag in _BLOCKS:
            self._break(apart=tag in _APART)
            self._pre -= tag == "pre" and self._pre > 0

    def _text(self, text: str) -> None:
        if text.strip(_BLANK):
            self._end_head()
        if text and not self._hidden:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._pre:
            first, *others = text.replace("\r\n", "\n").split("\n")
            self._line.append(first)
            for line in others:
                self._break(empty=True)
                self._line.append(line)
            return
        folded = _SPACE.sub(" ", text)
        before = self._line[-1] if self._line else ""
        if not before or before.endswith((" ", "\t")):
            folded = folded.lstrip(" ")
        if folded:
            self._line.append(folded)

    def _break(self, *, apart: bool = False, empty: bool = False) -> None:
        """End the line, if it holds anything or ``empty``; ``apart`` leaves one line empty."""
        line = "".join(self._line)
        self._line.clear()
        line = line if self._pre else line.strip(" \t")
        if line or empty:
            self._lines.append(line)
        if apart and self._lines and self._lines[-1]:
            self._lines.append("")

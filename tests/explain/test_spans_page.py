"""The page of texts with their entities: legible, true to the offsets, safe, without scripts."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.errors import DataError, OutputError
from attending.explain.spans_markup import LANES, Chip, marked
from attending.explain.spans_page import write_spans_page
from attending.records import Coverage, Document, Label, LabelSet, Prediction, Span, Unreadable

TEXT = "Left lower lobe pneumonia <script>alert(1)</script>, café \u200bleft or right knee"
LABELS = LabelSet((Label("Anatomy", "Anatomy", "A part of the body."), Label("Problem")))
VOID = {"meta", "input"}


class Page(HTMLParser):
    """What a page is made of: elements with attributes, and the text of each document."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts, self.words = [], [], [], ""
        self.feed(html)
        self.close()
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append((tag, attributes.get("class", "")))
        if attributes.get("class") == "text":
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag
        self.open.pop()

    def handle_data(self, data):
        names = [name for _, name in self.open]
        if self.open and self.open[-1][0] in ("style", "title"):
            return
        self.words += data
        if "text" in names and not any(name.startswith("tag ") for name in names):
            self.texts[-1] += data

    def all(self, **wanted):
        return [a for _, a in self.elements if wanted.items() <= a.items()]


def span(words, label, *pieces, text=TEXT):
    start = text.index(words)
    return Span(start, start + len(words), label, pieces)


def at(words):
    return TEXT.index(words), TEXT.index(words) + len(words)


@pytest.fixture
def write(tmp_path):
    def make(documents, predictions, **more):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        write_spans_page(path, documents, predictions, LABELS, title="Entities <b>", **more)
        return Page(path.read_text("utf-8"))

    return make


@pytest.fixture
def case():
    gold = (
        span("Left lower lobe", "Anatomy"),
        span("Left lower lobe pneumonia", "Problem"),
        Span(at("left")[0], at("knee")[1], "Anatomy", (at("left"), at("knee"))),
        span("right knee", "Anatomy"),
    )
    found = (
        span("Left lower lobe pneumonia", "Problem"),
        Span(5, 15, "Anatomy", score=0.51),
        span("right knee", "Problem"),
        span("alert(1)", "Problem"),
    )
    return Document("d<1>", TEXT, None, gold), Prediction("d<1>", "ok", spans=found)


def test_the_text_is_shown_as_it_is(write, case):
    page = write([case[0]], [case[1]])
    assert page.texts == [TEXT]
    assert "script" not in {tag for tag, _ in page.elements}
    assert "Entities <b>" in page.words and "1 · d<1>" in page.words
    assert page.all(**{"data-code": "U+200B"})


def test_every_pair_has_a_tag_that_says_its_offsets(write, case):
    page = write([case[0]], [case[1]])
    says = [a["aria-label"] for a in page.all(role="note") if "data-says" in a]
    left, knee, right = at("left"), at("knee"), at("right")
    assert says == [
        "gold Problem 0–25; found Problem 0–25: right",
        "gold Anatomy 0–15; found Anatomy 5–15, score 0.51: another place",
        f"found Problem {at('alert(1)')[0]}–{at('alert(1)')[1]}: no entity there",
        f"gold Anatomy {left[0]}–{left[1]} and {knee[0]}–{knee[1]}: missed",
        f"gold Anatomy {right[0]}–{knee[1]}; found Problem {right[0]}–{knee[1]}: another type",
    ]
    tags = [a for a in page.all(role="note") if "data-says" in a]
    assert all(a["tabindex"] == "0" and a["title"] == a["aria-label"] for a in tags)
    over = [a["title"] for a in page.all(**{"class": "on"})]
    assert any(title.count("\n") == 1 and "0–15" in title for title in over)


def test_the_list_holds_surfaces_that_are_slices(write, case):
    page = write([case[0]], [case[1]])
    for words in ("Left lower lobe pneumonia", "lower lobe", "left … knee", "right knee"):
        assert words in page.words
    assert "5 entities as a list" in page.words


def test_nested_entities_have_lines_of_their_own(write, case):
    page = write([case[0]], [case[1]])
    classes = {a["class"] for _, a in page.elements if a.get("class", "").startswith(("u", "d"))}
    assert {"u0 k-right", "u1 k-boundary", "d0 k-right", "d1 k-boundary"} <= classes
    assert {"u0 k-missed", "d0 k-spurious"} <= classes
    assert not {"d0 k-missed", "u0 k-spurious"} & classes
    assert page.all(style="--up:2;--down:2")


def test_a_document_that_was_not_read_says_so(write, case):
    document, _ = case
    rows = [document, Unreadable("row-2", "bad")]
    predictions = [Prediction(document.id, "too_long"), Prediction("row-2", "failed")]
    page = write(rows, predictions)
    assert "Not read: the text is too long. A person must look at it." in page.words
    assert page.texts == [TEXT] and "4 missed" in page.words


def test_a_text_read_in_part_says_so(write, case):
    document, prediction = case
    part = Prediction(document.id, "ok", spans=prediction.spans, read=Coverage(10, 12, 1))
    assert (
        "Read 10 of 12 tokens. The tagger does not know the rest."
        in write([document], [part]).words
    )


def test_without_gold_only_what_was_found_is_shown(write, case):
    page = write([Document("d<1>", TEXT)], [case[1]], known=False)
    assert "4 found." in page.words and "missed" not in page.words and "gold" not in page.words
    assert not page.all(type="radio")
    kinds = {a["class"] for a in page.all(role="note") if "data-says" in a}
    assert kinds == {"tag k-found"}


def test_the_documents_with_most_errors_are_kept(write):
    documents = [Document(f"d{k}", "a b c d", None, (Span(0, 1, "Problem"),)) for k in range(4)]
    wrong = (Span(2, 3, "Anatomy"), Span(4, 5, "Anatomy"))
    right = documents[0].spans
    found = [right, wrong, right, ()]
    predictions = [Prediction(f"d{k}", "ok", spans=s) for k, s in enumerate(found)]
    page = write(documents, predictions, most=2)
    assert "2 documents of 4, those with most errors" in page.words
    assert "1 · d1" in page.words and "2 · d3" in page.words
    assert page.all(href="#m2")


def test_types_that_occur_are_explained(write, case):
    assert "A part of the body." in write([case[0]], [case[1]]).words


def test_nothing_is_loaded_and_nothing_written_over(tmp_path, case):
    path = tmp_path / "page.html"
    document, prediction = case
    write_spans_page(path, [document], [prediction], LABELS, title="t")
    html = path.read_text("utf-8")
    assert "default-src 'none'" in html
    assert not {"link", "img", "script"} & {tag for tag, _ in Page(html).elements}
    with pytest.raises(OutputError, match="exists"):
        write_spans_page(path, [document], [prediction], LABELS, title="t")
    with pytest.raises(DataError, match="don't match"):
        write_spans_page(path, [document], [], LABELS, title="t", force=True)


strings = st.text(
    st.sampled_from("ab <&\"'\r\n\t\u00a0\u200b\u200de\u0301😀\U0001f1e9\ud83d"),
    min_size=1,
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(strings, st.data())
def test_any_text_and_any_entities_give_the_text_back(text, data):
    def stretch():
        start = data.draw(st.integers(0, len(text) - 1))
        return (start, data.draw(st.integers(start + 1, len(text))))

    chips = []
    for k in range(data.draw(st.integers(0, 9))):
        sides = data.draw(st.sampled_from(["gold", "found", "both"]))
        gold = (stretch(),) if sides != "found" else ()
        found = (stretch(),) if sides != "gold" else ()
        chips.append(Chip(k, "both", "w", gold, found, "A" * bool(gold), "<B" * bool(found)))
    body = marked(text, chips)
    page = Page(f'<div class="text">{body.html}</div>')
    shown = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ud83d", "")
    cut = {at for chip in chips for part in (*chip.gold, *chip.found) for at in part}
    if not any(text[at - 1 : at + 1] == "\r\n" for at in cut):
        assert page.texts == [shown]
    assert len([a for a in page.all(role="note") if "data-says" in a]) == len(chips)
    assert all(0 <= n <= LANES for n in body.lanes)

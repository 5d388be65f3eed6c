"""The report on entities: complete, self-contained, without texts, whatever came out."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attending.errors import OutputError
from attending.evaluation.spans.definitions import SPAN_DEFINITIONS
from attending.evaluation.spans.metrics import evaluate_spans
from attending.evaluation.spans.wording import in_short

MARKER = "ZQX-PATIENT-TEXT "


class Page(HTMLParser):
    """Collects tags and words, and checks that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1:]}>"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def write(pair, tmp_path):
    """Return a function: gold and found spans to the three files and the page."""

    def make(gold, found, types=("A", "B", "<i>C"), counts=None, **more):
        rows = pair(gold, found, types=types, text=MARKER * 40)
        result = evaluate_spans(*rows, resamples=30, counts=counts)
        folder = tmp_path / "report"
        paths = result.write(folder, title="Tags & <b>", context={"recipe": "x|y"}, **more)
        page = paths["page"].read_text("utf-8")
        return page, paths["summary"].read_text("utf-8"), json.loads(paths["json"].read_text())

    return make


GOLD = [[(0, 8, "A"), (9, 16, "B"), (20, 25, "A")], [(0, 8, "<i>C")], [(4, 9, "B")]]
FOUND = [[(0, 8, "A"), (9, 16, "A"), (20, 29, "B"), (60, 70, "<i>C")], "failed", [(4, 9, "B")]]


def test_the_report_is_complete(write):
    page, summary, machine = write(GOLD, FOUND, counts={"A": 900, "B": 4})
    parsed = Page(page)
    assert parsed.open == []
    text = parsed.text
    for words in (
        "Tags & <b>",
        "3 documents hold 5 entities of 3 types. The tagger found 5: 2 of them were right",
        "1 document got no answer: 1 entity in it count as missed.",
        "Four ways to count an entity",
        "Frequent types and rare ones",
        "What each type was taken for",
        "unweighted_accuracy",
        "1 without an answer, by id",
        "processing failed",
        "The documents with most errors",
        "All entities of a document without an answer count as missed",
    ):
        assert words in text, words
    assert "<i>C" in text and "<i>C" not in page.replace("&lt;i&gt;C", "")
    for figure in ("strict_micro_f1", "unweighted_accuracy", "token_accuracy_with_o"):
        assert f"{machine['metrics'][figure]:.3f}" in text
    assert machine["title"] == "Tags & <b>" and machine["task"] == "tagging"
    assert machine["not_read"] == [{"id": "d1", "reason": "failed", "entities": 1}]
    assert summary.count("\n## ") >= 8 and "| d1 | 1 entity | processing failed |" in summary
    assert "&lt;i>C" in summary


def test_no_text_is_in_the_report_and_nothing_is_loaded(write):
    page, summary, machine = write(GOLD, FOUND)
    for body in (page, summary, json.dumps(machine)):
        assert "ZQX" not in body
    tags = {tag for tag, _ in Page(page).tags}
    assert not tags & {"script", "link", "img", "iframe"}
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page)


def test_bars_say_in_words_what_they_show(write):
    page, *_ = write(GOLD, FOUND)
    shown = [a["aria-label"] for _, a in Page(page).tags if a.get("role") == "img"]
    assert (
        "A: 1 right, 0 another type, 0 another place, 1 another place and type, 0 missed" in shown
    )
    assert any(words.startswith("All gold entities: 2 right") for words in shown)
    assert "F1 of <i>C: 0.000" in shown


def test_missed_and_spurious_are_in_the_matrix(write):
    page, *_ = write(GOLD, FOUND)
    titles = [a["title"] for tag, a in Page(page).tags if tag == "td" and "title" in a]
    assert "<i>C → missed: 1 (100.0%)" in titles
    assert "nothing is there → <i>C: 1 (100.0%)" in titles
    assert "B → A: 1 (50.0%)" in titles


@pytest.mark.parametrize(
    ("gold", "found"),
    [([[]], [[]]), ([[(0, 8, "A")]], [[]]), ([[]], [[(0, 8, "A")]]), ([[(0, 8, "A")]], ["failed"])],
)
def test_any_outcome_has_a_report(write, gold, found):
    page, summary, _ = write(gold, found, counts={"B": 3})
    assert Page(page).open == [] and "nan" not in summary.lower()


def test_many_types_have_no_matrix_but_the_most_frequent_confusions(write):
    types = [f"T{k:03}" for k in range(70)]
    gold = [[(4 * k, 4 * k + 3, t) for k, t in enumerate(types)]]
    found = [[(4 * k, 4 * k + 3, types[k // 2]) for k in range(70)]]
    page, *_ = write(gold, found, types=types)
    assert "All types against all" not in page
    assert "The 20 most frequent ways" in page and "20 more types" in page


def test_a_report_is_not_written_over_another_one_unasked(write):
    write(GOLD, FOUND)
    with pytest.raises(OutputError, match="exists already"):
        write(GOLD, FOUND)
    write(GOLD, FOUND, force=True)


def test_what_one_layer_can_not_hold_is_said(pair):
    nested = [(0, 20, "A"), (0, 9, "B"), (30, 50, "A", (30, 35), (45, 50))]
    said = in_short(evaluate_spans(*pair([nested], [[]]), resamples=0))
    assert any("2 entities overlap another one and 1 was in several pieces" in s for s in said)
    assert any("can't find more than 33.3% of all" in s for s in said)


def test_the_page_of_definitions_is_complete():
    page = (Path(__file__).parents[3] / "docs" / "tagging-evaluation.md").read_text("utf-8")
    for key, definition in SPAN_DEFINITIONS.items():
        assert f"| `{key}` | {definition} |" in page

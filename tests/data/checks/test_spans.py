"""Checks of annotated spans: borders, overlaps, types; never a word of a text."""

import pytest

from attending.data.check import check
from attending.data.checks.spans import check_documents, splits_character
from attending.data.spans.corpus import SpanCorpus
from attending.data.spans.formats import load_spans
from attending.records import Document, LabelSet, Span

TEXT = "Left lower lobe pneumonia, e\u0301clair rash \U0001f44d\U0001f3fd and rash."


def corpus(*spans: Span, name: str = "train", text: str = TEXT) -> SpanCorpus:
    return SpanCorpus((Document("d1", text, spans=spans),), name)


def of(report, code):
    (finding,) = report.of(code)
    return finding


@pytest.mark.parametrize(
    ("text", "place", "splits"),
    [
        ("e\u0301a", 1, True),
        ("e\u0301a", 2, False),
        ("\U0001f44d\U0001f3fd", 1, True),
        ("\U0001f469\u200d\u2695\ufe0f", 1, True),
        ("\U0001f469\u200d\u2695\ufe0f", 2, True),
        ("\U0001f469\u200d\u2695\ufe0f", 3, True),
        ("\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea", 1, True),
        ("\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea", 2, False),
        ("\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea", 3, True),
        ("a\r\nb", 2, True),
        ("a\r\nb", 1, False),
        ("ab", 1, False),
        ("ab", 0, False),
        ("ab", 2, False),
        (" \u0301", 1, False),
    ],
)
def test_borders_inside_a_character(text, place, splits):
    assert splits_character(text, place) is splits


def test_odd_borders():
    findings = {
        f.code: f
        for f in check_documents(
            "train",
            [
                Document(
                    "d1",
                    TEXT,
                    spans=(
                        Span(0, 99, "A", id="T1"),
                        Span(4, 10, "A", id="T2"),
                        Span(27, 28, "B"),
                        Span(16, 20, "C", id="T4"),
                    ),
                )
            ],
        )
    }
    assert findings["spans-outside"].severity == "error"
    assert findings["spans-outside"].counts["ids"] == ["d1 T1"]
    assert findings["span-edges"].counts["ids"] == ["d1 T2"]
    assert findings["split-characters"].counts["ids"] == ["d1 27 28"]
    assert set(findings["inside-words"].counts["ids"]) >= {"d1 T4", "d1 27 28"}


def test_overlaps_are_counted():
    report = check(
        corpus(
            Span(0, 15, "Anatomy", id="T1"),
            Span(0, 25, "Problem", id="T2"),
            Span(11, 26, "Problem", id="T3"),
            Span(0, 15, "Anatomy", id="T4"),
            Span(0, 15, "Site", id="T5"),
            Span(0, 25, "Pair", ((0, 4), (16, 25)), id="T6"),
        )
    )
    counts = of(report, "overlaps").counts
    assert counts == {"spans": 6, "nested": 4, "crossing": 1, "discontinuous": 1, "dropped": 5}
    assert of(report, "duplicate-spans").counts["ids"] == ["d1 T4"]
    assert of(report, "two-types").counts["ids"] == ["d1 T5"]


def test_one_wording_with_several_types():
    report = check(corpus(Span(35, 39, "Sign"), Span(47, 51, "Disease"), text=TEXT))
    finding = of(report, "ambiguous-words")
    assert finding.counts == {"wordings": 1, "spans": 1, "types": {"Disease / Sign": 1}}
    assert "rash" not in finding.message


def test_types_rare_unseen_and_strange():
    train = corpus(*(Span(i, i + 1, "Sign") for i in range(4)), Span(5, 6, "Mass"))
    other = corpus(Span(0, 4, "Height"), name="test", text="Tall man")
    report = check({"train": train, "test": other}, LabelSet.from_ids(["Sign", "Mass"]))
    assert of(report, "rare-types").counts == {"types": {"Sign": 4, "Mass": 1}}
    assert of(report, "unseen-types").counts == {"types": {"Height": 1}}
    assert of(report, "unknown-types").severity == "error"
    assert report.corpora[0].types == {"Mass": 1, "Sign": 4}
    assert not report.of("unlabelled")
    assert "train: 1 document, 5 spans of 2 entity types" in report.render()
    assert report.to_dict()["corpora"][0]["types"] == {"Mass": 1, "Sign": 4}


def test_without_spans_there_is_nothing_to_learn():
    assert not check(corpus()).exit_ok


def test_problems_of_the_files_are_findings(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"{name} fever")
        (tmp_path / f"{name}.ann").write_text("T1\tSign 2 7\tfever\nT2\tSign 2 99\tx\n")
    (tmp_path / "d.txt").write_text("no file of its own")
    report = check(load_spans(tmp_path, strict=False))
    finding = of(report, "span-problems")
    assert (finding.severity, finding.counts["places"]) == ("error", 3)
    assert finding.counts["problems"][0].startswith("a.ann line 2: T2 lies outside the text")
    assert of(report, "span-remarks").counts["problems"] == [
        "d.txt line 1: has no .ann: read as a document without entities"
    ]
    assert "fever" not in report.render()

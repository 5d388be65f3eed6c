"""The check finds what is wrong, with places and counts, and never shows a text."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.check import check
from attending.data.checks.lengths import measure
from attending.data.checks.near import near_duplicates
from attending.data.checks.page import bar
from attending.data.corpora import Corpus, load_corpus
from attending.data.folding import fold_label, fold_text
from attending.data.labels import load_labels
from attending.errors import DataError
from attending.records import Document, LabelSet, Source, Unreadable

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


def corpus(*rows: tuple[str, str | None] | tuple[str, str | None, str], name="train") -> Corpus:
    return Corpus(
        tuple(
            Document(
                f"{name}-{i}",
                row[0],
                None if row[1] is None else (row[1],),
                group=row[2] if len(row) > 2 else None,
                source=Source(f"{name}.csv", i + 2),
            )
            for i, row in enumerate(rows)
        ),
        name,
    )


def lines_of(finding) -> list[list[int]]:
    return [[place.line for place in group] for group in finding.where]


def only(report, code):
    assert len(report.of(code)) == 1, [f.code for f in report.findings]
    return report.of(code)[0]


PLAIN = [(f"plain text number {i}", "ab"[i % 2]) for i in range(20)]


def test_a_clean_corpus_has_nothing_to_report():
    report = check(corpus(*PLAIN))
    assert report.findings == ()
    assert report.exit_ok
    assert report.lines()[-1] == "Nothing to complain about."


def test_one_text_under_several_labels_gives_the_accuracy_ceiling():
    rows = [("Chest  pain", "a"), ("chest pain\u200b", "b"), ("chest pain", "a"), *PLAIN]
    finding = only(check(corpus(*rows)), "several-labels")
    assert finding.counts["texts"] == 1
    assert finding.counts["documents"] == 3
    assert (finding.counts["right_at_most"], finding.counts["labelled"]) == (22, 23)
    assert finding.counts["accuracy_ceiling"] == pytest.approx(22 / 23)
    assert finding.counts["share_by_label"] == {"a": 2 / 12, "b": 1 / 11}
    assert "an accuracy of 95.7%" in finding.message
    assert lines_of(finding) == [[2, 3, 4]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("wxyz"), st.sampled_from("abc")), max_size=12))
def test_the_ceiling_is_what_the_best_lookup_reaches(rows):
    best = sum(
        max([label for text, label in rows if text == t].count(x) for x in "abc")
        for t in {text for text, _ in rows}
    )
    found = check(corpus(*rows)).of("several-labels")
    if found:
        assert found[0].counts["right_at_most"] == best
    else:
        assert best == len(rows)


def test_duplicates_of_one_label_are_a_finding_of_their_own():
    report = check(corpus(("same text", "a"), ("Same text", "a"), *PLAIN))
    assert lines_of(only(report, "duplicates")) == [[2, 3]]
    assert not report.of("several-labels")


def test_near_duplicates_are_found_within_and_across():
    train = corpus((LONG, "a"), (f"{LONG} and more", "b"), *PLAIN)
    test = corpus((f"{LONG}, really", "a"), ("another text", "b"), name="test")
    report = check({"train": train, "test": test})
    near = only(report, "near-duplicates")
    assert near.counts == {"texts": 2, "groups": 1, "groups_with_several_labels": 1}
    leak = only(report, "leak-near")
    assert leak.counts == {"texts": 1}
    assert [p.corpus for p in leak.where[0]] == ["test", "train"]


def test_leaks_by_text_and_by_group():
    train = corpus(("in both", "a", "p1"), ("only here", "b", "p2"), name="train")
    test = corpus(("In both ", "b", "p1"), ("elsewhere", "a", "p3"), name="test")
    report = check({"test": test, "train": train})
    text = only(report, "leak-text")
    assert text.severity == "error"
    assert text.counts == {"texts": 1, "documents": 1, "of": 2, "under_other_labels": 1}
    assert "1 of 2 documents of test (50.0%) have a text that is in train too" in text.message
    group = only(report, "leak-group")
    assert group.counts == {"groups": 1, "documents": 1}
    assert not report.exit_ok
    assert [s.name for s in report.corpora] == ["train", "test"]


def test_empty_and_damaged_texts():
    rows = [("", "a"), (" \n\u200b\ufeff", "a"), ("caf\ufffd", "a"), ("it\x92s", "b"), *PLAIN]
    report = check(corpus(*rows))
    assert lines_of(only(report, "empty-texts")) == [[2], [3]]
    assert lines_of(only(report, "damaged-texts")) == [[4], [5]]
    assert not report.of("duplicates")


def test_unreadable_rows_are_listed_with_reasons():
    bad = Unreadable("row-1", "3 cells, expected 2", Source("x.csv", 2))
    base = corpus(*PLAIN)
    report = check(Corpus((bad, *base.rows), "x"))
    finding = only(report, "unreadable-rows")
    assert finding.counts == {"rows": 1, "reasons": {"3 cells, expected 2": 1}}
    assert finding.message == "1 row of 21 in x can't be read (3 cells, expected 2)"
    assert not check(Corpus((bad,), "x")).exit_ok


def test_label_spelling_twins(case):
    report = check(load_corpus(case("D04") / "labels.csv"))
    twins = only(report, "label-twins")
    values = json.loads((case("D04") / "expected.json").read_text())["values"]
    assert [twins.counts["labels"]] == values["near_duplicates"]
    assert twins.counts["documents"] == {"Urgent": 3, "urgent": 1}


@pytest.mark.parametrize(
    "spelling", ["Non-Urgent", "non urgent", "non_urgent", "NONURGENT", "non–urgent",
                 "ｎon-urgent", "non-\u200burgent"],
)  # fmt: skip
def test_what_counts_as_a_spelling_twin(spelling):
    assert fold_label(spelling) == fold_label("non-urgent")


def test_labels_that_only_look_alike_are_no_twins():
    assert len({fold_label(x) for x in ("I10", "I1.0", "E11", "E11.9", "8000/3", "8000/6")}) == 6


def test_accents_in_both_normal_forms_are_one_text():
    assert fold_text("Caf\u00e9") == fold_text("cafe\u0301")
    assert fold_text("a\u00a0 b\n") == "a b"


def test_labels_against_the_label_set():
    report = check(corpus(*PLAIN, ("odd one", "c")), LabelSet.from_ids(["a", "b", "z"]))
    unknown = only(report, "unknown-labels")
    assert unknown.severity == "error"
    assert unknown.counts == {"labels": ["c"], "documents": 1}
    assert only(report, "labels-without-examples").counts == {"labels": ["z"]}
    assert list(report.corpora[0].labels) == ["a", "b", "c"]


def test_labels_with_too_few_examples():
    report = check(corpus(*PLAIN, ("odd one", "c"), ("odd two", "c")), folds=3)
    assert only(report, "few-examples").counts == {"labels": {"c": 2}, "folds": 3}


def test_labels_of_one_part_only():
    train, test = corpus(("x", "a"), ("y", "b")), corpus(("z", "a"), ("w", "c"), name="test")
    report = check({"train": train, "test": test})
    unseen = only(report, "labels-only-in-test")
    assert unseen.counts == {"labels": {"c": 1}, "share": 0.5, "documents": 1}
    assert unseen.severity == "error"
    assert only(report, "labels-only-in-train").counts == {"labels": {"b": 1}}


def test_one_label_only_is_an_error():
    report = check(corpus(*[(f"t {i}", "a") for i in range(9)]))
    assert only(report, "one-label").severity == "error"


def test_a_column_of_texts_is_no_label():
    report = check(corpus(*[(f"t {i}", f"note {i}") for i in range(30)]))
    assert 'is "label" the column of the label?' in only(report, "many-labels").message


def test_unlabelled_documents():
    assert only(check(corpus(("x", "a"), ("y", None))), "unlabelled").counts == {"documents": 1}
    assert "no document" in only(check(corpus(("x", None), ("y", None))), "unlabelled").message


def test_gaps_in_groups_are_noted_but_an_absent_column_is_not():
    report = check(corpus(("x y", "a", "p"), ("z w", "b")))
    assert lines_of(only(report, "missing-groups")) == [[3]]
    assert not report.of("missing-dates")


def test_lengths_and_the_share_that_is_not_read():
    texts = ["w " * n for n in (0, 10, 20, 30, 40)]
    lengths, findings = measure(
        corpus(*[(t, "a") for t in texts]), lambda ts: [len(t.split()) + 2 for t in ts], 22
    )
    words, tokens = lengths
    assert (words.total, words.median, words.largest, words.mean) == (100, 20, 40, 20)
    assert sum(n for _, _, n in words.histogram) == 5
    assert words.histogram[0][0] == 0
    assert words.histogram[-1][1] == 45
    assert (tokens.total, tokens.over) == (110, 2)
    assert tokens.unread == pytest.approx((10 + 20) / 110)
    assert lines_of(findings[0]) == [[5], [6]]
    assert "27.3% of all tokens" in findings[0].message


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=50))
def test_histograms_count_every_document_once(counts):
    (words,), _ = measure(corpus(*[("w " * min(n, 300), "a") for n in counts]), None, None)
    assert sum(n for _, _, n in words.histogram) == len(counts)
    edges = [(low, high) for low, high, _ in words.histogram]
    assert all(one[1] == two[0] for one, two in pairwise(edges))
    assert len(edges) <= 11


def test_no_text_and_no_long_label_reaches_the_report():
    secret = "zqx marker"
    rows = [(f"{secret} {LONG}", "a"), (f"{secret} {LONG}", "b"), (f"{secret} {LONG} x", "a")]
    rows += [("y", f"{secret} " * 20), ("\ufffd" + secret, "b")]
    train = corpus(*rows)
    report = check({"train": train, "test": train}, LabelSet.from_ids(["a"]))
    shown = report.render(most=99)
    assert len(report.findings) > 6
    assert "zqx" not in shown
    places = json.dumps([f["where"] for f in report.to_dict()["findings"]])
    assert "zqx" not in places


def test_places_are_capped_for_people_and_complete_for_machines():
    rows = [(f"same {i // 2}", "a") for i in range(40)] + PLAIN
    report = check(corpus(*rows))
    assert "train.csv lines 2 = 3, 4 = 5 and 18 more" in report.render(most=2)
    found = report.to_dict()["findings"][0]
    assert len(found["where"]) == 20
    assert found["where"][0][0] == {
        "corpus": "train", "id": "train-0", "file": "train.csv", "line": 2,
    }  # fmt: skip
    json.dumps(report.to_dict())


def test_the_bundled_corpus_passes():
    report = check(load_corpus("portal"), load_labels("portal"))
    assert report.exit_ok
    assert list(report.corpora[0].labels) == ["non-urgent", "medium", "urgent"]
    assert {f.code for f in report.findings} <= {"near-duplicates"}


def test_nothing_to_check_is_refused():
    with pytest.raises(DataError, match="no corpus"):
        check({})


# Near duplicates against a slow reference.


def slow_pairs(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    grams = []
    for text in texts:
        words = text.split()
        grams.append({tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))})
    return {
        (i, j)
        for j in range(len(texts))
        for i in range(j)
        if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold - 1e-9
    }


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=14), min_size=1, max_size=12),
    st.sampled_from([0.2, 0.5, 0.8, 1.0]),
)
def test_near_duplicates_equal_the_slow_reference(words, threshold):
    texts = sorted({" ".join(row) for row in words})
    found = near_duplicates(texts, threshold)
    assert {(i, j) for i, j, _ in found.pairs} == slow_pairs(texts, threshold)
    twins = {i for pair in found.pairs for i in pair[:2]}
    assert {i for group in found.groups for i in group} == twins


def test_a_form_that_very_many_texts_share_is_found_as_one_group():
    form = " ".join(f"word{i}" for i in range(60))
    found = near_duplicates([f"{form} patient{i}" for i in range(300)])
    assert [len(group) for group in found.groups] == [300]


# The page for people.


def test_the_page_shows_balance_lengths_and_the_worst_first():
    rows = [(f"text {i} " + "w " * (i % 40), f"kind {i % 13}") for i in range(130)]
    bad = Unreadable("row-1", "no text", Source("train.csv", 200))
    base = corpus(*rows)
    report = check(
        Corpus((*base.rows, bad), "train", columns={"text": "body"}),
        LabelSet.from_ids([f"kind {i}" for i in range(12)]),
        count_tokens=lambda texts: [len(t.split()) for t in texts],
        max_tokens=20,
    )
    page = report.lines()
    assert page[0] == "train: 130 documents, 13 labels, 1 row unreadable"
    assert page[1] == '  read from text "body"'
    assert "  and 1 more label with 10 examples" in page
    assert any("at 20 tokens: 63 documents cut, 26.2% of all tokens not read" in x for x in page)
    severities = [x.split()[0] for x in page if x.startswith(("error ", "warning ", "note "))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"
    assert page[-1] == "1 error to put right, 2 warnings."


def test_bars_grow_with_counts_and_anything_shows():
    assert bar(0, 100) == ""
    assert bar(1, 100_000) == "▏"
    assert bar(50, 100) == "█" * 15
    assert bar(100, 100) == "█" * 30


def test_documents_without_a_file_are_named_by_id():
    rows = [Document(f"m{i}", "the same", ("a",)) for i in range(6)]
    page = check(Corpus(tuple(rows), "inbox")).render()
    assert "inbox m0 = inbox m1 = inbox m2 = inbox m3 = 2 more" in page

"""Checks where documents have several labels."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.check import check
from attending.data.checks.several import LabelsPerDocument, frequencies, micro_f1_ceiling
from attending.data.corpora import Corpus
from attending.records import Document, Label, LabelSet, Source


def corpus(*rows, name="train"):
    return Corpus(
        tuple(
            Document(f"{name}-{i}", text, labels, source=Source(f"{name}.csv", i + 2))
            for i, (text, labels) in enumerate(rows)
        ),
        name,
    )


def only(report, code):
    assert len(report.of(code)) == 1, [f.code for f in report.findings]
    return report.of(code)[0]


PLAIN = [(f"plain text number {i}", ("a", "b") if i % 2 else ("a",)) for i in range(20)]


def test_labels_a_document():
    found = LabelsPerDocument.of(corpus(("x", ("a", "b")), ("y", ()), ("z", None), ("w", ("a",))))
    assert found == LabelsPerDocument(1.0, 1, 2, 1)
    assert LabelsPerDocument.of(corpus(("x", ("a",)), ("z", None))) is None


def test_frequencies_by_hand():
    counts = {"a": 51, "b": 50, "c": 6, "d": 5, "e": 1, "f": 1}
    assert [(f.name, f.labels, f.examples) for f in frequencies(counts)] == [
        ("head", 1, 51), ("torso", 2, 56), ("tail", 3, 7), ("once", 2, 2),
    ]  # fmt: skip


def test_the_page_says_both_in_few_lines():
    labels = [f"c{i}" for i in range(9000)]
    rows = [(f"text number {i}", tuple(labels[i * 30 : i * 30 + 40])) for i in range(300)]
    report = check({"train": corpus(*rows), "test": corpus(("other", ("c1", "zz")), name="test")},
                   LabelSet.from_ids(labels))  # fmt: skip
    page = report.render()
    assert "labels a document: mean 39.97, median 40, most 40" in page
    assert "labels by frequency: 9,000 tail (1-5 documents, 100% of all label examples); 6" in page
    assert len(page.splitlines()) < 90
    assert max(map(len, page.splitlines())) < 400
    body = report.to_dict()["corpora"][0]
    assert body["labels_per_document"]["largest"] == 40
    assert body["frequencies"][2]["labels"] == 9000


def test_one_text_under_several_sets_of_labels():
    rows = [("Chest pain", ("a", "b")), ("chest  pain", ("b", "a")), ("chest pain", ("a",)), *PLAIN]
    finding = only(check(corpus(*rows)), "several-labels")
    assert (finding.counts["right_at_most"], finding.counts["labelled"]) == (22, 23)
    # Of 35 true labels the answer {a, b} misses none and gives one too many: 2 * 35 / (35 + 36).
    assert finding.counts["micro_f1_ceiling"] == pytest.approx(70 / 71)
    assert "1 text in train occurs under several sets of labels (3 documents)" in finding.message
    assert "an exact-match accuracy of 95.7%, with a micro-F1 of at most 98.6%" in finding.message


SETS = st.dictionaries(
    st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("a", "c")]), st.integers(1, 4),
    min_size=1, max_size=3,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(SETS, min_size=1, max_size=3))
def test_the_micro_f1_ceiling_is_that_of_the_best_answers(texts):
    answers = [set(x) for n in range(4) for x in itertools.combinations("abc", n)]
    true = sum(len(s) * n for sets in texts for s, n in sets.items())
    best = 0.0 if true else 1.0
    for chosen in itertools.product(answers, repeat=len(texts)):
        pairs = list(zip(chosen, texts, strict=True))
        right = sum(len(a & set(s)) * n for a, sets in pairs for s, n in sets.items())
        given_ = sum(len(a) * sum(sets.values()) for a, sets in pairs)
        best = max(best, 2 * right / (given_ + true) if given_ + true else 1.0)
    assert micro_f1_ceiling([Counter(sets) for sets in texts]) == pytest.approx(best)


def test_labels_that_only_a_test_part_has_are_a_warning():
    train, test = corpus(*PLAIN), corpus(("x", ("a", "c")), ("y", ("b",)), name="test")
    report = check({"train": train, "test": test})
    finding = only(report, "labels-only-in-test")
    assert finding.severity == "warning"
    assert "1 label of test has no example in train (33.3% of its label examples, 1 document)" in (
        finding.message
    )
    assert report.exit_ok


def test_one_label_or_none_is_something_to_learn():
    assert not check(corpus(("x", ("a",)), ("y", ()))).of("one-label")
    assert check(corpus(("x", ("a",)), ("y", ("a",)))).of("one-label")


def test_codes_that_are_not_in_the_label_set_come_with_the_nearest():
    labels = LabelSet.from_ids(["I10", "E11.9", "E11.65"])
    report = check(corpus(("x", ("E119", "I10")), ("y", ("E11.8",)), ("z", ("Q1",))), labels)
    message = only(report, "unknown-labels").message
    assert '"E11.8" (nearest "E11.9"), "E119" (nearest "E11.9"), "Q1"' in message
    assert '"Q1" (nearest' not in message


def test_many_spelling_twins_are_one_finding():
    labels = [x for i in range(8) for x in (f"code{i}", f"Code {i}")]
    report = check(corpus(*[(f"t{i}", (x, "z")) for i, x in enumerate(labels)]))
    assert "8 groups of labels that differ in spelling only" in only(report, "label-twins").message


def test_labels_without_a_meaning_and_shared_meanings():
    labels = LabelSet((
        Label("a", description="Chest pain"), Label("b", description="chest  pain "),
        Label("c", description=" "), Label("d", name="Named"), Label("e", keywords=("x",)),
    ))  # fmt: skip
    report = check(corpus(*PLAIN), labels)
    finding = only(report, "labels-without-text")
    assert finding.counts == {"labels": ["c"]}
    assert '"c"; describe them in the label file' in finding.message
    assert only(report, "same-descriptions").counts == {"labels": [["a", "b"]]}
    bare = check(corpus(*PLAIN), LabelSet.from_ids(["a", "b"]))
    assert not bare.of("labels-without-text")


def test_a_document_of_two_megabytes(tmp_path):
    from attending.data.corpora import load_corpus
    from attending.data.writers import write_documents

    text = "word " * 400_000
    rows = [Document("1", text, ("a", "b")), Document("2", "short", ("a",))]
    for name, more in (("m.csv", {}), ("m.jsonl", {}), ("m.tsv", {"format": "libmultilabel"})):
        write_documents(rows, tmp_path / name, **more)
        found = load_corpus(tmp_path / name, **more)
        assert found.documents[0].text == text
        assert found.documents[0].labels == ("a", "b")
    report = check(found)
    assert report.corpora[0].lengths[0].largest == 400_000
    assert max(map(len, report.lines())) < 300

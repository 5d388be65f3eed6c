"""The multi-label report: complete, self-contained, without texts, whatever the outcome was."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from attending.evaluation.multilabel.areas import Operating
from attending.evaluation.multilabel.documents import worst_documents
from attending.evaluation.multilabel.metrics import evaluate_multilabel
from attending.evaluation.multilabel.outcome import match_multilabel
from attending.evaluation.multilabel.pictures import frequency_plot, threshold_plot
from attending.evaluation.report import write_report
from attending.evaluation.task import in_short
from attending.records import Document, LabelSet, Prediction

MARKER = "ZQX-PATIENT-TEXT"


class Page(HTMLParser):
    """Collects tags and words, and checks that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1:]}>"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def write(folder, documents, predictions, labels, **more):
    found = evaluate_multilabel(
        documents, predictions, labels, **{"resamples": 30, "ks": (1, 5)} | more
    )
    paths = write_report(
        folder,
        evaluation=found,
        documents=documents,
        predictions=predictions,
        labels=labels,
        title="Codes of letters",
        context={"Recipe": "lame"},
    )
    return found, {kind: path.read_text("utf-8") for kind, path in paths.items()}


def test_three_files_with_the_same_figures(tmp_path, random_case, answered_rows):
    rows = answered_rows(*random_case(), text=MARKER)
    counts = {f"c{k}": n for k, n in enumerate([0, 0, 2, 4, 9, 20, 40, 60, 80, 99, 300])}
    found, texts = write(tmp_path, *rows, training_counts=counts, without=("c3",), removed=(0, 2))
    machine = json.loads(texts["json"])
    assert machine["title"] == "Codes of letters" and machine["task"] == "multi-label"
    page = Page(texts["page"])
    assert page.open == [] and page.tags.count("svg") == 3
    for text in (texts["summary"], page.text):
        for key in ("micro_f1", "macro_f1", "map", "p_at_5"):
            assert f"{machine['metrics'][key]:.3f}" in text
        for bucket in machine["buckets"]:
            assert bucket["name"] in text
        assert "the 2 most frequent" in text and "as asked for" in text
        assert "not a medical device" in text and "6–50" in text
    for text in texts.values():
        assert MARKER not in text
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "http" not in texts["page"] and "url(" not in texts["page"]
    assert found.buckets[0].labels + found.buckets[1].labels == 7


def test_many_labels_are_cut_and_counted(tmp_path, random_case, answered_rows):
    rng = np.random.default_rng(0)
    truth = (rng.random((30, 400)) < 0.02).astype(int)
    assigned, scores = truth.copy(), rng.random(truth.shape)
    assigned[rng.random(truth.shape) < 0.01] = 1
    _, texts = write(tmp_path, *answered_rows(truth, assigned, scores, keep=20))
    page = Page(texts["page"])
    seen = int(((truth + assigned).sum(axis=0) > 0).sum())
    assert 200 < seen < 400
    assert f"At most 200 of the {seen} labels that occur are shown" in page.text
    assert "170 more labels" in page.text
    assert f"{400 - seen} more labels of the set are neither true nor given" in page.text
    assert "Scores are of the best" in page.text
    assert "axis counts these documents" in page.text


def sets():
    labels = LabelSet.from_ids(["a", "b", "c"])
    documents = [Document(f"d{k}", MARKER, ids) for k, ids in enumerate([("a",), ("a", "b"), ()])]
    scores = {"a": 0.9, "b": 0.2, "c": 0.1}
    silent = [Prediction(d.id, "too_long") for d in documents]
    same = [Prediction(d.id, "ok", ("a",), scores) for d in documents]
    bare = [Prediction(d.id, "ok", d.labels) for d in documents]
    nothing = [Prediction(d.id, "ok", (), scores) for d in documents]
    none = [Document(d.id, MARKER, ()) for d in documents]
    return {
        "silent": (documents, silent, labels),
        "same": (documents, same, labels),
        "without scores": (documents, bare, labels),
        "nothing given": (documents, nothing, labels),
        "no true label": (none, same, labels),
    }


@pytest.mark.parametrize("name", sets())
@pytest.mark.parametrize("resamples", [0, 20])
def test_odd_outcomes_still_give_a_whole_page(tmp_path, name, resamples):
    _, texts = write(tmp_path, *sets()[name], resamples=resamples, training_counts={"a": 2})
    page = Page(texts["page"])
    assert page.open == []
    for text in (page.text, texts["summary"]):
        assert "None" not in text and "nan" not in re.split(r"\W+", text.lower())


def test_names_can_not_break_the_page(tmp_path):
    labels = LabelSet.from_ids(["<script>alert(1)</script>", "a|b", '"><b>x', "*_`"])
    documents = [Document(f"<i>{k}</i>\ud800", MARKER, (labels.ids[k],)) for k in range(4)]
    scores = dict(zip(labels.ids, (0.9, 0.5, 0.2, 0.1), strict=True))
    predictions = [Prediction(d.id, "ok", labels.ids[:2], scores) for d in documents]
    _, texts = write(tmp_path, documents, predictions, labels)
    page = Page(texts["page"])
    assert page.open == [] and not {"script", "b>x"} & set(page.tags)
    assert "<script>alert(1)</script>" in page.text and "<i>2</i>" in page.text
    rows = [x for x in texts["summary"].splitlines() if x.startswith("| a\\|b |")]
    assert rows and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)


def test_one_answer_for_all_is_told(tmp_path):
    documents, predictions, labels = sets()["same"]
    found, texts = write(tmp_path, documents, predictions, labels)
    said = " ".join(in_short(found))
    assert "100.0% of the answered documents got the same 1 label (a)" in said
    assert "truly have 3 labels in all. The model gave 3: 2 were right (66.7%), 1 wrong" in said
    assert "1 true one (33.3%) was missed" in said
    assert "the most frequent label of these documents (a) would have a micro-F1 of 0.667" in said
    assert said.split(". ")[-1] in " ".join(Page(texts["page"]).text.split())


def test_better_thresholds_are_told_with_their_caution(tmp_path):
    documents, predictions, labels = sets()["nothing given"]
    _, texts = write(tmp_path, documents, predictions, labels)
    assert "ranking is better than its decisions" in texts["summary"]
    assert "it is not a result" in texts["summary"]


def test_unanswered_documents_are_listed_with_reason_and_truth(tmp_path):
    _, texts = write(tmp_path, *sets()["silent"])
    page = Page(texts["page"]).text
    assert "3 without an answer, by id" in page and "d1 a, b too long" in page
    assert "d2 none too long" in page


def test_worst_documents_come_first():
    labels = LabelSet.from_ids(["a", "b", "c"])
    truth = [("a",), ("a", "b"), ("a",), ("a", "b", "c"), ("a",)]
    given = [("a",), ("a",), ("b", "c"), ("a", "b"), ("c",)]
    documents = [Document(f"d{k}", "", t) for k, t in enumerate(truth)]
    predictions = [Prediction(f"d{k}", "ok", g) for k, g in enumerate(given)]
    predictions.append(Prediction("d5", "failed"))
    documents.append(Document("d5", "", ("a",)))
    outcome, _ = match_multilabel(documents, predictions, labels)
    found, wrong = worst_documents(outcome, labels, 3)
    assert [d.id for d in found] == ["d2", "d4", "d1"] and wrong == 4
    assert (found[0].missed, found[0].false) == (("a",), ("b", "c"))
    assert (found[2].true, found[2].given, found[2].right) == (2, 1, 1)


def test_every_label_is_in_a_circle():
    frequency = np.array([0, 0, 1, 1, 7, 300, 12_000])
    f1 = np.array([0.0, 0.0, 0.0, 1.0, 0.5, 0.8, 0.9])
    drawn = str(frequency_plot(frequency, f1, "training documents"))
    assert drawn.count('class="bubble"') == 6
    assert "2 labels, in 0 documents, F1 0.000" in drawn
    assert "1 label, in 12,000 documents, F1 0.900" in drawn
    across = [float(x) for x in re.findall(r'class="bubble" cx="([\d.]+)"', drawn)]
    assert across == sorted(across) and across[0] < across[1] == across[2]
    assert frequency_plot(frequency[:0], f1[:0], "x") == ""


def test_names_of_curves_do_not_lie_on_each_other():
    points = [Operating(t, p, r, f, 2.0) for t, p, r, f in ((0.2, 0.5, 1, 0.6), (0.9, 1, 0, 0))]
    drawn = str(threshold_plot(points, points[0]))
    found = re.findall(r'y="([\d.]+)" text-anchor="start">(\w+)<', drawn)
    heights = {name: float(y) for y, name in found}
    assert heights.keys() == {"precision", "recall", "F1"}
    assert heights["precision"] < 25 and abs(heights["recall"] - heights["F1"]) >= 13


def test_thresholds_near_an_end_get_an_axis_that_shows_them():
    points = [Operating(t, 0.5, 1 - t, t, 2.0) for t in (0.001, 0.5, 0.989)]
    near = str(threshold_plot(points, points[2]))
    assert "0.999" in near and ">0.2<" not in near
    plain = str(threshold_plot(points, points[1]))
    assert ">0.2<" in plain and "0.999" not in plain
    margins = [Operating(t, 0.5, 0.5, 0.5, 2.0) for t in (-3.0, 1.0, 5.0)]
    assert ">-3<" in str(threshold_plot(margins, margins[1]))
    assert threshold_plot((), None) == ""

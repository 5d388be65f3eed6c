"""The report: complete, self-contained, without texts, and never over an existing one."""

import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from attending.errors import OutputError
from attending.evaluation.metrics import evaluate
from attending.evaluation.mistakes import unanswered, worst_mistakes
from attending.evaluation.outcome import match
from attending.evaluation.report import write_report
from attending.records import Coverage, Document, Label, LabelSet, Prediction, Unreadable

URGENCY = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), "urgency", ordered=True)
MARKER = "ZQX-PATIENT-TEXT"
EMPTY_TAGS = {"meta"}


class Page(HTMLParser):
    """Collects tags, attributes and words, and checks that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1:]}>"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def answer(id_, given, labels, sure, **more):
    rest = (1 - sure) / (len(labels) - 1)
    scores = {i: sure if i == given else rest for i in labels.ids}
    return Prediction(id_, "ok", (given,), scores, read=Coverage(20, 25, 1), **more)


def sample(labels=URGENCY, n=90, group=None):
    rng = np.random.default_rng(5)
    documents, predictions = [], []
    for k in range(n):
        truth = str(rng.choice(labels.ids))
        given = truth if rng.random() < 0.7 else str(rng.choice(labels.ids))
        documents.append(Document(f"m{k}", MARKER, (truth,), group=group))
        predictions.append(answer(f"m{k}", given, labels, float(rng.uniform(0.5, 1))))
    return documents, predictions


def write(folder, documents, predictions, labels=URGENCY, **more):
    settings = {"title": "A test", "context": {"Recipe": "bert", "Seed": "42"}} | more
    evaluation = evaluate(documents, predictions, labels, resamples=100)
    return write_report(
        folder,
        evaluation=evaluation,
        documents=documents,
        predictions=predictions,
        labels=labels,
        **settings,
    )


def test_three_files_with_the_same_figures(tmp_path):
    documents, predictions = sample()
    paths = write(tmp_path / "new" / "folder", documents, predictions)
    assert {p.name for p in paths.values()} == {"metrics.json", "summary.md", "report.html"}
    machine = json.loads(paths["json"].read_text())
    assert machine["context"] == {"Recipe": "bert", "Seed": "42"} and machine["title"] == "A test"
    macro = f"{machine['metrics']['macro_f1']:.3f}"
    recall = f"{100 * machine['per_label']['high']['recall']:.1f}%"
    page = Page(paths["page"].read_text())
    for text in (paths["summary"].read_text(), page.text):
        assert macro in text and recall in text
        assert "not a medical device" in text
    assert page.open == []
    assert list(paths["page"].parent.iterdir()) and len(list(paths["page"].parent.iterdir())) == 3


def test_page_is_one_file_without_scripts(tmp_path):
    text = write(tmp_path, *sample())["page"].read_text()
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {n for n in names if n.startswith("on")} and not {"src", "href"} & names
    assert "@import" not in text and "url(" not in text and "http" not in text
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text


def test_no_text_of_a_document_anywhere(tmp_path):
    documents, predictions = sample()
    documents.append(Document("u", MARKER))
    predictions.append(answer("u", "low", URGENCY, 0.9))
    for path in write(tmp_path, documents, predictions).values():
        assert MARKER not in path.read_text()


def hostile():
    labels = LabelSet.from_ids(["<script>alert(1)</script>", "a|b", '"><b>x', "*_`"])
    documents, predictions = sample(labels, 40)
    documents = [Document(f"<i>{d.id}</i>\ud800", d.text, d.labels) for d in documents]
    predictions = [
        answer(d.id, p.labels[0], labels, 0.6) for d, p in zip(documents, predictions, strict=True)
    ]
    return documents, predictions, labels


def test_names_can_not_break_the_page(tmp_path):
    paths = write(tmp_path, *hostile(), title="<b>T</b>", context={"<u>k</u>": "<u>v</u>"})
    page = Page(paths["page"].read_text())
    assert page.open == [] and not {"script", "b>x", "u"} & set(page.tags)
    assert "<script>alert(1)</script>" in page.text and "<i>m0</i>" in page.text
    rows = [x for x in paths["summary"].read_text().splitlines() if x.startswith("| a\\|b |")]
    assert rows and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    json.loads(paths["json"].read_text())


def test_nothing_is_overwritten_without_force(tmp_path):
    documents, predictions = sample()
    (tmp_path / "kept.txt").write_text("mine")
    (tmp_path / "summary.md").write_text("mine")
    with pytest.raises(OutputError, match=r"found summary\.md.*--force"):
        write(tmp_path, documents, predictions)
    assert (tmp_path / "summary.md").read_text() == "mine"
    assert not (tmp_path / "metrics.json").exists()
    write(tmp_path, documents, predictions, force=True)
    assert (tmp_path / "summary.md").read_text() != "mine"
    assert (tmp_path / "kept.txt").read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        write(tmp_path / "f", *sample())
    with pytest.raises(OutputError, match="can't be made"):
        write(tmp_path / "f" / "g", *sample())


def test_the_same_input_gives_the_same_bytes(tmp_path):
    one, two = (write(tmp_path / name, *sample()) for name in ("one", "two"))
    for kind in one:
        assert one[kind].read_bytes() == two[kind].read_bytes()


def silent():
    documents, _ = sample(n=4)
    return documents, [Prediction(d.id, "empty_text") for d in documents]


def unscored():
    documents, predictions = sample(n=30)
    return documents, [Prediction(p.id, "ok", p.labels) for p in predictions]


def perfect():
    documents, _ = sample(n=30)
    return documents, [answer(d.id, d.labels[0], URGENCY, 0.9) for d in documents]


@pytest.mark.parametrize("make", [silent, unscored, perfect])
def test_odd_outcomes_still_give_a_whole_page(tmp_path, make):
    paths = write(tmp_path, *make())
    page = Page(paths["page"].read_text())
    assert page.open == [] and "nan" not in page.text.lower().split()
    assert "None" not in page.text


def test_unordered_labels_have_no_levels(tmp_path):
    labels = LabelSet.from_ids(URGENCY.ids)
    text = Page(write(tmp_path, *sample(labels), labels)["page"].read_text()).text
    assert "too low" not in text and "How far off" not in text


def test_many_labels_list_confusions_in_place_of_a_matrix(tmp_path):
    labels = LabelSet.from_ids([f"c{k:03d}" for k in range(230)])
    page = Page(write(tmp_path, *sample(labels, 400), labels)["page"].read_text())
    assert "Most frequent confusions" in page.text
    assert "The 200 most frequent of 230 labels are shown" in page.text
    assert page.open == []


def test_what_was_left_out_and_why_is_said(tmp_path):
    documents, predictions = sample(group="same")
    documents += [Document("u", MARKER), Unreadable("row-92", "bad bytes")]
    predictions += [Prediction("u", "failed"), Prediction("row-92", "failed")]
    predictions[0] = Prediction("m0", "too_long")
    predictions[1] = answer("m1", "low", URGENCY, 0.4, abstained=True)
    text = Page(write(tmp_path, documents, predictions)["page"].read_text()).text
    assert "92 rows were given" in text
    assert "1 document had no label" in text and "1 row could not be read" in text
    assert "2 got no answer and count as wrong" in text
    assert "too long" in text and "model abstained" in text
    assert "come from 1 group that" in text
    assert "89 documents were read only in part" in text


def test_worst_mistakes_put_the_lowest_first():
    truth = ["high", "high", "high", "middle", "low", "low", "high"]
    given = ["middle", "low", "low", "middle", "high", "middle", "high"]
    sure = [0.99, 0.6, 0.8, 0.9, 0.95, 0.7, 0.9]
    documents = [Document(f"d{k}", "", (t,)) for k, t in enumerate(truth)]
    predictions = [
        answer(f"d{k}", g, URGENCY, s) for k, (g, s) in enumerate(zip(given, sure, strict=True))
    ]
    found = worst_mistakes(match(documents, predictions, URGENCY), URGENCY)
    assert [m.id for m in found] == ["d2", "d1", "d0", "d5", "d4"]
    assert [m.levels for m in found] == [2, 2, 1, -1, -2]
    assert found[0].confidence == pytest.approx(0.8)
    assert found[0].of_truth == pytest.approx(0.1)
    plain = LabelSet.from_ids(URGENCY.ids)
    found = worst_mistakes(match(documents, predictions, plain), plain)
    assert [m.id for m in found] == ["d0", "d4", "d2", "d5", "d1"]


def test_unanswered_put_the_highest_level_first():
    documents = [Document(f"d{k}", "", (t,)) for k, t in enumerate(["low", "high", "middle"])]
    predictions = [Prediction(f"d{k}", "failed") for k in range(3)]
    found = unanswered(match(documents, predictions, URGENCY), URGENCY)
    assert [m.id for m in found] == ["d1", "d2", "d0"]


def luminance(rgb):
    parts = [c / 255 for c in rgb]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def palettes():
    text = files("attending.evaluation").joinpath("templates/report.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): ([^;]+);", block)) for block in blocks]


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
def test_colours_meet_wcag_aa(palette):
    def rgb(name):
        value = palette[name]
        if value.startswith("#"):
            return tuple(int(value[i : i + 2], 16) for i in (1, 3, 5))
        return tuple(int(x) for x in value.split(","))

    def mixed(name, alpha):
        return tuple(
            alpha * a + (1 - alpha) * b for a, b in zip(rgb(name), rgb("sheet"), strict=True)
        )

    for ink in ("ink", "quiet", "blue", "amber"):
        for paper in ("sheet", "page"):
            assert contrast(rgb(ink), rgb(paper)) >= 4.5, (ink, paper)
    for name, most in (("blue-rgb", "most"), ("amber-rgb", "most-wrong"), ("grey-rgb", "most")):
        for share in np.linspace(0, 1, 11):
            cell = mixed(name, share * float(palette[most]))
            assert contrast(rgb("ink"), cell) >= 4.5, (name, share)
    for bar in ("blue", "amber", "quiet"):
        assert contrast(rgb(bar), rgb("track")) >= 3, bar


def test_there_are_two_palettes():
    light, dark = palettes()
    assert light.keys() == dark.keys()

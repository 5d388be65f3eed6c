"""Documents with several labels: what is shown, drawn and measured for each of them."""

import math
import re
from html import unescape
from types import SimpleNamespace

import pytest
from matplotlib.image import imread

from attending.explain import evidence
from attending.explain.evidence import attach_spans, explain, explained_words
from attending.explain.faithfulness import faithfulness
from attending.explain.page import write_page
from attending.explain.pictures import attention_png, examples_of_labels
from attending.explain.plausibility import plausibility, spans_of_labels
from attending.explain.wording import ATTENTION_CAUTION, caution, comparison
from attending.models.base import TokenScores
from attending.records import Coverage, Document, Label, LabelSet, Prediction, Span

FOUND_BY = {"pain": ("chest", "pain"), "bleed": ("bleeding",), "fever": ("fever", "chills")}
OTHERS = tuple(f"c{i}" for i in range(30))
LABELS = LabelSet((*(Label(i, i.title()) for i in FOUND_BY), *(Label(i) for i in OTHERS)))
FILLER = "we went home after lunch and sat by the window for some time today "


class CodingModel:
    """Gives a label whose words stand in a text; of all labels it keeps the three highest."""

    labels = LABELS
    recipe = SimpleNamespace(name="codes", task="multi")
    methods = ("label-weights",)

    def __init__(self):
        self.asked = []

    def predict(self, rows, *, progress=None):
        return [self._predict(row) for row in rows]

    def _predict(self, row):
        words = re.findall(r"\w+", row.text.lower())
        scores = {
            label: 1 / (1 + math.exp(1 - 2 * sum(words.count(w) for w in FOUND_BY.get(label, ()))))
            for label in LABELS.ids
        }
        best = sorted(scores, key=lambda x: -scores[x])[:3]
        given = tuple(x for x in best if scores[x] > 0.5)
        kept = {x: scores[x] for x in best}
        return Prediction(row.id, "ok", given, kept, read=Coverage(len(words), len(words), 2))

    def token_scores(self, documents, *, method=None, labels=None):
        self.asked.append((len(documents), list(labels)))
        found = []
        for document in documents:
            matches = list(re.finditer(r"\w+", document.text))
            scores = {
                label: tuple(
                    1.0 if m.group().lower() in self.words_of(label) else 0.01 for m in matches
                )
                for label in labels
            }
            found.append(TokenScores(tuple(m.span() for m in matches), scores))
        return found

    def words_of(self, label):
        return FOUND_BY.get(label, ())


TEXT = f"Chest pain. {FILLER}Fever at night."
LONG = FILLER * 60 + "Chest pain. " + FILLER * 60 + "Fever and chills. " + FILLER * 60


@pytest.fixture
def coding():
    return CodingModel()


def shown(model, rows, labels="predicted"):
    predictions = model.predict(rows)
    words = explained_words(model, rows, predictions, labels=labels)
    return attach_spans(rows, predictions, words), words


@pytest.fixture
def page(coding, tmp_path):
    def write(rows, labels="predicted"):
        predictions, words = shown(coding, rows, labels)
        path = tmp_path / "page.html"
        options = {"title": "t", "method": "label-weights", "caution": caution("label-weights")}
        write_page(path, rows, predictions, words, LABELS, force=True, **options)
        html = path.read_text("utf-8")
        body = re.sub(r"<[^>]+>", " ", html.partition("<body>")[2])
        return html, " ".join(unescape(body).split())

    return write


def test_every_label_given_has_a_view_with_its_probability(page):
    html, text = page([Document("a", TEXT, ("pain", "fever"))])
    assert html.count('type="radio"') == 2
    assert "Pain 95 %" in text and "Fever 73 %" in text
    assert "Known labels: Pain, Fever agrees" in text
    assert "“ Chest pain ”" in text and "“ Fever ”" in text
    assert f"and {len(LABELS) - 3} more labels" in text
    assert "2 of 2 known labels were found, and 0 more given; all labels agree in 1 of 1" in text


def test_a_part_of_the_labels_is_no_plain_difference(page):
    _, text = page(
        [Document("a", TEXT, ("pain", "bleed")), Document("b", "nothing of the kind", ())]
    )
    assert "Known labels: Pain, Bleed 1 of 2 found, 1 more given" in text
    assert "1 of 2 known labels were found, and 1 more given; all labels agree in 1 of 2" in text
    assert comparison(("a",), ("b",)) == "differs" and comparison((), ()) == "agrees"
    assert comparison((), ("a", "b")) == "2 more given"
    assert comparison(("a", "b"), ()) == "0 of 2 found"


def test_a_missed_label_is_shown_if_wanted(page, coding):
    rows = [Document("a", TEXT, ("bleed", "gone"))]
    html, text = page(rows, "known")
    assert html.count('type="radio"') == 3
    assert "Fever 73 %, not a known label" in text
    _, words = shown(coding, rows, "known")
    assert list(words[0]) == ["pain", "fever", "bleed"]


def test_of_a_long_message_the_passages_with_evidence_are_shown(page):
    html, text = page([Document("a", LONG, ("pain", "fever"))])
    assert html.count('class="gap"') == 4 and html.count("we went home") < 250
    assert len(html) < 3 * len(LONG)
    assert "words not shown" in text and "The message as it is" in text
    views = html.split('class="view"')[1:]
    assert "Chest" in views[0] and "chills" not in views[0].partition("</div>")[0]


def test_labels_that_look_at_the_same_words_are_told(page, monkeypatch):
    rows = [Document("a", TEXT, ("pain", "fever"))]
    assert "nearly the same" not in page(rows)[1]
    same = ("chest", "pain", "fever")
    monkeypatch.setattr(CodingModel, "words_of", lambda self, label: same)
    assert "The labels' words are nearly the same here" in page(rows)[1]


def test_attention_of_labels_is_attention():
    assert caution("label-weights") == ATTENTION_CAUTION


def drawn(path, rows, predictions, words):
    attention_png(rows, predictions, words, LABELS, path, force=True)
    return imread(path)[:, :, :3]


def test_the_picture_has_a_panel_a_label(coding, tmp_path):
    one = [Document("a", f"Chest pain. {FILLER}", ("pain",))]
    two = [Document("a", TEXT, ("pain", "fever"))]
    single = drawn(tmp_path / "1.png", one, *shown(coding, one))
    several = drawn(tmp_path / "2.png", two, *shown(coding, two))
    assert several.shape[0] > 1.4 * single.shape[0]
    blue = [int((x[:, :, 2] - x[:, :, 0] > 0.3).sum()) for x in (single, several)]
    assert blue[1] > blue[0]


def test_the_picture_of_a_long_message_shows_its_last_window_too(coding, tmp_path):
    rows = [Document("a", LONG, ("pain", "fever"))]
    image = drawn(tmp_path / "1.png", rows, *shown(coding, rows))
    assert image.shape[0] < 1500
    assert int((image[:, :, 2] - image[:, :, 0] > 0.3).sum()) > 3000


def test_examples_show_as_many_labels_as_they_can(coding):
    rows = [
        Document("pain", "pain", ("pain",)),
        Document("both", TEXT, ("pain", "fever")),
        Document("wrong", "bleeding", ("fever",)),
        Document("bleed", "bleeding and bleeding", ("bleed",)),
        Document("unknown", "chills"),
        Document("none", "nothing", ()),
    ]
    predictions = coding.predict(rows)
    chosen = examples_of_labels(rows, predictions)
    assert [rows[i].id for i in chosen] == ["both", "bleed"]
    assert examples_of_labels(rows[5:], predictions[5:]) == []
    assert len(examples_of_labels(rows, predictions, most=1)) == 1


def test_no_document_is_scored_for_labels_that_only_others_have(coding):
    rows = [Document(str(i), TEXT, OTHERS[2 * i : 2 * i + 2]) for i in range(15)]
    explained_words(coding, rows, coding.predict(rows), labels="known")
    assert sum(count for count, _ in coding.asked) == 15
    assert max(len(labels) for _, labels in coding.asked) <= 20


def test_a_long_document_s_labels_are_scored_some_at_a_time(coding, monkeypatch):
    rows = [Document("a", TEXT), Document("long", LONG, OTHERS[:9]), Document("b", TEXT)]
    predictions = coding.predict(rows)
    whole = explained_words(coding, rows, predictions, labels="known")
    coding.asked.clear()
    monkeypatch.setattr(evidence, "_CHARACTERS_AT_A_TIME", 3 * len(LONG))
    assert explained_words(coding, rows, predictions, labels="known") == whole
    counts = [len(labels) for count, labels in coding.asked if count == 1]
    assert max(counts) <= 3 and sum(counts) >= len(whole[1])
    spans = explain(coding, rows, predictions, labels="known")
    assert spans == attach_spans(rows, predictions, whole)


def test_each_label_is_measured_with_its_own_words(coding):
    rows = [Document(str(i), TEXT, ("pain", "fever")) for i in range(3)]
    predictions, words = shown(coding, rows)
    found = faithfulness(coding, rows, predictions, words, shares=(0.2,), seeds=(0,))
    assert found.documents == 3 and found.per_document.shape == (3, 2, 2)
    full = [predictions[0].scores[x] for x in ("pain", "fever")]
    none = 1 / (1 + math.e)
    # A fifth of the words holds all words of either label.
    drop = sum(p - none for p in full) / 2
    assert found.explained.comprehensiveness[0] == pytest.approx(drop)
    assert found.explained.sufficiency[0] == pytest.approx(0)
    assert found.random.comprehensiveness_area < drop


def test_people_s_words_are_those_for_the_label(coding):
    marked = (Span(0, 10, "pain"), Span(TEXT.index("night"), len(TEXT), "fever"))
    rows = [
        Document("a", TEXT, ("pain", "fever"), spans=marked),
        Document("b", TEXT, ("pain",), spans=marked[:1]),
        Document("c", TEXT, ("bleed",), spans=marked),
    ]
    predictions, words = shown(coding, rows)
    documents, _, given = spans_of_labels(rows, predictions, words)
    assert [d.id for d in documents] == ["a", "a", "b"]
    assert [len(d.spans) for d in documents] == [1, 1, 1]
    assert [[e.label for e in x] for x in given] == [["pain"], ["fever"], ["pain"]]
    found = plausibility(*spans_of_labels(rows, predictions, words))
    assert [a.word_f1 for a in found.per_document] == [1.0, 0.0, 1.0]
    assert found.mean.hit == pytest.approx(2 / 3)

"""Evidence from the models that the package has, whatever they are made of."""

import json

import numpy as np
import pytest

from attending.errors import ModelError
from attending.explain.evidence import attach_spans, explained_words
from attending.explain.faithfulness import faithfulness
from attending.explain.page import write_page
from attending.explain.pictures import attention_png, tsne_png
from attending.explain.wording import caution
from attending.explain.words import word_spans
from attending.models.linear import fit_linear
from attending.recipe import Recipe
from attending.records import Document, LabelSet

LABELS = LabelSet.from_ids(["non-urgent", "medium", "urgent"], name="urgency")


@pytest.fixture(scope="module")
def documents(portal_rows):
    return [Document(row["id"], row["text"], (row["label"],)) for row in portal_rows[:60]]


@pytest.fixture(scope="module")
def linear(documents):
    return fit_linear(Recipe.load("tfidf-logistic"), documents, LABELS, seed=0)


@pytest.fixture(scope="module")
def neural(tiny_encoder):
    import torch

    from attending.models.neural import Network, NeuralModel

    recipe = Recipe.load("lesa-bert").with_encoder(str(tiny_encoder))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return NeuralModel(recipe, LABELS, Network(recipe, LABELS))


def check_words(rows, words):
    for row, by_label in zip(rows, words, strict=True):
        assert by_label
        for label, scored in by_label.items():
            assert [(e.start, e.end) for e in scored] == list(word_spans(row.text))
            assert {e.label for e in scored} == {label}
            assert np.isfinite([e.score for e in scored]).all()
            assert any(e.score for e in scored)


def test_a_linear_model_s_words_add_up_to_its_score(linear, documents):
    predictions = linear.predict(documents)
    words = explained_words(linear, documents, predictions, labels="all")
    check_words(documents, words)
    raw = np.stack([s.logits for s in linear.scores(documents)]) - linear.weights.intercepts
    sums = [[sum(e.score for e in by_label[label]) for label in LABELS.ids] for by_label in words]
    np.testing.assert_allclose(sums, raw, atol=1e-9)


METHODS = ("attention-gradient", "attention", "label-attention", "gradient")


@pytest.mark.parametrize("method", METHODS)
def test_every_neural_method_gives_whole_words(neural, documents, method, tmp_path):
    assert neural.methods == METHODS
    rows = documents[:6]
    predictions = neural.predict(rows)
    words = explained_words(neural, rows, predictions, method=method, labels="all")
    check_words(rows, words)
    explained = attach_spans(rows, predictions, words)
    for row, prediction in zip(rows, explained, strict=True):
        starts = {start for start, _ in word_spans(row.text)}
        ends = {end for _, end in word_spans(row.text)}
        assert prediction.evidence
        assert all(e.start in starts and e.end in ends for e in prediction.evidence)
    page, picture = tmp_path / "p.html", tmp_path / "p.png"
    note = caution(method)
    write_page(page, rows, explained, words, LABELS, title="Words", method=method, caution=note)
    attention_png(rows, explained, words, LABELS, picture)
    assert page.read_text(encoding="utf-8").count("<article") == 6
    assert picture.stat().st_size > 1000


def test_windows_reach_the_end_of_a_long_message(neural):
    row = Document("long", "no chest pain today and i feel well " * 40 + "severe bleeding")
    prediction = neural.predict([row])
    assert prediction[0].read.windows > 1
    (words,) = explained_words(neural, [row], prediction, method="attention")
    (scored,) = words.values()
    assert len(scored) == 322
    assert scored[-1].end == len(row.text) and scored[-1].score != 0


def test_accents_move_no_evidence(neural, case):
    folder = case("D16")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    for form in ("nfc", "nfd"):
        text = (folder / f"{form}.txt").read_text(encoding="utf-8").removesuffix("\n")
        rows = [Document(form, text)]
        (words,) = explained_words(neural, rows, neural.predict(rows))
        (scored,) = words.values()
        places = {text[e.start : e.end]: [e.start, e.end] for e in scored if e.score}
        assert {name: places[name] for name in ("spots", "rash")} == values[form]
        assert len(places) == 7


def test_faithfulness_of_a_real_model(linear, documents):
    rows = documents[:20]
    predictions = linear.predict(rows)
    result = faithfulness(linear, rows, predictions, explained_words(linear, rows, predictions))
    assert result.documents == 20
    assert result.explained.comprehensiveness_area > result.random.comprehensiveness_area


def test_document_vectors_have_a_map(neural, documents, tmp_path):
    rows = documents[:8]
    truth = [row.label for row in rows]
    tsne_png(neural.pooled(rows), truth, LABELS, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_a_model_that_reads_no_words_has_no_evidence(documents):
    model = fit_linear(Recipe.load("frequency"), documents, LABELS, seed=0)
    rows = documents[:2]
    with pytest.raises(ModelError, match="reads no words"):
        explained_words(model, rows, model.predict(rows))

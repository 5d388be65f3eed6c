"""A note far longer than a window, whose last sentence is what matters."""

import json

import pytest

from attending.explain.evidence import explain
from attending.records import Document, Label, LabelSet, Span
from attending.training.fit import fit
from attending.training.tagging import fit_tagger

LABELS = LabelSet((Label("drug", "", "metformin was started"), Label("pain", "", "chest pain")))
DRUG, NOTHING = "Started on metformin 500 mg.", "No change today. No change today."
TEXTS = [DRUG, NOTHING, "No change today. " + DRUG, "chest pain today", DRUG, NOTHING]

SHORT = {"windows__max_tokens": 128, "training__epochs": 30}
STEADY = {"encoder__dropout": 0.0, "head__dropout": 0.0, "training__learning_rate": 0.02}
TAGGERS = {"features-ner": {}, "atl-ner": SHORT, "crf-ner": SHORT | STEADY}


@pytest.fixture
def note(case):
    folder = case("D19")
    text = (folder / "long_note.txt").read_text(encoding="utf-8")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    assert len(text) == values["n_chars"]
    return Document("note", text), tuple(values["metformin"])


def rows():
    return tuple(
        Document(
            f"d{i}",
            text,
            ("drug",) * ("metformin" in text) + ("pain",) * ("pain" in text),
            spans=tuple(Span(at, at + 9, "Drug") for at in [text.find("metformin")] if at >= 0),
        )
        for i, text in enumerate(TEXTS * 4)
    )


@pytest.mark.parametrize("name", ["dictionary", "lame-evidence"])
def test_evidence_in_the_last_line_is_found_once(name, note, tiny_recipe):
    document, place = note
    recipe = tiny_recipe(name).for_task("multi")
    if recipe.family == "neural":
        recipe = recipe.override({"windows.max_tokens": 128, "windows.overlap": 32})
    model = fit(recipe, rows(), LABELS, development=(), seed=1).model
    (prediction,) = explain(model, [document], model.predict([document]), labels=["drug"])
    assert prediction.status == "ok" and not prediction.read.truncated
    assert "truncated" not in prediction.to_dict()["read"]
    over = [e for e in prediction.evidence if e.start <= place[0] and e.end >= place[1]]
    assert len(over) == 1 and all(e.end <= len(document.text) for e in prediction.evidence)


def test_attention_covers_each_word_of_the_note_once(note, tiny_recipe):
    document, place = note
    recipe = tiny_recipe("lame").for_task("multi")
    recipe = recipe.override({"windows.max_tokens": 128, "windows.overlap": 32})
    model = fit(recipe, rows(), LABELS, development=(), seed=1).model
    (scores,) = model.token_scores([document], labels=["drug"])
    ends = [end for _, end in scores.offsets]
    starts = [start for start, _ in scores.offsets]
    assert all(a <= b for a, b in zip(ends, starts[1:], strict=False))
    assert ends[-1] == len(document.text)
    inside = [i for i, (a, b) in enumerate(scores.offsets) if place[0] <= a and b <= place[1]]
    assert inside and all(scores.scores["drug"][i] > 0 for i in inside)


def test_a_note_that_is_cut_says_where(note, tiny_recipe):
    document, place = note
    recipe = tiny_recipe("bert").for_task("multi")
    recipe = recipe.override({"windows.max_tokens": 128, "windows.on_overflow": "truncate"})
    model = fit(recipe, rows(), LABELS, development=(), seed=1).model
    (prediction,) = model.predict([document])
    read = prediction.to_dict()["read"]
    assert read["truncated"] is True and 0 < read["end"] < place[0]
    (cut,) = model.predict([Document("cut", document.text[: read["end"]])])
    assert dict(cut.scores) == pytest.approx(dict(prediction.scores), abs=1e-6)
    assert not cut.read.truncated and cut.read.tokens == read["tokens"]


@pytest.mark.parametrize("name", TAGGERS)
def test_an_entity_in_the_last_line_is_found_once(name, note, tiny_tagger):
    document, place = note
    recipe = tiny_tagger(name, **TAGGERS[name])
    model = fit_tagger(recipe, rows(), development=rows()[:6], seed=1).model
    (short,) = model.predict([Document("short", TEXTS[2])])
    assert [TEXTS[2][s.start : s.end] for s in short.spans] == ["metformin"]
    (prediction,) = model.predict([document])
    found = [(s.start, s.end, s.label) for s in prediction.spans]
    assert found == [(*place, "Drug")]
    assert not prediction.read.truncated

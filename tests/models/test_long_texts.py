"""A text of megabytes: answered, bounded in cost, and told how far it was read."""

import pytest

from attending.explain.evidence import explain
from attending.records import Coverage, Document, Label, LabelSet
from attending.training.fit import fit

LABELS = LabelSet((Label("pain", "", "chest pain"), Label("refill", "", "refill the tablet")))
ROWS = tuple(
    Document(f"d{i}", text, ids)
    for i, (text, ids) in enumerate(
        [
            ("chest pain at night", ("pain",)),
            ("please refill the tablet", ("refill",)),
            ("chest pain, please refill the tablet", ("pain", "refill")),
            ("feeling well today", ()),
        ]
    )
)
FILLER = "feeling well after the visit today. "


@pytest.fixture(scope="module", params=["lame", "caml", "bert"])
def model(request, tiny_recipe):
    recipe = tiny_recipe(request.param).for_task("multi")
    recipe = recipe.override(
        {"windows.max_tokens": 32, "windows.overlap": 8, "windows.most_tokens": 100}
    )
    return fit(recipe, ROWS, LABELS, development=(), seed=1).model


def test_what_is_read_ends_at_the_most_and_is_told(model):
    text = "chest pain. " + FILLER * 60 + "please refill the tablet"
    (prediction,) = model.predict([Document("long", text)])
    assert prediction.status == "ok"
    assert prediction.read.tokens == 100 and prediction.read.truncated
    (windowed,) = model.windower([text])
    end = windowed.offsets[99][1]
    assert prediction.read == Coverage(100, len(windowed.offsets), len(windowed.windows), end)
    assert prediction.to_dict()["read"]["truncated"] and prediction.to_dict()["read"]["end"] == end
    (cut,) = model.predict([Document("cut", text[: windowed.offsets[99][1]])])
    assert dict(prediction.scores) == pytest.approx(dict(cut.scores), abs=1e-6)


def test_evidence_lies_in_what_was_read(model):
    text = "chest pain. " + FILLER * 60
    document = Document("long", text)
    (windowed,) = model.windower([text])
    (explained,) = explain(model, [document], model.predict([document]), labels="all")
    assert explained.evidence
    assert all(e.end <= windowed.offsets[99][1] for e in explained.evidence)
    for method in model.methods:
        (scores,) = model.token_scores([document], method=method)
        for values in scores.scores.values():
            assert len(values) == len(scores.offsets)
            assert any(values[:100]) and not any(values[100:])


@pytest.mark.parametrize("model", ["caml"], indirect=True)
def test_two_megabytes(model):
    text = FILLER * 56_000
    assert len(text) > 2_000_000
    (prediction,) = model.predict([Document("huge", text)])
    assert prediction.status == "ok" and prediction.read.tokens == 100
    assert prediction.read.of > 300_000

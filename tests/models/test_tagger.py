import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from attending.errors import ModelError
from attending.models.store import load_tagger, save_model
from attending.records import Document, Span, Unreadable
from attending.training.tagging import fit_tagger

ODD = (
    "Caf\u0065\u0301 pain\r\nsevere\u00a0chest pain \U0001f469\u200d\u2695\ufe0f insulin, "
    "\ud83d swollen\u200bleg \u00e9 \U0001f44d\U0001f3fd left leg."
)


@pytest.fixture(scope="module")
def model(tiny_tagger, annotated):
    return fit_tagger(
        tiny_tagger("atl-ner", training__epochs=40), annotated, development=(), seed=2
    ).model


@pytest.fixture(scope="module")
def voting(tiny_tagger, annotated):
    recipe = tiny_tagger("atl-ner", neighbours__kind="logits", neighbours__k=3)
    return fit_tagger(recipe, annotated, development=(), seed=2).model


def test_every_surface_is_the_text_s_own(model, annotated):
    rows = [*annotated, Document("odd", ODD), Document("long", ODD * 40)]
    predictions = model.predict(rows)
    assert any(p.spans for p in predictions[:-2])
    for row, prediction in zip(rows, predictions, strict=True):
        assert list(prediction.spans) == sorted(prediction.spans, key=lambda s: (s.start, s.end))
        for span in prediction.spans:
            surface = row.text[span.start : span.end]
            assert surface == surface.strip() != ""
            assert span.label in model.labels and 0 <= span.score <= 1


def test_what_can_t_be_read_has_no_spans_and_a_reason(model):
    rows = [Document("a", " \n"), Unreadable("b", "not text"), Document("c", "pain")]
    blank, bad, fine = model.predict(rows)
    assert (blank.status, blank.spans, blank.reason) == ("empty_text", (), "empty_text")
    assert (bad.status, bad.spans, bad.reason) == ("failed", (), "not text")
    assert fine.status == "ok" and (fine.labels, dict(fine.scores)) == ((), {})
    assert fine.read.tokens == fine.read.of == 1
    assert model.predict([]) == []


def test_a_source_s_own_tokens_are_tagged(model):
    text = "severe chest pain"
    whole = Document("d", text, attributes={"tokens": ((0, len(text)),)})
    (prediction,) = model.predict([whole])
    assert all((s.start, s.end) == (0, len(text)) for s in prediction.spans)
    (scores,) = model.scores([whole])
    assert scores.numbers.tolist() == [0]


def test_progress_counts_documents(model, annotated, monkeypatch):
    monkeypatch.setattr("attending.models.tagger._CHUNK", 60)
    told = []
    model.predict(annotated, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (len(annotated), len(annotated)) and len(told) > 2
    assert [d for d, _ in told] == sorted({d for d, _ in told})


def test_least_score(model, annotated):
    from dataclasses import replace

    every = [s.score for p in model.predict(annotated) for s in p.spans]
    bar = sorted(every)[len(every) // 2]
    kept = model.decision
    try:
        model.decision = replace(kept, min_score=bar)
        some = [s.score for p in model.predict(annotated) for s in p.spans]
    finally:
        model.decision = kept
    assert sorted(some) == sorted(s for s in every if s >= bar) and len(some) < len(every)


def test_the_folder_says_what_it_is(voting, tmp_path):
    folder = save_model(voting, tmp_path / "m", metrics={"micro_f1": 0.5})
    manifest = json.loads((folder / "attending.json").read_text())
    assert (manifest["family"], manifest["task"]) == ("neural", "spans")
    assert manifest["label_counts"] == voting.facts["label_counts"]
    card = (folder / "README.md").read_text()
    assert "spans" in card and "queue" not in card
    assert not [f for f in folder.rglob("*") if f.suffix in (".bin", ".pkl", ".pt", ".npy")]


@pytest.mark.parametrize("damage", ["missing", "shape", "garbage"])
def test_damaged_neighbours_are_refused(damage, voting, tmp_path):
    folder = save_model(voting, tmp_path / "m")
    path = folder / "neighbours.safetensors"
    if damage == "missing":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"no tensors")
    else:
        kept = load_file(path)
        save_file({**kept, "logits": np.ascontiguousarray(kept["logits"][:, :, :2])}, path)
    with pytest.raises(ModelError, match=r"damaged|don't fit"):
        load_tagger(folder)


def test_a_damaged_decision_is_refused(model, tmp_path):
    folder = save_model(model, tmp_path / "m")
    (folder / "decision.json").write_text('{"kind": "argmax", "temperature": 1.0}')
    with pytest.raises(ModelError, match="decision"):
        load_tagger(folder)


def test_a_classifier_is_no_tagger(linear, tmp_path):
    folder = save_model(linear, tmp_path / "m")
    with pytest.raises(ModelError, match="tags no spans"):
        load_tagger(folder)


def test_neighbours_are_training_words_alone(voting, annotated):
    words = sum(len(s.numbers) for s in voting.scores(annotated))
    assert len(voting.neighbours.tags) == words == voting.facts["training_words"]
    found = [span for p in voting.predict(annotated) for span in p.spans]
    assert found and all(isinstance(span, Span) for span in found)


def test_with_a_crf_words_vote_by_what_the_sentence_says(tiny_tagger, annotated):
    settings = {"loss__kind": "crf", "neighbours__kind": "logits", "neighbours__k": 1}
    recipe = tiny_tagger("atl-ner", training__epochs=3, **settings)
    model = fit_tagger(recipe, annotated, development=(), seed=2).model
    likely = np.concatenate([model.judged([d]).likely for d in annotated])
    # Each training word is its own nearest neighbour, so the votes are the true tags.
    assert np.array_equal(likely.argmax(-1), model.neighbours.tags)
    places, model.neighbours = model.neighbours.logits, None
    marginals = np.concatenate([model.judged([d]).likely for d in annotated])
    assert np.exp(marginals).sum(-1) == pytest.approx(1, abs=1e-9)
    assert np.abs(places - np.maximum(marginals, np.log(1e-6))).max() <= 0.0005 + 1e-6

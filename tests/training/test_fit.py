"""Fit: the same for the same seed, statistics from training rows only, honest about the rest."""

import logging
import tempfile
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from attending.errors import TrainingError
from attending.evaluation.calibration import fit_temperature
from attending.parts.encoders import Encoder
from attending.parts.losses import class_weights
from attending.records import Document, LabelSet
from attending.training.fit import fit
from attending.training.score import answered
from attending.training.trainer import NeuralTrainer

NEURAL = ("bert", "bert-mean", "lesa-bert", "lesa-bert-as-coded")


# Determinism.


@pytest.mark.parametrize("recipe", NEURAL)
def test_the_seed_decides_everything(recipe, train, same):
    torch.manual_seed(123)
    np.random.seed(123)
    first = train(recipe, training__epochs=1)
    assert same(train(recipe, training__epochs=1), first)
    assert not same(train(recipe, training__epochs=1, seed=1), first)


def test_linear_models_depend_on_rows_and_seed_only(messages, urgency, tiny_recipe):
    for name in ("tfidf-svm", "tfidf-logistic", "frequency"):
        one, other = (fit(tiny_recipe(name), messages, urgency, seed=3).model for _ in range(2))
        assert np.array_equal(one.weights.coefficients, other.weights.coefficients)
        assert np.array_equal(one.weights.intercepts, other.weights.intercepts)


def test_labels_default_to_those_found_sorted(messages, tiny_recipe):
    fitted = fit(tiny_recipe("frequency"), messages)
    assert fitted.model.labels.ids == ("medium", "non-urgent", "urgent")


# Statistics of training rows only.


@pytest.fixture(scope="module")
def marked(messages):
    """Rows whose development part has a word and a share of labels of its own."""
    train = messages[8:]
    held = [Document(f"d{i}", f"kidney stroke {i}", ("urgent",)) for i in range(9)]
    assert not any("kidney" in d.text or "stroke" in d.text for d in train)
    return train, held


@pytest.mark.parametrize("name", ["tfidf-svm", "tfidf-logistic"])
def test_the_vocabulary_comes_from_training_rows(name, marked, urgency, tiny_recipe):
    train, held = marked
    recipe = tiny_recipe(name, features__min_documents=1)
    model = fit(recipe, train, urgency, development=held).model
    alone = fit(recipe, train, urgency, development=()).model
    assert "kidney" not in model.vectoriser.vocabulary_
    assert model.vectoriser.vocabulary_ == alone.vectoriser.vocabulary_
    assert np.array_equal(model.vectoriser.idf_, alone.vectoriser.idf_)
    assert np.array_equal(model.weights.coefficients, alone.weights.coefficients)


def test_word_vectors_in_use_are_those_of_training_rows(train, marked, monkeypatch):
    rows, held = marked
    asked = []
    train_only = Encoder.train_only

    def watch(self, ids):
        asked.append(set(ids.tolist()))
        train_only(self, ids)

    monkeypatch.setattr(Encoder, "train_only", watch)
    fitted = train(rows=rows, development=held, training__epochs=1)
    tokenizer = fitted.model.network.encoder.tokenizer
    (ids,) = asked
    assert ids == {i for d in rows for i in tokenizer(d.text)["input_ids"]} | {fitted.model.pad}
    assert tokenizer.convert_tokens_to_ids("kidney") not in ids


def test_class_weights_and_counts_come_from_training_rows(train, marked, urgency):
    rows, held = marked
    fitted = train(rows=rows, development=held, training__epochs=1, loss__class_weights="inverse")
    counts = Counter(d.label for d in rows)
    expected = class_weights("inverse", [counts[i] for i in urgency.ids])
    assert fitted.model.network.loss.weights.tolist() == pytest.approx(expected)
    assert fitted.model.facts["label_counts"] == {i: counts[i] for i in urgency.ids}


def test_training_is_the_same_whatever_the_development_rows_are(train, same, messages):
    """They choose between checkpoints; with one epoch there is nothing to choose."""
    fits = [
        train(rows=messages[16:], development=held, training__epochs=1)
        for held in (messages[:8], messages[8:16], ())
    ]
    assert same(fits[0], fits[1]) and same(fits[0], fits[2])


def test_training_rows_in_use_equal_the_whole_table(train, monkeypatch):
    """Updating only rows in use must change nothing but the time that it takes."""
    some = train()
    monkeypatch.setattr(Encoder, "train_only", lambda self, ids: None)
    whole = train()
    mine, yours = (f.model.network.state_dict() for f in (some, whole))
    assert mine.keys() == yours.keys()
    for name in mine:
        torch.testing.assert_close(mine[name], yours[name], atol=1e-6, rtol=1e-5)


def test_after_training_the_word_table_is_whole_again(train, tiny_encoder):
    from safetensors.torch import load_file

    start = load_file(tiny_encoder / "model.safetensors")["embeddings.word_embeddings.weight"]
    network = train(training__epochs=1).model.network
    table = network.encoder.word_embeddings
    assert type(table) is nn.Embedding
    changed = (table.weight != start).any(dim=1)
    tokenizer = network.encoder.tokenizer
    assert changed[tokenizer.convert_tokens_to_ids("the")]
    assert not changed[tokenizer.convert_tokens_to_ids("[MASK]")]
    assert not changed[tokenizer.pad_token_id]
    frozen = train(training__epochs=1, encoder__word_embeddings="frozen").model.network
    assert torch.equal(frozen.encoder.word_embeddings.weight, start)


# Settings by name.


def test_balanced_batches_by_name(train, monkeypatch, urgency):
    batches = []
    collate = NeuralTrainer._collate

    def watch(self, examples):
        batches.append(Counter(e.target for e in examples))
        return collate(self, examples)

    monkeypatch.setattr(NeuralTrainer, "_collate", watch)
    train(sampler__kind="balanced", training__batch_size=6)
    assert batches
    assert all(batch == dict.fromkeys(range(3), 2) for batch in batches)


def test_class_weights_change_what_is_learned(train, same):
    plain = train(training__epochs=1)
    assert not same(train(training__epochs=1, loss__class_weights="inverse"), plain)


def test_half_precision_trains_full_precision_weights(train):
    network = train(training__precision="bfloat16").model.network
    assert {p.dtype for p in network.parameters()} == {torch.float32}
    assert all(torch.isfinite(p).all() for p in network.parameters())


# Rows that are not as they should be.


def test_a_label_without_training_rows(train, messages, urgency):
    rows = [d for d in messages if d.label != "urgent"]
    for recipe in ("lesa-bert", "lesa-bert-as-coded", "tfidf-svm", "tfidf-logistic", "frequency"):
        settings = {"training__epochs": 1} if recipe.startswith("lesa") else {}
        fitted = train(recipe, rows=rows, development=(), **settings)
        prediction = fitted.model.predict(rows[:1])[0]
        assert list(prediction.scores) == list(urgency.ids)
        assert np.isfinite(list(prediction.scores.values())).all()
        assert fitted.model.facts["label_counts"]["urgent"] == 0
        if not settings:
            assert prediction.scores["urgent"] < 1e-6


@pytest.mark.parametrize("weights", ["inverse", "sqrt-inverse", "effective"])
def test_class_weights_with_a_label_without_training_rows(train, messages, weights):
    rows = [d for d in messages if d.label != "urgent"]
    fitted = train(rows=rows, development=(), training__epochs=1, loss__class_weights=weights)
    assert fitted.model.facts["skipped_steps"] == 0


def test_rows_without_text_are_counted_and_not_trained_on(train, same, messages):
    blank = [
        Document(f"b{i}", text, ("urgent",)) for i, text in enumerate(("", "  ", "\n", "\u200b"))
    ]
    fitted = train(rows=[*messages[8:], *blank], development=messages[:8], training__epochs=1)
    assert fitted.model.facts["rows_without_text"] == 4
    assert same(fitted, train(training__epochs=1))


def test_only_one_label_has_text(train):
    rows = [Document("1", "chest pain", ("urgent",)), Document("2", " ", ("medium",))] * 4
    with pytest.raises(TrainingError, match=r"fewer than two labels have a row with text .*4 rows"):
        train(rows=rows, development=())


@pytest.mark.parametrize("name", ["tfidf-svm", "tfidf-logistic"])
def test_no_text_at_all_for_a_linear_model(name, train):
    rows = [Document(str(i), "  ", ("urgent" if i % 2 else "medium",)) for i in range(8)]
    with pytest.raises(TrainingError, match=f"{name} can't be fitted"):
        train(name, rows=rows, development=())


def test_development_rows_without_text_only(train, messages, tmp_path):
    from attending.models.store import save_model

    blank = [Document("b", " ", ("urgent",))]
    for recipe in ("lesa-bert", "tfidf-svm"):
        settings = {"training__epochs": 1} if recipe == "lesa-bert" else {}
        fitted = train(recipe, rows=messages, development=blank, **settings)
        assert fitted.metrics["accuracy"] == 0
        save_model(fitted.model, tmp_path / recipe, metrics=fitted.metrics)


def test_long_texts_are_trained_in_windows(train, messages):
    rows = [
        Document(d.id, f"{d.text} " * (8 if i % 3 == 0 else 1), d.labels)
        for i, d in enumerate(messages)
    ]
    fitted = train(rows=rows, development=(), windows__max_tokens=24, training__epochs=1)
    assert fitted.model.predict(rows[:1])[0].read.windows > 3
    refused = train(
        rows=rows,
        development=(),
        windows__max_tokens=24,
        windows__on_overflow="error",
        training__epochs=1,
    )
    assert refused.model.facts["rows_without_text"] > 10
    assert refused.model.predict(rows[:1])[0].status == "too_long"


# The decision.


def test_the_temperature_is_fitted_on_development_rows(messages, urgency, tiny_recipe):
    train, held = messages[:24], messages[24:]
    fitted = fit(tiny_recipe("tfidf-logistic"), train, urgency, development=held)
    logits, targets = answered(fitted.model.scores(held), held, urgency)
    expected = fit_temperature(logits, targets)
    assert fitted.model.decision.temperature == expected.value != 1
    assert fitted.notes == ()
    plain = fit(
        tiny_recipe("tfidf-logistic", decoder__calibrate="none"), train, urgency, development=held
    )
    assert plain.model.decision.temperature == 1
    assert plain.model.decision.note is None


@pytest.mark.parametrize(
    ("held", "why"), [(0, "no development rows"), (5, "only 5 rows to fit on")]
)
def test_why_there_is_no_temperature(held, why, messages, urgency, tiny_recipe):
    fitted = fit(tiny_recipe("tfidf-logistic"), messages[8:], urgency, development=messages[:held])
    assert fitted.model.decision.temperature == 1
    assert why in fitted.model.decision.note
    assert fitted.notes[-1] == fitted.model.decision.note


def test_the_facts_of_a_fit(train, messages):
    facts = train(seed=7, training__epochs=1).model.facts
    assert facts["seed"] == 7
    assert (facts["training_rows"], facts["development_rows"]) == (40, 8)
    assert len(facts["data_fingerprint"]) == len(facts["development_fingerprint"]) == 64
    assert facts["precision"] == "float32" and facts["window_tokens"] == 64
    assert facts["seconds"] > 0
    assert facts["label_state_notes"] == [
        'label "non-urgent": no known keyword, its vector starts at random'
    ]


def test_rows_carved_off_are_noted_in_the_facts(messages, urgency, tiny_recipe):
    facts = fit(tiny_recipe("frequency"), messages, urgency).model.facts
    assert facts["training_rows"] + facts["development_rows"] == 48
    assert facts["development_rows"] == 5


# What is left behind.


def test_nothing_is_printed_and_nothing_left(train, tmp_path, monkeypatch, capfd):
    said = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())
    for name in ("transformers", "accelerate", "torch"):
        logging.getLogger(name).addHandler(handler)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        train(training__epochs=4, training__patience=4)
    finally:
        for name in ("transformers", "accelerate", "torch"):
            logging.getLogger(name).removeHandler(handler)
    assert said == []
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_fit_leaves_no_folder_either(train, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail(event):
        raise RuntimeError("a listener's own fault")

    with pytest.raises(RuntimeError):
        train(listener=fail)
    assert list(tmp_path.iterdir()) == []


def test_labels_with_one_example_each():
    """The smallest corpus that can train."""
    from attending.recipe import Recipe

    rows = [Document("1", "chest pain", ("urgent",)), Document("2", "refill", ("routine",))]
    labels = LabelSet.from_ids(["routine", "urgent"])
    recipe = Recipe.load("tfidf-svm")
    fitted = fit(recipe, rows, labels)
    assert [p.labels for p in fitted.model.predict(rows)] == [("urgent",), ("routine",)]
    assert fitted.notes[0].startswith("2 distinct texts are too few")

"""``Classifier``: scikit-learn's manners, and Attending's."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from attending import Classifier
from attending.classifier import as_rows, resolve_recipe
from attending.data.corpora import Corpus, load_corpus
from attending.data.labels import load_labels, write_labels
from attending.errors import DataError, LabelError, ModelError, OutputError, TrainingError
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Unreadable

TEXTS = [
    f"{text} {i}"
    for i in range(5)
    for text in ("bleeding a lot", "see results", "bill question", "more tablets")
]
LABELS = ["urgent", "results", "admin", "refill"] * 5
SVM = {"recipe": "tfidf-svm"}


@pytest.fixture(scope="module")
def fitted():
    return Classifier(**SVM).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def tiny(tiny_encoder, messages, urgency):
    """A neural classifier, fitted on documents."""
    settings = {"training.epochs": 1, "training.precision": "float32"}
    return Classifier(labels=urgency, encoder=str(tiny_encoder), settings=settings).fit(messages)


# scikit-learn's manners.


def test_parameters_are_kept_as_given():
    given = {
        "recipe": "bert",
        "labels": ["b", "a"],
        "encoder": "minilm",
        "seed": 3,
        "settings": {"training.epochs": 2},
        "run": "folder",
    }
    made = Classifier(**given)
    assert made.get_params() == given
    assert all(getattr(made, key) is value for key, value in given.items())
    assert made.set_params(seed=4, recipe="frequency").get_params()["seed"] == 4
    with pytest.raises(ValueError, match="Invalid parameter"):
        made.set_params(sede=4)


def test_a_clone_has_the_parameters_and_nothing_learned(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert is_classifier(copy)
    assert "tfidf-svm" in repr(copy)


def test_fit_returns_the_classifier_and_predicts_labels(fitted):
    assert fitted.fit is not None and isinstance(fitted, Classifier)
    found = fitted.predict(["more tablets please", "bleeding again"])
    assert found.tolist() == ["refill", "urgent"] and found.dtype == object
    assert fitted.classes_.tolist() == ["admin", "refill", "results", "urgent"]


def test_probabilities_are_in_the_order_of_the_classes(fitted):
    found = fitted.predict_proba(["more tablets please", "bleeding again"])
    assert found.shape == (2, 4) and found.dtype == np.float64
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert fitted.classes_[found.argmax(axis=1)].tolist() == ["refill", "urgent"]
    assert fitted.predict_proba([]).shape == (0, 4)
    assert fitted.predict([]).shape == (0,)


def test_score_is_accuracy(fitted):
    assert fitted.score(TEXTS[:4], LABELS[:4]) == 1.0
    assert fitted.score(TEXTS[:4], ["urgent"] * 4) == 0.25
    weighted = fitted.score(TEXTS[:2], ["urgent", "urgent"], sample_weight=[3, 1])
    assert weighted == 0.75
    assert fitted.score([TEXTS[0], None, ""], ["urgent"] * 3) == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="2 texts but 3 labels"):
        fitted.score(TEXTS[:2], LABELS[:3])


def test_one_label_may_stand_in_a_list():
    lists = [[label] for label in LABELS]
    single = Classifier("tfidf-logistic").fit(TEXTS, lists)
    assert single.score(TEXTS, lists) == single.score(TEXTS, LABELS) == 1.0
    several = Classifier("tfidf-logistic").fit(
        [*TEXTS, "both of it"], [*lists, ["urgent", "admin"]]
    )
    assert several.model_.recipe.task == "multi"
    assert several.score(TEXTS, LABELS) == several.score(TEXTS, lists) > 0.5
    assert several.score([""], ["urgent"]) == 0


def test_works_in_scikit_learn_s_searches_and_pipelines():
    scores = cross_val_score(Classifier(**SVM), TEXTS, LABELS, cv=2)
    assert scores.tolist() == [1.0, 1.0]
    search = GridSearchCV(
        Classifier(**SVM),
        {"settings": [{"estimator.alpha": 1e-4}, {"estimator.alpha": 1e-3}], "seed": [0]},
        cv=2,
    )
    assert search.fit(TEXTS, LABELS).best_score_ == 1.0
    lower = FunctionTransformer(lambda texts: [t.lower() for t in texts])
    line = make_pipeline(lower, Classifier(**SVM)).fit(TEXTS, LABELS)
    assert line.predict(["MORE TABLETS"]).tolist() == ["refill"]


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda x: np.array(x, dtype=object)])
def test_texts_and_labels_of_any_sequence(make, fitted):
    found = Classifier(**SVM).fit(make(TEXTS), make(LABELS))
    assert found.predict(make(TEXTS)).tolist() == LABELS
    assert found.predict(iter(TEXTS)).tolist() == LABELS


def test_workers_may_do_the_work():
    search = GridSearchCV(
        Classifier(Recipe.load("tfidf-svm")), {"seed": [0, 1]}, cv=2, n_jobs=2
    ).fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(TEXTS).tolist() == LABELS


def test_asking_before_fitting(tmp_path):
    made = Classifier()
    for ask in (
        lambda: made.predict(["x"]),
        lambda: made.predict_proba(["x"]),
        lambda: made.explain(["x"]),
        lambda: made.save(tmp_path / "model"),
    ):
        with pytest.raises(ModelError, match="not fitted"):
            ask()


# Rows that are no text.


def test_a_missing_text_gets_no_label_and_moves_nothing(fitted):
    texts = ["more tablets", None, "", 3, float("nan"), "bleeding"]
    assert fitted.predict(texts).tolist() == ["refill", None, None, None, None, "urgent"]
    found = fitted.predictions(texts)
    assert [p.status for p in found] == ["ok", "failed", "empty_text", "failed", "failed", "ok"]
    assert [p.id for p in found] == [f"row-{i}" for i in range(1, 7)]
    assert found[1].reason == "not text but NoneType"
    with pytest.raises(DataError, match=r"4 texts have no probabilities, .*position 1"):
        fitted.predict_proba(texts)


def test_rows_that_are_no_text_don_t_train(fitted):
    made = Classifier(**SVM).fit([*TEXTS, None, 3], [*LABELS, "urgent", "urgent"])
    assert any("rows that are no text, left out: 2" in note for note in made.notes_)
    assert made.predict(TEXTS).tolist() == LABELS


def test_rows_from_texts():
    document, bad = Document("x", "y"), Unreadable("z", "why")
    assert as_rows([document, bad, "text"]) == [document, bad, Document("row-3", "text")]
    corpus = Corpus((document, bad))
    assert as_rows(corpus) == [document, bad]
    with pytest.raises(DataError, match="one string is not a list of texts"):
        as_rows("chest pain")


# Labels.


def test_faults_in_labels():
    with pytest.raises(DataError, match="20 texts but 19 labels"):
        Classifier(**SVM).fit(TEXTS, LABELS[1:])
    with pytest.raises(LabelError, match=r"position 1 is not a string \(found int\)"):
        Classifier(**SVM).fit(TEXTS[:2], ["a", 1])
    with pytest.raises(TrainingError, match='all 2 rows have the label "a"'):
        Classifier(**SVM).fit(TEXTS[:2], ["a", "a"])
    with pytest.raises(LabelError, match=r'"urgent" is not in the label set'):
        Classifier(**SVM, labels=["results", "admin", "refill"]).fit(TEXTS, LABELS)
    with pytest.raises(LabelError, match="no document has a label"):
        Classifier(**SVM).fit(TEXTS)


def test_labels_by_ids_by_set_or_by_file(tmp_path):
    ids = ["urgent", "results", "refill", "admin"]
    write_labels(LabelSet.from_ids(ids), tmp_path / "labels.toml")
    for labels in (
        ids,
        LabelSet.from_ids(ids),
        tmp_path / "labels.toml",
        str(tmp_path / "labels.toml"),
    ):
        made = Classifier(**SVM, labels=labels).fit(TEXTS, LABELS)
        assert made.classes_.tolist() == ids


def test_documents_carry_their_own_labels(case):
    corpus = load_corpus(case("D05") / "train.csv")
    expected = json.loads((case("D05") / "expected.json").read_text(encoding="utf-8"))["values"]
    made = Classifier(**SVM).fit(corpus)
    assert made.classes_.tolist() == expected["label_list"]
    test = load_corpus(case("D05") / "test.csv")
    found = dict(zip((d.text for d in test), made.predict(test), strict=True))
    assert made.classes_.tolist() == expected["label_list"], "predicting never refits the list"
    for documents in (test.documents[::-1], test.documents[:1]):
        for document, label in zip(documents, made.predict(documents), strict=True):
            assert found[document.text] == label
    assert list(found.values()) == ["urgent", "results"]


@pytest.mark.slow
def test_labels_have_the_same_order_in_every_process(case, tmp_path):
    code = (
        "import sys\n"
        "from attending import Classifier, load_corpus\n"
        "corpus = load_corpus(sys.argv[1])\n"
        "Classifier('tfidf-svm').fit(corpus).save(sys.argv[2])\n"
    )
    models = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        command = [sys.executable, "-c", code, str(case("D05") / "train.csv"), str(out)]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True)
        models.append(out)
    for name in ("labels.toml", "model.safetensors", "vocabulary.json"):
        one, other = ((model / name).read_bytes() for model in models)
        assert one == other, name
    expected = json.loads((case("D05") / "expected.json").read_text(encoding="utf-8"))["values"]
    assert list(load_labels(models[0] / "labels.toml").ids) == expected["label_list"]


# Saving, loading, recipes.


@pytest.mark.parametrize("kind", ["fitted", "tiny"])
def test_saved_and_loaded(kind, request, messages, tmp_path):
    model = request.getfixturevalue(kind)
    texts = [d.text for d in messages[:6]]
    folder = model.save(tmp_path / "model")
    loaded = Classifier.load(folder)
    assert np.array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.metrics_ == model.metrics_ and loaded.seed == model.seed
    with pytest.raises(OutputError, match="not empty"):
        loaded.save(folder)
    loaded.save(folder, force=True)
    assert Classifier.load(folder).metrics_ == model.metrics_
    assert clone(loaded).get_params()["recipe"] == loaded.model_.recipe
    settled = resolve_recipe(loaded.recipe, loaded.encoder, loaded.settings)
    assert settled == loaded.model_.recipe, "fitting it anew must not change how it is made"


def test_a_loaded_linear_classifier_can_be_fitted_anew(fitted, tmp_path):
    loaded = Classifier.load(fitted.save(tmp_path / "model"))
    again = loaded.fit(TEXTS, LABELS)
    assert again.predict(TEXTS).tolist() == LABELS


def test_a_neural_classifier(tiny, messages, urgency):
    assert tiny.classes_.tolist() == list(urgency.ids)
    assert set(tiny.metrics_) == {"macro_f1", "accuracy", "log_loss"}
    assert any('"non-urgent": no known keyword' in note for note in tiny.notes_)
    found = tiny.explain(messages[:2], labels="all")
    assert all(p.evidence for p in found)
    for prediction, message in zip(found, messages[:2], strict=True):
        for mark in prediction.evidence:
            assert 0 <= mark.start < mark.end <= len(message.text)


def test_rows_without_text_are_in_the_notes(tiny_encoder, messages, urgency):
    settings = {"training.epochs": 1, "training.precision": "float32"}
    made = Classifier(labels=urgency, encoder=str(tiny_encoder), settings=settings)
    blank = [Document(f"b{i}", " ", ("urgent",)) for i in range(2)]
    made.fit([*messages[8:], *blank], development=messages[:8])
    assert any("without text, not trained on: 2" in note for note in made.notes_)


def test_explaining_a_linear_classifier(fitted):
    (found,) = fitted.explain(["more tablets please"])
    assert found.labels == ("refill",)
    words = " ".join("more tablets please"[e.start : e.end] for e in found.evidence)
    assert words and set(words.split()) <= {"more", "tablets"}


def test_development_rows_are_taken_from_outside(messages, urgency):
    made = Classifier(**SVM, labels=urgency).fit(messages[24:], development=iter(messages[:24]))
    assert made.model_.facts["development_rows"] == 24
    assert made.model_.facts["training_rows"] == 24


def test_the_listener_hears_of_the_training(tiny_encoder, messages, urgency):
    settings = {"training.epochs": 1, "training.precision": "float32"}
    events = []
    Classifier(labels=urgency, encoder=str(tiny_encoder), settings=settings).fit(
        messages, listener=events.append
    )
    assert events[0].kind == "start" and events[-1].kind == "end"


def test_recipes_by_name_path_or_object(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(Recipe.load("tfidf-svm").to_toml(), encoding="utf-8")
    for recipe in ("tfidf-svm", path, str(path), Recipe.load("tfidf-svm")):
        assert Classifier(recipe=recipe).fit(TEXTS, LABELS).predict(TEXTS).tolist() == LABELS
    settled = resolve_recipe("lesa-bert", None, {"training.epochs": 2})
    assert settled["encoder"].name == "minilm" and settled["training"].epochs == 2
    assert resolve_recipe("lesa-bert", "recipe")["encoder"].name == "dmis-lab/biobert-v1.1"


def test_the_seed_decides(messages, urgency):
    def weights(seed):
        made = Classifier("tfidf-svm", labels=urgency, seed=seed).fit(messages)
        return made.model_.weights.coefficients

    assert np.array_equal(weights(1), weights(1))
    assert weights(1).shape != weights(2).shape or not np.array_equal(weights(1), weights(2))

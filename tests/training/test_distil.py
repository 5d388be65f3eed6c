"""A student learns to answer as its teachers do."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from attending.errors import LabelError, RecipeError, TrainingError, TrainingInterrupted
from attending.models.store import load_model, save_model
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from attending.training import lesson as lessons
from attending.training.distil import distil, distil_into, student_recipe
from attending.training.fit import fit
from attending.training.lesson import (
    ANSWERS,
    VECTORS,
    Lesson,
    copies_of,
    fingerprint,
    passes_of,
)
from attending.training.rows import Rows
from attending.training.student import with_start

AUTO = {"distillation.start": "auto"}
SAME = {"distillation.start": "teacher", "distillation.loss": "kl", "encoder.dropout": 0.0,
        "head.dropout": 0.0, "loss.label_loss": 0.0}  # fmt: skip


@pytest.fixture(scope="module")
def teacher(train):
    """A tiny lesa-bert that was trained on the student's rows."""
    return train(encoder__dropout=0.0, head__dropout=0.0, loss__label_loss=0.0).model


@pytest.fixture(scope="module")
def student(tiny_recipe, messages, urgency):
    """A function that distils a tiny recipe on 40 messages, with 8 as development rows."""

    def make(teacher, recipe="lesa-bert", rows=None, labels=urgency, **more):
        settings = {"distillation.kind": "soft-targets", "encoder.layers": 1}
        settings |= more.pop("settings", {})
        made = recipe if isinstance(recipe, Recipe) else tiny_recipe(recipe).override(settings)
        more.setdefault("development", messages[:8])
        return distil(teacher, made, messages[8:] if rows is None else rows, labels, **more)

    return make


def losses_of(listened):
    return [event.loss for event in listened if event.kind == "step"]


def test_a_student_of_all_layers_that_starts_from_its_teacher_has_nothing_to_learn(
    student, teacher
):
    steps = []
    settings = {**SAME, "encoder.layers": 2, "training.learning_rate": 1e-12}
    done = student(teacher, settings=settings, listener=steps.append)
    assert max(abs(loss) for loss in losses_of(steps)) < 1e-6
    mine, yours = (m.network.state_dict() for m in (done.model, teacher))
    assert mine.keys() == yours.keys()
    assert all(torch.allclose(mine[k], yours[k], atol=1e-6) for k in mine)


def test_a_smaller_student_learns_its_teachers_answers(student, teacher, messages):
    steps = []
    settings = {"training.epochs": 12, "distillation.loss": "kl"}
    done = student(teacher, settings=settings, listener=steps.append)
    found = losses_of(steps)
    assert sum(found[-5:]) < 0.4 * sum(found[:5])
    assert done.model.network.encoder.layers == 1
    mine, yours = ([p.labels for p in m.predict(messages)] for m in (done.model, teacher))
    assert np.mean([a == b for a, b in zip(mine, yours, strict=True)]) >= 0.9


def test_its_first_layer_is_the_pretrained_one_or_its_teachers(student, teacher, train):
    still = {"training.learning_rate": 1e-12, "training.epochs": 1}
    name = "encoder.model.encoder.layer.0.attention.self.query.weight"
    early = still | {"distillation.start": "pretrained"}
    fresh = student(teacher, settings=early).model.network.state_dict()[name]
    heir = student((teacher, teacher), settings=still).model  # of the first, where nothing is said
    assert heir.recipe["distillation"].start == "teacher"
    small = with_start(heir.recipe.override({**AUTO, "encoder.layers": None}), [heir])
    assert small["distillation"].start == "pretrained"  # the heir has one layer, all are wanted
    linear = student(train("tfidf-logistic").model, settings=still).model
    assert linear.recipe["distillation"].start == "pretrained"
    pretrained = train(training__learning_rate=1e-12, training__epochs=1).model
    assert torch.allclose(fresh, pretrained.network.state_dict()[name], atol=1e-6)
    assert torch.allclose(
        heir.network.state_dict()[name], teacher.network.state_dict()[name], atol=1e-6
    )
    assert (fresh - heir.network.state_dict()[name]).abs().max() > 1e-4


def test_parts_that_the_teacher_has_not_start_anew_and_are_told(student, train):
    plain = train("bert").model
    done = student(plain, settings={"distillation.start": "teacher"})
    assert done.model.facts["encoder_notes"] == [
        "label_states: the student starts it anew, since the teacher has none that fits"
    ]


def test_a_hard_share_of_one_is_training_on_labels(student, teacher, train, same, messages):
    """Nothing of the teacher is then left in the loss."""
    settings = {"encoder.layers": 2, "distillation.hard_share": 1.0}
    settings["distillation.start"] = "pretrained"
    taught = student(teacher, settings=settings)
    alone = train()
    mine, yours = (m.network.state_dict() for m in (taught.model, alone.model))
    assert all(torch.allclose(mine[k], yours[k], atol=1e-5) for k in yours)


def test_an_ensemble_teaches_its_mean_probabilities(train, urgency, messages, tmp_path):
    models = tuple(train(seed=seed, training__epochs=1).model for seed in (0, 1))
    recipe = student_recipe(models[0].recipe, 1).override({"distillation.temperature": 2.0})
    rows = Rows(tuple(messages[8:]), tuple(messages[:8]))
    found = Lesson(models).targets(recipe, rows, urgency, models[0].decision, tmp_path)
    expected = np.zeros((40, 3))
    for model in models:
        logits = np.stack([s.logits for s in model.scores(rows.train)]) / 2.0
        expected += np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) / 2
    assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-6)


def test_a_calibrated_teacher_divides_by_its_temperature(teacher, urgency, messages, tmp_path):
    warm = type(teacher)(teacher.recipe, teacher.labels, teacher.network)
    warm.decision = replace(teacher.decision, temperature=4.0)
    rows = Rows(tuple(messages[8:]), ())
    recipe = student_recipe(teacher.recipe, 1)
    both = [
        Lesson((warm,)).targets(made, rows, urgency, warm.decision, tmp_path)
        for made in (
            recipe.override({"distillation.calibrated": True}),
            recipe.override({"distillation.temperature": 4.0}),
        )
    ]
    assert np.array_equal(*both)


def test_a_teacher_answers_in_the_precision_of_its_student(teacher, urgency, messages, tmp_path):
    rows = Rows(tuple(messages[8:]), ())
    recipe = student_recipe(teacher.recipe, 1)
    whole, half = (
        Lesson((teacher,)).targets(
            recipe.override({"training.precision": name}), rows, urgency, teacher.decision, tmp_path
        )
        for name in ("float32", "bfloat16")
    )
    assert 0 < np.abs(whole - half).max() < 0.02


@pytest.mark.parametrize("name", ["tfidf-logistic", "bilstm-attention"])
def test_any_model_teaches(name, student, train):
    teacher = train(name).model
    done = student(teacher, settings={"training.epochs": 1})
    (told,) = done.model.facts["teachers"]
    assert told["recipe"] == name
    assert (told["parameters"] is None) == (name == "tfidf-logistic")


def test_any_network_learns(teacher, tiny_recipe, messages):
    """Also one with words of its own, which it then has from texts without labels too."""
    recipe = tiny_recipe("bilstm-attention", training__epochs=1)
    words = Document("t", "zebra and zebra", None)
    done = distil(teacher, recipe, messages[8:], development=messages[:8], transfer=[words])
    assert "zebra" in done.model.network.encoder.tokenizer.get_vocab()
    assert done.model.facts["layers"] is None and done.model.facts["parameters"] > 0


NUMBERS = LabelSet(tuple(Label(i, "", f"about {i}") for i in ("one", "two", "three")))


@pytest.fixture(scope="module")
def numbered():
    """Documents with any number of three labels."""
    texts = ["chest pain", "new rash and fever", "please refill", "fever today", "leg pain again"]
    some = [("one",), ("one", "two"), (), ("two",), ("three",)]
    return tuple(
        Document(f"{i}-{k}", f"{text} {i}", labels)
        for i in range(6)
        for k, (text, labels) in enumerate(zip(texts, some, strict=True))
    )


@pytest.mark.parametrize("loss", ["bce", "balanced-bce"])
def test_labels_that_do_not_exclude_each_other(loss, tiny_recipe, numbered, tmp_path):
    """Whatever shift the losses call for, teacher and student mean the same probabilities."""
    base = tiny_recipe("bert", loss__kind="bce", decoder__kind="threshold", training__select="map")
    teacher = fit(base, numbered, NUMBERS, development=numbered[:8]).model
    settings = {"loss.kind": loss, "distillation.kind": "soft-targets", "distillation.loss": "kl",
                "encoder.layers": 1, "training.epochs": 2}  # fmt: skip
    done = distil(teacher, base.override(settings), numbered, development=numbered[:8])
    decision = done.model.decision
    assert (decision.shift != 0) == (loss == "balanced-bce")
    rows = Rows(numbered, ())
    found = Lesson((teacher,)).targets(done.model.recipe, rows, NUMBERS, decision, tmp_path)
    logits = np.stack([s.logits for s in teacher.scores(numbered)])
    wanted = 1 / (1 + np.exp(-(logits - decision.shift)))
    assert np.allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("name", ["lesa-bert", "bert-mean"])
def test_texts_without_labels_are_learned_from(name, student, teacher, messages):
    bare = tuple(Document(f"t{i}", f"{d.text} again", None) for i, d in enumerate(messages[:12]))
    known = Document("known", messages[9].text.upper(), ("urgent",))
    watched = Document("watched", messages[0].text, None)
    settings = {"training.epochs": 1, "distillation.hard_share": 0.5, "sampler.kind": "balanced"}
    rows = (*messages[8:], replace(bare[0], id="among them"))
    done = student(teacher, name, rows, settings=settings, transfer=(*bare[1:], known, watched))
    assert done.model.facts["transfer_rows"] == 12
    assert done.model.facts["training_rows"] == 40
    assert "1 training row without a label" in done.notes[0]
    assert any(
        note.startswith("2 transfer rows with a text of a labelled row") for note in done.notes
    )


def test_a_text_and_its_copies_are_one_text_a_pass(student, teacher, messages):
    """Training costs what it does without copies; the teacher answers as many times more texts."""
    plain, more = [], []
    settings = {"training.epochs": 4}
    student(teacher, settings=settings, listener=plain.append)
    done = student(teacher, settings=settings | {"distillation.copies": 3}, listener=more.append)
    assert done.model.facts["copies"] == 120 and done.model.facts["transfer_rows"] == 0
    assert plain[0].total == more[0].total == 20
    assert [e.epoch for e in plain if e.kind == "epoch"] == [1, 2, 3, 4]
    assert [e.epoch for e in more if e.kind == "epoch"] == [1]


def test_a_student_that_listens_to_words_gets_no_copies(tiny_recipe, messages):
    """A copy holds the words that were learned from its original, so they would always be right."""
    listening = tiny_recipe("lame-evidence").for_task("single")
    made = student_recipe(listening, 1)
    assert made["distillation"].copies == 3 and copies_of(made) == 0
    rows = Rows(tuple(messages[8:]), tuple(messages[:8]))
    settled = Lesson(teachers=()).rows(rows, made, 0)
    assert settled.copies == 0 and "no changed copies" in settled.notes[-1]
    deaf = made.override({"lexical.weight": 0.0})
    assert copies_of(deaf) == 3


def test_no_more_copies_are_made_than_training_sees(tiny_recipe, messages):
    made = student_recipe(tiny_recipe("lesa-bert"), 1)
    assert (made["training"].epochs, made["distillation"].copies) == (4, 3)
    assert copies_of(made) == 3 and passes_of(made) == 1
    assert copies_of(made.override({"training.epochs": 16})) == 3
    assert copies_of(made.override({"training.epochs": 0.5})) == 0
    assert copies_of(tiny_recipe("lesa-bert")) == 0
    rows = Rows(messages[:9], (replace(messages[9], text=messages[0].text[:20]),))
    grown = Lesson(()).rows(rows, made, seed=0)
    assert grown.copies == len(grown.transfer) <= 27
    assert rows.development[0].text not in {d.text for d in grown.transfer}


def test_the_labels_of_transfer_rows_are_not_looked_at(student, teacher, messages, same):
    texts = [f"{d.text} again" for d in messages[:12]]
    bare = [Document(f"t{i}", text, None) for i, text in enumerate(texts)]
    wrong = [replace(d, labels=("urgent",)) for d in bare]
    settings = {"training.epochs": 1, "distillation.hard_share": 0.5}
    assert same(*(student(teacher, settings=settings, transfer=t) for t in (bare, wrong)))


def test_stopped_and_resumed_the_teacher_is_not_asked_again(
    student, teacher, same, tmp_path, monkeypatch
):
    import signal

    def stop(event):
        if event.kind == "step" and event.step == 7:
            signal.raise_signal(signal.SIGINT)

    whole = student(teacher)
    with pytest.raises(TrainingInterrupted):
        student(teacher, run=tmp_path, listener=stop)
    assert (tmp_path / ANSWERS).is_file()

    def never(*_):
        raise AssertionError("the teacher was asked again")

    monkeypatch.setattr(lessons, "_scores", never)
    assert same(student(teacher, run=tmp_path), whole)
    with pytest.raises(AssertionError, match="asked again"):
        (tmp_path / ANSWERS).write_bytes(b"half a file")
        student(teacher, run=tmp_path)


def test_with_vectors_a_student_sees_documents_as_its_teacher_does(student, teacher, messages):
    def distance(weight):
        settings = {"training.epochs": 6, "distillation.vectors": weight}
        mine = student(teacher, settings=settings).model.pooled(messages[:8])
        return float(((mine - teacher.pooled(messages[:8])) ** 2).mean())

    assert distance(10.0) < 0.7 * distance(None)


def test_vectors_are_of_the_first_teacher_and_kept(
    student, teacher, train, same, messages, tmp_path, monkeypatch
):
    import signal

    def stop(event):
        if event.kind == "step" and event.step == 7:
            signal.raise_signal(signal.SIGINT)

    settings = {"distillation.vectors": 1.0, "distillation.copies": 1}
    whole = student(teacher, settings=settings)
    with pytest.raises(TrainingInterrupted):
        student(teacher, settings=settings, run=tmp_path, listener=stop)
    assert (tmp_path / VECTORS).is_file()

    def never(*_, **__):
        raise AssertionError("the teacher was asked again")

    with monkeypatch.context() as patch:
        patch.setattr(type(teacher), "pooled", never)
        assert same(student(teacher, settings=settings, run=tmp_path), whole)
    rows, other = Rows(messages[8:], ()), train(training__epochs=1).model
    soft = np.zeros((40, 3), dtype=np.float32)
    soft[3] = np.nan
    found = Lesson((teacher, other)).vectors(
        whole.model.recipe, rows, soft, whole.model.network, tmp_path
    )
    assert np.isnan(found[3]).all()
    rest = [d for i, d in enumerate(messages[8:]) if i != 3]
    np.testing.assert_allclose(np.delete(found, 3, 0), teacher.pooled(rest), atol=1e-5)


def test_vectors_need_a_network_of_the_same_width(student, train, teacher, tiny_recipe, messages):
    settings = {"distillation.vectors": 1.0, "training.epochs": 1}
    with pytest.raises(TrainingError, match=r'needs a network as teacher.*"tfidf-logistic"'):
        student(train("tfidf-logistic").model, settings=settings)
    with pytest.raises(TrainingError, match=r"as wide as the student.s.*vectors unset"):
        recurrent = tiny_recipe("bilstm-attention").override(
            {"distillation.kind": "soft-targets", "encoder.hidden": 3} | settings
        )
        distil(teacher, recurrent, messages[8:], development=messages[:8])


def test_an_unfinished_run_of_another_teacher_does_not_go_on(student, teacher, train, tmp_path):
    student(teacher, run=tmp_path, settings={"training.epochs": 1})
    other = train(training__epochs=1).model
    with pytest.raises(TrainingError, match="differs in teachers"):
        student(other, run=tmp_path, settings={"training.epochs": 1})


def test_a_saved_teacher_has_the_same_fingerprint(teacher, train, tmp_path):
    save_model(teacher, tmp_path / "m")
    assert fingerprint(load_model(tmp_path / "m")) == fingerprint(teacher)
    assert fingerprint(train(training__epochs=1).model) != fingerprint(teacher)


def test_the_folder_says_whose_student_it_is(teacher, tiny_recipe, messages, urgency, tmp_path):
    recipe = tiny_recipe("distil-lesa-bert-3", encoder__layers=1)
    distil_into(tmp_path / "m", [teacher, teacher], recipe, messages, transfer=[
        Document("t", "a text without a label", None)
    ])  # fmt: skip
    card = (tmp_path / "m" / "README.md").read_text()
    assert (
        "- Student of 2 teachers, whose mean probabilities it learned:\n    - lesa-bert on" in card
    )
    assert "2 layers" in card and "- The student itself: 1 layers" in card
    assert "answered by the teacher: 1" in card
    told = json.loads((tmp_path / "m" / "attending.json").read_text())
    assert told["teachers"][0]["fingerprint"] == fingerprint(teacher)[:16]
    assert not (tmp_path / "m" / "run").exists()
    loaded = load_model(tmp_path / "m")
    assert loaded.recipe.name == "distil-lesa-bert-3" and loaded.network.encoder.layers == 1


def test_other_development_rows_than_the_teachers_are_told(student, teacher, messages):
    settings = {"training.epochs": 1}
    assert not any("development" in note for note in student(teacher, settings=settings).notes)
    moved = student(teacher, settings=settings, rows=messages[:40], development=messages[40:])
    assert any(note.startswith("the teacher had other development rows") for note in moved.notes)


def test_labels_in_another_order(student, teacher, urgency, messages, tmp_path):
    turned = replace(urgency, labels=tuple(reversed(urgency.labels)))
    with pytest.raises(LabelError, match="another order than the teacher's"):
        student(teacher, labels=turned)
    done = student(teacher, labels=replace(turned, ordered=False), settings={"training.epochs": 1})
    assert done.model.labels.ids == teacher.labels.ids
    found = Lesson((teacher,)).targets(
        done.model.recipe, Rows(messages[8:], ()), turned, teacher.decision, tmp_path
    )
    straight = Lesson((teacher,)).targets(
        done.model.recipe, Rows(messages[8:], ()), urgency, teacher.decision, tmp_path
    )
    assert np.array_equal(found[:, ::-1], straight)


def test_what_does_not_fit(student, teacher, train, tiny_recipe, messages, urgency):
    with pytest.raises(TrainingError, match=r"learns from a fitted model.*attending distil"):
        fit(tiny_recipe("distil-bert-6", encoder__layers=1), messages, urgency)
    with pytest.raises(RecipeError, match='"tfidf-svm" can\'t learn from a teacher'):
        distil(teacher, Recipe.load("tfidf-svm"), messages)
    with pytest.raises(TrainingError, match="at least one teacher"):
        student(())
    with pytest.raises(TrainingError, match="pretrained encoder in teacher and student"):
        student(train("tfidf-logistic").model, settings={"distillation.start": "teacher"})
    more = LabelSet((*urgency.labels, Label("other")))
    with pytest.raises(TrainingError, match=r'other labels than the student.*"other"'):
        student(teacher, labels=more)
    with pytest.raises(RecipeError, match="no layers that a student could take"):
        student_recipe(Recipe.load("tfidf-svm"), 2)
    several = {"loss.kind": "bce", "decoder.kind": "threshold"}
    with pytest.raises(TrainingError, match="is a single-label model, the student a multi-label"):
        student(teacher, "bert", settings=several)


def test_a_row_that_the_teacher_cannot_answer_is_left_out(student, teacher, messages):
    class Silent(type(teacher)):
        def scores(self, rows, *, progress=None):
            first, *rest = super().scores(rows, progress=progress)
            return [replace(first, status="failed", logits=None), *rest]

    silent = Silent(teacher.recipe, teacher.labels, teacher.network, teacher.decision)
    done = student(silent, settings={"training.epochs": 1})
    assert done.model.facts["training_rows"] == 40
    assert done.model.facts["rows_without_answer"] == 1

import json

import numpy as np
import pytest
import torch

from attending.errors import LabelError, RecipeError, TrainingError, TrainingInterrupted
from attending.recipe import Recipe
from attending.records import Document, LabelSet, Span
from attending.training.fit import fit
from attending.training.progress import Event
from attending.training.tagging import fit_tagger
from attending.training.tagging_rows import TaggedRows, choose_documents
from attending.training.tagging_score import development_figures, strict_figures


def weights(fitted):
    return fitted.model.scorer.network.state_dict()


def alike(one, other):
    mine, yours = weights(one), weights(other)
    return mine.keys() == yours.keys() and all(torch.equal(mine[k], yours[k]) for k in mine)


def test_a_fit_tells_what_happened(annotated, tiny_tagger, tmp_path):
    events: list[Event] = []
    fitted = fit_tagger(
        tiny_tagger("atl-ner", training__epochs=3), annotated[:8], development=annotated[8:],
        run=tmp_path / "run", listener=events.append,
    )  # fmt: skip
    assert [e.kind for e in events if e.kind != "step"] == ["start", *["epoch"] * 3, "end"]
    assert set(fitted.metrics) == {"micro_f1", "macro_f1", "log_loss"}
    facts = fitted.model.facts
    assert facts["training_rows"] == 8 and facts["development_rows"] == 2
    assert facts["label_counts"] == {"Drug": 4, "Finding": 6}
    assert facts["training_windows"] == 8 and facts["training_words"] > 40
    log = (tmp_path / "run" / "train.jsonl").read_text()
    assert log.count("\n") >= 5 and not any(w in log for w in ("chest", "insulin"))
    assert fitted.model.labels.ids == ("Drug", "Finding")


def test_the_best_checkpoint_is_kept(annotated, tiny_tagger):
    seen = []
    fitted = fit_tagger(
        tiny_tagger("atl-ner", training__epochs=6, training__select="log_loss",
                    decoder__calibrate="none"),
        annotated[:8], development=annotated[8:],
        listener=lambda e: seen.append(e.metrics) if e.kind == "epoch" else None,
    )  # fmt: skip
    assert fitted.metrics["log_loss"] == pytest.approx(min(m["log_loss"] for m in seen))


def test_the_same_seed_gives_the_same_tagger(annotated, tiny_tagger):
    recipe = tiny_tagger("btl-ner", training__epochs=2, neighbours__k=3)
    one, same, other = (fit_tagger(recipe, annotated, development=(), seed=s) for s in (1, 1, 2))
    assert alike(one, same) and not alike(one, other)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("atl-ner", {}), ("btl-ner", {"loss__step": "sequential", "neighbours__k": 3})],
)
def test_a_stopped_run_goes_on_as_if_it_had_not_been(
    name, settings, annotated, tiny_tagger, tmp_path
):
    import signal

    recipe = tiny_tagger(name, training__epochs=3, **settings)
    rows = {"development": annotated[8:], "seed": 5}
    whole = fit_tagger(recipe, annotated[:8], **rows)

    def stop(event):
        if event.kind == "step" and event.step == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(TrainingInterrupted, match="go on from there"):
        fit_tagger(recipe, annotated[:8], run=tmp_path / "run", listener=stop, **rows)
    resumed = fit_tagger(recipe, annotated[:8], run=tmp_path / "run", **rows)
    assert alike(whole, resumed) and resumed.metrics == whole.metrics


def test_a_run_with_other_spans_is_another_run(annotated, tiny_tagger, tmp_path):
    recipe = tiny_tagger("atl-ner", training__epochs=1)
    fit_tagger(recipe, annotated, development=(), run=tmp_path)
    fewer = (Document(annotated[0].id, annotated[0].text), *annotated[1:])
    with pytest.raises(TrainingError, match="differs in"):
        fit_tagger(recipe, fewer, development=(), run=tmp_path)


def test_documents_are_carved_whole_and_every_type_stays(annotated, tiny_tagger):
    more = [
        Document(f"{d.id}-{i}", f"{d.text} {i}", spans=d.spans) for i in range(3) for d in annotated
    ]
    only = Document("rare", "knee was numb", spans=(Span(0, 4, "Body"),))
    labels = LabelSet.from_ids(["Body", "Drug", "Finding"])
    rows = choose_documents(tiny_tagger("atl-ner"), [*more, only], labels, None, 3)
    assert len(rows.development) >= 2 and only in rows.train
    assert {id(d) for d in (*rows.train, *rows.development)} == {id(d) for d in (*more, only)}
    assert all(d.labels is None for d in rows.development)


def test_temperature_is_fitted_on_development_words(annotated, tiny_tagger):
    recipe = tiny_tagger("atl-ner", training__epochs=15)
    fitted = fit_tagger(recipe, annotated[:5], development=annotated[5:])
    assert fitted.model.decision.temperature != 1.0
    plain = fit_tagger(recipe, annotated, development=())
    assert plain.model.decision.temperature == 1.0
    assert "not calibrated: no development rows" in " ".join(plain.notes)
    assert plain.metrics == {}


def test_what_tags_can_t_hold_is_told(annotated, tiny_tagger):
    nested = Document(
        "n", "left leg pain", spans=(Span(0, 13, "Finding", id="T1"), Span(0, 8, "Drug", id="T2"))
    )
    labels = LabelSet.from_ids(["Drug", "Finding", "Unseen"])
    fitted = fit_tagger(
        tiny_tagger("atl-ner", training__epochs=1), [*annotated, nested], labels, development=()
    )
    said = " ".join(fitted.notes)
    assert "n T2" in said and "T1" not in said
    assert '1 type of 3 without a training span, the first is "Unseen"' in said


def test_votes_that_no_rare_type_can_win_are_told(annotated, tiny_tagger):
    recipe = tiny_tagger("btl-ner", training__epochs=1)
    fitted = fit_tagger(recipe, annotated, development=())
    assert "votes alone can't give" in " ".join(fitted.notes)
    shared = fit_tagger(recipe.override({"neighbours.weight": 0.5}), annotated, development=())
    assert "votes alone" not in " ".join(shared.notes)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"training.select": "accuracy"}, RecipeError, "no figure of taggers"),
        ({"sampler.kind": "balanced"}, RecipeError, "one label a row"),
        ({"loss.kind": "btl", "scheme.kind": "layers"}, RecipeError, "no other|in layers"),
    ],
)
def test_settings_that_don_t_fit(settings, error, said, annotated, tiny_tagger):
    recipe = tiny_tagger("atl-ner").override(settings)
    with pytest.raises(error, match=said):
        fit_tagger(recipe, annotated[:8], development=annotated[8:])


def test_rows_that_can_t_train(annotated, tiny_tagger):
    recipe = tiny_tagger("atl-ner")
    bare = [Document(d.id, d.text) for d in annotated]
    with pytest.raises(LabelError, match="no document has an annotated span"):
        fit_tagger(recipe, bare)
    with pytest.raises(TrainingError, match="no document has an annotated span"):
        fit_tagger(recipe, bare, LabelSet.from_ids(["Drug"]))
    with pytest.raises(LabelError, match='"Finding" is not in the label set'):
        fit_tagger(recipe, annotated, LabelSet.from_ids(["Drug"]))


def test_recipes_of_the_other_task_are_refused(annotated, tiny_tagger):
    with pytest.raises(RecipeError, match="gives documents labels, it tags no spans"):
        fit_tagger(Recipe.load("bert"), annotated)
    with pytest.raises(RecipeError, match="tags spans, it gives documents no labels"):
        fit(tiny_tagger("atl-ner"), annotated)


def test_figures_by_hand(annotated, tiny_tagger):
    fitted = fit_tagger(tiny_tagger("atl-ner", training__epochs=1), annotated, development=())
    rows = TaggedRows.of(annotated[:3], fitted.model.scheme)
    from attending.records import Prediction

    found = [
        Prediction("d0", "ok", spans=(Span(0, 17, "Finding"), Span(0, 6, "Finding"))),
        Prediction("d1", "ok", spans=()),
        Prediction("d2", "ok", spans=(Span(5, 15, "Finding"), Span(21, 25, "Finding"))),
    ]
    # 4 gold, 4 found, 2 right; Finding: 3 gold, 4 found, 2 right; Drug: 1 gold, none found.
    figures = strict_figures(rows, found, fitted.model.labels)
    assert figures["micro_f1"] == pytest.approx(4 / 8)
    assert figures["macro_f1"] == pytest.approx((4 / 7 + 0) / 2)
    nothing = TaggedRows.of((), fitted.model.scheme)
    assert development_figures(fitted.model, nothing, fitted.model.judged(())) == {}


def test_word_vectors_come_from_training_rows_alone(annotated, tiny_tagger):
    fitted = fit_tagger(
        tiny_tagger("crf-ner", training__epochs=1), annotated[:8], development=annotated[8:]
    )
    words = fitted.model.scorer.network.encoder.tokenizer.get_vocab()
    assert "insulin" in words and "night" not in words


def test_a_linear_tagger_needs_its_library(annotated, tiny_tagger, monkeypatch):
    import sys

    from attending.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    with pytest.raises(MissingExtra, match=r"attending\[crf\]"):
        fit_tagger(tiny_tagger("features-ner"), annotated, development=())


def test_a_linear_tagger_equals_its_library(annotated, tiny_tagger, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    fitted = fit_tagger(tiny_tagger("features-ner"), annotated, development=())
    model = fitted.model
    from attending.data.tagging.words import words

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    spec = model.recipe["estimator"]
    trainer.set_params({
        "c1": spec.c1, "c2": spec.c2, "max_iterations": spec.max_iterations,
        "feature.possible_transitions": True,
    })  # fmt: skip
    rows = TaggedRows.of(annotated, model.scheme)
    for d, own, tags in zip(rows.documents, rows.words, rows.targets, strict=True):
        features = model.scorer.features([d.text[a:b] for a, b in own])
        trainer.append(features, [str(t) for t in tags.ravel()])
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    text = "severe cough, took lisinopril and insulin at night"
    document = Document("x", text)
    features = model.scorer.features([text[a:b] for a, b in words(text)])
    expected = [int(t) for t in tagger.tag(features)]
    (scores,) = model.scores([document])
    tags, likely = model.tagged(scores.logits, [len(scores.numbers)])
    assert tags.ravel().tolist() == expected
    place = len(expected) // 2
    probability = tagger.marginal(str(expected[place]), place)
    # CRFsuite knows no rule of tags, which ours adds.
    assert np.exp(likely[place, 0, expected[place]]) == pytest.approx(probability, abs=0.05)


def test_the_journal_of_a_run_is_json(annotated, tiny_tagger, tmp_path):
    fit_tagger(tiny_tagger("lame-ner", training__epochs=1), annotated, development=(), run=tmp_path)
    rows = [json.loads(x) for x in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert rows[0]["kind"] == "start" and rows[0]["facts"]["window_tokens"] == 64


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("atl-ner", {"loss__gamma": 2.0}),
        ("atl-ner", {"loss__kind": "crf"}),
        ("btl-ner", {"loss__step": "per_copy"}),
        ("lame-ner", {"scheme__kind": "layers"}),
    ],
)
def test_half_precision_trains(name, settings, annotated, tiny_tagger):
    recipe = tiny_tagger(name, training__epochs=2, training__precision="bfloat16", **settings)
    fitted = fit_tagger(recipe, annotated[:8], development=annotated[8:])
    assert all(bool(torch.isfinite(w).all()) for w in weights(fitted).values())
    assert fitted.model.facts["precision"] == "bfloat16"
    assert fitted.model.facts["skipped_steps"] == 0

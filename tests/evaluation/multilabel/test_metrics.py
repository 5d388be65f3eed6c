"""``evaluate_multilabel``: by hand, against scikit-learn, and nothing dropped on the way."""

import json

import numpy as np
import pytest
from sklearn import metrics as sk

from attending.errors import DataError, LabelError
from attending.evaluation.metrics import evaluate
from attending.evaluation.multilabel.definitions import MULTILABEL_DEFINITIONS, definition_of
from attending.evaluation.multilabel.metrics import (
    Choices,
    evaluate_multilabel,
    evaluate_multilabel_outcome,
    quick_figures,
)
from attending.evaluation.multilabel.outcome import extended, match_multilabel
from attending.evaluation.task import evaluate_task, in_short
from attending.records import Document, Label, LabelSet, Prediction, Source, Unreadable

CODES = LabelSet.from_ids(["a", "b", "c", "d"], name="codes")


def by_hand():
    """Two true pairs of five found, one false one, over three documents and four labels."""
    documents = [
        Document("x", "", ("a", "b")),
        Document("y", "", ("a", "c", "d")),
        Document("z", "", ()),
    ]
    predictions = [
        Prediction("x", "ok", ("a",), {"a": 0.9, "c": 0.3, "b": 0.2, "d": 0.1}),
        Prediction("y", "ok", ("b", "c"), {"b": 0.8, "c": 0.7, "a": 0.4, "d": 0.4}),
        Prediction("z", "ok", (), {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1}),
    ]
    return documents, predictions


def test_figures_worked_by_hand():
    found = evaluate_multilabel(*by_hand(), CODES, ks=(1, 2), resamples=0).metrics
    expected = {
        "micro_precision": 2 / 3,
        "micro_recall": 2 / 5,
        "micro_f1": 4 / 8,
        # F1 of a is 2/3, of b 0, of c 1, of d 0.
        "macro_f1": (2 / 3 + 0 + 1 + 0) / 4,
        # Mean precision (1 + 0 + 1 + 0) / 4, mean recall (1/2 + 0 + 1 + 0) / 4.
        "macro_f1_of_averages": 2 * 0.5 * 0.375 / 0.875,
        "example_f1": (2 / 3 + 2 / 5 + 1) / 3,
        "subset_accuracy": 1 / 3,
        "hamming_loss": 4 / 12,
        "p_at_1": (1 + 0) / 2,
        "p_at_2": (1 / 2 + 1 / 2) / 2,
        "r_at_2": (1 / 2 + 1 / 3) / 2,
        "ndcg_at_2": (1 / (1 + 1 / np.log2(3)) + (1 / np.log2(3)) / (1 + 1 / np.log2(3))) / 2,
        # x: one of the first two; y: c and a of the first three.
        "r_precision": (1 / 2 + 2 / 3) / 2,
        # x: a at 1, b at 3; y: c at 2, a at 3, d at 4 (a tie goes to the first label).
        "map": ((1 + 2 / 3) / 2 + (1 / 2 + 2 / 3 + 3 / 4) / 3) / 2,
        "map_assigned": (1 / 2 + (1 / 2) / 3) / 2,
        "map_cantemist": (1 / 2 + (1 / 2) / 3) / 2,
    }
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key


def test_precision_at_k_divides_by_k_whatever_there_is(case, outcome_of):
    folder = case("D09-p-at-k-few-labels")
    data = json.loads((folder / "rank.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())["values"]
    truth, scores = np.array(data["y_true"]), np.array(data["scores"])
    outcome = outcome_of(truth, scores > 1, scores)
    labels = LabelSet.from_ids(list("abcdef"))
    found = evaluate_multilabel_outcome(outcome, labels, choices=Choices((1, 5, 8), resamples=0))
    assert found.metrics["p_at_1"] == 1.0
    assert found.metrics["p_at_5"] == pytest.approx(expected["mean_p_at_5"], abs=1e-6)
    assert found.metrics["r_at_5"] == pytest.approx(np.mean(expected["r_at_5"]))
    assert found.metrics["p_at_8"] == pytest.approx(np.mean(expected["p_at_8_if_allowed"]))
    assert found.notes == ("P@8 with only 6 labels can't reach 1: P@k is hits divided by k",)


@pytest.mark.parametrize("seed", [0, 1])
def test_decisions_agree_with_scikit_learn(random_case, answered_rows, seed):
    truth, assigned, scores = random_case(seed)
    found = evaluate_multilabel(*answered_rows(truth, assigned, scores), resamples=0)
    every = {"zero_division": 0.0}
    for kind in ("micro", "macro", "weighted"):
        for name in ("precision", "recall", "f1"):
            theirs = getattr(sk, f"{name}_score")(truth, assigned, average=kind, **every)
            ours = found.metrics[f"{kind}_{name}"]
            assert ours == pytest.approx(theirs), (kind, name)
    own = sk.f1_score(truth, assigned, average="samples", zero_division=1.0)
    assert found.metrics["example_f1"] == pytest.approx(own)
    assert found.metrics["subset_accuracy"] == pytest.approx(sk.accuracy_score(truth, assigned))
    assert found.metrics["hamming_loss"] == pytest.approx(sk.hamming_loss(truth, assigned))
    for k, label in enumerate(found.labels.ids):
        if label in found.per_label:
            row = found.per_label[label]
            assert row["f1"] == pytest.approx(sk.f1_score(truth[:, k], assigned[:, k]))


def test_no_answer_is_nothing_given_and_nothing_ranked():
    documents, predictions = by_hand()
    scores = {"a": 0.9, "b": 0.8, "c": 0.1, "d": 0.1}
    predictions[0] = Prediction("x", "ok", ("a", "b"), scores, abstained=True)
    predictions[2] = Prediction("z", "empty_text")
    found = evaluate_multilabel(documents, predictions, CODES, ks=(1,), resamples=0)
    assert found.metrics["micro_recall"] == 1 / 5
    assert found.metrics["micro_f1_answered"] == pytest.approx(2 / 5)
    assert found.metrics["p_at_1"] == 0.0
    rest = (1 / 2 + 2 / 3 + 3 / 4) / 3
    assert found.metrics["map"] == pytest.approx(rest / 2)
    assert found.metrics["map_cantemist_ranked"] == pytest.approx(rest)
    # A document that truly has no label isn't right because it could not be read.
    assert found.metrics["subset_accuracy"] == 0.0
    counts = found.coverage
    assert (counts["labelled"], counts["answered"], counts["with_labels"]) == (3, 1, 2)
    assert (counts["abstained"], counts["empty_text"], counts["no_label"]) == (1, 1, 0)


def test_map_of_the_shared_task_leaves_empty_documents_out():
    """A run of three documents: one with codes, one empty, one of whose codes none is right."""
    documents = [Document(i, "", ("a", "b")) for i in "xyz"]
    predictions = [
        Prediction("x", "ok", ("b", "c", "a")),
        Prediction("y", "ok", ()),
        Prediction("z", "ok", ("d", "d")),
    ]
    found = evaluate_multilabel(documents, predictions, CODES, resamples=0)
    assert found.metrics["map_cantemist"] == pytest.approx((5 / 6 + 0) / 2)
    assert found.metrics["map_assigned"] == pytest.approx((5 / 6 + 0 + 0) / 3)
    assert found.metrics["map"] == found.metrics["map_assigned"]
    assert found.per_label["d"]["predicted"] == 1
    assert found.metrics["roc_auc_macro"] is None
    assert "labels without scores" in found.undefined["metrics.roc_auc_macro"]


def test_labels_can_be_left_out_of_truth_and_answers():
    found = evaluate_multilabel(*by_hand(), CODES, without=("a",), removed=(0, 1, 9), resamples=0)
    assert found.excluded.labels == ("a",) and found.excluded.documents == 2
    assert found.excluded.figures["micro_precision"] == 1 / 2
    assert found.excluded.figures["micro_recall"] == 1 / 3
    # x: b at 2 of c, b, d; y: c at 2 and d at 3 of b, c, d.
    assert found.excluded.figures["map"] == pytest.approx((1 / 2 + (1 / 2 + 2 / 3) / 2) / 2)
    assert [r.n for r in found.removed] == [0, 1]
    assert found.removed[0].figures["micro_f1"] == found.metrics["micro_f1"]
    assert found.removed[0].figures["map"] == found.metrics["map"]
    assert found.removed[1].figures == found.excluded.figures, "a is the most frequent label"


def test_labels_of_documents_that_a_model_lacks():
    documents, predictions = by_hand()
    documents[0] = Document("x", "", ("a", "zz"), source=Source("f.csv", 3))
    with pytest.raises(LabelError, match=r'f\.csv line 3: label "zz"'):
        evaluate_multilabel(documents, predictions, CODES)
    found = evaluate_multilabel(documents, predictions, CODES, unknown="miss", resamples=0)
    assert found.metrics["micro_recall"] == 2 / 5
    assert found.per_label["zz"]["recall"] == 0.0
    assert "1 labels of the documents" in found.notes[0] and '"zz"' in found.notes[0]
    assert found.labels.ids == ("a", "b", "c", "d", "zz")


def test_unlabelled_and_unreadable_rows_are_counted_and_left_out():
    documents, predictions = by_hand()
    documents += [Document("u", ""), Unreadable("row-5", "bad bytes")]
    predictions += [Prediction("u", "ok", ("a",), {"a": 1.0}), Prediction("row-5", "failed")]
    found = evaluate_multilabel(documents, predictions, CODES, resamples=0)
    plain = evaluate_multilabel(*by_hand(), CODES, resamples=0)
    assert found.metrics == plain.metrics
    assert (found.coverage["unlabelled"], found.coverage["unreadable_rows"]) == (1, 1)


def odd_sets():
    documents, predictions = by_hand()
    silent = [Prediction(d.id, "failed") for d in documents]
    bare = [Prediction(p.id, "ok", p.labels) for p in predictions]
    margins = [
        Prediction(p.id, "ok", p.labels, {k: 9 * v - 5 for k, v in p.scores.items()})
        for p in predictions
    ]
    none = [Document(d.id, "", ()) for d in documents]
    nothing = [Prediction(d.id, "ok") for d in documents]
    return {
        "no answer": (documents, silent),
        "no scores": (documents, bare),
        "not probabilities": (documents, margins),
        "no true label": (none, predictions),
        "no label at all": (none, nothing),
    }


@pytest.mark.parametrize("name", odd_sets())
def test_undefined_figures_are_null_with_a_reason(name):
    found = evaluate_multilabel(*odd_sets()[name], CODES, training_counts={"a": 9}, resamples=20)
    out = found.to_dict()
    json.dumps(out, allow_nan=False)
    null = {f"metrics.{key}" for key, value in out["metrics"].items() if value is None}
    assert null == set(out["undefined"]) and all(out["undefined"].values())
    assert null or name == "not probabilities"
    assert in_short(found)


def test_every_figure_has_a_definition(random_case, answered_rows):
    out = evaluate_multilabel(*answered_rows(*random_case())).to_dict()
    keys = {*out["metrics"], *(key for row in out["per_label"].values() for key in row)}
    assert set(out["definitions"]) == keys and len(keys) > 40
    assert "divided by 15" in out["definitions"]["p_at_15"]
    plain = {k if k[-1].isdigit() is False else k.rsplit("_", 1)[0] + "_k" for k in keys}
    renamed = {k for k in MULTILABEL_DEFINITIONS if not k.endswith("_at_k")}
    assert renamed <= keys, "a definition of a figure that doesn't exist"
    assert plain >= {"p_at_k", "r_at_k", "ndcg_at_k"}
    assert all(definition_of(key).endswith(".") for key in keys)


def test_task_and_headline(random_case, answered_rows):
    rows = answered_rows(*random_case())
    found = evaluate_task("multi", *rows, resamples=0, training_counts={"c0": 3}, ks=(3,))
    assert list(found.headline) == ["micro_f1", "macro_f1", "map", "p_at_3"]
    assert found.to_dict()["task"] == "multi-label" and found.buckets
    one = [Document("x", "", ("a",))], [Prediction("x", "ok", ("a",))]
    assert evaluate_task("single", *one, CODES, resamples=0).to_dict()["task"] == "single-label"
    with pytest.raises(DataError, match="multi-label task"):
        evaluate(*by_hand(), CODES)


def test_permuting_documents_or_labels_changes_no_figure(random_case, outcome_of):
    truth, assigned, scores = random_case()
    rows, columns = np.random.default_rng(1).permutation(60), np.arange(12)[::-1]
    plain = quick_figures(outcome_of(truth, assigned, scores))
    other = quick_figures(
        outcome_of(*(m[rows][:, columns] for m in (truth, assigned, scores))), ks=(5,)
    )
    assert other == pytest.approx(plain)


def test_quick_figures_are_those_of_the_evaluation(random_case, answered_rows):
    rows = answered_rows(*random_case())
    outcome, _ = match_multilabel(*rows)
    quick = quick_figures(outcome, (5,))
    whole = evaluate_multilabel(*rows, resamples=0).metrics
    assert quick == {key: whole[key] for key in quick}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda d, p: p.pop(), DataError, "3 documents and 2 predictions"),
        (
            lambda d, p: p.__setitem__(0, Prediction("x", "ok", ("a",), {"b": 0.5})),
            DataError,
            'document "x": the assigned label "a" has no score',
        ),
        (
            lambda d, p: p.__setitem__(0, Prediction("x", "ok", (), {"b": float("nan")})),
            DataError,
            'scores of document "x": a score is not a number',
        ),
        (
            lambda d, p: p.__setitem__(0, Prediction("x", "ok", ("zz",))),
            LabelError,
            'prediction of document "x": label "zz"',
        ),
        (
            lambda d, p: d.__setitem__(slice(None), [Document(x.id, "SECRET") for x in d]),
            DataError,
            "no document has a label",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_line(change, error, says):
    documents, predictions = by_hand()
    change(documents, predictions)
    with pytest.raises(error, match=says) as caught:
        evaluate_multilabel(documents, predictions, CODES)
    assert "SECRET" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ks": (0,)}, "from 1"),
        ({"ks": ()}, "none"),
        ({"cutoffs": (5,)}, "two rising"),
        ({"confidence": 1.0}, "share"),
        ({"training_counts": {"a": -1}}, 'training count of "a"'),
    ],
)
def test_settings_out_of_range_are_refused(settings, says):
    with pytest.raises(DataError, match=says):
        evaluate_multilabel(*by_hand(), CODES, **settings)


def test_missed_labels_join_a_set_whose_labels_have_something_broader():
    labels = LabelSet((Label("8000/0", parent="8000"),), broader=(Label("8000", "", "neoplasm"),))
    documents = [Document("a", "x", ("8000/0", "8000", "new"))]
    known = extended(labels, documents)
    assert known.ids == ("8000/0", "8000", "new") and not known.broader
    assert known["8000"].description == "neoplasm"

"""``evaluate``: nothing dropped, nothing made up, every figure defined and JSON-safe."""

import json
import time

import numpy as np
import pytest

from attending.errors import DataError, LabelError
from attending.evaluation.metrics import DEFINITIONS, evaluate
from attending.evaluation.outcome import match
from attending.records import Coverage, Document, Label, LabelSet, Prediction, Source, Unreadable

URGENCY = LabelSet(tuple(Label(i) for i in ("low", "middle", "high")), name="urgency", ordered=True)


def scored(id_, label, labels=URGENCY, sure=0.8, **more):
    rest = (1 - sure) / (len(labels) - 1)
    scores = {i: sure if i == label else rest for i in labels.ids}
    return Prediction(id_, "ok", (label,), scores, **more)


def rows(truth, given, labels=URGENCY):
    documents = [Document(f"d{k}", "text", (t,)) for k, t in enumerate(truth)]
    return documents, [scored(f"d{k}", p, labels) for k, p in enumerate(given)]


def sample(n=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(URGENCY.ids, n, p=[0.5, 0.4, 0.1])
    given = np.where(rng.random(n) < 0.8, truth, rng.choice(URGENCY.ids, n))
    return rows(truth.tolist(), given.tolist())


@pytest.mark.parametrize("name", ["set1", "set2"])
def test_macro_f1_names_its_classes_when_one_is_absent(case, name):
    folder = case("D08-macro-f1-absent-class")
    data = json.loads((folder / "cases.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())["values"][name]
    labels = LabelSet.from_ids(data["labels"])
    found = evaluate(*rows(data[name]["y_true"], data[name]["y_pred"], labels), labels)
    assert found.metrics["macro_f1"] == pytest.approx(expected["seen"], abs=1e-6)
    for ours, theirs in [
        ("macro_f1_declared_zero", "declared_zero"),
        ("macro_f1_support_only", "support_only"),
    ]:
        assert found.metrics[ours] == pytest.approx(expected[theirs], abs=1e-6)
    averaged = {
        "set1": {"urgent": 2, "routine": 2},
        "set2": {"urgent": 2, "routine": 2, "admin": 0},
    }
    assert found.averaged == averaged[name]
    over = json.loads(json.dumps(found.to_dict(), allow_nan=False))["macro_f1_over"]
    assert over["support"] == averaged[name]
    assert over["left_out"] == (["admin"] if name == "set1" else [])


def test_no_answer_is_wrong_and_counted_by_reason():
    documents, predictions = rows(["low"] * 4 + ["high"] * 4, ["low"] * 4 + ["high"] * 4)
    predictions[4] = Prediction("d4", "empty_text")
    predictions[5] = Prediction("d5", "failed", reason="broken")
    predictions[6] = scored("d6", "high", abstained=True)
    found = evaluate(documents, predictions, URGENCY)
    assert found.metrics["accuracy"] == 5 / 8
    assert found.metrics["accuracy_answered"] == 1.0
    assert found.per_label["high"]["recall"] == 1 / 4
    assert found.per_label["high"]["precision"] == 1.0
    assert found.per_label["high"]["no_answer"] == 3
    assert found.metrics["highest_level_missed"] == 3
    assert found.confusion[2] == (0, 0, 1, 3)
    counts = found.coverage
    assert (counts["answered"], counts["not_answered"]) == (5, 3)
    assert (counts["empty_text"], counts["failed"], counts["abstained"]) == (1, 1, 1)


def test_unlabelled_and_unreadable_rows_are_counted_and_left_out():
    documents, predictions = rows(["low", "high"], ["low", "high"])
    documents += [Document("u", "text"), Unreadable("row-4", "bad bytes")]
    predictions += [scored("u", "high"), Prediction("row-4", "failed")]
    found = evaluate(documents, predictions, URGENCY)
    assert found.metrics["accuracy"] == 1.0
    assert found.coverage["documents"] == 4
    assert (found.coverage["labelled"], found.coverage["unlabelled"]) == (2, 1)
    assert found.coverage["unreadable_rows"] == 1


def test_order_of_levels_is_used():
    documents, predictions = rows(
        ["high", "high", "middle", "low", "low"], ["low", "middle", "middle", "low", "high"]
    )
    figures = evaluate(documents, predictions, URGENCY).metrics
    assert figures["mean_absolute_error_answered"] == pytest.approx((2 + 1 + 0 + 0 + 2) / 5)
    assert (figures["under_triaged"], figures["under_triaged_by_2_or_more"]) == (2, 1)
    assert (figures["over_triaged"], figures["over_triaged_by_2_or_more"]) == (1, 1)
    plain = LabelSet.from_ids(URGENCY.ids)
    assert "under_triaged" not in evaluate(documents, predictions, plain).metrics


def test_headline_shows_the_highest_level_of_ordered_labels():
    found = evaluate(*sample(), URGENCY)
    assert list(found.headline) == ["macro_f1", "accuracy", "high recall", "high precision"]
    assert found.headline["high recall"] == found.per_label["high"]["recall"]
    plain = LabelSet.from_ids(URGENCY.ids)
    assert list(evaluate(*sample(), plain).headline) == ["macro_f1", "accuracy"]


def test_every_figure_has_a_definition():
    out = evaluate(*sample(), URGENCY).to_dict()
    keys = {*out["metrics"], *(key for row in out["per_label"].values() for key in row)}
    assert len(keys) > 40
    assert keys <= set(DEFINITIONS)
    assert set(out["definitions"]) == keys
    assert set(DEFINITIONS) == keys, "a definition of a figure that doesn't exist"
    assert all(text.endswith(".") for text in DEFINITIONS.values())


def hard_sets():
    one = rows(["low"] * 3, ["low"] * 3)
    unanswered = (
        rows(["low", "high"], ["low", "high"])[0],
        [
            Prediction("d0", "failed"),
            Prediction("d1", "empty_text"),
        ],
    )
    odd = rows(["low", "high"], ["low", "high"])
    odd[1][0] = Prediction("d0", "ok", ("low",), {"low": 2.0, "middle": -1.0, "high": 0.5})
    bare = (
        rows(["low", "high"], ["low", "high"])[0],
        [
            Prediction("d0", "ok", ("low",)),
            Prediction("d1", "ok", ("high",)),
        ],
    )
    return {"one label": one, "no answer": unanswered, "not probabilities": odd, "no scores": bare}


@pytest.mark.parametrize("name", hard_sets())
def test_undefined_figures_are_null_with_a_reason(name):
    out = evaluate(*hard_sets()[name], URGENCY, resamples=50).to_dict()
    json.dumps(out, allow_nan=False)
    null = {f"metrics.{key}" for key, value in out["metrics"].items() if value is None}
    for label, row in out["per_label"].items():
        null |= {f"per_label.{label}.{key}" for key, value in row.items() if value is None}
    assert null == set(out["undefined"])
    assert null and all(out["undefined"].values())


def test_scores_are_judged_only_where_there_are_some():
    documents, predictions = sample(60)
    predictions[0] = Prediction("d0", "empty_text")
    fewer = evaluate(documents[1:], predictions[1:], URGENCY)
    found = evaluate(documents, predictions, URGENCY)
    for key in ("brier", "ece", "log_loss", "roc_auc_macro"):
        assert found.metrics[key] == pytest.approx(fewer.metrics[key])
    assert sum(b.count for b in found.reliability) == 59


def test_intervals_hold_the_figure_and_come_from_the_seed():
    found = evaluate(*sample(), URGENCY, resamples=400)
    assert found == evaluate(*sample(), URGENCY, resamples=400)
    for key, interval in found.intervals.items():
        assert interval.low < found.metrics[key] < interval.high
    for label in URGENCY.ids:
        for key in ("precision", "recall"):
            value = found.per_label[label][key]
            both = found.label_intervals[label][key], found.label_shares[label][key]
            assert all(i.low <= value <= i.high for i in both)
    other = evaluate(*sample(), URGENCY, resamples=400, seed=1)
    assert other.intervals["macro_f1"] != found.intervals["macro_f1"]


def test_bootstrap_can_be_left_out():
    found = evaluate(*sample(), URGENCY, resamples=0)
    assert found.intervals["accuracy"] is None
    assert found.shares["accuracy"].low < found.metrics["accuracy"]


def test_a_thousand_resamples_take_a_moment():
    documents, predictions = sample(352)
    start = time.perf_counter()
    evaluate(documents, predictions, URGENCY, resamples=1000)
    assert time.perf_counter() - start < 1.0


def test_permuting_documents_changes_no_figure():
    documents, predictions = sample(80)
    order = np.random.default_rng(3).permutation(80)
    shuffled = evaluate(
        [documents[i] for i in order], [predictions[i] for i in order], URGENCY, resamples=0
    )
    plain = evaluate(documents, predictions, URGENCY, resamples=0)
    assert shuffled.metrics == pytest.approx(plain.metrics)
    assert shuffled.confusion == plain.confusion


def test_coverage_counts_what_was_read():
    documents, predictions = rows(["low", "high"], ["low", "high"])
    predictions = [
        scored("d0", "low", read=Coverage(10, 10, 1)),
        scored("d1", "high", read=Coverage(256, 300, 1)),
    ]
    counts = evaluate(documents, predictions, URGENCY).coverage
    assert (counts["tokens_read"], counts["tokens_given"], counts["read_in_part"]) == (266, 310, 1)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda d, p: p.pop(), DataError, "3 documents and 2 predictions"),
        (lambda d, p: p.reverse(), DataError, 'row 1: .*"d0" and prediction "d2"'),
        (
            lambda d, p: d.__setitem__(0, Document("d0", "SECRET", ("low", "high"))),
            DataError,
            "2 labels",
        ),
        (lambda d, p: d.__setitem__(0, Document("d0", "SECRET", ())), DataError, "0 labels"),
        (
            lambda d, p: d.__setitem__(
                0, Document("d0", "SECRET", ("hihg",), source=Source("a.csv", 7))
            ),
            LabelError,
            'a.csv line 7: label "hihg".*Did you mean "high"',
        ),
        (
            lambda d, p: p.__setitem__(0, Prediction("d0", "ok", ("low",), {"low": 1.0})),
            DataError,
            'cover the label set.*1 scores, none for "middle"',
        ),
        (
            lambda d, p: p.__setitem__(0, Prediction("d0", "ok", ("x",))),
            LabelError,
            'label "x" is not in the label set',
        ),
        (
            lambda d, p: p.__setitem__(
                0, Prediction("d0", "ok", ("low",), dict.fromkeys(URGENCY.ids, float("nan")))
            ),
            DataError,
            "not a number",
        ),
        (
            lambda d, p: p.__setitem__(0, Prediction("d0", "ok", ("low", "high"))),
            DataError,
            "name one label",
        ),
        (
            lambda d, p: d.__setitem__(
                slice(None), [Document(f"d{k}", "SECRET") for k in range(3)]
            ),
            DataError,
            "no document has a label",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_line(change, error, says):
    documents, predictions = rows(["low", "middle", "high"], ["low", "middle", "high"])
    change(documents, predictions)
    with pytest.raises(error, match=says) as caught:
        evaluate(documents, predictions, URGENCY)
    assert "SECRET" not in str(caught.value) and "\n" not in str(caught.value)


def test_outcome_keeps_rows_for_paired_tests():
    documents, predictions = rows(["low", "high", "high"], ["low", "low", "high"])
    predictions[2] = Prediction("d2", "too_long")
    outcome = match(documents, predictions, URGENCY)
    assert outcome.ids == ("d0", "d1", "d2")
    assert outcome.truth.tolist() == [0, 2, 2]
    assert outcome.predicted.tolist() == [0, 0, -1]
    assert outcome.answered.tolist() == [True, True, False]
    assert outcome.scored.tolist() == [True, True, False]

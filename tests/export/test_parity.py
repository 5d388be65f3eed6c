"""The parity gate: what it measures, what it lets through and what it stops."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from attending.data.labels import write_labels
from attending.errors import ModelError
from attending.export.folder import Gate
from attending.export.parity import FLOAT, INT8, Answers, Tolerance, compare
from attending.export.quantize import layers_of
from attending.export.signature import GRAPH, PROBE
from attending.models.base import Scored, decide
from attending.models.store import load_model
from attending.parts.decoders import Decision
from attending.records import Coverage, Document, Label, LabelSet, Unreadable

LABELS = LabelSet((Label("low", "", ""), Label("high", "", "")), name="level")
READ = Coverage(3, 3, 1)


def check(model, folder, rows):
    return Gate(model, folder, rows, FLOAT, "", lambda _: None).check()


def change_manifest(folder, **values):
    path = folder / "attending.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_what_export_wrote_passes(lame, lame_folder, mixed):
    parity = check(lame, lame_folder, mixed)
    assert parity.rows == len(mixed) and parity.labelled == len(mixed) - 1
    assert parity.changed == 0 and 0 <= parity.score < 1e-5 and 0 <= parity.evidence < 1e-5
    assert parity.macro_f1[0] == parity.macro_f1[1]
    assert parity.beyond(FLOAT) == []


@pytest.mark.parametrize("which", ["head", "encoder"])
def test_a_broken_graph_is_stopped(which, lame, lame_folder, mixed, copied):
    folder = copied(lame_folder)
    graph = onnx.load(folder / GRAPH)
    products = [layer.weights for layer in layers_of(folder / GRAPH) if layer.kind == "MatMul"]
    name = products[-1 if which == "head" else 0]
    (broken,) = [i for i in graph.graph.initializer if i.name == name]
    values = numpy_helper.to_array(broken)
    broken.CopyFrom(numpy_helper.from_array(np.zeros_like(values), broken.name))
    onnx.save(graph, folder / GRAPH)
    with pytest.raises(ModelError, match="this machine scores otherwise"):
        load_model(folder)
    (folder / PROBE).unlink()
    with pytest.raises(ModelError, match=r"answers otherwise than its model: .*a score moved by"):
        check(lame, folder, mixed)


def test_wrong_evidence_is_stopped_though_scores_are_right(lesa, lesa_folder, mixed, copied):
    folder = copied(lesa_folder)
    graph = onnx.load(folder / GRAPH)
    (node,) = [n for n in graph.graph.node if "weights" in n.output]
    node.output[list(node.output).index("weights")] = "raw"
    graph.graph.node.append(onnx.helper.make_node("Add", ["raw", "raw"], ["weights"]))
    onnx.save(graph, folder / GRAPH)
    with pytest.raises(
        ModelError, match=r"model: a token's score moved by 0\.\d+, allowed 0\.001 "
    ):
        check(lesa, folder, mixed)


def test_permuted_labels_are_stopped(lame, lame_folder, mixed, copied):
    folder = copied(lame_folder)
    turned = LabelSet(tuple(lame.labels)[::-1], name=lame.labels.name, ordered=True)
    write_labels(turned, folder / "labels.toml", force=True)
    change_manifest(folder, label_set_hash=turned.hash)
    with pytest.raises(ModelError, match=r"a score moved by 0\.\d+, allowed 0\.001"):
        check(lame, folder, mixed)


def test_a_dropped_threshold_is_stopped(lame, lame_folder, mixed, copied):
    folder = copied(lame_folder)
    decision = json.loads((folder / "decision.json").read_text())
    assert decision["thresholds"] == {"urgent": 0.2}
    (folder / "decision.json").write_text(json.dumps(decision | {"thresholds": {}}))
    with pytest.raises(ModelError, match=r"the decision is another one \(thresholds\)"):
        check(lame, folder, mixed)


def test_other_labels_are_stopped(lame, lame_folder, mixed, copied):
    folder = copied(lame_folder)
    other = LabelSet((*tuple(lame.labels)[:2], Label("later", "", "")), name="urgency")
    write_labels(other, folder / "labels.toml", force=True)
    change_manifest(folder, label_set_hash=other.hash)
    decision = json.loads((folder / "decision.json").read_text())
    (folder / "decision.json").write_text(json.dumps(decision | {"thresholds": {}}))
    with pytest.raises(ModelError, match="the labels are others; the decision is another one"):
        check(lame, folder, mixed)


def answers(logits, decision=None, evidence=()):
    """What a two-label model says whose logits are given, ``None`` for a row it can't read."""
    decision = decision or Decision()
    scored = [
        Scored("empty_text", READ, None, "empty_text")
        if row is None
        else Scored("ok", READ, np.array(row, float))
        for row in logits
    ]
    rows = [Document(str(i), "x") for i in range(len(logits))]
    known = np.array([row for row in logits if row is not None], float).reshape(-1, 2)
    return Answers(
        scored,
        decision.probabilities(known),
        decide(rows, scored, LABELS, decision),
        evidence,
        LABELS,
        decision.to_dict(),
    )


def test_figures_worked_by_hand():
    three = np.log(3.0)  # probabilities 1/4 and 3/4
    before = answers([(0, three), (0, three), (three, 0), (three, 0), None])
    after = answers([(0, three), (0, 0), (three, 0), (0, three), None])
    truth = ("high", "high", "low", "low", "low")
    rows = [Document(str(i), "x", (label,)) for i, label in enumerate(truth)]
    found = compare(before, after, rows, "single", {"low": 90, "high": 10}, "five rows")
    assert (found.rows, found.read, found.labelled, found.changed) == (5, 4, 5, 2)
    assert found.compared == "4 of 5 rows, which both read"
    assert found.score == pytest.approx(0.5)
    assert found.mean_score == pytest.approx((0 + 0.25 + 0 + 0.5) / 4)
    # Before: low 2 of 3 right, nothing wrongly low; high 2 of 2. F1 4/5 and 1.
    # After: low 1 of 3, one wrongly low; high 1 of 2, one wrongly high. F1 2/5 and 1/2.
    assert found.macro_f1 == (pytest.approx(0.9), pytest.approx(0.45))
    assert (found.rarest.label, found.rarest.documents) == ("high", 2)
    assert (found.rarest.before, found.rarest.after) == (1.0, 0.5)
    said = found.beyond(INT8)
    assert said == [
        "a score moved by 0.5, allowed 0.25",
        "2 of 4 decisions changed, allowed 2.0%",
        "macro-F1 fell from 0.9000 to 0.4500, allowed 0.01 less",
        'recall of "high" fell from 1.0000 to 0.5000 on 2 documents, allowed 0.02 less',
    ]
    assert found.to_dict()["rarest"]["label"] == "high"
    assert found.beyond(Tolerance(1, 1, 1, 1, 1)) == []


def test_what_is_better_than_before_is_no_loss():
    rows = [Document("0", "x", ("high",)), Document("1", "x", ("low",))]
    found = compare(answers([(1, 0), (1, 0)]), answers([(0, 1), (1, 0)]), rows, "single", {})
    assert found.macro_f1[1] > found.macro_f1[0]
    assert found.beyond(Tolerance(1, 1, 0, 0, 0)) == []


def test_a_row_that_one_of_both_could_not_read_is_stopped():
    rows = [Document("0", "x"), Document("1", "x")]
    found = compare(answers([(1, 0), (1, 0)]), answers([(1, 0), None]), rows, "single", {})
    assert found.beyond(Tolerance(1, 1, 1, 1, 1)) == ["1 rows were read by one of both only"]
    assert found.macro_f1 is None and found.labelled == 0


def test_rows_that_neither_reads_are_no_comparison():
    rows = [Document("0", " "), Document("1", "x")]
    nothing = answers([None, None])
    found = compare(nothing, nothing, rows, "single", {})
    assert (found.rows, found.read, found.score) == (2, 0, 0)
    assert found.beyond(Tolerance(1, 1, 1, 1, 1)) == ["no row could be read by both"]


def test_the_share_of_changed_decisions_is_of_the_rows_that_both_read():
    rows = [Document(str(i), "x") for i in range(10)]
    first, second = answers([(1, 0), *[None] * 9]), answers([(0, 1), *[None] * 9])
    assert compare(first, second, rows, "single", {}).beyond(Tolerance(1, 0.5, 1, 1, 1)) == [
        "1 of 1 decisions changed, allowed 50.0%"
    ]


def test_scores_that_are_no_numbers_are_stopped():
    rows = [Document("0", "x")]
    found = compare(answers([(1, 0)]), answers([(np.nan, 0)]), rows, "single", {})
    assert found.beyond(FLOAT)


def test_rows_with_unknown_labels_have_no_figures():
    rows = [Document("0", "x", ("elsewhere",)), Unreadable("1", "no text")]
    found = compare(answers([(1, 0), None]), answers([(1, 0), None]), rows, "single", {})
    assert (found.rows, found.labelled, found.macro_f1, found.rarest) == (2, 0, None, None)


def test_evidence_is_compared_token_by_token():
    first = answers([(1, 0)], evidence=[{None: (0.5, 0.5)}])
    second = answers([(1, 0)], evidence=[{None: (0.25, 0.75)}])
    found = compare(first, second, [Document("0", "x")], "single", {})
    assert found.evidence == 0.25
    assert found.beyond(FLOAT) == ["a token's score moved by 0.25, allowed 0.001"]


def test_tolerances_are_named_and_in_range():
    found = Tolerance.of(True, {"macro-f1": 0.5, "changed": 0})
    assert (found.macro_f1, found.changed, found.score) == (0.5, 0.0, INT8.score)
    assert Tolerance.of(False) == FLOAT
    with pytest.raises(ModelError, match=r'no tolerance "f1".*macro-f1'):
        Tolerance.of(True, {"f1": 0.5})
    with pytest.raises(ModelError, match=r"tolerance changed = 2 .*0 to 1"):
        Tolerance.of(True, {"changed": 2})


def test_the_card_tells_what_was_compared(lesa_folder):
    card = (lesa_folder / "README.md").read_text(encoding="utf-8")
    assert "## Export" in card and "in float32" in card and "(a few messages)" in card
    report = json.loads((lesa_folder / "parity.json").read_text())
    assert report["tolerance"]["score"] == FLOAT.score
    assert report["sample"] == "a few messages" and report["int8_layers"] == 0
    assert load_model(lesa_folder).facts["export"]["versions"].keys() >= {"onnx", "torch"}

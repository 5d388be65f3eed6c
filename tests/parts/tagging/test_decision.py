import numpy as np
import pytest
from scipy.special import log_softmax

from attending.errors import ModelError
from attending.parts.tagging.decision import SpanDecision, build_decision
from attending.specs import ArgmaxTagDecoder, ViterbiDecoder
from attending.tags import TagSet

TAGS = TagSet(("x", "y"))
LOGITS = np.log(
    [
        [0.1, 0.3, 0.6, 0.0001, 0.0001],  # I-x is best, but nothing began
        [0.2, 0.1, 0.5, 0.1, 0.1],
        [0.9, 0.025, 0.025, 0.025, 0.025],
        [0.2, 0.1, 0.1, 0.5, 0.1],
    ]
)[:, None]


def test_argmax_repairs_and_viterbi_forbids():
    argmax, viterbi = SpanDecision("tag-argmax"), SpanDecision("viterbi")
    tags, likely = argmax.tags(LOGITS, [4], TAGS, None)
    assert tags.ravel().tolist() == [2, 2, 0, 3]
    runs, _ = argmax.runs(tags, likely, [4], TAGS)
    assert runs.first.tolist() == [0, 3] and runs.last.tolist() == [1, 3]
    tags, _ = viterbi.tags(LOGITS, [4], TAGS, None)
    assert tags.ravel().tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize(("how", "expected"), [("min", 0.5), ("mean", 0.55)])
def test_a_span_s_score(how, expected):
    decision = SpanDecision("tag-argmax", score=how)
    tags, likely = decision.tags(LOGITS, [4], TAGS, None)
    _, scores = decision.runs(tags, likely, [4], TAGS)
    assert scores.tolist() == pytest.approx([expected, 0.5], abs=1e-3)


def test_temperature_calms_scores_and_moves_no_span():
    calm, plain = SpanDecision("viterbi", temperature=4.0), SpanDecision("viterbi")
    (a, likely), (b, same) = (d.tags(LOGITS, [4], TAGS, None) for d in (calm, plain))
    assert np.array_equal(a, b) and np.array_equal(likely, same)
    _, low = calm.runs(a, likely, [4], TAGS)
    _, high = plain.runs(b, same, [4], TAGS)
    scaled = np.exp(log_softmax(LOGITS[3, 0] / 4))
    assert low[1] == pytest.approx(scaled[3]) and low[1] < high[1]


def test_saved_and_read_back():
    decision = build_decision(ViterbiDecoder(score="mean", min_score=0.25), temperature=1.5)
    assert SpanDecision.from_dict(decision.to_dict()) == decision
    assert build_decision(ArgmaxTagDecoder()).kind == "tag-argmax"
    assert any("0.25" in line for line in decision.describe())


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"kind": "argmax"},
        {"kind": "viterbi", "temperature": 0},
        {"kind": "viterbi", "temperature": "1"},
        {"kind": "viterbi", "min_score": 1.5},
        {"kind": "viterbi", "score": "max"},
        {"kind": "viterbi", "shift": 1.0},
        {"kind": "viterbi", "note": 3},
    ],
)
def test_a_strange_decision_is_refused(values):
    with pytest.raises(ModelError, match="decision"):
        SpanDecision.from_dict(values)

"""What every model shares: the decision step, and which evidence it can give."""

import numpy as np
import pytest

from attending.errors import ModelError
from attending.models.base import Scored, decide, require_method, unreadable
from attending.parts.decoders import Decision
from attending.records import Coverage, Document, LabelSet, Unreadable

LABELS = LabelSet.from_ids(["a", "b"])
READ = Coverage(3, 3, 1)


def test_only_rows_with_scores_get_labels():
    rows = [Document("1", "x"), Unreadable("2", "no text"), Document("3", "")]
    scored = [
        Scored("ok", READ, np.array([0.0, 2.0])),
        unreadable(rows[1]),
        Scored("empty_text", Coverage(0, 0, 0), None, "empty_text"),
    ]
    found = decide(rows, scored, LABELS, Decision())
    assert [(p.id, p.status, p.labels) for p in found] == [
        ("1", "ok", ("b",)),
        ("2", "failed", ()),
        ("3", "empty_text", ()),
    ]
    assert found[0].scores["b"] == pytest.approx(1 / (1 + np.exp(-2)))
    assert [dict(p.scores) for p in found[1:]] == [{}, {}]
    assert found[1].reason == "no text" and not found[1].abstained
    assert found[0].read == READ


def test_abstaining_is_not_failing():
    rows = [Document("1", "x"), Document("2", "y")]
    scored = [Scored("ok", READ, np.array(x)) for x in ([0.0, 0.1], [0.0, 9.0])]
    unsure, sure = decide(rows, scored, LABELS, Decision(abstain_below=0.9))
    assert (unsure.status, unsure.labels, unsure.abstained) == ("ok", (), True)
    assert unsure.scores.keys() == {"a", "b"}
    assert (sure.labels, sure.abstained) == (("b",), False)


def test_nothing_to_decide():
    assert decide([], [], LABELS, Decision()) == []


def test_methods_by_name():
    assert require_method(None, ("first", "second"), "m") == "first"
    assert require_method("second", ("first", "second"), "m") == "second"
    with pytest.raises(ModelError, match=r'"third" for a "m" model \(allowed: first, second\)'):
        require_method("third", ("first", "second"), "m")
    with pytest.raises(ModelError, match=r'a "m" model reads no words'):
        require_method(None, (), "m")

import pytest

from attending.explain.wording import caution, label_name, percent, truth, verdict
from attending.records import Document, Label, LabelSet, Prediction

LABELS = LabelSet((Label("a", "Alpha"), Label("b")))


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0, "0 %"),
        (0.0001, "< 1 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.987, "99 %"),
        (0.9951, "> 99 %"),
        (0.999999, "> 99 %"),
        (1, "100 %"),
    ],
)
def test_rounding_never_claims_certainty(probability, words):
    assert percent(probability) == words


def test_names():
    assert [label_name(LABELS, x) for x in ("a", "b", "c")] == ["Alpha", "b", "c"]
    assert truth(Document("x", ""), LABELS) is None
    assert truth(Document("x", "", ()), LABELS) == "none"
    assert truth(Document("x", "", ("a", "c")), LABELS) == "Alpha, c"


def test_verdicts():
    assert verdict(Prediction("x", "ok", ("a",), {"a": 0.7, "b": 0.3}), LABELS) == "Alpha 70 %"
    assert verdict(Prediction("x", "ok", (), {"a": 0.5}, abstained=True), LABELS) == "no label"
    assert verdict(Prediction("x", "failed"), LABELS) == "not read (failed)"


def test_each_kind_of_method_has_its_caution():
    texts = {
        m: caution(m) for m in ("attention", "label-attention", "attention-gradient", "weights")
    }
    assert texts["attention"] == texts["label-attention"]
    assert "not proof" in texts["attention"]
    assert len(set(texts.values())) == 3
    assert all("Read the whole message." in text for text in texts.values())

"""Development scores in the model folder, and a decision that takes another's place."""

import json

import numpy as np
import pytest

from attending.errors import ModelError
from attending.models.base import Scored
from attending.models.decided import write_decision
from attending.models.development import FILE, DevelopmentScores
from attending.parts.decoders import Decision
from attending.records import Coverage, Document, LabelSet

LABELS = LabelSet.from_ids(["a", "b", "c"])
TEXT = "MARKER-OF-A-TEXT"
ROWS = [
    Document("id-of-one", TEXT, ("b",)),
    Document("id-2", "", ()),
    Document("3", TEXT, ("c", "a")),
]
SCORED = [
    Scored("ok", Coverage(1, 1, 1), np.array([0.0, 2.0, 1.0])),
    Scored("empty_text", Coverage(0, 0, 0)),
    Scored("ok", Coverage(1, 1, 1), np.array([1.0, 0.0, 1.0])),
]


def scores():
    return DevelopmentScores.of(ROWS, SCORED, LABELS, Decision(temperature=2.0), "f" * 64)


def test_what_was_written_comes_back_and_holds_no_text_and_no_id(tmp_path):
    made = scores()
    made.write(tmp_path)
    again = DevelopmentScores.read(tmp_path, LABELS)
    np.testing.assert_allclose(again.probabilities, made.probabilities, atol=1e-6)
    assert again.truth.tolist() == [[False, True, False], [True, False, True]]
    assert (again.rows, again.fingerprint) == (3, "f" * 64)
    text = (tmp_path / FILE).read_text()
    assert TEXT not in text and "id-of-one" not in text
    body = json.loads(text)
    assert body["truth"] == [["b"], ["a", "c"]] and body["label_set_hash"] == LABELS.hash


def test_nothing_is_kept_of_nothing_and_of_too_much(monkeypatch):
    assert DevelopmentScores.of(ROWS[1:2], SCORED[1:2], LABELS, Decision(), "") is None
    monkeypatch.setattr("attending.models.development.MOST_CELLS", 5)
    assert scores() is None


def test_other_labels_and_damage_are_refused(tmp_path):
    assert DevelopmentScores.read(tmp_path, LABELS) is None
    scores().write(tmp_path)
    with pytest.raises(ModelError, match="other labels"):
        DevelopmentScores.read(tmp_path, LabelSet.from_ids(["a", "b", "d"]))
    body = json.loads((tmp_path / FILE).read_text())
    for wrong in ({"format": 7}, {"truth": [["b"]]}, {"truth": [["z"], []]}, {"probabilities": 3}):
        (tmp_path / FILE).write_text(json.dumps(body | wrong))
        with pytest.raises(ModelError):
            DevelopmentScores.read(tmp_path, LABELS)


def test_a_new_decision_renews_its_section_of_the_card_alone(tmp_path):
    card = "# m\n\nWritten by people.\n\n## Decision\n\n- old\n\n## More\n\nAlso theirs.\n"
    (tmp_path / "README.md").write_text(card)
    scores().write(tmp_path)
    write_decision(tmp_path, Decision(temperature=3.0))
    new = (tmp_path / "README.md").read_text()
    assert "Written by people." in new and "Also theirs." in new and "- old" not in new
    assert "temperature 3.000" in new and new.count("## Decision") == 1
    assert Decision.from_dict(json.loads((tmp_path / "decision.json").read_text())).temperature == 3
    assert not (tmp_path / FILE).exists()  # it was of another decision
    assert {p.name for p in tmp_path.iterdir()} == {"README.md", "decision.json"}

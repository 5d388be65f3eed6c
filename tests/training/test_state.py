"""What an unfinished run keeps of its labels."""

import json

from attending.records import Label, LabelSet
from attending.training.state import RUN_STATE, as_begun


def test_labels_keep_the_order_of_the_run_and_what_is_broader(tmp_path):
    labels = LabelSet((Label("b", parent="x"), Label("a")), "code", broader=(Label("x"),))
    (tmp_path / RUN_STATE).write_text(json.dumps({"labels": ["a", "b"]}), encoding="utf-8")
    ordered, notes = as_begun(tmp_path, labels)
    assert ordered.ids == ("a", "b") and ordered.broader == labels.broader
    assert ordered["b"].parent == "x" and len(notes) == 1

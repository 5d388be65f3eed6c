"""The map from labels to FHIR priorities."""

import tomllib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.labels import load_labels
from attending.errors import LabelError
from attending.records import LabelSet
from attending.serve.priorities import (
    PRIORITIES,
    load_priorities,
    priorities_template,
    rank,
    read_priorities,
)

LABELS = LabelSet(LabelSet.from_ids(["low", "high"]).labels, name="risk", ordered=True)


def table(text):
    return read_priorities(text, "map.toml", LABELS)


def test_the_bundled_labels_have_a_map():
    found = load_priorities(None, load_labels("portal"))
    assert dict(found.of) == {"non-urgent": "routine", "medium": "urgent", "urgent": "stat"}
    assert found.unread == "asap"
    assert rank(found.of["urgent"]) > rank("urgent")


def test_other_labels_need_one_and_are_told_how():
    with pytest.raises(LabelError) as caught:
        load_priorities(None, LABELS)
    line = str(caught.value)
    for word in ("TOML", "[priority]", "low, high", *PRIORITIES):
        assert word in line
    assert "\n" not in line


def test_a_map_is_read(tmp_path):
    path = tmp_path / "map.toml"
    path.write_text('unread = "stat"\n[priority]\nlow = "routine"\nhigh = "asap"\n')
    found = load_priorities(path, LABELS)
    assert (found.of["high"], found.unread, found.notes) == ("asap", "stat", ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("low = ", "not TOML"),
        ("", r"\[priority\] is missing"),
        ("priority = 7", r"\[priority\] is missing"),
        ('colour = 1\n[priority]\nlow = "stat"', 'no setting "colour"'),
        ('[priority]\nlow = "routine"', '"high" has no priority'),
        ('[priority]\nlow = "routine"\nhigh = "high"', 'label "high" has no priority of FHIR'),
        ('[priority]\nlow = "routine"\nhigh = 4', 'label "high" has no priority of FHIR'),
        ('[priority]\nlow = "routine"\nhihg = "stat"', 'Did you mean "high"'),
        ('[priority]\nlow = "asap"\nhigh = "urgent"', 'more than "low" but'),
        ('unread = "routine"\n[priority]\nlow = "routine"\nhigh = "stat"', 'can\'t be "routine"'),
    ],
)
def test_a_wrong_map_is_refused_in_one_line(text, words):
    with pytest.raises(LabelError, match=words) as caught:
        table(text)
    assert str(caught.value).startswith("map.toml")
    assert "\n" not in str(caught.value)


def test_a_copied_word_is_noted():
    labels = LabelSet.from_ids(["calm", "urgent"])
    text = '[priority]\ncalm = "routine"\nurgent = "urgent"'
    (note,) = read_priorities(text, "map.toml", labels).notes
    assert "second-lowest" in note


@given(st.lists(st.text(min_size=1).filter(lambda x: x == x.strip()), unique=True, min_size=1))
def test_the_template_is_toml_that_still_has_to_be_filled_in(ids):
    labels = LabelSet.from_ids(ids)
    try:
        " ".join(ids).encode()
    except UnicodeEncodeError:
        return
    text = priorities_template(labels)
    assert set(tomllib.loads(text)["priority"]) == set(ids)
    with pytest.raises(LabelError, match="no priority of FHIR"):
        read_priorities(text, "map.toml", labels)
    filled = text.replace('= ""', '= "asap"')
    assert set(read_priorities(filled, "map.toml", labels).of.values()) == {"asap"}


def test_the_bundled_file_explains_itself():
    text = resources.files("attending.serve").joinpath("urgency.toml").read_text("utf-8")
    assert "second lowest" in " ".join(text.replace("#", " ").split())

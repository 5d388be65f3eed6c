"""Which group a label belongs to."""

from attending.parts.hierarchy import groups
from attending.records import Label, LabelSet

IDS = ("C34.1", "A01.0", "C34.9", "C34")
LABELS = LabelSet.from_ids(IDS)


def test_groups_are_sorted_prefixes():
    assert groups(LABELS, 3) == (("A01", "C34"), (1, 0, 1, 1))
    assert groups(LABELS, 1) == (("A", "C"), (1, 0, 1, 1))
    assert groups(LABELS, 9)[0] == tuple(sorted(IDS))


def test_a_parent_makes_the_group_and_a_category_stands_in_its_own():
    labels = LabelSet(
        (Label("8140/3", parent="adeno"), Label("8140/6", parent="adeno"), Label("8000/6")),
        broader=(Label("adeno"),),
    )
    assert groups(labels, 3) == (("800", "adeno"), (1, 1, 0))
    codes = LabelSet((Label("C34.1", parent="C34"), Label("C34")))
    assert groups(codes, 3) == (("C34",), (0, 0))

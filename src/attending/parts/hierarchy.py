"""What labels belong to: their ancestors, and the groups in which they are scored first."""

from attending.records import LabelSet


def groups(labels: LabelSet, prefix: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the ids of groups, sorted, and each label's place among them.

    A label's group is its parent, or else the first ``prefix`` characters of its own id, so that
    the category C34 stands in one group with the codes below it. The order doesn't depend on the
    order of the labels.
    """
    of_labels = [label.parent or label.id[:prefix] for label in labels]
    ids = tuple(sorted(set(of_labels)))
    places = {id_: i for i, id_ in enumerate(ids)}
    return ids, tuple(places[id_] for id_ in of_labels)

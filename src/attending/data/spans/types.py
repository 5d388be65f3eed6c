"""The entity types of a corpus as a label set."""

from collections.abc import Iterable

from attending.data.spans.corpus import count_types
from attending.errors import LabelError
from attending.records import Document, Label, LabelSet


def infer_types(documents: Iterable[Document], name: str = "entity type") -> LabelSet:
    """Make a label set of the types that occur, sorted by id; ``O`` is none of them.

    A type's name is its id in words: ``Sign_symptom`` is called ``Sign symptom``.

    Raises:
        LabelError: If no document has a span.
    """
    counts = count_types(documents)
    if not counts:
        raise LabelError(
            "no document has an annotated span",
            step="Read files with annotations: .ann, tagged columns or a list of spans.",
        )
    return LabelSet(tuple(Label(x, " ".join(x.replace("_", " ").split())) for x in counts), name)

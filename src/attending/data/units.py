"""What must stay on one side of a split: documents of one group, of one text, or both."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

from attending.data.folding import text_key
from attending.data.wording import plural
from attending.errors import DataError
from attending.records import Document

By = Literal["label", "group", "date", "random"]
KeepTogether = Literal["text", "group"]


def number_units(
    documents: Sequence[Document], by: By, together: KeepTogether | None
) -> tuple[list[int], list[str]]:
    """Number what must stay together: the same group, the same text, or either, in a chain."""
    notes: list[str] = []
    keys: list[list[Hashable]] = [[] for _ in documents]
    if by == "group" or together == "group":
        require(
            any(d.group is not None for d in documents),
            "no document has a group",
            None,
            "Name the column of the group with --group.",
        )
        notes += without_group(documents, "each counts as a group of its own")
        for key, d in zip(keys, documents, strict=True):
            if d.group is not None:
                key.append(("group", d.group))
    if together == "text":
        texts = [text_key(d.text) for d in documents]
        for key, text in zip(keys, texts, strict=True):
            key.append(("text", text))
        repeated = sum(n for n in Counter(texts).values() if n > 1)
        if repeated:
            notes.append(f"{repeated} documents share their text: kept on one side")
    return _connected(keys), notes


def _connected(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """Number items so that items with a key in common, directly or in a chain, are equal."""
    parent = list(range(len(keys)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[Hashable, int] = {}
    for i, item in enumerate(keys):
        for key in item:
            parent[root(i)] = root(first.setdefault(key, i))
    return [root(i) for i in range(len(keys))]


def without_group(documents: Sequence[Document], then: str) -> list[str]:
    """Return the note on documents that have no group, if there are any."""
    missing = sum(1 for d in documents if d.group is None)
    return [f"{plural(missing, 'document')} without a group: {then}"] if missing else []


def require(ok: bool, what: str, found: str | None, step: str | None = None) -> None:
    """Raise a ``DataError`` unless a condition holds."""
    if not ok:
        raise DataError(what, found=found, step=step)

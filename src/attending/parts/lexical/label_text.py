"""Which words of a label are looked for in texts."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attending.parts.lexical.surfaces import Group
from attending.parts.lexical.words import read_words, stem_of
from attending.records import Label, LabelPart, LabelSet

_FEW = 3
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]")


@dataclass(frozen=True, slots=True)
class LabelText:
    """What is looked for of a label set, whatever the documents are.

    Attributes:
        groups: Word groups with the labels (positions) that each stands for.
        bags: A label's position and the distinct stems of one of its texts.
    """

    groups: dict[Group, list[int]]
    bags: list[tuple[int, list[str]]]


def read_label_text(
    labels: LabelSet, parts: Sequence[LabelPart], *, longest: int, stem: int
) -> LabelText:
    """Read the texts of a label set; ``longest`` in words, ``stem`` in letters (0: all)."""
    texts = label_texts(labels, parts)
    bags = [
        (position, sorted({stem_of(w, stem) for w in read_words(text).folded}))
        for position, own in enumerate(texts)
        for text in own
    ]
    return LabelText(label_groups(texts, longest), [(p, bag) for p, bag in bags if bag])


def label_texts(labels: LabelSet, parts: Sequence[LabelPart]) -> list[list[str]]:
    """Return each label's texts, in the order of the parts, each once.

    The name counts unless it is only the id.
    """
    return [list(dict.fromkeys(_texts(label, parts))) for label in labels]


def label_groups(texts: Sequence[Sequence[str]], longest: int) -> dict[Group, list[int]]:
    """Return the word groups of labels' texts with the labels (positions) that each stands for.

    Besides each text as it is: without what stands in brackets, what stands in square brackets
    (``[HIV]``), and without an ending that qualifies and that at least three texts share: the part
    after the last comma (``, unspecified``) or a last word in capitals (``NOS``, ``SAI``).
    """
    endings = Counter(e for own in texts for text in own for e in _endings(text.strip()))
    shared = {ending for ending, count in endings.items() if count >= _FEW}
    owners: dict[Group, list[int]] = {}
    for position, own in enumerate(texts):
        for text in own:
            for variant in _variants(text, shared):
                group = read_words(variant).folded
                if group and len(group) <= longest:
                    found = owners.setdefault(group, [])
                    if not found or found[-1] != position:
                        found.append(position)
    return owners


def _texts(label: Label, parts: Sequence[LabelPart]) -> Iterator[str]:
    for part in parts:
        if part == "name":
            if label.name != label.id:
                yield label.name
        elif part == "description":
            if label.description:
                yield label.description
        else:
            yield from label.keywords if part == "keywords" else label.synonyms


def _variants(text: str, shared: set[str]) -> Iterator[str]:
    text = text.strip()  # endings are cut off from the very end
    yield text
    bare = _BRACKETS.sub("", text).strip()
    if bare != text:
        yield bare
        yield from (m[1] for m in _BRACKETS.finditer(text) if m[0].lstrip().startswith("["))
    for ending in _endings(bare):
        if ending in shared:
            yield bare[: -len(ending)]


def _endings(text: str) -> Iterator[str]:
    comma = text.rfind(",")
    if comma > 0:
        yield text[comma:]
    last = text.rsplit(maxsplit=1)[-1:]
    if last and last[0].isalpha() and last[0].isupper() and len(last[0]) > 1:
        yield last[0]

"""Which texts an encoder is trained on and which are held out; no text is there twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attending.data.folding import text_key
from attending.data.units import number_units
from attending.data.wording import plural
from attending.errors import TrainingError
from attending.records import Document, is_blank

MOST_HELD_OUT = 1000
FEWEST_TO_HOLD_OUT = 10


@dataclass(frozen=True, slots=True)
class Texts:
    """Documents to train on and to measure on, all of different texts, and what to know of them."""

    train: tuple[Document, ...]
    held_out: tuple[Document, ...]
    notes: tuple[str, ...] = ()


def choose_texts(documents: Sequence[Document], share: float, seed: int) -> Texts:
    """Drop repeated and blank texts, and hold a share of the rest out, at most 1,000.

    Texts are the same as in ``check``: without regard to case and spacing. Where documents have
    small groups, whole groups are held out, since letters of one patient repeat each other;
    groups larger than the share, such as clinics, are not looked at.

    Raises:
        TrainingError: If there is no text.
    """
    first: dict[bytes, Document] = {}
    blank = 0
    for d in documents:
        if is_blank(d.text):
            blank += 1
        else:
            first.setdefault(text_key(d.text), d)
    kept = list(first.values())
    if not kept:
        raise TrainingError(
            "there is no text to learn from",
            found=f"{plural(len(documents), 'document')}, {blank:,} of them blank",
        )
    notes = []
    if blank:
        notes.append(f"{plural(blank, 'document')} without text: left out")
    repeated = len(documents) - blank - len(kept)
    if repeated:
        notes.append(f"{plural(repeated, 'repeated text')}: each text counts once")
    if share and len(kept) < FEWEST_TO_HOLD_OUT:
        notes.append(
            f"{plural(len(kept), 'distinct text')} {'is' if len(kept) == 1 else 'are'} too few to "
            "hold any out: the perplexity isn't told"
        )
        share = 0.0
    held = _drawn(kept, share, seed)
    return Texts(
        tuple(d for i, d in enumerate(kept) if i not in held),
        tuple(d for i, d in enumerate(kept) if i in held),
        tuple(notes),
    )


def _drawn(documents: Sequence[Document], share: float, seed: int) -> frozenset[int]:
    """Draw positions, whole small groups at a time, until the share is reached."""
    if not share:
        return frozenset()
    wanted = min(MOST_HELD_OUT, max(1, round(share * len(documents))))
    units: Sequence[int] = range(len(documents))
    if any(d.group is not None for d in documents):
        groups, _ = number_units(documents, "group", None)
        if max(Counter(groups).values()) <= wanted:
            units = groups
    members: dict[int, list[int]] = {}
    for position, unit in enumerate(units):
        members.setdefault(unit, []).append(position)
    held: set[int] = set()
    for unit in np.random.default_rng(seed).permutation(sorted(members)):
        if len(held) >= wanted:
            break
        held.update(members[int(unit)])
    return frozenset(held)

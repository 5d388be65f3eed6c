"""What kinds of errors there are, which types are taken for which, and where most goes wrong."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attending.evaluation.spans.alignment import KINDS, SHIFTS, Aligned, differing
from attending.evaluation.spans.matching import Rest
from attending.evaluation.spans.outcome import SpanOutcome
from attending.records import LabelSet

NOTHING = -1
"""The type of the side that lacks: what a missed entity was taken for, what a spurious one is."""


@dataclass(frozen=True, slots=True)
class DocumentErrors:
    """How many entities of a document went which way; ``kinds`` are counts in ``KINDS``' order."""

    id: str
    kinds: tuple[int, ...]

    @property
    def wrong(self) -> int:
        """Entities that are not right, gold and found ones together."""
        return sum(self.kinds[1:])


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Gold and found entities side by side, one to one, over all documents.

    Attributes:
        kinds: Pairs of each kind.
        shifts: Where places differ (kinds boundary and both): how the found entity lies.
        missed_unanswered: Missed entities of documents without an answer.
        by_type: Pairs of each kind but right by type (of the gold entity; of the found one if
            spurious).
        pairs: Pairs by gold and found type, ``NOTHING`` where a side lacks; pairs of one type may
            differ in their places.
        documents: Answered documents with an error, those with most errors first.
    """

    kinds: Mapping[str, int]
    shifts: Mapping[str, int]
    missed_unanswered: int
    by_type: Mapping[int, Mapping[str, int]]
    pairs: Mapping[tuple[int, int], int]
    documents: tuple[DocumentErrors, ...]

    def to_dict(self, labels: LabelSet) -> dict[str, Any]:
        """Return it as JSON-safe values; types by id, ``null`` where a side lacks."""

        def name(place: int) -> str | None:
            return None if place == NOTHING else labels.ids[place]

        often = sorted(self.pairs.items(), key=lambda item: (-item[1], item[0]))
        return {
            "kinds": dict(self.kinds),
            "places": dict(self.shifts),
            "missed_in_documents_without_an_answer": self.missed_unanswered,
            "confusion": [
                {"gold": name(gold), "found": name(found), "count": n} for (gold, found), n in often
            ],
            "documents": [
                {"id": d.id, **dict(zip(KINDS, d.kinds, strict=True))} for d in self.documents
            ],
        }


def break_down(outcome: SpanOutcome, rests: Sequence[Rest]) -> Breakdown:
    """Set the entities of all documents side by side and count what became of them."""
    kinds: Counter[str] = Counter()
    shifts: Counter[str] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    by_type: dict[int, Counter[str]] = {}
    documents, unanswered = [], 0
    for document, rest, reason in zip(outcome.documents, rests, outcome.reasons, strict=True):
        wrong = list(differing(rest))
        own = Counter(pair.kind for pair in wrong)
        own["right"] = len(rest.same)
        kinds.update(own)
        shifts.update(pair.shift for pair in wrong if pair.shift is not None)
        pairs.update((entity.type, entity.type) for entity in rest.same)
        for pair in wrong:
            gold, found = _types(pair)
            pairs[gold, found] += 1
            by_type.setdefault(found if gold == NOTHING else gold, Counter())[pair.kind] += 1
        if reason is not None:
            unanswered += own["missed"]
        elif wrong:
            documents.append(DocumentErrors(document.id, tuple(own[kind] for kind in KINDS)))
    return Breakdown(
        kinds={kind: kinds[kind] for kind in KINDS},
        shifts={shift: shifts[shift] for shift in SHIFTS},
        missed_unanswered=unanswered,
        by_type=by_type,
        pairs=pairs,
        documents=tuple(sorted(documents, key=lambda d: -d.wrong)),
    )


def _types(pair: Aligned) -> tuple[int, int]:
    gold = NOTHING if pair.gold is None else pair.gold.type
    return gold, NOTHING if pair.found is None else pair.found.type

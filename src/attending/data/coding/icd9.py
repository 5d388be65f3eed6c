"""ICD-9-CM by the user's own table: diagnoses, procedures and the ranges above them."""

import re
from collections.abc import Iterable, Mapping

from attending.data.coding.systems import Entry, Meaning, nearest_prefix, own_meaning
from attending.data.wording import plural, shown_label

_CODE = re.compile(r"(?:E\d{3}|V\d\d|\d{2,3})(?:\.\d{1,2})?")
_BARE = re.compile(r"(E\d{3}|V\d\d|\d{3})(\d{1,2})")
_RANGE = re.compile(r"([EV]?)(\d{2,3})(?:\.\d+)?-([EV]?)(\d{2,3})(?:\.(\d+))?")
_ROOTS = re.compile(r"([EV]?)(\d{2,3})")


class TabledIcd9:
    """ICD-9-CM.

    Procedures have two digits before the dot and diagnoses three (``E`` codes a letter and three),
    so the dot must be there to tell them apart; a code without one that the table doesn't list is
    read as a diagnosis.
    """

    name = "icd9"

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = {code.strip().upper(): entry for code, entry in entries.items()}
        ranges = [(code, _RANGE.fullmatch(code)) for code in self._entries]
        self._ranges = [
            (code, m[1] or "", len(m[2]), int(m[2]), int(m[4])) for code, m in ranges if m
        ]

    @property
    def codes(self) -> Iterable[str]:
        """The codes of the table, without ranges and roots."""
        return [code for code in self._entries if _CODE.fullmatch(code)]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of the table: codes that can't be read for want of their dots."""
        bare = [code for code in self._entries if _BARE.fullmatch(code)]
        if not bare:
            return ()
        return (
            f"{plural(len(bare), 'code')} of the table without a dot, such as "
            f"{shown_label(bare[0])}, left out: diagnoses and procedures can't be told apart by "
            "them. Write 250.00 for a diagnosis and 99.04 for a procedure",
        )

    def spelled(self, code: str) -> str:
        """Return a code in capitals, with a dot where the table has it only so."""
        bare = code.strip().upper()
        dotless = _BARE.fullmatch(bare)
        if bare in self._entries or dotless is None:
            return bare
        return f"{dotless[1]}.{dotless[2]}"

    def meaning(self, code: str) -> Meaning | None:
        """Return the table's description; of an unknown code, its nearest broader code's."""
        found = own_meaning(self._entries, code)
        if found is not None:
            return found
        # Not beyond the root: what is shorter than a diagnosis is a procedure.
        root = len(code.split(".")[0])
        broader = nearest_prefix(self._entries, code, root)
        while broader is not None:
            found = own_meaning(self._entries, broader)
            if found is not None:
                return Meaning(found.description, (), "inherited")
            broader = nearest_prefix(self._entries, broader, root)
        return None

    def parent(self, code: str) -> str | None:
        """Return the table's parent, else the longest prefix, else the narrowest range."""
        entry = self._entries.get(code)
        if entry is not None and entry.parent:
            return entry.parent.strip().upper()
        root = code.split(".")[0]
        if code != root and (above := nearest_prefix(self._entries, code, len(root))):
            return above
        return self._range_above(code)

    def _range_above(self, code: str) -> str | None:
        own = _RANGE.fullmatch(code)
        root = _ROOTS.fullmatch(code.split(".")[0])
        if own:
            letter, width, low, high = own[1] or "", len(own[2]), int(own[2]), int(own[4])
        elif root:
            letter, width, low, high = root[1], len(root[2]), int(root[2]), int(root[2])
        else:
            return None
        around = [
            (last - first, other)
            for other, kind, digits, first, last in self._ranges
            if (kind, digits) == (letter, width) and first <= low and high <= last
            and (last - first > high - low or not own)
        ]  # fmt: skip
        return min(around, default=(0, None))[1]

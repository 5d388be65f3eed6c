"""ICD-10-CM: from the package simple-icd-10-cm, or from a table."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attending.data.coding.systems import Entry, Meaning, nearest_prefix, own_meaning
from attending.errors import MissingExtra

_CODE = re.compile(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?")
_RANGE = re.compile(r"\s*\([A-Z]\d[0-9A-Z]-[A-Z]\d[0-9A-Z]\)$")
_CATEGORY = 3


def spelled(code: str) -> str:
    """Return a code in capitals with its dot: ``n448`` is ``N44.8``; a range stays."""
    bare = code.strip().upper()
    if not _CODE.fullmatch(bare) or len(bare) == _CATEGORY:
        return bare
    digits = bare.replace(".", "")
    return f"{digits[:_CATEGORY]}.{digits[_CATEGORY:]}"


class PackagedIcd10Cm:
    """The tabular list that comes with simple-icd-10-cm, with chapters, blocks and 7th characters.

    Raises:
        MissingExtra: If the package is not installed.
    """

    name = "icd10cm"

    def __init__(self) -> None:
        try:
            import simple_icd_10_cm
        except ImportError:
            raise MissingExtra("simple_icd_10_cm", "icd", "Building ICD-10-CM labels") from None
        self._list: Any = simple_icd_10_cm

    @property
    def codes(self) -> Iterable[str]:
        """Categories and everything below them; chapters and blocks are only parents."""
        return [c for c in self._list.get_all_codes() if not self._list.is_chapter_or_block(c)]

    def spelled(self, code: str) -> str:
        """Return a code in capitals with its dot."""
        return spelled(code)

    def meaning(self, code: str) -> Meaning | None:
        """Return the tabular list's title; of an unknown code, its nearest broader code's."""
        known = self._known(code)
        if known is None:
            return None
        title = _RANGE.sub("", str(self._list.get_description(known)))
        terms = dict.fromkeys(str(x) for x in self._list.get_inclusion_term(known))
        names = tuple(x for x in terms if x != title) if known == code else ()
        return Meaning(title, names, "listed" if known == code else "inherited")

    def parent(self, code: str) -> str | None:
        """Return the broader code: subcategory, category, block, chapter."""
        known = self._known(code)
        if known is None:
            return None
        return str(self._list.get_parent(known)) or None if known == code else known

    def _known(self, code: str) -> str | None:
        for length in range(len(code), _CATEGORY - 1, -1):
            prefix = code[:length].rstrip(".")
            if self._list.is_valid_item(prefix):
                return prefix
        return code if self._list.is_valid_item(code) else None


class TabledIcd10Cm:
    """ICD-10-CM, or another ICD-10, by a table; parents by its column or else by prefix."""

    name = "icd10cm"

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = {spelled(code): entry for code, entry in entries.items()}

    @property
    def codes(self) -> Iterable[str]:
        """The codes of the table, without ranges."""
        return [code for code in self._entries if _CODE.fullmatch(code)]

    def spelled(self, code: str) -> str:
        """Return a code in capitals with its dot."""
        return spelled(code)

    def meaning(self, code: str) -> Meaning | None:
        """Return the table's description; of an unknown code, its nearest broader code's."""
        found = own_meaning(self._entries, code)
        above = code if _CODE.fullmatch(code) else ""
        while found is None and (longer := nearest_prefix(self._entries, above, _CATEGORY)):
            above = longer
            found = own_meaning(self._entries, above)
        if found is None or above in (code, ""):
            return found
        return Meaning(found.description, (), "inherited")

    def parent(self, code: str) -> str | None:
        """Return the broader code: the table's, else the longest one that this one begins with."""
        entry = self._entries.get(code)
        if entry is not None and entry.parent:
            return spelled(entry.parent)
        return nearest_prefix(self._entries, code, _CATEGORY) if _CODE.fullmatch(code) else None

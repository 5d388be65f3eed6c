"""ICD-O-3 morphology by the user's own tables: grades and behaviours composed where they miss.

A code is a four-digit histology, a behaviour, and often a grade: ``8500/33`` is histology 8500,
behaviour 3, grade 3. Tables list few of the codes with a grade. Any behaviour may be given to any
histology (ICD-O-3, rule F), and a grade to any of these (rule G), so their descriptions can be put
together from a listed one and the phrase of the grade or behaviour. A suffix ``/H``, used in
Spanish corpora, says that the text tells more of the histology than the code.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from attending.data.coding.systems import Entry, Meaning, own_meaning

Language = Literal["en", "es"]

GRADES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "1": "grade I, well differentiated",
        "2": "grade II, moderately differentiated",
        "3": "grade III, poorly differentiated",
        "4": "grade IV, undifferentiated, anaplastic",
        "5": "T-cell",
        "6": "B-cell",
        "7": "null cell",
        "8": "NK cell",
        "9": "grade or differentiation not determined",
    },
    "es": {
        "1": "grado I, bien diferenciado",
        "2": "grado II, moderadamente diferenciado",
        "3": "grado III, pobremente diferenciado",
        "4": "grado IV, indiferenciado, anaplásico",
        "5": "células T",
        "6": "células B",
        "7": "células nulas",
        "8": "células NK",
        "9": "grado o diferenciación sin determinar",
    },
}
"""Phrases of the sixth digit."""
BEHAVIOURS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "0": "benign",
        "1": "uncertain whether benign or malignant",
        "2": "in situ",
        "3": "malignant",
        "6": "metastatic",
        "9": "malignant, uncertain whether primary or metastatic",
    },
    "es": {
        "0": "benigno",
        "1": "de benignidad o malignidad incierta",
        "2": "in situ",
        "3": "maligno",
        "6": "metastásico",
        "9": "maligno, primario o metastásico incierto",
    },
}
"""Phrases of the behaviour digit, used where a histology is not listed with it."""
_MORE: Mapping[Language, str] = {
    "en": "with further detail of the histology",
    "es": "con más detalle de la histología",
}
_CODE = re.compile(r"(\d{4})/(\d)(\d)?(/H)?")
_FIRST = "302169"
"""Behaviours in the order in which one lends its description to another."""


class TabledIcdO3:
    """ICD-O-3 morphology.

    Args:
        entries: Code -> its row; codes without a grade at least.
        language: Of the phrases that are put to a description.
    """

    name = "icdo3"

    def __init__(self, entries: Mapping[str, Entry], language: Language = "en") -> None:
        self._entries = {self.spelled(code): entry for code, entry in entries.items()}
        self._language = language

    @property
    def codes(self) -> Iterable[str]:
        """The codes that the table lists, described or not."""
        return [code for code in self._entries if _CODE.fullmatch(code)]

    def spelled(self, code: str) -> str:
        """Return a code in capitals without blanks; ``M-8500/3`` is ``8500/3``."""
        return code.strip().upper().removeprefix("M-").removeprefix("M")

    def meaning(self, code: str) -> Meaning | None:
        """Return the listed description, else one that is composed."""
        listed = own_meaning(self._entries, code)
        parts = _CODE.fullmatch(code)
        if listed is not None or parts is None:
            return listed
        histology, behaviour, grade, more = parts.groups()
        if more:
            return _with(self.meaning(code.removesuffix("/H")), ", ", _MORE[self._language])
        if grade:
            phrase = GRADES[self._language].get(grade)
            return _with(self.meaning(f"{histology}/{behaviour}"), " - ", phrase)
        phrase = BEHAVIOURS[self._language].get(behaviour)
        others = (own_meaning(self._entries, f"{histology}/{x}") for x in _FIRST)
        return _with(next((x for x in others if x), None), ", ", phrase)

    def parent(self, code: str) -> str | None:
        """Return the code without its suffix, without its grade, or the bare histology."""
        entry = self._entries.get(code)
        if entry is not None and entry.parent:
            return self.spelled(entry.parent)
        parts = _CODE.fullmatch(code)
        if parts is None:
            return None
        if parts[4]:
            return code.removesuffix("/H")
        return code[:-1] if parts[3] else parts[1]


def _with(base: Meaning | None, joint: str, phrase: str | None) -> Meaning | None:
    if base is None or phrase is None:
        return None
    return Meaning(f"{base.description}{joint}{phrase}", (), "composed")

"""Build a label set from a code system, for the codes of a corpus or all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from attending.data.coding.icd9 import TabledIcd9
from attending.data.coding.icd10cm import PackagedIcd10Cm, TabledIcd10Cm
from attending.data.coding.icdo3 import Language, TabledIcdO3
from attending.data.coding.systems import CodeSystem, Entry, Meaning, own_meaning
from attending.data.coding.tables import TableColumns, read_entries
from attending.data.corpora import Corpus
from attending.data.wording import plural, shown_label, some
from attending.errors import LabelError
from attending.records import Label, LabelSet

Source = Literal["icd10cm", "icd9", "icdo3", "table"]
"""Where codes come from; ``table`` takes a table as it is, whatever its codes."""


@dataclass(frozen=True, slots=True)
class BuiltLabels:
    """A label set and how its descriptions came about.

    Args:
        labels: The labels, with what they are kinds of in ``broader``.
        listed: How many have a row of their own.
        composed: How many were put together (a grade, a behaviour).
        inherited: How many have the description of a broader code.
        missing: The ids that have none.
        notes: What a person should know.
    """

    labels: LabelSet
    listed: int
    composed: int
    inherited: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]


class TabledCodes:
    """Codes of no known system, as a table lists them; parents by its column only."""

    name = "codes"

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    @property
    def codes(self) -> Iterable[str]:
        """The codes of the table."""
        return self._entries

    def spelled(self, code: str) -> str:
        """Return the code itself."""
        return code.strip()

    def meaning(self, code: str) -> Meaning | None:
        """Return the table's description."""
        return own_meaning(self._entries, code)

    def parent(self, code: str) -> str | None:
        """Return the table's parent."""
        entry = self._entries.get(code)
        return entry.parent if entry else None


def build_label_set(
    source: Source,
    *,
    table: str | Path | None = None,
    code: str | None = None,
    description: str | None = None,
    parent: str | None = None,
    synonyms: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    only: Corpus | Iterable[str] | None = None,
    parents: bool = True,
    language: Language = "en",
    name: str | None = None,
) -> BuiltLabels:
    """Build labels with descriptions, synonyms and parents.

    Ids are spelled as in the corpus (``n44.8``) and matched in the system's spelling (``N44.8``).
    Labels are sorted by id, broader ones too; without ``only`` they are in the order of the table.

    Args:
        source: ``icd10cm`` (the package simple-icd-10-cm, or a table), ``icd9``, ``icdo3``,
            ``table``; all but the first need a table.
        table: File of codes and descriptions: CSV, TSV, tab-separated ``.txt``, JSON lines.
        code: Its column of the code, found by usual names if left out; ``header=False``: a
            number, from 1.
        description: Its column of the description, likewise.
        parent: Its column of the broader code; by prefix if left out.
        synonyms: Its column of other names, several set apart by ``|``.
        header: Whether the table's first line names the columns.
        encoding: How the table's characters are stored.
        only: A corpus, or codes: only these become labels.
        parents: Whether to give labels their parents. Those that are no labels themselves go into
            the set's ``broader``.
        language: Of phrases that ICD-O descriptions are composed with.
        name: Of the label set; the source's name if left out.

    Raises:
        LabelError: If there is no such source, a table is needed, or there are no codes.
        DataError: If the table can't be read.
        MissingExtra: If ICD-10-CM is asked for without its package or a table.
    """
    columns = TableColumns(code, description, parent, synonyms, header)
    system, remarks = _system(source, table, columns, encoding, language)
    wanted = list(system.codes) if only is None else _wanted(only)
    if not wanted:
        raise LabelError("there are no codes to describe", where=name or system.name)
    own = {system.spelled(x): x for x in wanted}
    meanings = {x: system.meaning(system.spelled(x)) for x in wanted}
    above = _above(system, own) if parents else {}
    labels = tuple(
        _label(x, meanings[x], _named(above.get(system.spelled(x)), own, x)) for x in wanted
    )
    broader = tuple(
        _label(x, system.meaning(x), _named(above[x], own, x))
        for x in sorted(above)
        if x not in own
    )
    made = LabelSet(labels, name=name or system.name, broader=broader)
    hows: Counter[str] = Counter(m.how for m in meanings.values() if m)
    missing = tuple(x for x in wanted if meanings[x] is None)
    notes = (*remarks, *_notes(system, wanted, missing, hows))
    return BuiltLabels(made, hows["listed"], hows["composed"], hows["inherited"], missing, notes)


def _system(
    source: Source,
    table: str | Path | None,
    columns: TableColumns,
    encoding: str,
    language: Language,
) -> tuple[CodeSystem, tuple[str, ...]]:
    """Return the system, and what was remarked on while its table was read."""
    if source not in get_args(Source):
        raise LabelError(
            f'there is no source of labels "{source}"', allowed=", ".join(get_args(Source))
        )
    if table is None:
        if source == "icd10cm":
            return PackagedIcd10Cm(), ()
        raise LabelError(
            f"{source} labels are built from a table of yours",
            step="Name the file of codes and descriptions with --table.",
        )
    entries, notes = read_entries(table, columns, encoding)
    if source == "icdo3":
        return TabledIcdO3(entries, language), notes
    if source == "icd9":
        icd9 = TabledIcd9(entries)
        return icd9, (*notes, *icd9.remarks)
    return (TabledIcd10Cm if source == "icd10cm" else TabledCodes)(entries), notes


def _wanted(only: Corpus | Iterable[str]) -> list[str]:
    codes = only.label_counts if isinstance(only, Corpus) else only
    return sorted(dict.fromkeys(codes))


def _above(system: CodeSystem, own: Mapping[str, str]) -> dict[str, str | None]:
    """Return the parent of every code and of everything above it."""
    parents: dict[str, str | None] = {}
    for code in own:
        at: str | None = code
        while at is not None and at not in parents:
            parents[at] = system.parent(at)
            at = parents[at]
    return parents


def _named(parent: str | None, own: Mapping[str, str], child: str) -> str | None:
    """Return a parent's id, spelled as the corpus does."""
    found = None if parent is None else own.get(parent, parent)
    return None if found == child else found


def _label(id_: str, meaning: Meaning | None, parent: str | None) -> Label:
    if meaning is None:
        return Label(id_, parent=parent)
    return Label(id_, description=meaning.description, synonyms=meaning.synonyms, parent=parent)


def _notes(
    system: CodeSystem, wanted: list[str], missing: tuple[str, ...], hows: Counter[str]
) -> Iterable[str]:
    respelled = [x for x in wanted if system.spelled(x) != x and x not in missing]
    if respelled:
        yield (
            f"{plural(len(respelled), 'code')} looked up in the system's spelling, as "
            f"{shown_label(respelled[0])} in {shown_label(system.spelled(respelled[0]))}; ids "
            "stay as they are"
        )
    if hows["inherited"]:
        yield f"{plural(hows['inherited'], 'code')} described by a broader code"
    if missing:
        yield (
            f"{plural(len(missing), 'code')} without a description: "
            f"{some([shown_label(x) for x in missing], 20)}. A model reads their bare ids: add "
            "rows to the table, or write descriptions into the label file"
        )

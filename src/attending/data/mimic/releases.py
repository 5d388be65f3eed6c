"""Admissions of MIMIC-III and MIMIC-IV with their discharge summaries and codes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from attending.data.mimic.codes import dotted
from attending.data.mimic.tables import Cells, find_table, read_rows, whole
from attending.errors import DataError
from attending.records import Document, Label, LabelSet

Kinds = Literal["both", "diagnoses", "procedures"]
"""Which codes are labels."""


@dataclass(frozen=True)
class Admissions:
    """A release as a corpus.

    Attributes:
        documents: One an admission with a discharge summary and a code; the id is the admission's
            (``hadm_id``), the group the patient's (``subject_id``).
        labels: All codes of these documents, sorted, with the official titles.
        notes: What was left out or joined, counted.
    """

    documents: tuple[Document, ...]
    labels: LabelSet
    notes: tuple[str, ...]


@dataclass
class _Summaries:
    """The texts of an admission, and what was met on the way."""

    parts: dict[str, list[tuple[tuple[str, int], str]]] = field(default_factory=dict)
    patient: dict[str, str] = field(default_factory=dict)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, admission: str, patient: str, order: tuple[str, int], text: str) -> None:
        if not admission:
            self.met["summaries without an admission, left out"] += 1
            return
        own = self.parts.setdefault(admission, [])
        if any(text == other for _, other in own):
            self.met["repeats of a summary of the same admission, left out"] += 1
            return
        own.append((order, text))
        self.patient[admission] = patient

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield admissions, by number, with their summaries joined in order of time."""
        for admission in sorted(self.parts, key=int):
            own = [text for _, text in sorted(self.parts[admission], key=lambda pair: pair[0])]
            self.met["admissions with several summaries (addenda), joined by time"] += len(own) > 1
            yield admission, "\n\n".join(own)


@dataclass
class _Codes:
    """The codes of admissions, with what orders them: diagnoses first, then by importance."""

    rows: dict[str, list[tuple[tuple[bool, float], str]]] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)

    def add(
        self, admission: str, order: tuple[bool, float], code: str, summaries: _Summaries
    ) -> None:
        if admission not in summaries.parts:
            self.bare.add(admission)
        elif code:
            self.rows.setdefault(admission, []).append((order, code))
        else:
            summaries.met["rows without a code, left out"] += 1

    def of(self, admission: str) -> tuple[str, ...]:
        """Return an admission's codes, each once."""
        own = sorted(self.rows.get(admission, ()), key=lambda pair: pair[0])
        return tuple(dict.fromkeys(code for _, code in own))


def read_mimic3(folder: str | Path, kinds: Kinds = "both") -> Admissions:
    """Read MIMIC-III: NOTEEVENTS, DIAGNOSES_ICD, PROCEDURES_ICD and the tables of titles.

    Discharge summaries are the reports and addenda of that category, without those marked as
    errors, joined in order of time, as in the published preparation (CAML); text is not altered.

    Raises:
        DataError: If a table or a column is missing, a row is damaged, or nothing is left.
    """
    folders = [Path(folder)]
    summaries = _Summaries()
    rows = read_rows(
        find_table(folders, "noteevents"),
        (
            "row_id",
            "subject_id",
            "hadm_id",
            "chartdate",
            "charttime",
            "category",
            "iserror",
            "text",
        ),
    )
    for row in rows:
        _, patient, _, date, time, category, error, text = row
        if category.strip().lower() != "discharge summary":
            continue
        if error.strip() in ("1", "1.0"):
            summaries.met["summaries marked as errors, left out"] += 1
            continue
        summaries.add(_admission(row), patient, (time or date, row.number("row_id")), text)
    codes = _Codes()
    for procedure, table in _tables(kinds, "diagnoses_icd", "procedures_icd"):
        columns = ("hadm_id", "seq_num", "icd9_code")
        for row in read_rows(find_table(folders, table), columns):
            order = procedure, _rank(row)
            codes.add(_admission(row), order, dotted(row[2], 9, procedure), summaries)
    titles = {}
    for procedure, table in _tables(kinds, "d_icd_diagnoses", "d_icd_procedures"):
        for code, title in read_rows(find_table(folders, table), ("icd9_code", "long_title")):
            titles[dotted(code, 9, procedure)] = title.strip()
    return _admissions(summaries, codes, titles, "mimic3")


def read_mimic4(
    folder: str | Path, *, notes: str | Path | None = None, version: int = 10, kinds: Kinds = "both"
) -> Admissions:
    """Read MIMIC-IV and MIMIC-IV-Note: discharge, diagnoses_icd, procedures_icd and titles.

    ``folder`` holds the tables, or ``hosp/`` with them; ``notes`` likewise discharge, or
    ``note/`` with it (default: the same folder). ``version`` says which ICD revision: an admission
    is coded in one of them, those of the other are left out and counted.

    Raises:
        DataError: If a table or a column is missing, a row is damaged, or nothing is left.
    """
    if version not in (9, 10):
        raise DataError("there is no such ICD revision here", found=str(version), allowed="9, 10")
    hosp = [Path(folder) / "hosp", Path(folder)]
    near = [Path(notes or folder) / "note", Path(notes or folder)]
    summaries = _Summaries()
    rows = read_rows(
        find_table(near, "discharge"),
        ("subject_id", "hadm_id", "note_seq", "charttime", "text"),
    )
    for row in rows:
        patient, _, _, time, text = row
        summaries.add(_admission(row), patient, (time, row.number("note_seq")), text)
    codes = _Codes()
    other: set[str] = set()
    for procedure, table in _tables(kinds, "diagnoses_icd", "procedures_icd"):
        columns = ("hadm_id", "seq_num", "icd_code", "icd_version")
        for row in read_rows(find_table(hosp, table), columns):
            if row.number("icd_version") == version:
                order = procedure, _rank(row)
                codes.add(_admission(row), order, dotted(row[2], version, procedure), summaries)
            else:
                other.add(_admission(row))
    aside = len((other - codes.rows.keys()) & summaries.parts.keys())
    summaries.met[f"admissions coded in the other ICD revision than {version}, left out"] = aside
    titles = {}
    for procedure, table in _tables(kinds, "d_icd_diagnoses", "d_icd_procedures"):
        named = ("icd_code", "icd_version", "long_title")
        for row in read_rows(find_table(hosp, table), named):
            if row.number("icd_version") == version:
                titles[dotted(row[0], version, procedure)] = row[2].strip()
    return _admissions(summaries, codes, titles, "mimic4")


def _tables(kinds: Kinds, diagnoses: str, procedures: str) -> list[tuple[bool, str]]:
    named = [(False, diagnoses), (True, procedures)]
    return [pair for pair in named if kinds == "both" or pair[0] == (kinds == "procedures")]


def _admission(row: Cells) -> str:
    """Return the number of a row's admission as it is written; empty if it has none."""
    cell = whole(row[row.columns.index("hadm_id")])
    if cell:
        row.number("hadm_id")
    return cell


def _rank(row: Cells) -> float:
    """Return the place of a code among those of its admission; a blank one comes last."""
    blank = not row[row.columns.index("seq_num")].strip()
    return float("inf") if blank else row.number("seq_num")


def _admissions(
    summaries: _Summaries,
    codes: _Codes,
    titles: Mapping[str, str],
    name: str,
) -> Admissions:
    documents, bare = [], 0
    for admission, text in summaries.texts():
        own = codes.of(admission)
        if not own:
            bare += 1
            continue
        patient = summaries.patient[admission]
        documents.append(Document(id=admission, text=text, labels=own, group=patient))
    if not documents:
        coded = len(codes.rows) + len(codes.bare)
        raise DataError(
            "no admission has both a discharge summary and a code",
            found=f"{len(summaries.parts)} with a summary, {coded} with a code",
            step="Are notes and codes of the same release, and of this ICD revision?",
        )
    met = summaries.met
    met["admissions with a summary and no code, left out"] = bare
    met["admissions with a code and no summary, left out"] = len(codes.bare)
    used = sorted({code for d in documents for code in d.labels or ()})
    labels = LabelSet(
        tuple(Label(id=c, name=c, description=titles.get(c, "")) for c in used), name=name
    )
    met["codes without a title"] = sum(not label.description for label in labels)
    return Admissions(
        tuple(documents), labels, tuple(f"{what}: {n:,}" for what, n in met.items() if n)
    )

"""Which columns and rows of a file a verb was told to read."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus

STDIN = "-"
_ROLES = ("text", "label", "id", "group", "date", "spans")


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns by role, conditions on rows, and how cells are written; as the options give them."""

    text: str | None = None
    label: str | None = None
    id: str | None = None
    group: str | None = None
    date: str | None = None
    where: Sequence[str] | None = None
    encoding: str = "utf-8"
    spans: str | None = None
    label_separator: str | None = None
    empty_labels: str = "unlabelled"
    input_format: str | None = None
    zone: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions as column -> value.

        Raises:
            DataError: If one has no equals sign, or two are on one column.
        """
        found: dict[str, str] = {}
        for condition in self.where or ():
            column, equals, value = condition.partition("=")
            if not equals or not column.strip():
                raise DataError("--where can't be read", found=condition, allowed="COLUMN=VALUE")
            if column.strip() in found:
                raise DataError(f'two conditions on the column "{column.strip()}"')
            found[column.strip()] = value
        return found

    @property
    def cells(self) -> dict[str, str]:
        """How label cells are written, where that isn't the usual: what a file is read again by."""
        usual = {"label_separator": None, "empty_labels": "unlabelled", "input_format": None}
        return {k: getattr(self, k) for k, value in usual.items() if getattr(self, k) != value}

    def load(self, source: str) -> "Corpus":
        """Read a file, the bundled corpus, or JSON lines from standard input (``-``).

        Raises:
            DataError: If it can't be read.
        """
        from attending.data.corpora import load_corpus

        named: dict[str, Any] = {role: getattr(self, role) for role in _ROLES}
        named |= {"label_separator": self.label_separator, "empty_labels": self.empty_labels}
        named["format"] = self.input_format
        corpus = load_corpus(
            sys.stdin.buffer if source == STDIN else source,
            **named,
            where=self.conditions,
            encoding=self.encoding,
            zone=self.zone,
        )
        if self.zone is not None and not is_fhir(corpus):
            raise DataError("--zone is for messages in FHIR", where=source)
        return corpus

    def words(self, *roles: str) -> list[str]:
        """Return the options as typed for the same file again; with roles, for another file."""
        words: list[str] = []
        for role in roles or _ROLES:
            value = getattr(self, role)
            if value is not None:
                words += [f"--{role}", value]
        for condition in () if roles else self.where or ():
            words += ["--where", condition]
        if self.encoding != "utf-8":
            words += ["--encoding", self.encoding]
        for option, value in self.cells.items():
            words += [f"--{option.replace('_', '-')}", value]
        return words


def is_fhir(corpus: "Corpus") -> bool:
    """Say whether a corpus was read from FHIR."""
    from attending.data.fhir.rows import COLUMNS

    return COLUMNS.items() <= corpus.columns.items()


def described(columns: Mapping[str, str]) -> str:
    """Return where the roles were read from: ``text "body", label "urgency"``."""
    return ", ".join(f'{role} "{column}"' for role, column in columns.items())

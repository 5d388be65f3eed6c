"""Predictions as FHIR: what the options ask for, checked before the work and written after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli.columns import STDIN
from attending.cli.rows import counts_in_words
from attending.errors import DataError, LabelError

if TYPE_CHECKING:
    from attending.models.base import Model
    from attending.records import LabelSet, Prediction, Row
    from attending.serve.fhir.writer import Written

PANEL = "FHIR"

Release = Annotated[
    Literal["R4", "R5"] | None,
    typer.Option(
        "--fhir",
        metavar="R4|R5",
        help="Write FHIR of this release: a Task for each message with its priority, or a "
        "Condition for each code. OUT is .json (a Bundle) or .ndjson.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
PriorityFile = Annotated[
    Path | None,
    typer.Option(
        "--priorities",
        metavar="FILE",
        help="Which priority each label has, in TOML; known for the bundled labels.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Codes = Annotated[
    str | None,
    typer.Option(
        "--codes",
        metavar="SYSTEM",
        help="Code system of the labels: icd10cm, icd10, icd9, icdo3 or a URL; known from label "
        "sets that [bold]labels build[/] made.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="ZONE",
        help="Zone of times in FHIR that name none, such as Europe/Berlin.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class FhirTarget:
    """How predictions are written as FHIR."""

    out: Path
    release: str
    priorities: Path | None
    codes: str | None
    force: bool

    @classmethod
    def of(
        cls,
        out: str,
        format: str | None,
        release: str | None,
        priorities: Path | None,
        codes: str | None,
        force: bool,
    ) -> "FhirTarget | None":
        """Read the options; ``None`` if it isn't FHIR that is to be written.

        Raises:
            DataError: If they contradict each other.
        """
        wanted = release is not None or format == "fhir"
        if not wanted:
            for option, value in (("--priorities", priorities), ("--codes", codes)):
                if value is not None:
                    raise DataError(f"{option} is for FHIR", step="Add --fhir R4, or R5.")
            return None
        if format not in (None, "fhir"):
            raise DataError(f"--fhir and --format {format} exclude each other")
        if priorities is not None and codes is not None:
            raise DataError("--priorities and --codes exclude each other")
        if out == STDIN:
            raise DataError("FHIR is written to a file only", step="Name one with --out.")
        return cls(Path(out), release or "R4", priorities, codes, force)

    def require(self, labels: "LabelSet") -> None:
        """Refuse what can't be written, before anything is read.

        Raises:
            DataError: If the file's name says no kind of FHIR.
            LabelError: If the labels have no priorities and no code system.
            MissingExtra: If what checks FHIR isn't installed.
            OutputError: If the file exists.
        """
        from attending.outputs import require_new
        from attending.serve.fhir.writer import require_writable

        require_new(self.out, force=self.force)
        try:
            require_writable(self.out, labels, **self._meaning)
        except LabelError as error:
            if self.priorities is not None or self.codes is not None:
                raise
            raise LabelError(
                error.what,
                where=error.where,
                allowed=error.allowed,
                step=f"{error.step} Pass the map with --priorities FILE; if the labels are codes, "
                "name their system with --codes.",
            ) from None

    @property
    def _meaning(self) -> dict[str, Any]:
        return {"release": self.release, "priorities": self.priorities, "codes": self.codes}

    def write(
        self, rows: Sequence["Row"], predictions: Sequence["Prediction"], model: "Model"
    ) -> "Written":
        """Write the predictions of rows, in order."""
        from attending.serve.fhir.writer import write_fhir
        from attending.serve.maker import Maker

        return write_fhir(
            rows,
            predictions,
            self.out,
            labels=model.labels,
            maker=Maker.of(model),
            force=self.force,
            **self._meaning,
        )


def written_in_words(written: "Written") -> Iterator[tuple[str, str]]:
    """Yield which resources were written, and how many tasks have which priority."""
    yield "resources", counts_in_words(written.resources)
    if written.priorities:
        yield "priorities", counts_in_words(written.priorities)

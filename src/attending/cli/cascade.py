"""``attending cascade``: a quick model for the sure cases, a thorough one for the others."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.decide import development_part, kept_settings, settle_anew
from attending.cli.origin import Origin, of_both
from attending.cli.progress import Progress
from attending.cli.rows import tell_reading
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.export.parity import Parity
    from attending.models.base import Scored
    from attending.models.cascade import CascadeModel
    from attending.models.development import DevelopmentScores
    from attending.training.cascade import Margin


def cascade(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="Folder of the quick model.", show_default=False)
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="SECOND",
            help="Folder of the thorough model, best exported.",
            show_default=False,
        ),
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Rows that trained neither, with or without labels. Of the file that both were "
            "trained on, the rows that were carved off for this are found again.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder to write.", rich_help_panel=options.OUTPUT
        ),
    ],
    changed: Annotated[
        float | None,
        typer.Option(
            "--changed",
            metavar="SHARE",
            min=0,
            max=1,
            help="Most answers that may be other than SECOND's; 0.02 if left out.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            "--share",
            metavar="SHARE",
            help="Instead: the share of rows that FIRST is to answer, whatever changes.",
            show_default=False,
        ),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    unknown_labels: options.UnknownLabels = "error",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Join two models: FIRST answers where it is sure, SECOND all else.

    Most messages are easy, and where a model on word counts is sure, an encoder nearly always
    agrees. The margin between sure and unsure is the smallest at which no more than a share of all
    answers is other than SECOND's alone. Where rows have labels, calibration, recalls to keep and
    the band of SECOND are settled again for both together. The folder is used as any model's.
    """
    from attending.data.labels import require_known
    from attending.models.store import load_model, require_free
    from attending.training.cascade import CHANGED, make_cascade

    screen = Screen(json)
    _require_one_wish(changed, share)
    require_free(out.resolve(), force)
    if Path(first).resolve() == Path(second).resolve():
        raise DataError("a cascade is of two models, and these are one", found=first)
    quick, thorough = load_model(first), load_model(second)
    columns = Columns(text, label, id, None, None, where, encoding)
    corpus = columns.load(file)
    tell_reading(screen, corpus)
    models = {Path(first): quick, Path(second): thorough}
    part = development_part(screen, models, file, corpus, encoding)
    part = require_known(part, thorough.labels, unknown_labels)
    allowed = CHANGED if changed is None else changed
    with Progress(screen, "scoring") as progress:
        scored = quick.scores(part.rows), thorough.scores(part.rows, progress=progress)
    made, margin = make_cascade(
        quick, thorough, part.rows, changed=allowed, share=share, scored=scored
    )
    both = made.joined(*scored)
    settled = _settle(screen, made, part, both)
    parity = _compared(made, part, both, scored[1])
    rows = "data_fingerprint"
    origin = of_both(
        Origin.read(Path(first)),
        Origin.read(Path(second)),
        same_rows=quick.facts.get(rows) == thorough.facts.get(rows),
    )
    _write(made, margin, parity, settled, origin, out, force)
    if json:
        screen.data({"written": str(out)} | _told(margin, parity))
    else:
        screen.show(facts([*_described(made, margin, parity), ("written", str(out))]))


def _require_one_wish(changed: float | None, share: float | None) -> None:
    if changed is not None and share is not None:
        raise DataError("--changed and --share both choose the margin", step="Name one of them.")
    if share is not None and not 0 < share < 1:
        raise DataError(
            "--share is no share of the rows", found=f"{share:g}", allowed="between 0 and 1"
        )


def _settle(
    screen: Screen, model: "CascadeModel", part: "Corpus", scored: "Sequence[Scored]"
) -> "tuple[DevelopmentScores | None, dict[str, float]]":
    """Settle the decision of both together, where there are labels to settle it on.

    Returns:
        Scores of the labelled rows, as a model folder keeps them, and the figures on them.

    Raises:
        DataError: If there are none, and recalls or a band are to be kept.
    """
    from attending.records import Document
    from attending.training.score import development_score

    labelled = [
        (row, found)
        for row, found in zip(part.rows, scored, strict=True)
        if isinstance(row, Document) and row.labels is not None
    ]
    if labelled:
        documents, own = [row for row, _ in labelled], [found for _, found in labelled]
        settings = kept_settings(model)
        model.decision, scores = settle_anew(screen, model, documents, settings, own)
        return scores, development_score(own, documents, model.labels, model.decision)
    if model.decision.recall_floors or model.decision.abstention:
        raise DataError(
            "the second model keeps recalls or hands rows over, which takes labels to settle again",
            where=part.name,
            found="no row with a label",
            step="Name labelled rows, or a second model without these.",
        )
    return None, {}


def _compared(
    model: "CascadeModel", part: "Corpus", both: "Sequence[Scored]", second: "Sequence[Scored]"
) -> "Parity":
    """Compare the cascade's answers with those of the second model alone."""
    from attending.export.parity import Answers, compare

    rows = part.rows
    found = Answers.of(model.second, rows, None, second), Answers.of(model, rows, None, both)
    return compare(*found, rows, "single", model.facts.get("label_counts", {}))


def _write(
    model: "CascadeModel",
    margin: "Margin",
    parity: "Parity",
    settled: "tuple[DevelopmentScores | None, dict[str, float]]",
    origin: Origin | None,
    out: Path,
    force: bool,
) -> None:
    from attending.models.store import save_model

    model.facts = {**model.facts, "cascade": _told(margin, parity)}
    scores, figures = settled
    folder = save_model(model, out, metrics=figures, force=force)
    if origin is not None:
        origin.write(folder)
    if scores is not None:
        scores.write(folder)
    card = folder / "README.md"
    lines = [f"- {name}: {value}" for name, value in _described(model, margin, parity)]
    section = "\n".join(["", "## Cascade", "", *lines, ""])
    card.write_text(card.read_text(encoding="utf-8") + section, encoding="utf-8")


def _told(margin: "Margin", parity: "Parity") -> dict[str, object]:
    """Return what is known of a cascade, as it stands in its folder."""
    return {
        "margin": margin.margin,
        "rows": margin.rows,
        "answered_by_first": margin.first,
        "changed": parity.changed,
        "macro_f1": parity.macro_f1,
    }


def _described(
    model: "CascadeModel", margin: "Margin", parity: "Parity"
) -> Iterator[tuple[str, str]]:
    """Say who answers what, and how that compares with the second model alone."""
    first, second = (part.recipe.name for part in model.parts.values())
    yield (
        "first",
        f"{first} answers where its best label is {margin.margin:.2f} ahead of the next: "
        f"{margin.first:,} of {margin.rows:,} rows ({margin.first / margin.rows:.0%})",
    )
    yield "second", f"{second} answers the others"
    yield (
        "decisions",
        f"{parity.changed:,} of {parity.read:,} are other than {second} alone would give"
        f"{_interval(parity)}",
    )
    if parity.macro_f1 is not None:
        before, after = parity.macro_f1
        yield "macro-F1", f"{before:.4f} {second} alone, {after:.4f} both together"
    if parity.rarest is not None:
        rarest = parity.rarest
        yield (
            "recall",
            f"of {rarest.label}, the rarest label ({rarest.documents} rows): "
            f"{rarest.before:.4f} {second} alone, {rarest.after:.4f} both together",
        )


def _interval(parity: "Parity") -> str:
    from attending.evaluation.intervals import wilson_interval

    found = wilson_interval(parity.changed, parity.read)
    return "" if found is None else f" (95% interval {found.low:.1%} to {found.high:.1%})"

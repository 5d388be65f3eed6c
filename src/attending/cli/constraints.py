"""Recall floors and the abstain band, as options and as words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli.tables import table
from attending.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table

    from attending.models.development import DevelopmentScores
    from attending.parts.decoders import Decision
    from attending.recipe import Recipe
    from attending.records import LabelSet

PANEL = "How scores become labels"
NONE = "none"
RecallFloor = Annotated[
    list[str] | None,
    typer.Option(
        "--recall-floor",
        metavar="LABEL=SHARE",
        help="Find at least this share of a label's rows, such as urgent=0.95, with the fewest "
        "alerts, chosen on development rows. Of ordered labels, rows of at least this level. May "
        "be given several times.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Surely = Annotated[
    bool,
    typer.Option(
        "--surely",
        help="The lower end of the recall's 95 % interval must reach the floor, not the recall "
        "alone.",
        rich_help_panel=PANEL,
    ),
]
Abstain = Annotated[
    str | None,
    typer.Option(
        "--abstain",
        metavar="BAND",
        help="Give unsure rows no label, for a person to read: [bold]share=0.1[/] hands the tenth "
        "over that is least sure, [bold]accuracy=0.95[/] as few as it takes for the others to be "
        "right so often, [bold]below=0.6[/] what has a lower probability, [bold]margin=0.2[/] "
        "what isn't so far ahead of the next label.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
AbstainBy = Annotated[
    Literal["probability", "margin"] | None,
    typer.Option(
        "--abstain-by",
        metavar="probability|margin",
        help="How sure a row is, for share= and accuracy=: the probability of its label, or how "
        "far that is ahead of the next.",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
_BANDS = {
    "share": "abstain_share",
    "accuracy": "abstain_accuracy",
    "below": "abstain_below",
    "margin": "abstain_margin",
}


def floor_settings(floors: Sequence[str] | None, surely: bool) -> dict[str, Any]:
    """Return recall floors as settings of a recipe.

    Raises:
        DataError: If one can't be read, or there is nothing to be sure of.
    """
    from attending.specs.decoders import read_floors

    if not floors:
        if surely:
            raise DataError("--surely says how sure a recall must be", step="Add --recall-floor.")
        return {}
    try:
        read_floors(tuple(floors))
    except ValueError as error:
        raise DataError(f"--recall-floor: {error}") from None
    return {"decoder.recall_floors": list(floors)} | ({"decoder.surely": True} if surely else {})


def band_settings(band: str | None, by: str | None) -> dict[str, Any]:
    """Return an abstain band as settings of a recipe.

    Raises:
        DataError: If it can't be read.
    """
    if band is None:
        if by is not None:
            raise DataError("--abstain-by says how sure a row is", step="Add --abstain share=0.1.")
        return {}
    name, _, value = band.partition("=")
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if name.strip() not in _BANDS or not 0 <= share <= 1:
        raise DataError(
            "--abstain can't be read",
            found=band,
            allowed="share=S, accuracy=S, below=S or margin=S, S from 0 to 1",
        )
    if by is not None and name.strip() in ("below", "margin"):
        raise DataError(f"--abstain-by is for share= and accuracy=; {name.strip()}= says it itself")
    return {f"decoder.{_BANDS[name.strip()]}": share} | (
        {} if by is None else {"decoder.abstain_by": by}
    )


def require_can(recipe: "Recipe", settings: Mapping[str, Any]) -> None:
    """Refuse settings that a recipe's decoder doesn't have.

    Raises:
        DataError: If it has none of that name.
    """
    decoder = recipe["decoder"]
    for key in settings:
        if not hasattr(decoder, key.removeprefix("decoder.")):
            what = "--recall-floor" if "recall" in key else "--abstain"
            why = "gives every row the same number of labels"
            if decoder.kind == "threshold":
                why = "gives a row any number of labels, none among them, so it has no band"
            raise DataError(f'{what}: a "{decoder.kind}" decoder {why}')


def require_decision(recipe: "Recipe", settings: Mapping[str, object], labels: "LabelSet") -> None:
    """Refuse recall floors and bands that can't be had, before hours of training.

    Raises:
        DataError: If the recipe's decoder has none.
        LabelError: If a floor is of a label that can't have one.
    """
    from attending.specs.decoders import read_floors
    from attending.training.constraints import require_floors

    require_can(recipe, settings)
    floors: Any = settings.get("decoder.recall_floors")
    require_floors(labels, read_floors(tuple(floors) if floors else None))


def price_lines(decision: "Decision") -> Iterator[tuple[str, str]]:
    """Yield what recall floors and the band cost, on development rows."""
    from attending.parts.prices import band_in_words, price_in_words

    for label, record in decision.recall_floors.items():
        yield "recall floor", price_in_words(label, record)
    for line in band_in_words(decision.abstention):
        yield "abstain", line


def alternatives_table(
    label: str, decision: "Decision", scores: "DevelopmentScores", asked: float
) -> "Table | None":
    """Return what other recalls of a label would cost; ``None`` where that can't be counted."""
    from attending.evaluation.operating import FLOORS, alternatives

    values, truth, forced = _of_label(label, decision, scores)
    points = alternatives(values, truth, forced=forced, floors=(*FLOORS, asked))
    if not points:
        return None
    rows = []
    for floor, p in points:
        sure = f"{p.interval.low:.1%}-{p.interval.high:.1%}" if p.interval else ""
        rows.append(
            [
                f"{floor:.1%}" + (" *" if floor == asked else ""),
                f"{p.recall:.1%}",
                sure,
                f"{p.alerts_per_1000:.0f}",
                f"{p.false_alerts_per_1000:.0f}",
                f"{p.missed_per_1000:.1f}",
                f"{p.threshold:.4f}",
            ]
        )
    heads = ["recall asked", "found", "95 % interval", "alerts", "false", "missed", "threshold"]
    return table([f"{label}: {heads[0]}", *heads[1:]], rows)


def _of_label(label: str, decision: "Decision", scores: "DevelopmentScores") -> tuple[Any, ...]:
    """Return scores and truth of a label, and which rows a label before it raised already."""
    import numpy as np

    from attending.parts.choices import at_least, in_turn, reach

    labels = scores.labels
    place = labels.position(label)
    if decision.kind != "argmax":
        return scores.probabilities[:, place], scores.truth[:, place], None
    taken = np.zeros(len(scores.truth), bool)
    for other in in_turn(labels, decision.thresholds):
        if other == label:
            break
        taken |= reach(scores.probabilities, labels, other) >= decision.thresholds[other]
    truth = at_least(scores.truth.argmax(axis=1), labels, label)
    values = reach(scores.probabilities, labels, label)
    return (values, truth, taken) if labels.ordered else (np.where(taken, 0.0, values), truth, None)

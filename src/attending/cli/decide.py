"""``attending decide``: how a finished model's scores become labels, settled anew."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.constraints import (
    NONE,
    PANEL,
    Abstain,
    AbstainBy,
    RecallFloor,
    Surely,
    alternatives_table,
    band_settings,
    floor_settings,
    price_lines,
    require_can,
)
from attending.cli.origin import Origin, as_trained
from attending.cli.progress import Progress
from attending.cli.rows import tell_reading
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.models.base import Model, Scored
    from attending.models.development import DevelopmentScores
    from attending.parts.decoders import Decision
    from attending.records import Document


def decide(
    model: options.Model,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Labelled development rows, that trained nothing. Of the file trained on, the "
            "rows that were carved off for this are found again.",
            show_default=False,
        ),
    ],
    recall_floor: RecallFloor = None,
    surely: Surely = False,
    abstain: Abstain = None,
    abstain_by: AbstainBy = None,
    calibrate: Annotated[
        Literal["temperature", "vector", "none"] | None,
        typer.Option(
            "--calibrate",
            metavar="temperature|vector|none",
            help="How probabilities are calibrated; as the recipe says if left out.",
            rich_help_panel=PANEL,
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the prices and write nothing.")
    ] = False,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    empty_labels: options.EmptyLabels = "unlabelled",
    unknown_labels: options.UnknownLabels = "error",
    json: options.Json = False,
) -> None:
    """Settle anew how a finished model's scores become labels, on development rows.

    Fits calibration and thresholds again, picks the point with the fewest alerts that keeps a
    recall, and the band that is handed over to a person; shows what they cost per 1,000 rows and
    writes decision.json. Weights stay as they are. Floors and a band that the model has are kept
    unless new ones are given; [bold]none[/] removes them. Rows that trained the model are refused.
    """
    from attending.data.labels import require_known
    from attending.models.store import load_model

    screen = Screen(json)
    columns = Columns(
        text, label, id, None, None, where, encoding, None, label_separator, empty_labels
    )
    loaded = load_model(model)
    settings = kept_settings(loaded, recall_floor, surely, abstain, abstain_by, calibrate)
    corpus = columns.load(file)
    tell_reading(screen, corpus)
    part = development_part(screen, {Path(model): loaded}, file, corpus, encoding)
    known = require_known(part, loaded.labels, unknown_labels)
    documents = _labelled(screen, known, file)
    found = settle_anew(screen, loaded, documents, settings)
    if not dry_run:
        from attending.models.decided import write_decision

        write_decision(model, found[0], found[1])
    if json:
        screen.data(
            {"written": not dry_run, "rows": len(documents), "decision": found[0].to_dict()}
        )
    else:
        _show(screen, loaded, *found, None if dry_run else model)


def kept_settings(
    model: "Model",
    floors: Sequence[str] | None = None,
    surely: bool = False,
    band: str | None = None,
    by: str | None = None,
    calibrate: str | None = None,
) -> dict[str, Any]:
    """Return what the decoder is told: what was given, and else what the model has.

    Raises:
        DataError: If an option can't be read, or the model's decoder has no such setting.
    """
    old, given = model.decision, list(floors or ())
    settings: dict[str, Any] = {}
    if given == [NONE]:
        given = []
    elif given:
        settings |= floor_settings(given, surely)
    elif old.recall_floors:
        settings |= floor_settings(
            [f"{label}={r['floor']}" for label, r in old.recall_floors.items()],
            surely or any(r["surely"] for r in old.recall_floors.values()),
        )
    elif surely:
        floor_settings(None, surely)
    if band is not None:
        settings |= {} if band == NONE else band_settings(band, by)
    elif old.abstention:
        wanted = f"{old.abstention['what']}={old.abstention['wanted']}"
        settings |= band_settings(wanted, by or old.abstention["by"])
    else:
        band_settings(None, by)
        kept = {"abstain_below": old.abstain_below, "abstain_margin": old.abstain_margin}
        settings |= {f"decoder.{k}": v for k, v in kept.items() if v is not None}
    if calibrate is not None:
        settings["decoder.calibrate"] = calibrate
    require_can(model.recipe, settings)
    return settings


def development_part(
    screen: Screen,
    models: Mapping[Path, "Model"],
    file: str,
    corpus: "Corpus",
    encoding: str,
) -> "Corpus":
    """Return the rows of a file that may settle a decision: none that trained one of the models.

    Of the file that a model was trained on, the development rows are carved off as in training, and
    their fingerprint is compared with the model's.

    Raises:
        DataError: If the rows trained a model.
    """
    part = corpus
    for folder, model in _single(models):
        own = _unseen(model, folder, file, corpus, encoding)
        if own is not corpus:
            keys = {_key(d) for d in own}
            part = (
                own if part is corpus else part.with_documents(d for d in part if _key(d) in keys)
            )
    if not len(part):
        raise DataError(
            "no row is left that trained none of the models",
            where=file,
            step="Name a file of rows that they haven't seen.",
        )
    if part is not corpus:
        screen.tell(
            "note",
            f"on the {len(part):,} development rows of the file that the model was trained on; "
            "they chose its checkpoint too, so figures are a little too good",
        )
    return part


def _single(models: Mapping[Path, "Model"]) -> Iterator[tuple[Path, "Model"]]:
    """Yield models by folder, in place of a cascade the two that it is made of."""
    for folder, model in models.items():
        parts = getattr(model, "parts", None)
        if parts is None:
            yield folder, model
        else:
            yield from _single({folder / name: part for name, part in parts.items()})


def _key(document: "Document") -> tuple[str, str]:
    return document.id, document.text


def _unseen(model: "Model", folder: Path, file: str, corpus: "Corpus", encoding: str) -> "Corpus":
    """Return the rows that didn't train one model; see ``development_part``."""
    trained, settled = (model.facts.get(f"{kind}_fingerprint") for kind in ("data", "development"))
    if corpus.fingerprint == settled:
        return corpus
    origin = Origin.read(folder)
    if origin and corpus.fingerprint in {more.fingerprint for more in origin.also}:
        raise _trained(file)
    same = as_trained(file, corpus, origin, encoding) if origin else None
    if same is None:
        if corpus.fingerprint == trained:
            raise _trained(file)
        return corpus
    carved = _carved(model, same, origin)
    if carved is None or carved.fingerprint != settled:
        raise _trained(file)
    return carved


def _trained(file: str) -> DataError:
    return DataError(
        "these rows trained the model, so what it makes of them says nothing of new ones",
        where=file,
        step="Name a file of labelled rows that it hasn't seen.",
    )


def _carved(model: "Model", corpus: "Corpus", origin: Origin | None) -> "Corpus | None":
    """Carve off the development rows of the file trained on, as training did."""
    from attending.errors import AttendingError
    from attending.training.rows import choose_rows

    held = set(origin.holdout.positions) if origin and origin.holdout else set()
    rows = [d for i, d in enumerate(corpus) if i not in held]
    if held:
        # Training saw the rows in the order of its split.
        from attending.cli.origin import hold_out

        h = origin.holdout if origin else None
        if h is None:
            return None
        rows = list(hold_out(corpus, h.by, h.share or 0.5, h.seed, h.groups)[0].documents)
    try:
        chosen = choose_rows(model.recipe, rows, model.labels, None, int(model.facts["seed"]))
    except (AttendingError, KeyError):
        return None
    return corpus.with_documents(chosen.development)


def _labelled(screen: Screen, corpus: "Corpus", file: str) -> list["Document"]:
    from attending.data.wording import plural

    rows = [d for d in corpus if d.labels is not None]
    if len(rows) < len(corpus):
        screen.tell("note", f"{plural(len(corpus) - len(rows), 'row')} without a label: left out")
    if not rows:
        raise DataError("no row has a label", where=file, step="Name the column with --label.")
    return rows


def settle_anew(
    screen: Screen,
    model: "Model",
    documents: Sequence["Document"],
    settings: Mapping[str, Any],
    scored: "Sequence[Scored] | None" = None,
) -> tuple["Decision", "DevelopmentScores | None"]:
    """Return the new decision and the scores under it.

    ``scored`` are the model's scores of the documents, where they are known already.

    Raises:
        DataError: If a recall floor or a band that was asked for can't be had.
    """
    from attending.data.corpora import Corpus
    from attending.models.development import DevelopmentScores
    from attending.training.constraints import require_floors
    from attending.training.rows import task_of
    from attending.training.settle import settle_again

    anew = dict.fromkeys(_CLEARED & set(type(model.recipe["decoder"]).model_fields), None)
    cleared = {f"decoder.{name}": None for name in anew}
    recipe = model.recipe.override(cleared | dict(settings))
    if recipe.task == "single" and task_of(documents) == "multi":
        raise DataError("the model gives one label a row; these have none or several")
    wanted = _wanted(recipe)
    if recipe.task == "single":
        require_floors(model.labels, wanted)
    if scored is None:
        with Progress(screen, "scoring") as progress:
            scored = model.scores(documents, progress=progress)
    decision, reason = settle_again(model, documents, recipe, scored=scored)
    missing = [label for label in wanted if label not in decision.recall_floors]
    asked = any(settings.get(f"decoder.abstain_{k}") for k in ("share", "accuracy"))
    if missing or (asked and not decision.abstention):
        raise DataError(f"can't be had on these rows: {reason}", step="Nothing was written.")
    if reason:
        screen.tell("warning", reason)
    fingerprint = Corpus(tuple(documents)).fingerprint
    return decision, DevelopmentScores.of(documents, scored, model.labels, decision, fingerprint)


_CLEARED = {
    "recall_floors", "surely", "abstain_below", "abstain_margin", "abstain_share",
    "abstain_accuracy", "abstain_by",
}  # fmt: skip


def _wanted(recipe: Any) -> dict[str, float]:
    from attending.specs.decoders import read_floors

    return read_floors(getattr(recipe["decoder"], "recall_floors", None))


def _show(
    screen: Screen,
    model: "Model",
    decision: "Decision",
    scores: "DevelopmentScores | None",
    written: str | None,
) -> None:
    """Show the decision, its prices, and what other recalls would cost."""
    priced = list(price_lines(decision))
    said = [line for line in decision.describe() if line not in {p for _, p in priced}]
    screen.show(facts([*(("decision", line) for line in said), *priced]))
    for label, record in decision.recall_floors.items():
        made = alternatives_table(label, decision, scores, record["floor"]) if scores else None
        if made is not None:
            screen.show("", made)
    if decision.recall_floors and scores is not None:
        screen.show("Alerts, false ones and missed rows are per 1,000 rows like these. * asked for")
    screen.show("", facts([("written", f"{written}/decision.json" if written else "nothing")]))

"""``attending evaluate``: how good a model is on documents that it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import evaluate_spans, options, spans
from attending.cli.columns import Columns
from attending.cli.console import Screen, heading
from attending.cli.headline import figures_of, headline_table, label_table
from attending.cli.origin import Origin, as_trained, held_out_part, rows_among
from attending.cli.progress import Progress
from attending.cli.rows import unreadable_lines
from attending.cli.seeds import seed_folders, spread, spread_table
from attending.errors import DataError, ModelError, OutputError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.evaluation.spans.result import SpanResult
    from attending.evaluation.task import AnyEvaluation
    from attending.models.base import Model
    from attending.models.tagger import TaggerModel

_SEEN = (
    "this is the file that the model was trained on, so these figures say nothing about new "
    "messages. Train with --holdout 0.2, or evaluate another file"
)
_CHOSEN = (
    "these rows chose the checkpoint and the calibration, so the figures are a little too good"
)


def evaluate(
    model: options.Model,
    file: spans.File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder of the report; MODEL/evaluation-FILE by default.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    only_holdout: Annotated[
        bool | None,
        typer.Option(
            "--only-holdout/--all-rows",
            help="Evaluate on just the rows that [bold]train --holdout[/] kept out of training, "
            "or on all. By default: just those, where FILE is the one trained on.",
            show_default=False,
        ),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    group: options.Group = None,
    date: options.Date = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    empty_labels: options.EmptyLabels = "unlabelled",
    span_column: options.Spans = None,
    input_format: options.InputFormat = None,
    unknown_labels: options.UnknownLabels = "error",
    source_format: spans.From = None,
    offsets: spans.Offsets = "auto",
    tag_column: spans.TagColumn = -1,
    documents: spans.Documents = "auto",
    lenient: spans.Lenient = False,
    spans_page: evaluate_spans.SpansPage = False,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, metavar="N", help="Draws behind an interval.")
    ] = 1000,
    precision: options.Precision = "float32",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Evaluate a model on labelled rows: a table here, a report for people, a file for machines.

    A tagger is evaluated on annotated spans. MODEL may also be the folder of
    [bold]train --seeds[/]: then every model in it is evaluated, and mean and spread are told.
    """
    screen = Screen(json)
    cells = (span_column, label_separator, empty_labels, input_format)
    columns = Columns(text, label, id, group, date, where, encoding, *cells)
    folders = seed_folders(Path(model)) or [Path(model)]
    name = f"evaluation-{_stem(file)}"
    reports = [(out / f.name if len(folders) > 1 else out) if out else f / name for f in folders]
    tagger = spans.is_tagger(folders[0])
    if spans_page and not tagger:
        raise DataError("--spans-page is for taggers", found=model)
    if not force:
        _require_free(reports, spans_page)
    origin = Origin.read(folders[0])
    how = spans.SpanFile(source_format, offsets, tag_column, documents, text, id, encoding)
    corpus: Corpus
    if tagger:
        corpus = tagged = spans.load_annotated(file, how, columns, strict=not lenient)
        for level, line in spans.fault_lines(tagged):
            screen.tell(level, line)
    else:
        corpus = spans.load_labelled(file, how, columns, f'model "{model}"')
    part, remark = _choose(file, corpus, origin, only_holdout, encoding)
    screen.tell_all("note", corpus.notes)
    if remark:
        screen.tell("note" if part is not corpus else "warning", remark)
    remark = _with_precision(remark, precision)
    problems = list(unreadable_lines(part.problems))
    screen.say(*problems) if problems else None
    evaluated = evaluate_spans.evaluate_tagger if tagger else _evaluate_one
    outcomes = [
        evaluated(screen, folder, part, unknown_labels, resamples, precision) for folder in folders
    ]
    for report, outcome in zip(reports, outcomes, strict=True):
        _report(report, outcome, remark, file, force)
        if spans_page:
            evaluate_spans.write_page(report, outcome, file, force)
    if json:
        bodies = [
            o.evaluation.to_dict()
            | {"caution": remark, "left_out": list(o.notes), "folder": str(r)}
            for o, r in zip(outcomes, reports, strict=True)
        ]
        screen.data(bodies[0] if len(bodies) == 1 else _several(outcomes, bodies))
    elif len(outcomes) == 1:
        _show(screen, outcomes[0], reports[0], spans_page)
    else:
        _show_several(screen, outcomes, reports)


def _with_precision(remark: str | None, precision: str) -> str | None:
    if precision == "float32":
        return remark
    return f"{remark or ''} Evaluated with --precision {precision}.".strip()


@dataclass(frozen=True, slots=True)
class Outcome:
    """An evaluated model."""

    folder: Path
    model: "Model | TaggerModel"
    rows: Sequence[Any]
    predictions: Sequence[Any]
    evaluation: "AnyEvaluation | SpanResult"
    notes: tuple[str, ...] = field(default=())


def _stem(file: str) -> str:
    return Path(file.removesuffix(".gz")).stem


def _require_free(reports: Sequence[Path], page: bool) -> None:
    """Refuse before minutes are spent on predicting."""
    from attending.evaluation.report import FILES

    for folder in reports:
        names = [*FILES.values(), *([evaluate_spans.PAGE] if page else [])]
        taken = [name for name in names if (folder / name).exists()]
        if taken:
            raise OutputError(
                "the report exists already",
                where=str(folder),
                found=", ".join(taken),
                step="Choose another --out, or pass --force to replace it.",
            )


def _choose(
    file: str, corpus: "Corpus", origin: Origin | None, only_holdout: bool | None, encoding: str
) -> tuple["Corpus", str | None]:
    """Return the rows to evaluate on, and what must be known of them."""
    trained = as_trained(file, corpus, origin, encoding) if origin else None
    if only_holdout:
        _require_holdout(origin, trained, corpus)
    if origin is None:
        return corpus, None
    if trained is None:
        if corpus.fingerprint in {more.fingerprint for more in origin.also}:
            return corpus, _SEEN
        return corpus, _CHOSEN if origin.development == corpus.fingerprint else None
    holdout = origin.holdout
    if holdout is None or only_holdout is False:
        return corpus, _seen(corpus, trained)
    part = held_out_part(corpus, trained, holdout)
    left = len(corpus) - len(part)
    learned = rows_among(corpus, trained) - len(part)
    others = f"the other {left:,}" if learned == left else f"{learned:,} of the other {left:,}"
    return part, (
        f"on the {len(part):,} documents that were held out of training ({holdout.in_words}); "
        f"{others} trained the model"
    )


def _seen(corpus: "Corpus", trained: "Corpus") -> str:
    count = rows_among(corpus, trained)
    if count == len(corpus):
        return _SEEN
    return (
        f"{count:,} of these {len(corpus):,} documents trained the model, so the figures are too "
        "good. Choose other rows with --where"
    )


def _require_holdout(origin: Origin | None, trained: "Corpus | None", corpus: "Corpus") -> None:
    """Refuse ``--only-holdout`` where nothing was held out, or the file is another one."""
    if origin is None or origin.holdout is None:
        raise ModelError(
            "the model has no held-out documents",
            step="Train it with --holdout 0.2, or evaluate it on another file.",
        )
    if trained is None:
        raise DataError(
            f"these are not the documents of {origin.file} that the model was trained on",
            where=corpus.name,
            found=f"{len(corpus):,} documents; in training {origin.documents:,}",
            step="Was the file changed since?",
        )


def _evaluate_one(
    screen: Screen,
    folder: Path,
    corpus: "Corpus",
    unknown: Any,
    resamples: int,
    precision: str,
) -> Outcome:
    from attending.data.labels import require_known
    from attending.evaluation.task import evaluate_task
    from attending.models.store import load_model

    model = load_model(folder, precision=precision)
    # A code that the model can't give is missed all the same: it stays in the figures.
    missed = model.recipe.task == "multi" and unknown == "skip"
    more: dict[str, Any] = {"unknown": "miss"} if missed else {}
    known = corpus if missed else require_known(corpus, model.labels, unknown)
    with Progress(screen, f"predicting with {folder.name}") as progress:
        predictions = model.predict(known.rows, progress=progress)
    evaluation = evaluate_task(
        "multi" if model.recipe.task == "multi" else "single",
        known.rows,
        predictions,
        model.labels,
        training_counts=model.facts.get("label_counts"),
        resamples=resamples,
        **more,
    )
    notes = known.notes[len(corpus.notes) :]
    screen.tell_all("warning", notes)
    return Outcome(folder, model, known.rows, predictions, evaluation, notes)


def _report(folder: Path, outcome: Outcome, remark: str | None, file: str, force: bool) -> None:
    from attending.evaluation.report import write_report
    from attending.evaluation.spans.result import SpanResult

    model = outcome.model
    facts = {
        "File": Path(file).name,
        "Model": str(outcome.folder),
        "Recipe": model.recipe.name,
        "Encoder": str(model.facts.get("encoder", "none")),
        "Seed": str(model.facts.get("seed", "unknown")),
        "Trained on": f"{model.facts.get('training_rows', 0):,} rows",
        "Versions": ", ".join(f"{k} {v}" for k, v in model.facts.get("versions", {}).items()),
    }
    if remark:
        facts["Rows"] = remark
    if outcome.notes:
        facts["Left out"] = "; ".join(outcome.notes)
    title = f"{model.recipe.name} on {Path(file).name}"
    evaluation = outcome.evaluation
    if isinstance(evaluation, SpanResult):
        evaluation.write(folder, title=title, context=facts, force=force)
        return
    write_report(
        folder,
        evaluation=evaluation,
        documents=outcome.rows,
        predictions=outcome.predictions,
        labels=model.labels,
        title=title,
        context=facts,
        force=force,
    )


def _show(screen: Screen, outcome: Outcome, report: Path, page: bool) -> None:
    from attending.evaluation.spans.result import SpanResult
    from attending.evaluation.task import in_short

    evaluation = outcome.evaluation
    if isinstance(evaluation, SpanResult):
        evaluate_spans.show_spans(screen, evaluation, report, page)
        return
    screen.show(headline_table(evaluation), "", label_table(evaluation), "")
    screen.show(*in_short(evaluation), "")
    screen.show(f"Report: {report / 'report.html'}")


def _show_several(screen: Screen, outcomes: Sequence[Outcome], reports: Sequence[Path]) -> None:
    rows = {o.folder.name: figures_of(o.evaluation) for o in outcomes}
    screen.show(heading(f"{len(rows)} models that differ by seed"))
    screen.show(spread_table(rows), "")
    screen.show(f"Reports: {reports[0].parent.parent}/*/{reports[0].name}/report.html"
                if reports[0].name.startswith("evaluation-")
                else f"Reports: {reports[0].parent}/*/report.html")  # fmt: skip


def _several(outcomes: Sequence[Outcome], bodies: Sequence[Any]) -> dict[str, Any]:
    rows = {o.folder.name: figures_of(o.evaluation) for o in outcomes}
    return {"models": dict(zip(rows, bodies, strict=True)), "spread": spread(rows)}

"""``attending demo``: the whole way on the bundled corpus, from messages to an explained model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attending.cli import options
from attending.cli.console import Screen, heading
from attending.cli.demo_folder import DemoFolder
from attending.cli.explain import explain_told, write_words
from attending.cli.highlights import highlighted
from attending.cli.origin import Origin, hold_out
from attending.cli.progress import TrainingProgress, duration
from attending.cli.rows import counts_in_words
from attending.cli.tables import facts, table
from attending.cli.tokens import require_bundled

if TYPE_CHECKING:
    from rich.table import Table

    from attending.data.corpora import Corpus
    from attending.evaluation.result import Evaluation
    from attending.models.base import Model
    from attending.records import Document, LabelSet, Prediction

_SYSTEMS = ("frequency", "tfidf-svm", "lesa-bert")
_SHARE, _SEED = 0.2, 2020
_PAGE_ROWS = 100
_LONGEST = 60
_EPOCHS = 4  # half the recipe's, so that the demo ends in under 4 minutes on two cores


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder to write.", rich_help_panel=options.OUTPUT
        ),
    ] = Path("attending-demo"),
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs", min=1, metavar="N", help="Fewer are faster; the recipe itself takes 8."
        ),
    ] = _EPOCHS,
    encoder: options.Encoder = None,
) -> None:
    """Train, compare and explain on 1,756 invented patient-portal messages; a few minutes.

    Trains lesa-bert beside two simple systems on four fifths of the messages, and measures all
    three on the rest. A second demo replaces the folder of the first.
    """
    screen = Screen()
    if encoder is None:
        require_bundled()
    folder = DemoFolder(out)
    folder.claim({"epochs": epochs, "encoder": encoder}, screen)
    train, test, labels, origin = _messages()
    screen.say(
        heading("Urgency of patient-portal messages"),
        f"{len(train):,} invented messages to learn from, {len(test):,} to measure on: "
        + counts_in_words(train.label_counts),
    )
    fitted = [
        _system(screen, folder, name, train, test, labels, origin, epochs, encoder)
        for name in _SYSTEMS
    ]
    screen.show("", _results_table(fitted), "")
    screen.show(
        f"One split, one seed, {epochs} epochs; the interval is over the {len(test):,} test "
        "messages. Invented messages: these figures say nothing about a clinic.",
        "",
    )
    from attending.explain.rows import draw_map

    best = fitted[-1]
    _write_files(folder, fitted, test, labels)
    explained = explain_told(screen, best.model, test.rows[:_PAGE_ROWS])
    write_words(folder.page, explained, best.model, "portal (test messages)", force=True)
    _examples(screen, folder, best, test)
    draw_map(folder.map, best.model, test.rows, force=True)
    _conclude(screen, folder)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A system of the table."""

    name: str
    model: "Model"
    predictions: Sequence["Prediction"]
    evaluation: "Evaluation"
    seconds: float


def _messages() -> tuple["Corpus", "Corpus", "LabelSet", Origin]:
    from attending.data.corpora import BUNDLED, load_corpus
    from attending.data.labels import load_labels

    corpus = load_corpus(BUNDLED)
    train, held = hold_out(corpus, "label", _SHARE, _SEED, None)
    origin = Origin(BUNDLED, corpus.fingerprint, len(corpus), corpus.columns, holdout=held)
    return train, corpus.subset(held.positions, "test"), load_labels(BUNDLED), origin


def _system(
    screen: Screen,
    folder: DemoFolder,
    name: str,
    train: "Corpus",
    test: "Corpus",
    labels: "LabelSet",
    origin: Origin,
    epochs: int,
    encoder: str | None,
) -> Fitted:
    """Train and evaluate one system."""
    from attending.evaluation.metrics import evaluate
    from attending.recipe import Recipe
    from attending.training.job import train_into

    recipe = Recipe.load(name).with_encoder(encoder)
    if recipe.family == "neural":
        recipe = recipe.override({"training.epochs": epochs})
    screen.say(f"{name}: {recipe.summary}")
    training = recipe.get("training")
    with TrainingProgress(screen, training.epochs if training else None) as progress:
        fitted = train_into(
            folder.model(name), recipe, train.documents, labels, listener=progress.listen
        )
    seconds = float(fitted.model.facts.get("seconds", 0))
    origin.write(folder.model(name))
    predictions = fitted.model.predict(test.rows)
    evaluation = evaluate(test.rows, predictions, labels)
    return Fitted(name, fitted.model, predictions, evaluation, seconds)


def _results_table(fitted: Sequence[Fitted]) -> "Table":
    from attending.evaluation.wording import figure, interval_of, span

    rows = []
    for system in fitted:
        e = system.evaluation
        urgent = e.labels.ids[-1]
        rows.append([
            system.name,
            figure("macro_f1", e.metrics["macro_f1"]),
            span("macro_f1", interval_of(e, "macro_f1")),
            figure("recall", e.per_label[urgent]["recall"]),
            figure("precision", e.per_label[urgent]["precision"]),
            figure("accuracy", e.metrics["accuracy"]),
            duration(system.seconds),
        ])  # fmt: skip
    heads = ["", "macro-F1", "95% interval", "urgent found", "urgent right", "accuracy", "training"]
    return table(heads, rows)


def _write_files(
    folder: DemoFolder, fitted: Sequence[Fitted], test: "Corpus", labels: "LabelSet"
) -> None:
    """Write the table for machines, the report, and what the next commands need."""
    from attending.data.labels import write_labels
    from attending.data.writers import write_documents
    from attending.evaluation.report import write_report

    table = {s.name: {"seconds": round(s.seconds, 1), **s.evaluation.to_dict()} for s in fitted}
    folder.results.write_text(json.dumps(table, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    best = fitted[-1]
    write_report(
        folder.report,
        evaluation=best.evaluation,
        documents=test.rows,
        predictions=best.predictions,
        labels=labels,
        title=f"{best.name} on portal (test messages)",
        context={
            "File": "portal, the bundled corpus",
            "Rows": f"{len(test):,} messages that training never saw (20% by label, seed 2020)",
            "Recipe": best.name,
            "Encoder": str(best.model.facts.get("encoder", "none")),
            "Seed": str(best.model.facts.get("seed", 0)),
        },
        force=True,
    )
    write_documents(test, folder.test, columns={"label": "label"}, force=True)
    write_labels(labels, folder.labels, force=True)


def _examples(screen: Screen, folder: DemoFolder, best: Fitted, test: "Corpus") -> None:
    """Show one rightly predicted message a label and one mistake, with their evidence."""
    from attending.explain.pictures import examples_per_label
    from attending.explain.rows import draw_words
    from attending.explain.wording import verdict

    rows, predictions = test.documents, best.predictions
    chosen = examples_per_label(rows, predictions, most_words=_LONGEST)
    mistake = worst_mistake(rows, predictions, best.model.labels)
    extra = [] if mistake is None or mistake in chosen else [mistake]
    picked = [rows[i] for i in (*chosen, *extra)]
    shown = explain_told(screen, best.model, picked)
    draw_words(folder.picture, shown.first(len(chosen)), best.model, force=True)
    screen.show(heading("Messages that it had never seen, and the words that drove it"))
    for row, prediction in zip(picked, shown.predictions, strict=True):
        head = verdict(prediction, best.model.labels)
        if row.labels != prediction.labels:
            head = f"A mistake. {head}; truly {row.label}"
        screen.show("", heading(head), *highlighted(screen, row.text, prediction.evidence))


def worst_mistake(
    documents: Sequence["Document"], predictions: Sequence["Prediction"], labels: "LabelSet"
) -> int | None:
    """Return the position of the mistake that matters most: the lowest for its true level.

    Of several, the one the model was surest of; long messages only where there is no other.
    """
    wrong = []
    for i, (d, p) in enumerate(zip(documents, predictions, strict=True)):
        if p.status == "ok" and d.label is not None and p.labels and p.labels != d.labels:
            step = labels.position(p.labels[0]) - labels.position(d.label)
            long = len(d.text.split()) > _LONGEST
            wrong.append((long, step, -p.scores[p.labels[0]], i))
    return min(wrong)[-1] if wrong else None


def _conclude(screen: Screen, folder: DemoFolder) -> None:
    model = folder.model(_SYSTEMS[-1])
    screen.show("", facts([
        ("report", str(folder.report / "report.html")),
        ("words", f"{folder.page}, {folder.picture}"),
        ("map", str(folder.map)),
        ("model", str(model)),
    ]))  # fmt: skip
    screen.show(
        "",
        "Next, on messages of your own:",
        "  attending check messages.csv",
        "  attending train messages.csv --labels labels.toml --holdout 0.2 --out model",
        "  attending evaluate model messages.csv",
        f"{folder.labels} is a label file to start from.",
    )

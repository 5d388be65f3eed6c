"""What the model is, how often it is right, and what a recall costs: from the model folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from attending.errors import AttendingError, DataError
from attending.evaluation.calibration import Bin
from attending.evaluation.pictures import reliability
from attending.evaluation.thresholds import RecallPoint, recall_floor_threshold
from attending.models.development import FILE, DevelopmentScores
from attending.records import LabelSet
from attending.serve.predictor import Predictor
from attending.serve.web.wording import names, queue_order

_CARD, _EVALUATION, _METRICS = "README.md", "evaluation*", "metrics.json"
_LARGEST = 64 << 20
_LEVELS = 9
_MOST_LABELS = 20
_FLOOR = 0.95


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the confusion matrix; ``shade`` is a class from 0 to 9 by its share of the row."""

    count: int
    kind: str
    shade: int
    share: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation of the model that lies in its folder."""

    name: str
    documents: int
    figures: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    matrix: tuple[tuple[str, tuple[Cell, ...]], ...]
    picture: Markup


@dataclass(frozen=True, slots=True)
class Floor:
    """A wanted recall of a label, and its price."""

    label: str
    choices: tuple[tuple[str, str], ...]
    wanted: int
    point: RecallPoint | None
    sentence: str
    missing: str


@dataclass(frozen=True, slots=True)
class ModelPage:
    """What the page shows."""

    name: str
    version: str
    facts: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str, str], ...]
    more_labels: int
    decision: tuple[str, ...]
    evaluated: Evaluated | None
    floor: Floor
    card: Markup | None


def model_page(predictor: Predictor, label: str | None, wanted: int | None) -> ModelPage:
    """Return the page of a model.

    Args:
        predictor: The model in service.
        label: Whose recall is wanted; the most urgent label's if left out.
        wanted: The recall, in per cent.
    """
    folder, labels, facts = predictor.folder, predictor.labels, predictor.facts
    counts = facts.get("label_counts", {})
    rows = tuple(
        (labels[x].name, labels[x].description, f"{counts[x]:,}" if x in counts else "")
        for x in (queue_order(labels) or labels.ids)[:_MOST_LABELS]
    )
    return ModelPage(
        name=predictor.maker.name,
        version=predictor.maker.version,
        facts=_facts(facts),
        labels=rows,
        more_labels=len(labels) - len(rows),
        decision=tuple(predictor.model.decision.describe()),
        evaluated=_evaluated(folder, labels),
        floor=_floor(folder, labels, label, wanted),
        card=_card(folder),
    )


def _facts(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    said = {
        "encoder": "Encoder", "training_rows": "Training messages",
        "development_rows": "Development messages", "seed": "Seed",
    }  # fmt: skip
    found = []
    for key, name in said.items():
        value = facts.get(key)
        if value is not None:
            found.append((name, f"{value:,}" if isinstance(value, int) else str(value)))
    return tuple(found)


def _card(folder: Path) -> Markup | None:
    """Return the model card as HTML; markup in it stays text."""
    try:
        text = (folder / _CARD).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # The page forbids styles in its markup; its own style sheet aligns what this class marks.
    body = reader.render(text).replace(' style="text-align:right"', ' class="n"')
    return Markup(body.replace("<h1>", "<h3>").replace("</h1>", "</h3>"))


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _evaluated(folder: Path, labels: LabelSet) -> Evaluated | None:
    """Return the newest evaluation in the folder that is of the model's labels."""
    found = [p for p in folder.glob(f"{_EVALUATION}/{_METRICS}") if p.is_file()]
    for path in sorted(found, key=lambda p: p.stat().st_mtime, reverse=True):
        body = _json(path)
        try:
            if body["label_set"]["hash"] == labels.hash:
                return _read_evaluation(path.parent.name, body, labels)
        except (KeyError, TypeError, ValueError):
            continue
    return None


def _read_evaluation(name: str, body: Mapping[str, Any], labels: LabelSet) -> Evaluated:
    confusion = body.get("confusion") or {"rows": [], "columns": [], "counts": []}
    small = len(confusion["rows"]) <= _MOST_LABELS
    order = [i for x in queue_order(labels) for i, row in enumerate(confusion["rows"]) if row == x]
    columns = [*order, len(confusion["columns"]) - 1] if order else []
    matrix = [
        (names([confusion["rows"][i]], labels), _cells(confusion["counts"][i], i, columns))
        for i in (order if small else [])
    ]
    heads = [names([confusion["columns"][j]], labels) for j in columns] if small else []
    figures = [("Macro-F1", body["metrics"].get("macro_f1"))]
    figures += [("Accuracy", body["metrics"].get("accuracy"))]
    if labels.ordered:
        top = body["per_label"][labels.ids[-1]]
        figures += [(f"Recall of {names([labels.ids[-1]], labels)}", top.get("recall"))]
        figures += [(f"Precision of {names([labels.ids[-1]], labels)}", top.get("precision"))]
    bins = body.get("reliability") if isinstance(body.get("reliability"), list) else []
    return Evaluated(
        name=name,
        documents=int(body["documents"]["labelled"]),
        figures=tuple((k, f"{v:.3f}") for k, v in figures if v is not None),
        columns=tuple(heads),
        matrix=tuple(matrix),
        picture=reliability([Bin(**b) for b in bins or []], what="messages"),
    )


def _cells(counts: Sequence[int], row: int, columns: Sequence[int]) -> tuple[Cell, ...]:
    total = sum(counts)
    cells = []
    for j in columns:
        share = counts[j] / total if total else 0.0
        kind = "right" if j == row else "wrong"
        cells.append(Cell(counts[j], kind, round(share * _LEVELS), f"{100 * share:.0f} %"))
    return tuple(cells)


def _floor(folder: Path, labels: LabelSet, label: str | None, wanted: int | None) -> Floor:
    order = (queue_order(labels) or labels.ids)[:_MOST_LABELS]
    chosen = label if label in order else order[0]
    percent = min(100, max(50, round(100 * _FLOOR) if wanted is None else wanted))
    choices = tuple((x, names([x], labels)) for x in order)
    scored = _scores(folder, labels, chosen)
    if isinstance(scored, str):
        return Floor(chosen, choices, percent, None, "", scored)
    try:
        point = recall_floor_threshold(scored[0], scored[1], percent / 100)
    except DataError as error:
        point = str(error)
    if isinstance(point, str):
        return Floor(chosen, choices, percent, None, "", f"No point can be found: {point}.")
    sentence = _price(point, names([chosen], labels))
    return Floor(chosen, choices, percent, point, sentence, "")


def _price(point: RecallPoint, name: str) -> str:
    sure = point.interval
    between = (
        f", {100 * sure.low:.0f} to {100 * sure.high:.0f} % with 95 % confidence" if sure else ""
    )
    return (
        f"Alerting from a probability of {point.threshold:.2g} on finds {point.caught:,} of "
        f"{point.positives:,} {name} messages ({100 * point.recall:.0f} %{between}), "
        f"for {point.alerts_per_1000:.0f} alerts per 1,000 messages, "
        f"{point.false_alerts_per_1000:.0f} of them false. Counted on {point.rows:,} development "
        "messages."
    )


def _scores(folder: Path, labels: LabelSet, label: str) -> tuple[Any, Any] | str:
    """Return probabilities and truth of a label's development rows, or what is missing."""
    try:
        found = DevelopmentScores.read(folder, labels)
    except AttendingError as error:
        return f"{FILE} {error.what}."
    if found is None:
        return (
            f"The model folder has no {FILE}: the probabilities and true labels of the "
            "development messages, from which the price of a recall is counted."
        )
    place = labels.position(label)
    scores, truth = found.probabilities[:, place], found.truth[:, place]
    return (scores, truth) if len(scores) else f"{FILE} holds no messages."

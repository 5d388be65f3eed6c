"""The model card: what a model is, how it was made, how well it did, what it is not for."""

from collections.abc import Mapping
from typing import Any

from attending.models.base import Model
from attending.models.tagger import TaggerModel

_NOT_FOR = (
    "Not a medical device. It orders a queue for people and hands over what it can't read; it "
    "must not close, delay or answer a message by itself. Scores on one clinic's messages say "
    "little about another's: check it on your own before use."
)
_NOT_FOR_OF_SPANS = (
    "Not a medical device. It marks spans of a text for people or programs that check them; what "
    "it does not mark may be there all the same. Scores on one source's documents say little about "
    "another's: check it on your own before use."
)

_MOST_LABELS = 100


def model_card(
    model: Model | TaggerModel, facts: Mapping[str, Any], metrics: Mapping[str, Any]
) -> str:
    """Return the card as Markdown; blanks that only people can fill are marked as such."""
    recipe = model.recipe
    lines = [
        f"# {recipe.name}: {model.labels.name}",
        "",
        recipe.summary or recipe.name,
        "",
        "## Use",
        "",
        _NOT_FOR_OF_SPANS if recipe.task == "spans" else _NOT_FOR,
        "",
        "- Intended use and users: _to be filled in by the people who deploy it_",
        "- Population and dates of the training texts: _to be filled in_",
        "",
        "## How it was made",
        "",
        *_facts(model, facts),
        "",
        "## Labels",
        "",
        f"| Label | Description | Training {'spans' if recipe.task == 'spans' else 'rows'} |",
        "|---|---|---:|",
    ]
    counts = facts.get("label_counts", {})
    shown = sorted(model.labels, key=lambda x: -counts.get(x.id, 0))[:_MOST_LABELS]
    shown = [x for x in model.labels if x in shown] if len(model.labels) <= _MOST_LABELS else shown
    lines += [f"| {_cell(x.id)} | {_cell(x.description)} | {counts.get(x.id, '')} |" for x in shown]
    if len(model.labels) > len(shown):
        lines.append(f"| and {len(model.labels) - len(shown):,} rarer ones | | |")
    lines += ["", "## Development figures", "", *_figures(metrics)]
    lines += ["", "## Decision", "", *_decision(model)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def _facts(model: Model | TaggerModel, facts: Mapping[str, Any]) -> list[str]:
    names = {
        "encoder": "Encoder",
        "seed": "Seed",
        "training_rows": "Training rows",
        "development_rows": "Development rows",
        "development": "What they are",
        "data_fingerprint": "Fingerprint of the training rows",
        "seconds": "Seconds of training",
        "precision": "Training precision",
    }
    lines = [f"- Recipe: {model.recipe.name} ({model.recipe.source or 'no source'})"]
    lines += [f"- {say}: {facts[key]}" for key, say in names.items() if key in facts]
    lines += _lineage(facts)
    found = facts.get("versions", {})
    lines.append("- Versions: " + ", ".join(f"{k} {v}" for k, v in found.items()))
    return lines


def _teacher(teacher: Mapping[str, Any]) -> str:
    """Return a teacher in words: ``lesa-bert on minilm, 6 layers, seed 0, ...``."""
    parts = [teacher["recipe"]]
    parts[0] += f" on {teacher['encoder']}" if teacher["encoder"] else ""
    parts += [f"{teacher['layers']} layers"] if teacher["layers"] else []
    parts += [f"{teacher['parameters']:,} parameters"] if teacher["parameters"] else []
    parts += [f"seed {teacher['seed']}"] if teacher["seed"] is not None else []
    return ", ".join([*parts, f"fingerprint {teacher['fingerprint']}"])


def _lineage(facts: Mapping[str, Any]) -> list[str]:
    """Return whose student a model is, and how large both are."""
    teachers = facts.get("teachers")
    if not teachers:
        return []
    whose = [_teacher(teacher) for teacher in teachers]
    lines = [f"- Student of: {whose[0]}"]
    if len(whose) > 1:
        lines = [f"- Student of {len(whose)} teachers, whose mean probabilities it learned:"]
        lines += [f"    - {line}" for line in whose]
    layers = f"{facts['layers']} layers, " if facts.get("layers") else ""
    lines.append(f"- The student itself: {layers}{facts['parameters']:,} parameters")
    if facts.get("transfer_rows"):
        lines.append(f"- Rows without a label, answered by the teacher: {facts['transfer_rows']:,}")
    if facts.get("copies"):
        lines.append(f"- Changed copies of training texts, likewise: {facts['copies']:,}")
    return lines


def _figures(metrics: Mapping[str, Any]) -> list[str]:
    if not metrics:
        return ["None: no development rows were left out of training."]
    lines = [
        "On the development rows that also chose the checkpoint, temperature and thresholds, so a "
        "little too good; `attending evaluate` on rows that had no part in training gives honest "
        "ones.",
        "",
    ]
    return lines + [f"- {k}: {v:.4f}" for k, v in metrics.items() if isinstance(v, float)]


def _decision(model: Model | TaggerModel) -> list[str]:
    return [f"- {line}" for line in model.decision.describe()]

"""The model card: what a model is, how it was made, how well it did, what it is not for."""

from collections.abc import Mapping
from typing import Any

from attending.models.base import Model

_NOT_FOR = (
    "Not a medical device. It orders a queue for people and hands over what it can't read; it "
    "must not close, delay or answer a message by itself. Scores on one clinic's messages say "
    "little about another's: check it on your own before use."
)

_MOST_LABELS = 100


def model_card(model: Model, facts: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Return the card as Markdown; blanks that only people can fill are marked as such."""
    recipe = model.recipe
    lines = [
        f"# {recipe.name}: {model.labels.name}",
        "",
        recipe.summary or recipe.name,
        "",
        "## Use",
        "",
        _NOT_FOR,
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
        "| Label | Description | Training rows |",
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


def _facts(model: Model, facts: Mapping[str, Any]) -> list[str]:
    names = {
        "encoder": "Encoder",
        "seed": "Seed",
        "training_rows": "Training rows",
        "development_rows": "Development rows",
        "data_fingerprint": "Fingerprint of the training rows",
        "seconds": "Seconds of training",
        "precision": "Training precision",
    }
    lines = [f"- Recipe: {model.recipe.name} ({model.recipe.source or 'no source'})"]
    lines += [f"- {say}: {facts[key]}" for key, say in names.items() if key in facts]
    found = facts.get("versions", {})
    lines.append("- Versions: " + ", ".join(f"{k} {v}" for k, v in found.items()))
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


def _decision(model: Model) -> list[str]:
    return [f"- {line}" for line in model.decision.describe()]

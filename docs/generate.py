"""Write the parts of the pages that repeat what the code knows.

A page marks such a part with a pair of comments, ``<!-- generated: NAME -->`` and
``<!-- end: NAME -->``. Run this file to renew all of them:

    python docs/generate.py

A test fails when a page differs from what this file would write.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from attending import registry
from attending.data.columns import USUAL
from attending.evaluation.definitions import DEFINITIONS
from attending.evaluation.multilabel.definitions import MULTILABEL_DEFINITIONS
from attending.recipe import Recipe, shipped
from attending.specs import Spec

DOCS = Path(__file__).parent
OWN_PART = DOCS.parent / "examples" / "own-part"

SLOTS = {
    "encoder": "Turns tokens into vectors. A recipe with an encoder is a neural one.",
    "label_states": "What the model knows of each label before it reads a text. Needed by `lesa`.",
    "label_attention": "Makes one vector of a text, with or without a look at the labels.",
    "head": "Makes one score per label of that vector.",
    "features": "Counts words. Only in recipes without an encoder.",
    "estimator": "What scikit-learn fits. Takes the place of encoder, head and loss.",
    "descriptions": "What `loss.description_pull` draws the labels' classifiers to.",
    "lexical": "What the labels' words say beside the network, learned as a mixture. Optional.",
    "planting": "What label attention starts from: words ranked for every label. Optional.",
    "shortlist": "Which labels of a document are scored, where they are very many. Optional.",
    "scheme": "How spans become tags of words. Only in recipes that tag spans; `flat` if left out.",
    "surface": "What a tagger sees of a word's capitals. Only where spans are tagged. Optional.",
    "neighbours": "Asks the nearest training words about each word. Only where spans are tagged.",
    "loss": "What training makes small.",
    "distillation": "What a student learns from its teacher. Only with `attending distil`.",
    "sampler": "Which rows make a batch, and in which order. `bucketed` if left out.",
    "decoder": "Turns scores into probabilities and a label. Saved with the model.",
    "windows": "How a text becomes pieces that the encoder can take. `tokens` if left out.",
    "training": "How the network is fitted. Only in neural recipes.",
}
FIGURES = {
    "Over all labels": (
        "accuracy", "macro_f1", "macro_precision", "macro_recall", "micro_precision",
        "micro_recall", "micro_f1", "weighted_precision", "weighted_recall", "weighted_f1", "mcc",
    ),
    "Of each label": (
        "precision", "recall", "f1", "support", "predicted", "right", "no_answer", "roc_auc",
        "average_precision",
    ),
    "Other forms of macro-F1": (
        "macro_f1_declared_zero", "macro_f1_support_only", "macro_f1_of_averages",
    ),
    "Without unanswered documents": (
        "accuracy_answered", "macro_f1_answered", "micro_f1_answered", "weighted_f1_answered",
        "mcc_answered",
    ),
    "Ordered labels only": (
        "highest_level_missed", "under_triaged", "under_triaged_by_2_or_more", "over_triaged",
        "over_triaged_by_2_or_more", "mean_absolute_error_answered", "quadratic_kappa_answered",
    ),
    "Ranking by score": (
        "roc_auc_macro", "roc_auc_micro", "average_precision_macro", "average_precision_micro",
    ),
    "Probabilities": (
        "ece", "ece_equal_mass", "ece_classwise", "brier", "log_loss", "mean_confidence",
    ),
}  # fmt: skip


MULTILABEL_FIGURES = {
    "Labels given": (
        "micro_precision", "micro_recall", "micro_f1", "micro_f1_answered", "macro_precision",
        "macro_recall", "macro_f1", "weighted_precision", "weighted_recall", "weighted_f1",
        "example_f1", "subset_accuracy", "hamming_loss",
    ),
    "Other forms of macro-F1": (
        "macro_f1_declared_zero", "macro_f1_support_only", "macro_f1_of_averages",
    ),
    "Labels ranked by score": (
        "p_at_k", "r_at_k", "ndcg_at_k", "r_precision", "map", "map_assigned", "map_cantemist",
        "map_cantemist_ranked",
    ),
    "Areas under curves": (
        "roc_auc_macro", "roc_auc_micro", "average_precision_macro", "average_precision_micro",
    ),
    "Probabilities": ("brier", "ece", "mean_confidence"),
    "Of each label": (
        "precision", "recall", "f1", "support", "predicted", "right", "training", "roc_auc",
        "average_precision",
    ),
}  # fmt: skip


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    for row in (head, ("---",) * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def recipes() -> Iterator[str]:
    """Yield a section per shipped recipe: its story, its source and its settings."""
    for name in shipped():
        recipe = Recipe.load(name)
        story = " ".join(line.removeprefix("#").strip() or "\n\n" for line in _header(recipe))
        yield f"### {name}"
        yield ""
        yield f"**{recipe.summary}.** Source: {recipe.source}."
        yield ""
        yield re.sub(r" *\n\n *", "\n\n", story).strip()
        yield ""
        yield "```toml"
        yield from _settings(recipe)
        yield "```"
        yield ""


def _header(recipe: Recipe) -> list[str]:
    """Return the comment of a recipe without its first line, which says its name."""
    return recipe.header.splitlines()[1:]


def _settings(recipe: Recipe) -> Iterator[str]:
    """Yield a recipe as TOML, a line a slot, with what differs from the defaults."""
    yield f"name = {_toml(recipe.name)}"
    for slot in filter(recipe.get, SLOTS):
        spec = recipe[slot]
        own = {k: v for k, v in spec.model_dump(mode="json").items() if v != _default(spec, k)}
        pairs = ", ".join(f"{k} = {_toml(v)}" for k, v in own.items() if v is not None)
        yield f"{slot} = {{ kind = {_toml(spec.kind)}{', ' + pairs if pairs else ''} }}"
    if recipe.bundled:
        yield ""
        yield "[bundled]"
        yield from (f"{key} = {_toml(value)}" for key, value in recipe.bundled.items())


def _default(spec: Spec, key: str) -> Any:
    return spec.kind if key == "kind" else type(spec).model_fields[key].default


def parts() -> Iterator[str]:
    """Yield a section per slot with every kind and every setting of it."""
    for slot in sorted(registry.slots(), key=list(SLOTS).index):
        own = [p for k in registry.kinds(slot) if _is_ours(p := registry.part(slot, k))]
        yield f"### {slot}"
        yield ""
        yield SLOTS[slot]
        yield ""
        for part in own:
            yield f"**`{part.kind}`**: {(part.spec.__doc__ or '').strip()}"
            yield ""
            rows = list(_rows(part.spec))
            head = ("Setting", "Default", "Values", "Meaning")
            yield from table(head, rows) if rows else ["No settings."]
            yield ""


def _is_ours(part: registry.Part) -> bool:
    return part.spec.__module__.startswith("attending.specs.")


def _rows(spec: type[Spec]) -> Iterator[tuple[str, ...]]:
    for name, field in spec.model_json_schema()["properties"].items():
        if name != "kind":
            default = field.get("default")
            shown = "not set" if default is None else f"`{_toml(default)}`"
            yield f"`{name}`", shown, _values(field), field.get("description", "")


def _values(field: Mapping[str, Any]) -> str:
    """Say which values a setting takes, from its JSON schema."""
    if "anyOf" in field:
        return " or ".join(_values(x) for x in field["anyOf"] if x.get("type") != "null")
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field["type"] == "array":
        return "a list of whole numbers"
    words = {"boolean": "`true`, `false`", "string": "text", "integer": "whole number",
             "number": "number"}  # fmt: skip
    limits = {
        "minimum": "at least {:g}",
        "exclusiveMinimum": "above {:g}",
        "maximum": "at most {:g}",
        "exclusiveMaximum": "below {:g}",
    }
    bounds = [limit.format(field[key]) for key, limit in limits.items() if key in field]
    return ", ".join([words[field["type"]], *bounds])


def _toml(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def figures() -> Iterator[str]:
    """Yield the definition of every figure, by group."""
    for title, keys in FIGURES.items():
        yield f"### {title}"
        yield ""
        yield from table(("Figure", "Definition"), ((f"`{k}`", DEFINITIONS[k]) for k in keys))
        yield ""


def multilabel_figures() -> Iterator[str]:
    """Yield the definition of every figure for documents with any number of labels, by group."""
    for title, keys in MULTILABEL_FIGURES.items():
        yield f"### {title}: several labels"
        yield ""
        rows = ((f"`{k}`", MULTILABEL_DEFINITIONS[k].replace("{k}", "k")) for k in keys)
        yield from table(("Figure", "Definition"), rows)
        yield ""


def columns() -> Iterator[str]:
    """Yield the usual names of the columns."""
    meaning = {
        "text": "the text itself; the only column that must be there",
        "label": "what a model should learn to say",
        "id": "your own name of the row; comes back in every result",
        "group": "what several rows share: a patient, a writer, a clinic",
        "date": "when it was written, as `2024-03-11` or `2024-03-11T07:30:00Z`",
    }
    rows = (
        (role, meaning[role], ", ".join(f"`{name}`" for name in names), f"`--{role}`")
        for role, names in USUAL.items()
    )
    yield from table(("What", "Meaning", "Found under the names", "Or name it with"), rows)


def own_part() -> Iterator[str]:
    """Yield the files of the example of a part in a package of its own."""
    for name, kind in (("focal_loss.py", "python"), ("pyproject.toml", "toml")):
        yield f"`{name}`:"
        yield ""
        yield f"```{kind}"
        yield (OWN_PART / name).read_text(encoding="utf-8").rstrip()
        yield "```"
        yield ""


BLOCKS: Mapping[str, Callable[[], Iterator[str]]] = {
    "columns": columns,
    "figures": figures,
    "multilabel-figures": multilabel_figures,
    "own-part": own_part,
    "parts": parts,
    "recipes": recipes,
}


def renewed(page: str) -> str:
    """Return a page with its generated parts as they should be.

    Raises:
        KeyError: If a page asks for a part that there isn't.
    """

    def fill(match: re.Match[str]) -> str:
        body = "\n".join(BLOCKS[match["name"]]()).strip()
        return f"{match['start']}\n\n{body}\n\n{match['end']}"

    pattern = (
        r"(?P<start><!-- generated: (?P<name>[\w-]+) -->)\n.*?(?P<end><!-- end: (?P=name) -->)"
    )
    return re.sub(pattern, fill, page, flags=re.DOTALL)


def main() -> None:
    """Renew every page and say which ones changed."""
    for path in sorted(DOCS.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")


if __name__ == "__main__":
    main()

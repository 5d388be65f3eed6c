"""The folder of an encoder that was trained on: what any encoder folder holds, and a card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from attending.models.store import ENCODER, FORMAT, MANIFEST, versions, whole_folder
from attending.parts.encoders import Encoder, quiet
from attending.parts.sources import locate

_NOT_FOR = (
    "An encoder gives no label by itself: it is where the training of a model starts. Nobody can "
    "promise that nothing of a text can be drawn from its weights, so treat it like the texts that "
    "it was made from."
)
_NAMES = {
    "encoder": "Base encoder",
    "texts": "Texts trained on, all different",
    "windows": "Windows of these texts",
    "tokens": "Tokens in them",
    "window_tokens": "Most tokens of a window",
    "held_out_texts": "Texts held out",
    "data_fingerprint": "Fingerprint of the texts",
    "held_out_fingerprint": "Fingerprint of the texts held out",
    "steps": "Steps",
    "skipped_steps": "Steps left out since they were not finite",
    "seed": "Seed",
    "precision": "Precision",
    "seconds": "Seconds",
}


def portable_name(name: str) -> str:
    """Return an encoder's name without the folders that lead to it."""
    path = Path(name).expanduser()
    return path.name if path.is_absolute() or path.is_dir() else name


def save_encoder(
    network: Any, encoder: Encoder, folder: Path, facts: Mapping[str, Any], log: Path
) -> None:
    """Write weights (with the head, so that training can go on), configuration, tokenizer, card.

    The pooler of the original is kept; dropout and the like are those of the original, whatever
    this training used.
    """
    weights = network.state_dict()
    pooler = encoder.pretrained_pooler
    if pooler is not None:
        dense = f"{network.base_model_prefix}.pooler.dense"
        weights |= {f"{dense}.{name}": value for name, value in pooler.state_dict().items()}
    place = locate(encoder.name)
    config = AutoConfig.from_pretrained(place.source, local_files_only=place.offline)
    config.num_hidden_layers = encoder.layers
    config.architectures = [type(network).__name__]
    journal = log.read_bytes()
    with whole_folder(folder, force=True) as new:
        with quiet():
            network.save_pretrained(
                new, state_dict={k: v.detach().cpu() for k, v in weights.items()}
            )
            config.save_pretrained(new)
            encoder.tokenizer.save_pretrained(new)
        manifest = {"format": FORMAT, "family": ENCODER, **facts, "versions": versions()}
        body = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False)
        (new / MANIFEST).write_text(body + "\n", encoding="utf-8")
        (new / "README.md").write_text(encoder_card(manifest), encoding="utf-8")
        (new / log.name).write_bytes(journal)


def encoder_card(facts: Mapping[str, Any]) -> str:
    """Return the card as Markdown: counts, settings and figures, no text."""
    lines = [
        f"# {facts['encoder']}, trained further",
        "",
        "By masked language modelling, with Attending. Use it with `--encoder` and this folder.",
        "",
        "## Use",
        "",
        _NOT_FOR,
        "",
        "- Population and dates of the texts: _to be filled in_",
        "",
        "## How it was made",
        "",
        *(f"- {say}: {_shown(facts[key])}" for key, say in _NAMES.items() if key in facts),
        "- Versions: " + ", ".join(f"{k} {v}" for k, v in facts["versions"].items()),
        "",
        "| Setting | Value |",
        "|---|---|",
        *(
            f"| `{slot}.{name}` | {'not set' if value is None else _shown(value)} |"
            for slot, table in facts["settings"].items()
            for name, value in table.items()
        ),
        "",
        "## Perplexity on the texts held out",
        "",
        *_figures(facts),
    ]
    return "\n".join(lines) + "\n"


def _figures(facts: Mapping[str, Any]) -> list[str]:
    if facts["perplexity_before"] is None:
        return ["Not measured: no text was held out."]
    return [
        f"- Before: {facts['perplexity_before']:,.2f}",
        f"- After: {facts['perplexity_after']:,.2f}; these texts also chose the checkpoint, so it "
        "is a little too good",
        *(f"- Note: {note}" for note in facts["notes"]),
    ]


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

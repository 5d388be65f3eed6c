"""Who made a prediction: a model by name and version, as records and cards name it."""

import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from attending.models.store import MANIFEST, RUN, as_trained, folder_of

if TYPE_CHECKING:
    from attending.models.base import Model

_FACTS = ("data_fingerprint", "development_fingerprint", "seed", "graph")
_BESIDE = frozenset(
    {
        MANIFEST, RUN, "README.md", "recipe.toml", "labels.toml", "decision.json", "data.json",
        "metrics.json", "development.json", "parity.json", "probe.json", "train.jsonl",
    }
)  # fmt: skip
"""What a model folder holds beside what was learned."""
_ALSO_BESIDE = ("evaluation", ".")


@dataclass(frozen=True, slots=True)
class Maker:
    """A model as others know it.

    Args:
        name: Its recipe, or what a hospital calls it.
        version: Changes whenever its answers may change.
        software: Version of Attending.
    """

    name: str
    version: str
    software: str = field(default_factory=lambda: metadata.version("attending"))

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @classmethod
    def of(cls, model: "Model", name: str | None = None) -> "Maker":
        """Name a model; its version is a hash of all that its answers come from.

        That is its recipe, labels, training data, decision and what it learned: weights, graph,
        vocabulary. Where its folder lies is none of it. Reads all weights, so ask once.

        Args:
            model: A fitted model.
            name: What to call it; its recipe's name if left out.
        """
        facts = [model.facts.get(k) for k in _FACTS]
        family = model.facts.get("family", model.recipe.family)
        recipe = as_trained(model.recipe).to_toml()
        decision = model.decision.to_dict()
        made = [recipe, model.labels.hash, family, facts, decision, _learned(model)]
        digest = hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()
        return cls(name or model.recipe.name, digest[:12])


def _learned(model: "Model") -> dict[str, str]:
    """Return a digest of each file that holds what a model learned, by its name in the folder."""
    folder = folder_of(model)
    if folder is not None and folder.is_dir():
        return _digests(folder)
    with tempfile.TemporaryDirectory(prefix="attending-version-") as scratch:
        model.save(Path(scratch))
        return _digests(Path(scratch))


def _digests(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        top = name.parts[0]
        if path.is_file() and top not in _BESIDE and not top.startswith(_ALSO_BESIDE):
            with path.open("rb") as file:
                found[name.as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found

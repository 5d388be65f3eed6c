"""Who made a prediction: a model by name and version, as records and cards name it."""

import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from attending.models.contents import files_of
from attending.models.store import MANIFEST, RUN, as_trained, folder_of
from attending.parts.sources import file_sha256

if TYPE_CHECKING:
    from attending.models.base import Model

_FACTS = ("data_fingerprint", "development_fingerprint", "seed", "graph")
_APART = (MANIFEST, RUN, "recipe.toml", "labels.toml", "decision.json", "parity.json", "probe.json")
"""Files of a model folder that count by what they say, or not at all."""


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
    return {name: file_sha256(path) for name, path in files_of(folder, _APART)}

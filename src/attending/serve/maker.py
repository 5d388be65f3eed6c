"""Who made a prediction: a model by name and version, as records and cards name it."""

import hashlib
import json
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attending.models.base import Model


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
        """Name a model; its version is a hash of its recipe, labels, training data and decision.

        Args:
            model: A fitted model.
            name: What to call it; its recipe's name if left out.
        """
        facts = [
            model.facts.get(k) for k in ("data_fingerprint", "development_fingerprint", "seed")
        ]
        made = [model.recipe.to_toml(), model.labels.hash, facts, model.decision.to_dict()]
        digest = hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()
        return cls(name or model.recipe.name, digest[:12])

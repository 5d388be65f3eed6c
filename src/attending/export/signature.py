"""What goes into an exported graph and comes out of it; written down beside it."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from attending.errors import ModelError

GRAPH, TOKENIZER, WORDS, PLANTED = "model.onnx", "tokenizer.json", "words", "planted-words"
PARITY, PROBE = "parity.json", "probe.json"
"""What an exported folder holds beside what every model folder does."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a graph takes and gives, and what its caller must know of windows.

    Attributes:
        joins: Whether scores are of whole documents, (B, L), or of windows, (W, L).
        pool: How windows' scores are merged, ``max`` or ``mean``.
        pad: The id of the padding token.
        limit: The most tokens in a window, special ones included.
        method: The attribution method whose weights come out, or ``None``.
        by_label: Whether these are of single labels, (W or B, l, T or S), or of none, (W, T).
        listens: Whether what words say of the documents goes in.
        int8: Whether weights are rounded to int8.
        plants: Whether the word under each token goes in, for attention where words are planted.
    """

    joins: bool
    pool: str
    pad: int
    limit: int
    method: str | None
    by_label: bool
    listens: bool = False
    int8: bool = False
    plants: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in order."""
        named = ["ids", "mask"]
        named += ["layout"] if self.joins else []
        named += ["labels"] if self.by_label else []
        named += ["match_document", "match_label", "match_score"] if self.listens else []
        named += ["words"] if self.plants else []
        return tuple(named)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""
        return ("logits", "pooled", *(["weights"] if self.method else []))

    def to_dict(self) -> dict[str, Any]:
        """Return the signature as it stands in the manifest."""
        return asdict(self)

    @classmethod
    def read(cls, facts: Mapping[str, Any], folder: Path) -> "Signature":
        """Take the signature from a manifest.

        Raises:
            ModelError: If it isn't there, or says other things than this version knows.
        """
        found = facts.get("graph")
        known = {f.name for f in fields(cls)}
        needed = {f.name for f in fields(cls) if f.default is MISSING}
        if not isinstance(found, Mapping) or not needed <= set(found) <= known:
            raise ModelError(
                "does not say what its graph takes and gives",
                where=str(folder),
                step="Export it again with this version of attending.",
            )
        return cls(**found)

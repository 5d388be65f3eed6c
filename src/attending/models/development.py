"""Development scores in the model folder: what a threshold would have done, without the rows.

``development.json`` holds calibrated probabilities and true labels of the development rows that a
decision was settled on, in their order. No text and no id is in it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attending.errors import LabelError, ModelError
from attending.models.base import Scored
from attending.outputs import write_text
from attending.parts.decoders import Decision
from attending.records import Document, LabelSet

FILE = "development.json"
FORMAT = 1
MOST_CELLS = 1_000_000
"""Of more rows times labels than this, nothing is kept: the file would outgrow the model."""
_DIGITS = 6


@dataclass(frozen=True)
class DevelopmentScores:
    """Probabilities (N, L) and truth (N, L) bool of the N development rows that were read.

    ``fingerprint`` is that of all development rows, ``rows`` how many those are.
    """

    labels: LabelSet
    probabilities: NDArray[np.float64]
    truth: NDArray[np.bool_]
    fingerprint: str
    rows: int

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        scored: Sequence[Scored],
        labels: LabelSet,
        decision: Decision,
        fingerprint: str,
    ) -> "DevelopmentScores | None":
        """Keep what a decision makes of scores; ``None`` if no row was read or it is too much."""
        read = [(d, s.logits) for d, s in zip(documents, scored, strict=True)
                if s.logits is not None]  # fmt: skip
        if not read or len(read) * len(labels) > MOST_CELLS:
            return None
        truth = np.zeros((len(read), len(labels)), bool)
        for row, (document, _) in enumerate(read):
            truth[row, [labels.position(i) for i in document.labels or ()]] = True
        probabilities = decision.probabilities(np.stack([logits for _, logits in read]))
        return cls(labels, probabilities, truth, fingerprint, len(documents))

    def write(self, folder: Path) -> None:
        """Write ``development.json`` into a model folder, whole or not at all."""
        ids = self.labels.ids
        body = {
            "format": FORMAT,
            "label_set_hash": self.labels.hash,
            "labels": list(ids),
            "fingerprint": self.fingerprint,
            "rows": self.rows,
            "truth": [[ids[i] for i in np.flatnonzero(row)] for row in self.truth],
            "probabilities": np.round(self.probabilities, _DIGITS).tolist(),
        }
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        write_text(folder / FILE, text + "\n", force=True)

    @classmethod
    def read(cls, folder: Path, labels: LabelSet) -> "DevelopmentScores | None":
        """Read the file of a model folder with these labels; ``None`` where there is none.

        Raises:
            ModelError: If it can't be read or is of other labels.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            if body["format"] != FORMAT:
                raise ModelError("is of another format", where=str(path))
            if body["label_set_hash"] != labels.hash:
                raise ModelError("is of other labels than the model's", where=str(path))
            probabilities = np.array(body["probabilities"], np.float64)
            truth = np.zeros((len(probabilities), len(labels)), bool)
            if probabilities.shape != truth.shape or len(body["truth"]) != len(truth):
                raise ValueError
            for row, ids in enumerate(body["truth"]):
                truth[row, [labels.position(i) for i in ids]] = True
            return cls(labels, probabilities, truth, str(body["fingerprint"]), int(body["rows"]))
        except (OSError, ValueError, KeyError, TypeError, IndexError, LabelError) as error:
            raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None

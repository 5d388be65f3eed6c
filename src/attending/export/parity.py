"""The parity gate: an exported model must answer real rows as the model that it was made from.

Everything is compared by label id, through the folder as users will load it, so a graph that
computes something else, labels in another order and a lost threshold all show. No torch here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attending.errors import ModelError, nearest
from attending.evaluation.task import Task, evaluate_task
from attending.models.base import MOST_SCORES, Model, Scored, decide
from attending.records import Document, LabelSet, Prediction, Row

Floats = NDArray[np.float64]
EVIDENCE_DOCUMENTS = 24
"""Documents whose token scores are compared: as many are enough to find a wrong graph."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an exported model may be from its model.

    Attributes:
        score: Largest difference of a probability.
        changed: Share of rows whose labels differ.
        macro_f1: Loss of macro-F1.
        rarest_recall: Loss of the recall of the label with the fewest training rows.
        evidence: Largest difference of a token's score; weights of attention sum to 1.
    """

    score: float
    changed: float
    macro_f1: float
    rarest_recall: float
    evidence: float

    @classmethod
    def of(cls, int8: bool, changes: Mapping[str, float] | None = None) -> "Tolerance":
        """Return the tolerance of a float or an int8 export, with some limits changed.

        Raises:
            ModelError: If a limit is unknown or not a share.
        """
        found = INT8 if int8 else FLOAT
        known = [f.name.replace("_", "-") for f in fields(cls)]
        for name, value in (changes or {}).items():
            if name.replace("_", "-") not in known:
                raise ModelError(
                    f'no tolerance "{name}"', allowed=", ".join(known), step=nearest(name, known)
                )
            if not 0 <= value <= 1:
                raise ModelError(f"tolerance {name} = {value:g}", allowed="0 to 1")
            found = replace(found, **{name.replace("-", "_"): float(value)})
        return found


FLOAT = Tolerance(score=1e-3, changed=0.001, macro_f1=0.001, rarest_recall=0.0, evidence=1e-3)
INT8 = Tolerance(score=0.25, changed=0.02, macro_f1=0.01, rarest_recall=0.02, evidence=0.1)


@dataclass(frozen=True, slots=True)
class Rarest:
    """Recall of the rarest label among the rows, before and after."""

    label: str
    documents: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Parity:
    """How far an exported model is from its model on some rows.

    Attributes:
        rows: How many rows both were given.
        read: How many of them both could read: on these they are compared.
        labelled: How many of them have labels.
        score: Largest difference of a probability.
        mean_score: Mean over rows of each row's largest difference.
        changed: Rows whose labels, status or abstention differ.
        evidence: Largest difference of a token's score, where both give the same method.
        macro_f1: Before and after, where rows are labelled.
        rarest: Recall of the rarest label, where rows have it.
        faults: Differences that no tolerance allows.
        sample: Which rows they are, in words.
        int8_layers: How many layers are in int8 as coarsely as can be.
        block_layers: Layers that are in int8 in blocks, by node of the graph.
        float_layers: Layers that were left in float, by node of the graph.
    """

    rows: int
    read: int
    labelled: int
    score: float
    mean_score: float
    changed: int
    evidence: float | None
    macro_f1: tuple[float, float] | None
    rarest: Rarest | None
    faults: tuple[str, ...] = ()
    sample: str = ""
    int8_layers: int = 0
    block_layers: tuple[str, ...] = ()
    float_layers: tuple[str, ...] = ()

    @property
    def compared(self) -> str:
        """On how many rows they are compared: ``12 rows``, ``10 of 12 rows, which both read``."""
        if self.read == self.rows:
            return f"{self.rows:,} rows"
        return f"{self.read:,} of {self.rows:,} rows, which both read"

    @property
    def weights(self) -> str:
        """How weights are kept: ``in float32``, ``39 of 40 layers in int8 (2 in blocks)``."""
        blocks, floats = len(self.block_layers), len(self.float_layers)
        rounded = self.int8_layers + blocks
        if not rounded:
            return "in float32"
        said = f"{rounded} of {rounded + floats} layers in int8"
        return f"{said} ({blocks} in blocks)" if blocks else said

    def beyond(self, tolerance: Tolerance) -> list[str]:
        """Say what is beyond a tolerance, one clause each; nothing where all is within."""
        said = list(self.faults)
        if not self.score <= tolerance.score:
            said.append(f"a score moved by {self.score:.3g}, allowed {tolerance.score:g}")
        if self.changed > tolerance.changed * self.read:
            said.append(
                f"{self.changed} of {self.read} decisions changed, allowed {tolerance.changed:.1%}"
            )
        if self.evidence is not None and not self.evidence <= tolerance.evidence:
            said.append(
                f"a token's score moved by {self.evidence:.3g}, allowed {tolerance.evidence:g}"
            )
        if self.macro_f1 is not None:
            before, after = self.macro_f1
            if before - after > tolerance.macro_f1:
                said.append(
                    f"macro-F1 fell from {before:.4f} to {after:.4f}, "
                    f"allowed {tolerance.macro_f1:g} less"
                )
        if self.rarest is not None:
            lost = self.rarest.before - self.rarest.after
            if lost > tolerance.rarest_recall:
                said.append(
                    f'recall of "{self.rarest.label}" fell from {self.rarest.before:.4f} to '
                    f"{self.rarest.after:.4f} on {self.rarest.documents} documents, "
                    f"allowed {tolerance.rarest_recall:g} less"
                )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the report in its on-disk form."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of some rows: kept, so that many candidates can be compared with it."""

    scored: Sequence[Scored]
    probabilities: Floats
    predictions: Sequence[Prediction]
    evidence: Sequence[Mapping[str | None, Sequence[float]]]
    labels: LabelSet
    decision: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        model: Model,
        rows: Sequence[Row],
        method: str | None,
        scored: Sequence[Scored] | None = None,
    ) -> "Answers":
        """Ask a model; token scores by ``method`` are of the first documents it can read.

        ``scored`` are its scores of the rows, where they are known already.
        """
        scored = model.scores(rows) if scored is None else scored
        known = [s.logits for s in scored if s.logits is not None]
        logits = np.stack(known) if known else np.zeros((0, len(model.labels)))
        predictions = decide(rows, scored, model.labels, model.decision)
        readable = [
            row
            for row, found in zip(rows, scored, strict=True)
            if found.logits is not None and isinstance(row, Document)
        ][:EVIDENCE_DOCUMENTS]
        evidence: list[Mapping[str | None, Sequence[float]]] = []
        if method is not None and method in model.methods:
            asked = model.labels.ids[:MOST_SCORES]
            found_all = model.token_scores(readable, method=method, labels=sorted(asked))
            evidence = [found.scores for found in found_all]
        return cls(
            scored,
            model.decision.probabilities(logits),
            predictions,
            evidence,
            model.labels,
            model.decision.to_dict(),
        )


def compare(
    before: Answers,
    after: Answers,
    rows: Sequence[Row],
    task: Task,
    counts: Mapping[str, int],
    sample: str = "",
) -> Parity:
    """Compare what a model and its export say of the same rows.

    ``counts`` are training rows by label, which say what label is the rarest; ``sample`` says in
    words which rows these are.
    """
    faults = _faults(before, after)
    same_labels = set(before.labels.ids) == set(after.labels.ids)
    gaps = _gaps(before, after) if same_labels else np.ones(1)
    known = [_has_known_labels(row, before.labels) for row in rows]
    macro_f1, rarest = None, None
    if any(known) and same_labels:
        macro_f1, rarest = _figures(before, after, rows, known, task, counts)
    return Parity(
        rows=len(rows),
        read=len(_read_by_both(before, after)),
        labelled=sum(known),
        score=float(gaps.max(initial=0.0)),
        mean_score=float(gaps.mean()) if gaps.size else 0.0,
        changed=sum(
            _answer(a) != _answer(b)
            for a, b in zip(before.predictions, after.predictions, strict=True)
        ),
        evidence=_evidence_gap(before, after) if same_labels else None,
        macro_f1=macro_f1,
        rarest=rarest,
        faults=tuple(faults),
        sample=sample,
    )


def _has_known_labels(row: Row, labels: LabelSet) -> bool:
    given = row.labels if isinstance(row, Document) else None
    return given is not None and set(given) <= set(labels.ids)


def _faults(before: Answers, after: Answers) -> list[str]:
    said = []
    if set(before.labels.ids) != set(after.labels.ids):
        said.append("the labels are others")
    if dict(before.decision) != dict(after.decision):
        names = sorted(
            name
            for name in {*before.decision, *after.decision}
            if before.decision.get(name) != after.decision.get(name)
        )
        said.append(f"the decision is another one ({', '.join(names)})")
    status = sum(a.status != b.status for a, b in zip(before.scored, after.scored, strict=True))
    if status:
        said.append(f"{status} rows were read by one of both only")
    if not _read_by_both(before, after):
        said.append("no row could be read by both")
    return said


def _gaps(before: Answers, after: Answers) -> Floats:
    """Return each row's largest difference of a probability, for rows that both could read."""
    order = [after.labels.position(i) for i in before.labels.ids]
    first, second = _by_row(before), _by_row(after)
    shared = _read_by_both(before, after)
    return np.array([np.abs(first[i] - second[i][order]).max() for i in shared])


def _read_by_both(before: Answers, after: Answers) -> list[int]:
    """Return the places of the rows that have scores in both."""
    second = _by_row(after)
    return [i for i in _by_row(before) if i in second]


def _by_row(answers: Answers) -> dict[int, Floats]:
    known = [i for i, s in enumerate(answers.scored) if s.logits is not None]
    return dict(zip(known, answers.probabilities, strict=True))


def _answer(prediction: Prediction) -> tuple[str, frozenset[str], bool]:
    """Return what a user acts on: status, labels in any order, and whether it abstained."""
    return prediction.status, frozenset(prediction.labels), prediction.abstained


def _evidence_gap(before: Answers, after: Answers) -> float | None:
    if not before.evidence or not after.evidence:
        return None
    return max(
        float(np.abs(np.subtract(first[label], second[label])).max(initial=0.0))
        for first, second in zip(before.evidence, after.evidence, strict=True)
        for label in first
    )


def _figures(
    before: Answers,
    after: Answers,
    rows: Sequence[Row],
    known: Sequence[bool],
    task: Task,
    counts: Mapping[str, int],
) -> tuple[tuple[float, float] | None, Rarest | None]:
    """Return macro-F1 before and after, and the recall of the rarest label among labelled rows."""
    chosen = [row for row, wanted in zip(rows, known, strict=True) if wanted]
    found = []
    for answers in (before, after):
        said = [p for p, wanted in zip(answers.predictions, known, strict=True) if wanted]
        found.append(evaluate_task(task, chosen, said, before.labels, resamples=0))
    first, second = found
    macro = first.metrics["macro_f1"], second.metrics["macro_f1"]
    here = Counter(i for row in chosen if isinstance(row, Document) for i in row.labels or ())
    rarest = min(here, key=lambda i: (counts.get(i, here[i]), here[i], i), default=None)
    if rarest is None or macro[0] is None or macro[1] is None:
        return None, None
    recalls = [float(e.per_label[rarest]["recall"] or 0.0) for e in found]
    return (float(macro[0]), float(macro[1])), Rarest(rarest, here[rarest], *recalls)

"""What a student learns from besides labels: its teachers' answers, and texts without labels.

Whoever only predicts needs no torch, so networks are imported where there is one.
"""

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from attending.data.altered import altered
from attending.data.corpora import Corpus
from attending.data.folding import text_key
from attending.data.wording import plural
from attending.errors import TrainingError
from attending.models.base import Model, Progress
from attending.models.precision import computing_in, resolve
from attending.models.store import as_trained, portable
from attending.parts.decoders import Decision
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.rows import Rows, listens

if TYPE_CHECKING:
    from attending.models.network import Network

ANSWERS, VECTORS = "teacher.safetensors", "teacher-vectors.safetensors"
_NAME, _SHOWN = "answers", 16
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Lesson:
    """Teachers, and documents without labels that they answer too.

    Several teachers are one: the mean of their probabilities is what the student learns.

    Attributes:
        teachers: Fitted models that give the same labels.
        transfer: Documents whose labels, if there are any, are not looked at.
        progress: Told of the documents that the teachers have answered.
    """

    teachers: tuple[Model, ...]
    transfer: tuple[Document, ...] = ()
    progress: Progress | None = None

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """A fingerprint of each teacher."""
        return tuple(map(fingerprint, self.teachers))

    def rows(self, rows: Rows, recipe: Recipe, seed: int) -> Rows:
        """Add the texts without labels, but for those that are training or development rows too.

        The teachers' answers to a development text would tell the student of it beforehand. With
        ``distillation.copies``, changed copies of the training texts come after them.
        """
        watched = {text_key(d.text) for d in rows.development}
        known = watched | {text_key(d.text) for d in rows.train}
        kept = tuple(d for d in self.transfer if text_key(d.text) not in known)
        left_out = len(self.transfer) - len(kept)
        note = f"{plural(left_out, 'transfer row')} with a text of a labelled row: left out"
        notes = (*rows.notes, note) if left_out else rows.notes
        if recipe["distillation"].copies and listens(recipe):
            notes += ("no changed copies: they hold the words that the labels' words come from",)
        made = altered(rows.train, copies_of(recipe), seed)
        made = tuple(d for d in made if text_key(d.text) not in watched)
        return replace(rows, transfer=(*kept, *made), copies=len(made), notes=notes)

    def facts(self, rows: Rows) -> dict[str, Any]:
        """Return what there is to know of the teachers and of the rows without labels."""
        return {
            "teachers": [
                described(teacher, known)
                for teacher, known in zip(self.teachers, self.fingerprints, strict=True)
            ],
            "transfer_rows": len(rows.transfer) - rows.copies,
            "copies": rows.copies,
            "transfer_fingerprint": Corpus(rows.transfer).fingerprint,
        }

    def notes(self, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """Say how far the development rows of a student were its teachers' training rows."""
        own = facts["development_fingerprint"]
        other = sum(t.facts.get("development_fingerprint") != own for t in self.teachers)
        if not other or not facts["development_rows"]:
            return ()
        who = (
            "the teacher"
            if len(self.teachers) == 1
            else f"{other} of {len(self.teachers)} teachers"
        )
        return (
            f"{who} had other development rows and may have learned from the student's, so its "
            "development figures are too good",
        )

    def targets(
        self, recipe: Recipe, rows: Rows, labels: LabelSet, decision: Decision, folder: Path
    ) -> Floats:
        """Return the teachers' probabilities for training and transfer rows, (N, L).

        A row that a teacher couldn't answer is all NaN. The teachers' scores are kept in
        ``folder`` and read from there if they are of these rows and teachers. They are computed
        in the precision that the student trains in. ``decision`` is the student's: where its loss
        moves scores by a known shift, the targets are moved alike.
        """
        documents = (*rows.train, *rows.transfer)
        precision = resolve(recipe["training"].precision)
        answers = self._answers(documents, labels, folder / ANSWERS, precision)
        spec = recipe["distillation"]
        found = np.zeros(answers.shape[1:])
        for teacher, logits in zip(self.teachers, answers, strict=True):
            own = replace(
                teacher.decision,
                temperature=teacher.decision.temperature if spec.calibrated else 1.0,
            )
            scores = (logits.astype(np.float64) + own.shift) / own.temperature - decision.shift
            plain = Decision(own.kind, temperature=spec.temperature)
            found += plain.probabilities(scores) / len(self.teachers)
        return found.astype(np.float32)

    def _answers(
        self, documents: Sequence[Document], labels: LabelSet, path: Path, precision: str
    ) -> Floats:
        """Return the teachers' scores, (K, N, L), from a file if it has the right ones."""

        def make() -> Floats:
            found = []
            for number, teacher in enumerate(self.teachers):
                with _precise(teacher, precision):
                    found.append(_scores(teacher, documents, labels, self._part(number)))
            return np.stack(found)

        return _kept(path, (*self.fingerprints, labels.hash, precision), documents, make)

    def vectors(
        self, recipe: Recipe, rows: Rows, soft: Floats, student: "Network", folder: Path
    ) -> Floats | None:
        """Return what the first teacher makes of training and transfer rows, (N, H), if wanted.

        A row without an answer in ``soft``, (N, L), is all NaN. They are kept as the answers are.

        Raises:
            TrainingError: If the teacher's vectors are not as wide as the student's.
        """
        if recipe["distillation"].vectors is None:
            return None
        from attending.models.neural import NeuralModel

        teacher = self.teachers[0]
        own = student.encoder.width
        width = teacher.network.encoder.width if isinstance(teacher, NeuralModel) else 0
        if not isinstance(teacher, NeuralModel) or width != own:
            raise TrainingError(
                "distillation.vectors needs a network as teacher, with vectors as wide as the "
                "student's",
                where=f'recipe "{recipe.name}"',
                found=f'"{teacher.recipe.name}"' + (f", {width} and {own}" if width else ""),
                step="Leave distillation.vectors unset.",
            )
        documents = (*rows.train, *rows.transfer)
        precision = resolve(recipe["training"].precision)

        def make() -> Floats:
            read = np.flatnonzero(np.isfinite(soft).all(axis=1)).tolist()
            found = np.full((len(documents), width), np.nan, dtype=np.float32)
            with _precise(teacher, precision):
                found[read] = teacher.pooled([documents[i] for i in read], progress=self.progress)
            return found

        return _kept(folder / VECTORS, (self.fingerprints[0], precision), documents, make)

    def _part(self, number: int) -> Progress | None:
        """Return what to tell of one teacher's progress, as a part of all teachers'."""
        tell = self.progress
        if tell is None:
            return None
        count = len(self.teachers)
        return lambda done, total: tell(number * total + done, count * total)


def copies_of(recipe: Recipe) -> int:
    """Return how many changed copies of each text are made: none that training couldn't see.

    None either where the network listens to what words say of a label: a copy holds the very words
    that this was learned from, so it would seem surer of them than of any new text's.
    """
    spec = recipe.get("distillation")
    if spec is None or listens(recipe):
        return 0
    return max(0, min(int(spec.copies), int(recipe["training"].epochs) - 1))


def passes_of(recipe: Recipe) -> float:
    """Return the passes over a student's texts and their copies, which are one text together."""
    return float(recipe["training"].epochs) / (1 + copies_of(recipe))


def require_teacher(recipe: Recipe, taught: bool) -> None:
    """Make sure that a recipe has a teacher if, and only if, it learns from one.

    Raises:
        TrainingError: If it hasn't, or can't learn from one.
    """
    if recipe.get("distillation") is not None and not taught:
        raise TrainingError(
            f'recipe "{recipe.name}" learns from a fitted model',
            step=f"Run: attending distil MODEL FILE --recipe {recipe.name} --out DIR.",
        )
    if taught and recipe.get("distillation") is None:
        raise TrainingError(f'recipe "{recipe.name}" has no "distillation": it takes no teacher')


def require_fit(teachers: Sequence[Model], recipe: Recipe, labels: LabelSet) -> None:
    """Make sure that teachers give the student's labels.

    Raises:
        TrainingError: If there is no teacher, or one gives other labels.
    """
    if not teachers:
        raise TrainingError("a student needs at least one teacher")
    for teacher in teachers:
        name = f'teacher "{teacher.recipe.name}"'
        if teacher.recipe.task != recipe.task:
            raise TrainingError(
                f"{name} is a {teacher.recipe.task}-label model, the student a {recipe.task}-label "
                "one"
            )
        other = sorted(set(teacher.labels.ids) ^ set(labels.ids))
        if other:
            raise TrainingError(
                f"{name} gives other labels than the student",
                found=f'"{other[0]}"' + (f" and {len(other) - 1} more" if other[1:] else ""),
            )


def described(teacher: Model, known: str) -> dict[str, Any]:
    """Return what a student's folder says of a teacher."""
    facts, network = teacher.facts, getattr(teacher, "network", None)
    encoder = teacher.recipe.get("encoder")
    return {
        "recipe": teacher.recipe.name,
        "encoder": None if encoder is None else portable(teacher.recipe)["encoder"].name,
        "layers": getattr(getattr(network, "encoder", None), "layers", None),
        "parameters": parameter_count(teacher),
        "seed": facts.get("seed"),
        "data_fingerprint": facts.get("data_fingerprint"),
        "fingerprint": known[:_SHOWN],
    }


def parameter_count(model: Model) -> int | None:
    """Return the number of a network's parameters; ``None`` for a model that is none."""
    network = getattr(model, "network", None)
    return None if network is None else sum(p.numel() for p in network.parameters())


def fingerprint(model: Model) -> str:
    """Return a SHA-256 of all that makes a model's scores: weights, words, recipe, labels."""
    digest = hashlib.sha256()
    for text in (as_trained(model.recipe).to_toml(), model.labels.hash):
        digest.update(text.encode() + b"\0")
    with tempfile.TemporaryDirectory(prefix="attending-") as name:
        folder = Path(name)
        model.save(folder)
        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            digest.update(str(file.relative_to(folder)).encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _scores(
    teacher: Model, documents: Sequence[Document], labels: LabelSet, progress: Progress | None
) -> Floats:
    """Return a teacher's scores (N, L) in the order of the student's labels; NaN where none."""
    order = [teacher.labels.position(i) for i in labels.ids]
    out = np.full((len(documents), len(labels)), np.nan, dtype=np.float32)
    for row, scored in enumerate(teacher.scores(documents, progress=progress)):
        if scored.logits is not None:
            out[row] = scored.logits[order]
    return out


def _precise(teacher: Model, precision: str) -> AbstractContextManager[Any]:
    """Let a teacher compute in a precision, where it is a network or has one within."""
    import torch

    device = getattr(getattr(teacher, "network", None), "device", torch.device("cpu"))
    return computing_in(precision, device)


def _kept(
    path: Path, made_of: Sequence[str], documents: Sequence[Document], make: Callable[[], Floats]
) -> Floats:
    """Return what a teacher says of documents, from a file if it is of these; else keep it."""
    whole = [*made_of, Corpus(tuple(documents)).fingerprint]
    key = hashlib.sha256("\n".join(whole).encode()).hexdigest()
    kept = _read(path, key)
    if kept is not None:
        return kept
    made = make()
    part = path.with_name(f".{path.name}")
    save_file({_NAME: made}, part, metadata={"key": key})
    part.replace(path)
    return made


def _read(path: Path, key: str) -> Floats | None:
    """Return what was kept, if the file is whole and of the same teachers and rows."""
    try:
        with safe_open(path, framework="numpy") as file:
            if (file.metadata() or {}).get("key") != key:
                return None
            kept: Floats = file.get_tensor(_NAME)
            return kept
    except (OSError, SafetensorError, KeyError):
        return None

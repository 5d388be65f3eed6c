"""Train a network: build it, window the rows, run the trainer, keep the best checkpoint."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor

from attending import registry
from attending.data.windows import Windowed
from attending.errors import TrainingError, TrainingInterrupted
from attending.models.network import Network
from attending.models.neural import NeuralModel, knows_words, plants
from attending.models.precision import resolve
from attending.models.prior import prior_of
from attending.parts.described import ids_of_texts
from attending.parts.encoders import quiet
from attending.parts.lexical import LexicalScorer, LexicalScores, LexicalView
from attending.parts.planting.ranker import Ranker
from attending.parts.shortlist import Shortlist
from attending.recipe import Recipe
from attending.records import Document, LabelSet, is_blank
from attending.training.centre import centre, centre_rows
from attending.training.interruption import Interruption
from attending.training.lesson import Lesson, parameter_count, passes_of
from attending.training.passes import passes
from attending.training.planting import Ranked, learn, rank_words
from attending.training.progress import Listener
from attending.training.rehearsal import rehearse
from attending.training.rows import Rows, label_counts, with_label
from attending.training.score import development_score
from attending.training.settle import untuned
from attending.training.state import is_claimed
from attending.training.student import first_layers, heir_of, take_over
from attending.training.trainer import (
    CHECKPOINTS,
    Example,
    NeuralTrainer,
    Plan,
)


def train_network(
    recipe: Recipe,
    rows: Rows,
    labels: LabelSet,
    seed: int,
    folder: Path,
    listener: Listener,
    *,
    resume: bool,
    lesson: Lesson | None = None,
) -> tuple[NeuralModel, dict[str, Any]]:
    """Train the network of a recipe; returns the model and facts about the run.

    ``lesson`` is what a student learns from: it answers training and transfer rows.

    Raises:
        TrainingError: If no row has anything to read, or training goes wrong.
        TrainingInterrupted: If the user stopped it; its ``what`` says where.
    """
    transformers.set_seed(seed)
    counts = label_counts(rows.train, labels)
    documents = with_label(rows.train)
    words, held, known = _words(recipe, rows, labels)
    decision = untuned(recipe, labels, counts, documents)
    read = (*rows.train, *rows.transfer)
    soft = None if lesson is None else lesson.targets(recipe, rows, labels, decision, folder)
    heir = None if lesson is None else _heir(lesson, recipe, labels)
    planted = _planted(recipe, rows, labels, seed)
    network = Network(
        recipe,
        known,
        counts=list(counts.values()),
        documents=documents,
        texts=[d.text for d in read],
        seed=seed,
        words=None if planted is None else len(planted[0].index),
        encoder=None if heir is None else first_layers(heir, recipe["encoder"]),
    )
    taken = () if heir is None else take_over(network, heir)
    vectors = None
    if lesson is not None and soft is not None:
        vectors = lesson.vectors(recipe, rows, soft, network, folder)
    index, of_planting = None, dict[str, float]()
    if planted is not None:
        index, of_planting = planted[0].index, planted[2]
        _plant(network, *planted[:2], prior_of(recipe, planted[0].examples, documents))
    listed = _shortlist(recipe, rows, labels)
    model = NeuralModel(recipe, labels, network, words=words, index=index, shortlist=listed)
    examples = _examples(model, read, soft, vectors)
    unanswered = 0 if soft is None else _unanswered(read, soft)
    if getattr(recipe["encoder"], "word_embeddings", None) == "trained":
        network.encoder.train_only(_ids_in_use(model, examples))
    model.decision, model.held = decision, held
    first = centre_rows(network, rows.train, seed)
    plan = _plan(model, examples, held, rows.development, seed, folder, listener)
    trainer = registry.build(plan.spec, network=network, plan=plan)
    with getattr(network.encoder, "remembering", nullcontext)():
        if not resume:
            centre(model, first)
            rehearse(trainer)
        run_to_end(trainer, folder, resume)
    network = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False).cpu()
    network.encoder.train_all()
    network.eval()
    network.finish()
    facts = {
        "encoder": network.encoder.name,
        **({} if lesson is None else _of_student(model, unanswered)),
        **plan.facts,
        **({"ranking": of_planting} if of_planting else {}),
        **({"centred_on": len(first)} if first else {}),
        **({"shortlist": listed.kept(rows.development, labels)} if listed else {}),
        "skipped_steps": trainer.skipped,
        "rows_without_text": len(read) - len(examples) - unanswered,
        "label_state_notes": _notes(network.label_states, network.descriptions, words),
        "encoder_notes": [*getattr(network.encoder, "notes", ()), *taken],
    }
    return model, facts


def _notes(*parts: object) -> list[str]:
    """Return what parts say that a person should know of the labels' texts."""
    return [note for part in parts for note in getattr(part, "notes", ())]


def _words(
    recipe: Recipe, rows: Rows, labels: LabelSet
) -> tuple[LexicalScorer | None, LexicalScores | None, LabelSet]:
    """Fit what knows the labels' words, if the recipe needs it, on training rows alone.

    Returns it, its scores of the training rows (each from a view of the other rows) and of the
    transfer rows after them, and the labels as the network is to know them.
    """
    if not knows_words(recipe):
        return None, None, labels
    spec, held = recipe["lexical"], None
    scorer = LexicalScorer(spec, LexicalView.fit(spec, rows.train, labels))
    if spec.weight:
        scorer, held = scorer.learned(rows.train)
        held = held.followed_by(scorer.scores(rows.transfer)) if rows.transfer else held
    return scorer, held, scorer.with_synonyms(labels, spec.synonyms)


def _shortlist(recipe: Recipe, rows: Rows, labels: LabelSet) -> Shortlist | None:
    """Fit the first of two stages on training rows alone, if the recipe has one."""
    spec = recipe.get("shortlist")
    if spec is None:
        return None
    found: Shortlist = registry.build(spec, documents=rows.train, labels=labels)
    return found


def _planted(
    recipe: Recipe, rows: Rows, labels: LabelSet, seed: int
) -> tuple[Ranked, Ranker, dict[str, float]] | None:
    """Rank words for every label on training rows alone, if the recipe plants its attention."""
    if not plants(recipe):
        return None
    ranked = rank_words(recipe["planting"], rows.train, labels)
    return ranked, *learn(recipe["planting"], ranked, seed)


def _plant(network: Network, ranked: Ranked, ranker: Ranker, prior: Tensor) -> None:
    """Put a learned ranking into a network that takes one."""
    if network.planting is not None:
        network.planting.plant(ranker, ranked.relevance, ranked.examples, prior)


def _plan(
    model: NeuralModel,
    examples: Sequence[Example],
    words: LexicalScores | None,
    development: Sequence[Document],
    seed: int,
    folder: Path,
    listener: Listener,
) -> Plan:
    spec = model.recipe["training"]
    spec = spec.model_copy(update={"epochs": passes_of(model.recipe)})
    sampler = registry.build(
        model.recipe["sampler"],
        lengths=[e.document.length for e in examples],
        targets=_groups(examples),
        size=spec.batch_size,
        seed=seed,
    )
    lasts = passes(spec, len(sampler))
    precision = resolve(spec.precision)

    def score() -> Mapping[str, float]:
        scored = model.scores(development)
        return development_score(scored, development, model.labels, model.decision)

    return Plan(
        spec=spec.model_copy(update={"epochs": lasts.epochs}),
        examples=examples,
        sampler=sampler,
        every=lasts.every,
        pad=model.pad,
        limit=model.windower.limit,
        labels=len(model.labels) if model.recipe.task == "multi" else 0,
        joins=model.network.joins,
        words=words,
        folder=folder,
        kept=is_claimed(folder),
        seed=seed,
        precision=precision,
        score=score if development else None,
        listener=listener,
        facts={"precision": precision, "window_tokens": model.windower.limit},
    )


def _unanswered(rows: Sequence[Document], soft: NDArray[np.float32]) -> int:
    """Return how many rows with text no teacher could answer."""
    silent = np.flatnonzero(np.isnan(soft).any(axis=1)).tolist()
    return sum(not is_blank(rows[row].text) for row in silent)


def _of_student(model: NeuralModel, unanswered: int) -> dict[str, Any]:
    """Return how large a student is, for comparison, and which rows no teacher answered."""
    return {
        "rows_without_answer": unanswered,
        "layers": getattr(model.network.encoder, "layers", None),
        "parameters": parameter_count(model),
    }


def _heir(lesson: Lesson, recipe: Recipe, labels: LabelSet) -> NeuralModel | None:
    """Return the teacher that the student's network starts from, if it is to start from one."""
    if recipe["distillation"].start == "pretrained":
        return None
    return heir_of(lesson.teachers, recipe, labels)


def _groups(examples: Sequence[Example]) -> list[int]:
    """Return the label that each example counts as for a sampler: its own, or its teacher's."""
    if any(isinstance(e.target, tuple) for e in examples):
        return []
    best = [None if e.soft is None else int(e.soft.argmax()) for e in examples]
    own = (
        e.target if isinstance(e.target, int) else b for e, b in zip(examples, best, strict=True)
    )
    return [label for label in own if label is not None]


def _examples(
    model: NeuralModel,
    rows: Sequence[Document],
    soft: NDArray[np.float32] | None = None,
    vectors: NDArray[np.float32] | None = None,
) -> list[Example]:
    windowed: list[Windowed] = model.windower([d.text for d in rows])
    examples = [
        Example(
            w,
            _target(model, d),
            _annotated(model, d, w),
            row,
            None if soft is None else soft[row],
            None if vectors is None else vectors[row],
        )
        for row, (w, d) in enumerate(zip(windowed, rows, strict=True))
        if w.windows and (soft is None or np.isfinite(soft[row]).all())
    ]
    if len({e.target for e in examples}) < 2:
        raise TrainingError(
            "fewer than two labels have a row with text", found=f"{len(examples)} rows with text"
        )
    return examples


def _target(model: NeuralModel, document: Document) -> int | tuple[int, ...] | None:
    if document.labels is None:
        return None
    positions = tuple(sorted(model.labels.position(i) for i in document.labels or ()))
    return positions if model.recipe.task == "multi" else positions[0]


def _annotated(
    model: NeuralModel, document: Document, windowed: Windowed
) -> tuple[tuple[int, int], ...]:
    """Return (label position, token number) of the tokens that are annotated with a label."""
    if not model.recipe["training"].evidence_loss:
        return ()
    starts = [start for start, _ in windowed.offsets]
    found: dict[tuple[int, int], None] = {}
    for span in document.spans:
        if span.label is None or span.label not in (document.labels or ()):
            continue
        first = bisect_left([end for _, end in windowed.offsets], span.start + 1)
        last = bisect_left(starts, span.end)
        label = model.labels.position(span.label)
        found |= dict.fromkeys((label, token) for token in range(first, last))
    return tuple(found)


def _ids_in_use(model: NeuralModel, examples: Sequence[Example]) -> torch.Tensor:
    """Return the token ids of the rows and of label texts that the encoder reads."""
    used = {i for e in examples for w in e.document.windows for i in w.ids}
    return torch.tensor(sorted(used | {model.pad} | ids_of_texts(model.network.label_states)))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest whole checkpoint of a folder; the trainer writes its state last."""
    whole = [f for f in folder.glob("checkpoint-*") if (f / "trainer_state.json").is_file()]
    return max(whole, key=lambda f: int(f.name.rpartition("-")[2]), default=None)


def run_to_end(trainer: NeuralTrainer, folder: Path, resume: bool) -> None:
    """Train, from the newest checkpoint of a folder if ``resume`` says so.

    Raises:
        TrainingError: If training ruins the network.
        TrainingInterrupted: If the user stopped it; its ``what`` says where.
    """
    last = last_checkpoint(folder / CHECKPOINTS) if resume else None
    with quiet(), Interruption() as interruption:
        trainer.add_callback(interruption)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
    trainer.require_finite()
    done, total = trainer.state.global_step, trainer.state.max_steps
    if interruption.asked and done < total:
        raise TrainingInterrupted(f"step {done} of {total}")

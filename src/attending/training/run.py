"""Train a network: build it, window the rows, run the trainer, keep the best checkpoint."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from attending import registry
from attending.data.windows import Windowed
from attending.errors import TrainingError, TrainingInterrupted
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.parts.encoders import quiet
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.precision import resolve
from attending.training.progress import Listener
from attending.training.rows import Rows, label_counts, with_label
from attending.training.score import development_score
from attending.training.settle import untuned
from attending.training.trainer import (
    CHECKPOINTS,
    Example,
    Interruption,
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
) -> tuple[NeuralModel, dict[str, Any]]:
    """Train the network of a recipe; returns the model and facts about the run.

    Raises:
        TrainingError: If no row has anything to read, or training goes wrong.
        TrainingInterrupted: If the user stopped it; its ``what`` says where.
    """
    transformers.set_seed(seed)
    counts = label_counts(rows.train, labels)
    documents = with_label(rows.train)
    network = Network(
        recipe,
        labels,
        counts=list(counts.values()),
        documents=documents,
        texts=[d.text for d in rows.train],
        seed=seed,
    )
    model = NeuralModel(recipe, labels, network)
    examples = _examples(model, rows.train)
    if getattr(recipe["encoder"], "word_embeddings", None) == "trained":
        network.encoder.train_only(_ids_in_use(model, examples))
    model.decision = untuned(recipe, labels, counts, documents)
    plan = _plan(model, examples, rows.development, seed, folder, listener)
    trainer = registry.build(plan.spec, network=network, plan=plan)
    run_to_end(trainer, folder, resume)
    network = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False).cpu()
    network.encoder.train_all()
    network.eval()
    facts = {
        "encoder": network.encoder.name,
        **plan.facts,
        "skipped_steps": trainer.skipped,
        "rows_without_text": len(rows.train) - len(examples),
        "label_state_notes": list(getattr(network.label_states, "notes", ())),
        "encoder_notes": list(getattr(network.encoder, "notes", ())),
    }
    return model, facts


def _plan(
    model: NeuralModel,
    examples: Sequence[Example],
    development: Sequence[Document],
    seed: int,
    folder: Path,
    listener: Listener,
) -> Plan:
    spec = model.recipe["training"]
    precision = resolve(spec.precision)

    def score() -> Mapping[str, float]:
        scored = model.scores(development)
        return development_score(scored, development, model.labels, model.decision)

    return Plan(
        spec=spec,
        examples=examples,
        sampler=registry.build(
            model.recipe["sampler"],
            lengths=[e.document.length for e in examples],
            targets=[e.target for e in examples if isinstance(e.target, int)],
            size=spec.batch_size,
            seed=seed,
        ),
        pad=model.pad,
        labels=len(model.labels) if model.recipe.task == "multi" else 0,
        joins=model.network.joins,
        folder=folder,
        seed=seed,
        precision=precision,
        score=score if development else None,
        listener=listener,
        facts={"precision": precision, "window_tokens": model.windower.limit},
    )


def _examples(model: NeuralModel, rows: Sequence[Document]) -> list[Example]:
    windowed: list[Windowed] = model.windower([d.text for d in rows])
    examples = [
        Example(w, _target(model, d), _annotated(model, d, w))
        for w, d in zip(windowed, rows, strict=True)
        if w.windows
    ]
    if len({e.target for e in examples}) < 2:
        raise TrainingError(
            "fewer than two labels have a row with text", found=f"{len(examples)} rows with text"
        )
    return examples


def _target(model: NeuralModel, document: Document) -> int | tuple[int, ...]:
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
    used = {i for e in examples for w in e.document.windows for i in w.ids}
    return torch.tensor(sorted(used | {model.pad}))


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

"""Train a network: build it, window the rows, run the trainer, keep the best checkpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from attending import registry
from attending.data.windows import Windowed
from attending.errors import TrainingError, TrainingInterrupted
from attending.models.neural import Network, NeuralModel
from attending.parts.encoders import quiet
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.precision import resolve
from attending.training.progress import Listener
from attending.training.rows import Rows, label_counts
from attending.training.score import development_score
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
    counts = list(label_counts(rows.train, labels).values())
    network = Network(recipe, labels, counts=counts)
    model = NeuralModel(recipe, labels, network)
    examples = _examples(model, rows.train)
    if recipe["encoder"].word_embeddings == "trained":
        network.encoder.train_only(_ids_in_use(model, examples))
    plan = _plan(model, examples, rows.development, seed, folder, listener)
    trainer = registry.build(plan.spec, network=network, plan=plan)
    _train(trainer, folder, resume)
    network = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False).cpu()
    network.encoder.train_all()
    network.eval()
    facts = {
        "encoder": network.encoder.name,
        **plan.facts,
        "skipped_steps": trainer.skipped,
        "rows_without_text": len(rows.train) - len(examples),
        "label_state_notes": list(getattr(network.label_states, "notes", ())),
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
            targets=[e.target for e in examples],
            size=spec.batch_size,
            seed=seed,
        ),
        pad=model.pad,
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
        Example(w, model.labels.position(d.label or ""))
        for w, d in zip(windowed, rows, strict=True)
        if w.windows
    ]
    if len({e.target for e in examples}) < 2:
        raise TrainingError(
            "fewer than two labels have a row with text", found=f"{len(examples)} rows with text"
        )
    return examples


def _ids_in_use(model: NeuralModel, examples: Sequence[Example]) -> torch.Tensor:
    used = {i for e in examples for w in e.document.windows for i in w.ids}
    return torch.tensor(sorted(used | {model.pad}))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest whole checkpoint of a folder; the trainer writes its state last."""
    whole = [f for f in folder.glob("checkpoint-*") if (f / "trainer_state.json").is_file()]
    return max(whole, key=lambda f: int(f.name.rpartition("-")[2]), default=None)


def _train(trainer: NeuralTrainer, folder: Path, resume: bool) -> None:
    last = last_checkpoint(folder / CHECKPOINTS) if resume else None
    with quiet(), Interruption() as interruption:
        trainer.add_callback(interruption)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
    trainer.require_finite()
    done, total = trainer.state.global_step, trainer.state.max_steps
    if interruption.asked and done < total:
        raise TrainingInterrupted(f"step {done} of {total}")

"""Train a network that tags: build it, cut the rows into windows, run the trainer."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from attending import registry
from attending.data.samplers import BatchSampler
from attending.data.tagging.batches import (
    Copies,
    OneTypeAtATime,
    TagBatch,
    TagExample,
    collate_examples,
    inside,
)
from attending.data.tagging.units import units_of, units_of_pieces
from attending.errors import RecipeError, TrainingError
from attending.models.precision import resolve
from attending.models.tagger import TaggerModel
from attending.models.tagging.network import TagNetwork
from attending.models.tagging.neural import NeuralScorer
from attending.parts.described import ids_of_texts
from attending.recipe import Recipe
from attending.records import LabelSet
from attending.training.passes import passes
from attending.training.progress import Listener
from attending.training.run import run_to_end
from attending.training.state import is_claimed
from attending.training.tagging_neighbours import with_neighbours
from attending.training.tagging_rows import TaggedRows
from attending.training.tagging_score import METRICS, development_figures
from attending.training.trainer import Plan


def train_tag_network(
    model: TaggerModel,
    network: TagNetwork,
    rows: TaggedRows,
    development: TaggedRows,
    seed: int,
    folder: Path,
    listener: Listener,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Train the network of a tagger; returns facts about the run.

    Raises:
        TrainingError: If no row has anything to read, or training goes wrong.
        TrainingInterrupted: If the user stopped it; its ``what`` says where.
    """
    scorer = model.scorer
    assert isinstance(scorer, NeuralScorer)
    examples = _examples(model, scorer, rows)
    if getattr(model.recipe["encoder"], "word_embeddings", None) == "trained":
        used = {i for e in examples for i in e.unit.window.ids} | {scorer.pad}
        used |= ids_of_texts(network.label_states)
        network.encoder.train_only(torch.tensor(sorted(used)))
    plan = _plan(model, scorer, examples, rows, development, seed, folder, listener)
    trainer = registry.build(plan.spec, network=network, plan=plan)
    with getattr(network.encoder, "remembering", nullcontext)():
        run_to_end(trainer, folder, resume)
    trained = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False).cpu()
    trained.encoder.train_all()
    trained.eval()
    trained.finish()
    scorer.network = trained
    return {
        "encoder": trained.encoder.name,
        **plan.facts,
        "skipped_steps": trainer.skipped,
        "training_windows": len(examples),
        "label_state_notes": list(getattr(trained.label_states, "notes", ())),
        "encoder_notes": list(getattr(trained.encoder, "notes", ())),
    }


def build_network(
    recipe: Recipe, labels: LabelSet, tags: Any, counts: Any, texts: Sequence[str], seed: int
) -> TagNetwork:
    """Build the untrained network of a recipe."""
    transformers.set_seed(seed)
    return TagNetwork(recipe, labels, tags, counts=counts, texts=texts, seed=seed)


def _examples(model: TaggerModel, scorer: NeuralScorer, rows: TaggedRows) -> list[TagExample]:
    """Cut rows into windows; each word, or each piece of it, is in one of them."""
    whole = model.recipe["head"].pieces == "all"
    cut = units_of_pieces if whole else units_of
    windowed = scorer.windower([d.text for d in rows.documents])
    examples = []
    for i, (document, words) in enumerate(zip(windowed, rows.words, strict=True)):
        for unit in cut(document, words, i):
            targets = inside(rows.targets[i][unit.words], unit.goes_on, model.tags)
            examples.append(TagExample(unit, targets))
    if not any((e.targets > 0).any() for e in examples):
        raise TrainingError(
            "no annotated word can be read",
            found=f"{len(examples)} windows of {len(rows.documents)} documents",
            step="Look at the spans, and at windows.on_overflow.",
        )
    return examples


def _plan(
    model: TaggerModel,
    scorer: NeuralScorer,
    examples: list[TagExample],
    rows: TaggedRows,
    development: TaggedRows,
    seed: int,
    folder: Path,
    listener: Listener,
) -> Plan:
    recipe = model.recipe
    spec = recipe["training"]
    precision = resolve(spec.precision)
    if development.documents and spec.select not in METRICS:
        raise RecipeError(
            f'training.select = "{spec.select}" is no figure of taggers',
            where=f'recipe "{recipe.name}"',
            allowed=", ".join(METRICS),
        )

    def score() -> Mapping[str, float]:
        with_neighbours(model, rows)
        return development_figures(model, development, model.judged(development.documents))

    batches: tuple[BatchSampler, Sequence[TagExample]] = _sampler(model, examples, seed), examples
    loss = recipe["loss"]
    if getattr(loss, "step", None) == "sequential":
        copies = Copies(examples, model.tags, loss.other == "ignore")
        batches = OneTypeAtATime(batches[0], copies), copies
    lasts = passes(spec, len(batches[0]))
    return Plan(
        spec=spec.model_copy(update={"epochs": lasts.epochs}),
        every=lasts.every,
        examples=batches[1],
        sampler=batches[0],
        pad=scorer.pad,
        folder=folder,
        kept=is_claimed(folder),
        seed=seed,
        precision=precision,
        score=score if development.documents else None,
        listener=listener,
        facts={"precision": precision, "window_tokens": scorer.windower.limit},
        collate=partial(collate_examples, pad=scorer.pad, limit=scorer.windower.limit),
        batch=TagBatch,
    )


def _sampler(model: TaggerModel, examples: Sequence[TagExample], seed: int) -> BatchSampler:
    spec = model.recipe["sampler"]
    if spec.kind == "balanced":
        raise RecipeError(
            'sampler "balanced" needs one label a row, and words have many',
            where=f'recipe "{model.recipe.name}"',
            allowed="bucketed, shuffled",
        )
    sampler: BatchSampler = registry.build(
        spec,
        lengths=[len(e.unit.window.ids) for e in examples],
        targets=[],
        size=model.recipe["training"].batch_size,
        seed=seed,
    )
    return sampler

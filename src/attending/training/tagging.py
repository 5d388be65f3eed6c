"""Fit a recipe that tags: documents with spans in, a tagger with its decision out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attending import registry
from attending.data.spans.corpus import SpanCorpus
from attending.data.spans.flat import flat_notes
from attending.data.spans.types import infer_types
from attending.data.tagging.schemes import SpanScheme
from attending.errors import RecipeError
from attending.models.tagger import TaggerModel
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.fit import in_run
from attending.training.progress import Listener
from attending.training.state import as_begun
from attending.training.tagging_neighbours import with_neighbours
from attending.training.tagging_rows import (
    TaggedRows,
    choose_documents,
    span_counts,
    types_that_cannot_win,
    types_without_spans,
)
from attending.training.tagging_score import development_figures, settled


@dataclass(frozen=True)
class FittedTagger:
    """A fitted tagger, its development figures, and what a person should know of the fit."""

    model: TaggerModel
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


def fit_tagger(
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    seed: int = 0,
    run: Path | None = None,
    listener: Listener | None = None,
) -> FittedTagger:
    """Fit a recipe on documents with spans; all of them count as annotated.

    ``labels`` default to the sorted types found. Without ``development``, a share of the documents
    (``training.development``) is carved off. The development documents choose the checkpoint and
    the temperature, nothing else is fitted on them. ``run`` is as in ``fit``.

    Raises:
        RecipeError: If the recipe does not tag, or its parts don't fit each other.
        TrainingError: If the rows can't train a tagger, or ``run`` holds another run.
        LabelError: If a span's type is not in the set.
        TrainingInterrupted: If the user stopped it; ``run`` can be resumed.
    """
    recipe = recipe.for_task("spans")
    labels = infer_types(train) if labels is None else labels
    labels, reordered = as_begun(run, labels)
    chosen = choose_documents(recipe, train, labels, development, seed)
    started = time.monotonic()
    scheme: SpanScheme = registry.build(recipe["scheme"], labels=labels)
    rows, held = (TaggedRows.of(d, scheme) for d in (chosen.train, chosen.development))
    counts = span_counts(chosen.train, labels)
    facts = {
        "seed": seed,
        "training_rows": len(chosen.train),
        "development_rows": len(chosen.development),
        "training_words": sum(map(len, rows.words)),
        "data_fingerprint": SpanCorpus(chosen.train).fingerprint,
        "development_fingerprint": SpanCorpus(chosen.development).fingerprint,
        "label_counts": counts,
    }
    told = (types_without_spans(counts, labels), types_that_cannot_win(recipe, rows, scheme))
    notes = [*reordered, *chosen.notes, *flat_notes(rows.flats), *filter(None, told)]
    if recipe.family == "neural":
        model, more = _fit_network(recipe, rows, held, labels, scheme, seed, run, listener, facts)
        facts |= more
    else:
        model = _fit_chain(recipe, rows, labels, scheme)
    with_neighbours(model, rows)
    judged = model.judged(held.documents)
    model.decision, reason = settled(model, held, judged)
    metrics = development_figures(model, held, judged)
    model.facts = facts | {"seconds": round(time.monotonic() - started, 1)}
    return FittedTagger(model, metrics, (*notes, reason) if reason else tuple(notes))


def _fit_network(
    recipe: Recipe,
    rows: TaggedRows,
    held: TaggedRows,
    labels: LabelSet,
    scheme: SpanScheme,
    seed: int,
    run: Path | None,
    listener: Listener | None,
    facts: Mapping[str, Any],
) -> tuple[TaggerModel, dict[str, Any]]:
    from attending.models.tagging.neural import NeuralScorer
    from attending.training.tagging_run import build_network, train_tag_network

    counts = rows.tag_counts(scheme)
    texts = [d.text for d in rows.documents]
    network = build_network(recipe, labels, scheme.tags, counts, texts, seed)
    model = TaggerModel(recipe, labels, NeuralScorer(recipe, network))
    with in_run(recipe, labels, run, listener, facts) as (folder, journal, resume):
        more = train_tag_network(model, network, rows, held, seed, folder, journal, resume=resume)
    return model, more


def _fit_chain(
    recipe: Recipe, rows: TaggedRows, labels: LabelSet, scheme: SpanScheme
) -> TaggerModel:
    if "features" not in recipe.slots:
        raise RecipeError('"features" is missing', where=f'recipe "{recipe.name}"')
    trainer = registry.build(recipe["estimator"], recipe=recipe, tags=scheme.tags)
    surfaces = [
        [d.text[a:b] for a, b in words] for d, words in zip(rows.documents, rows.words, strict=True)
    ]
    return TaggerModel(recipe, labels, trainer.fit(surfaces, rows.targets))

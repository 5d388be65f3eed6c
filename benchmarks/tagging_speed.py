"""Speed of tagging, as ratios measured in one run.

    python benchmarks/tagging_speed.py TRAIN TEST [--rows 400] [--rounds 3] [--threads 1]

TRAIN and TEST are files or folders of annotated documents (BRAT, CoNLL, JSON). `atl-ner` is trained
on some of TRAIN first, so that scores are those of a trained tagger. Then, round by round:

- the step (forward and backward) of `btl-ner` against that of `atl-ner`, batch by batch;
- words a second of our prediction against a transformers token-classification pipeline with the
  same weights, batch size and threads, and whether both find the same spans;
- the same with both in bfloat16, and how many spans ours then has in common with those in float32;
- what the vote of 100,000 training words adds to prediction. Where TRAIN has fewer words, they are
  repeated with a little noise.

With one thread, times are the processor's own, so that other work on the machine counts little.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForTokenClassification, pipeline

from attending.classifier import resolve_recipe
from attending.data.spans.formats import load_spans
from attending.data.spans.types import infer_types
from attending.data.tagging.batches import TagExample, collate_examples
from attending.data.tagging.units import units_of
from attending.models.precision import answer_in
from attending.models.tagger import TaggerModel
from attending.models.tagging.network import TagNetwork
from attending.parts.tagging.neighbours import Neighbours
from attending.records import Document
from attending.specs import LogitNeighbours
from attending.training.tagging import fit_tagger
from attending.training.tagging_rows import TaggedRows

WORDS = 100_000
BATCH = 32


def seconds(run: Callable[[], Any]) -> float:
    """Return how long something takes; of one thread, the processor's own time."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    started = clock()
    run()
    return clock() - started


def step_ratio(model: TaggerModel, rows: TaggedRows, rounds: int) -> float:
    """Return the median time of a BTL step over that of an ATL step on the same batches."""
    scorer: Any = model.scorer
    windowed = scorer.windower([d.text for d in rows.documents])
    examples = [
        TagExample(unit, rows.targets[i][unit.words])
        for i, (document, words) in enumerate(zip(windowed, rows.words, strict=True))
        for unit in units_of(document, words, i)
    ]
    counts = rows.tag_counts(model.scheme)
    networks = [
        TagNetwork(resolve_recipe(name, None, None, "spans"), model.labels, model.tags,
                   counts=counts).train()
        for name in ("atl-ner", "btl-ner")
    ]  # fmt: skip
    ratios = []
    for start in range(0, min(len(examples), 16 * 4 * rounds), 16):
        batch = collate_examples(examples[start : start + 16], scorer.pad)
        times = [seconds(partial(step, network, batch)) for network in (*networks, *networks)]
        ratios.append(min(times[1::2]) / min(times[::2]))
    return statistics.median(ratios[1:])


def step(network: TagNetwork, batch: Any) -> None:
    """Run one forward and backward pass."""
    network.zero_grad()
    loss = network(batch).loss
    assert loss is not None
    loss.backward()


def as_pipeline(model: TaggerModel, dtype: torch.dtype) -> Any:
    """Return a token-classification pipeline with the same weights."""
    network: Any = model.scorer.network  # type: ignore[attr-defined]
    names = model.tags.names[0]
    config = AutoConfig.for_model(network.encoder.config.model_type)
    config.update(network.encoder.config.to_dict())
    config.update(
        {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}
    )
    config._attn_implementation = "sdpa"
    twin = AutoModelForTokenClassification.from_config(config)
    base = getattr(twin, twin.base_model_prefix)
    base.load_state_dict(network.encoder.model.state_dict(), strict=False)
    twin.classifier.load_state_dict(network.head.out.state_dict())
    return pipeline(
        "token-classification", model=twin.eval().to(dtype), tokenizer=network.encoder.tokenizer,
        aggregation_strategy="first", stride=32, device=-1,
    )  # fmt: skip


Places = set[tuple[int, int, int]]


def compare(
    model: TaggerModel, documents: Sequence[Document], rounds: int, precision: str
) -> tuple[float, float, Places, Places]:
    """Return our words a second, the pipeline's, and where each finds spans, in a precision."""
    other, texts = as_pipeline(model, getattr(torch, precision)), [d.text for d in documents]
    answer_in(model, precision)
    bare = [Document(d.id, d.text) for d in documents]
    words = sum(len(s.numbers) for s in model.scores(bare))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: model.predict(bare)))
        theirs.append(seconds(lambda: other(texts, batch_size=BATCH)))
    mine = {(i, s.start, s.end) for i, p in enumerate(model.predict(bare)) for s in p.spans or ()}
    found = other(texts, batch_size=BATCH)
    yours = {(i, s["start"], s["end"]) for i, spans in enumerate(found) for s in spans}
    answer_in(model, "float32")
    return words / statistics.median(ours), words / statistics.median(theirs), mine, yours


def alike(some: Places, others: Places) -> float:
    """Return the share of spans that both have."""
    return round(len(some & others) / max(1, len(some | others)), 3)


def votes(
    model: TaggerModel, rows: TaggedRows, documents: Sequence[Document], rounds: int
) -> float:
    """Return how much the vote of 100,000 training words adds to prediction, as a share."""
    scored = model.scores(rows.documents)
    logits = np.concatenate([s.logits for s in scored]).astype(np.float32)
    tags = np.concatenate([t[s.numbers] for s, t in zip(scored, rows.targets, strict=True)])
    random = np.random.default_rng(0)
    which = np.arange(WORDS) % len(logits)
    noise = random.normal(0, 0.05, (WORDS, *logits.shape[1:])).astype(np.float32)
    noise[: min(WORDS, len(logits))] = 0
    neighbours = Neighbours(LogitNeighbours(), logits[which] + noise, tags[which])
    voting = TaggerModel(
        model.recipe, model.labels, model.scorer, model.decision, neighbours, model.facts
    )
    voting.predict(documents[:1])  # builds the index
    added = []
    for _ in range(rounds):
        plain = seconds(lambda: model.predict(documents))
        added.append(seconds(lambda: voting.predict(documents)) / plain - 1)
    return statistics.median(added)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    transformers.utils.logging.set_verbosity_error()
    documents = list(load_spans(given.train, strict=False).documents)[: given.rows]
    test = list(load_spans(given.test, strict=False).documents)[: given.rows]
    # The pipeline takes each word's best tag.
    settings = {"training.epochs": given.epochs, "decoder.kind": "tag-argmax"}
    recipe = resolve_recipe("atl-ner", None, settings, "spans")
    labels = infer_types(documents)
    model = fit_tagger(recipe, documents, labels, development=()).model
    rows = TaggedRows.of(documents, model.scheme)
    ours, theirs, mine, yours = compare(model, test, given.rounds, "float32")
    quick, their_quick, mine_quick, _ = compare(model, test, given.rounds, "bfloat16")
    report = {
        "step of btl-ner over atl-ner": round(step_ratio(model, rows, given.rounds), 3),
        "our words a second": round(ours),
        "words a second of the pipeline": round(theirs),
        "ours over the pipeline": round(ours / theirs, 2),
        "spans that both find": alike(mine, yours),
        "our words a second in bfloat16": round(quick),
        "words a second of the pipeline in bfloat16": round(their_quick),
        "ours over the pipeline, both in bfloat16": round(quick / their_quick, 2),
        "bfloat16 over float32, ours": round(quick / ours, 2),
        "our spans that both precisions find": alike(mine, mine_quick),
        "added by the vote of 100,000 words": round(votes(model, rows, test, given.rounds), 3),
        "rows": [len(documents), len(test)],
        "types": len(labels),
        "rounds": given.rounds,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

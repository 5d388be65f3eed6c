"""What described labels cost a training step, as ratios measured in one run.

    python benchmarks/label_cost.py [--labels 623] [--rounds 3] [--threads 1]

623 labels with descriptions of 15 tokens are those at which the authors of label-description
attention stopped, since every step encoded all of them anew. Each round times, with the recipe
`label-description` and the bundled encoder: steps that encode all labels with gradient, as
published, and steps that encode the batch's labels and some others, all of them only every few
steps (``label_states.refresh``, ``label_states.sampled``). A time is the mean over such a cycle, so
it holds its share of the step that encodes all. A step is forward, backward, clipping and AdamW, in
the type of number that training takes by itself on this machine. Times are of the processor, which
other work on the machine moves little. Ratios are per round; the median is quoted. Writes
benchmarks/results/label-cost.json and docs/results/coding-cost.md.
"""

import argparse
import gc
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from transformers.utils import logging

from attending.data.batches import collate
from attending.data.corpora import load_corpus
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.models.precision import resolve
from attending.recipe import Recipe
from attending.records import Label, LabelSet
from attending.tensors import Batch
from attending.training.trainer import parameter_groups
from label_page import write_page

RESULT = Path(__file__).parent / "results" / "label-cost.json"
SETTINGS: dict[str, dict[str, int | bool]] = {
    "all labels in every step, as published": {"refresh": 1},
    "all every 20 steps, the batch's and 8 others": {"refresh": 20, "sampled": 8},
    "all every 50 steps, the batch's and 4 others": {"refresh": 50, "sampled": 4},
    "all once, before training": {"frozen": True},
}
"""Ways to encode labels; the second is what the recipe says."""
CODES = 5
"""Labels of a document, as at CANTEMIST."""
BATCHES = {"1 document of 1 window": (1, 1), "1 document of 8 windows": (1, 8)}
ORDINARY = 3
"""Steps timed between two that encode all labels."""


def plain_words() -> list[str]:
    """Return words of the bundled corpus that are a token or two long."""
    words = {w for d in load_corpus("portal").documents for w in d.text.lower().split()}
    return [w for w in sorted(words) if w.isalpha() and 3 < len(w) < 8]


def described(count: int, words: list[str]) -> LabelSet:
    """Make labels with descriptions of at least 15 tokens."""
    draw = random.Random(0)
    return LabelSet(
        tuple(Label(f"c{i}", "", " ".join(draw.sample(words, 15))) for i in range(count)),
        name="codes",
    )


def batch_of(model: NeuralModel, words: list[str], documents: int, windows: int) -> Batch:
    """Make a batch of documents of so many windows, five labels each."""
    draw = random.Random(1)
    texts = [" ".join(draw.choices(words, k=400 * windows)) for _ in range(documents)]
    cut = []
    for document in model.windower(texts):
        kept = document.windows[:windows]
        cut.append(type(document)(kept, document.offsets, document.read))
    targets = [draw.sample(range(len(model.labels)), CODES) for _ in texts]
    return collate(cut, model.pad, targets, labels=len(model.labels), join=True)


def prepared(settings: dict[str, int | bool], labels: LabelSet) -> NeuralModel:
    """Make a network that is ready to train."""
    torch.manual_seed(0)
    states = {f"label_states.{key}": value for key, value in settings.items()}
    recipe = Recipe.load("label-description").with_encoder(None).override(states)
    model = NeuralModel(recipe, labels, Network(recipe, labels))
    model.network.train()
    return model


def label_work(model: NeuralModel, batch: Batch) -> Callable[[], None]:
    """Return what encodes the labels, forward and backward, and nothing else."""

    def run() -> None:
        states = model.network.label_states(batch.targets).states
        if states.requires_grad:
            states.sum().backward()
            model.network.zero_grad()

    return run


def step_work(model: NeuralModel, batch: Batch) -> Callable[[], None]:
    """Return a whole training step."""
    network, spec = model.network, model.recipe["training"]
    optimizer = torch.optim.AdamW(parameter_groups(network, spec), fused=True)

    def run() -> None:
        network(batch).loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), spec.clip)
        optimizer.step()
        optimizer.zero_grad()

    return run


def seconds(run: Callable[[], None], number: str) -> float:
    """Return the processor seconds of a run."""
    started = time.process_time()
    with torch.autocast("cpu", torch.bfloat16, enabled=number == "bfloat16"):
        run()
    return time.process_time() - started


def per_step(model: NeuralModel, run: Callable[[], None], number: str) -> float:
    """Return the mean seconds of a step over a cycle of ``refresh`` steps, labels' share in it."""
    states = model.network.label_states
    states.steps.zero_()
    due = seconds(run, number)
    cycle = 1 if states.spec.frozen else states.spec.refresh
    if cycle == 1:
        return due
    ordinary = statistics.fmean(seconds(run, number) for _ in range(ORDINARY))
    return (due + (cycle - 1) * ordinary) / cycle


def measure(labels: LabelSet, words: list[str], rounds: int, number: str) -> dict[str, object]:
    """Time every way in every round; returns seconds and ratios by what was timed."""
    found: dict[str, dict[str, list[float]]] = {}
    kinds = {"labels alone": (label_work, (1, 1))}
    kinds |= {name: (step_work, shape) for name, shape in BATCHES.items()}
    for kind, (work, shape) in kinds.items():
        runs = {}
        for name, settings in SETTINGS.items():
            model = prepared(settings, labels)
            batch = batch_of(model, words, *shape)
            model.network.encoder.train_only(batch.ids.flatten())  # as training does
            runs[name] = model, work(model, batch)
            seconds(runs[name][1], number)  # the first step also pays for memory
        ways: dict[str, list[float]] = {name: [] for name in SETTINGS}
        for _ in range(rounds):
            for name, (model, run) in runs.items():
                ways[name].append(per_step(model, run, number))
        found[kind] = ways
        print(kind, {n: [round(t, 4) for t in v] for n, v in ways.items()}, flush=True)
        del runs
        gc.collect()
    slow = next(iter(SETTINGS))
    return {
        kind: {
            name: {
                "seconds": statistics.median(times),
                "times_cheaper": statistics.median(
                    a / max(b, 1e-9) for a, b in zip(ways[slow], times, strict=True)
                ),
            }
            for name, times in ways.items()
        }
        for kind, ways in found.items()
    }


def main() -> None:
    """Measure, print one JSON object, and write it and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=623)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    logging.set_verbosity_error()
    words = plain_words()
    number = resolve("auto")
    report = {
        **vars(given),
        "number": number,
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "found": measure(described(given.labels, words), words, given.rounds, number),
    }
    print(json.dumps(report, indent=2))
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    write_page()


if __name__ == "__main__":
    main()

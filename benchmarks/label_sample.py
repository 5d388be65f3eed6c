"""A training step that scores some of the labels against one that scores all, in one run.

    python benchmarks/label_sample.py [--labels 1000 4000 16000] [--sampled 256] [--rounds 3]

Steps of `lame` with the bundled encoder on two documents of four windows, five labels each, as
``training.sampled_labels`` has them and as they are without it: forward, backward, clipping and
AdamW, in the type of number that training takes by itself on this machine. Descriptions have 15
tokens and are kept between the steps that encode all of them (``label_states.refresh``), which are
not timed: they cost the same either way. Times are of the processor; ratios are per round, the
median is quoted. Writes benchmarks/results/label-sample.json and docs/results/coding-cost.md.
"""

import argparse
import gc
import json
import statistics
from pathlib import Path

import torch
from transformers.utils import logging

from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.models.precision import resolve
from attending.recipe import Recipe
from attending.records import LabelSet
from label_cost import batch_of, described, plain_words, seconds, step_work
from label_page import write_page

RESULT = Path(__file__).parent / "results" / "label-sample.json"
DOCUMENTS, WINDOWS = 2, 4


def prepared(labels: LabelSet, sampled: int | None) -> NeuralModel:
    """Make a network whose labels have been encoded, ready for a step that is not due."""
    torch.manual_seed(0)
    recipe = Recipe.load("lame").for_task("multi").with_encoder(None)
    given = {"label_states.refresh": 10**6, "label_states.sampled": 32, "windows.max_tokens": 200}
    recipe = recipe.override({**given, "training.sampled_labels": sampled})
    model = NeuralModel(recipe, labels, Network(recipe, labels))
    states = model.network.label_states
    states.kept.normal_()  # stands for a first reading of all of them
    states.steps.fill_(1)
    model.network.train()
    return model


def compare(
    count: int, sampled: int, words: list[str], rounds: int, number: str
) -> dict[str, float]:
    """Time both kinds of steps in every round."""
    labels, runs = described(count, words), {}
    for name, size in (("some", sampled), ("all", None)):
        model = prepared(labels, size)
        batch = batch_of(model, words, DOCUMENTS, WINDOWS)
        model.network.encoder.train_only(batch.ids.flatten())
        runs[name] = step_work(model, batch)
        seconds(runs[name], number)  # the first step also pays for memory
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(seconds(run, number))
    ratios = [a / b for a, b in zip(times["all"], times["some"], strict=True)]
    found = {name: statistics.median(t) for name, t in times.items()}
    return {"labels": count, **found, "times_cheaper": statistics.median(ratios)}


def main() -> None:
    """Measure, print one line a number of labels, and write them and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--sampled", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    logging.set_verbosity_error()
    words, number, rows = plain_words(), resolve("auto"), []
    for count in given.labels:
        rows.append(compare(count, given.sampled, words, given.rounds, number))
        print(json.dumps(rows[-1]), flush=True)
        gc.collect()
    report = {**vars(given), "number": number, "torch": torch.__version__, "rows": rows}
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    write_page()


if __name__ == "__main__":
    main()

"""Speed of training on long documents, short windows encoded apart or not, as a ratio of one run.

    python benchmarks/windows.py [--rows 96] [--rounds 3] [--threads 1]

Documents are messages of the bundled corpus, one to twelve of them joined, so that they are as
long as abstracts and letters. Each round trains `bert` for one epoch with windows of
384 tokens, once with all windows of a batch in one pass, as wide as the widest, and once in groups
of like width.
"""

import argparse
import json
import os
import statistics
from dataclasses import replace
from unittest import mock

import numpy as np
import torch

from attending.data.corpora import load_corpus
from attending.parts import encoders
from attending.parts.width_groups import width_groups
from attending.records import Document
from speed import ours

SETTINGS = {"windows.max_tokens": 384}


def joined(rows: int) -> list[Document]:
    """Join messages to longer documents; each has the label of its first message."""
    messages = load_corpus("portal").documents
    random = np.random.default_rng(0)
    found = []
    for number in range(rows):
        parts = random.choice(len(messages), size=random.integers(1, 13), replace=False)
        text = " ".join(messages[i].text for i in parts)
        found.append(replace(messages[parts[0]], id=str(number), text=text))
    return found


class Cells:
    """Counts cells of batches, of groups, and those that are text."""

    def __init__(self) -> None:
        self.together = self.apart = self.real = 0

    def __call__(self, mask: torch.Tensor) -> list[tuple[torch.Tensor, int]]:
        """Group as the library does."""
        groups = width_groups(mask)
        self.together += mask.numel()
        self.apart += sum(len(rows) * width for rows, width in groups) or mask.numel()
        self.real += int(mask.sum())
        return groups


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    documents = joined(given.rows)
    cells, ratios = Cells(), []
    for number in range(given.rounds):
        with mock.patch.object(encoders, "width_groups", cells):
            apart = ours("bert", documents, SETTINGS)
        with mock.patch.object(encoders, "width_groups", lambda mask: []):
            together = ours("bert", documents, SETTINGS)
        ratios.append(apart / together)
        print(number, round(together, 2), round(apart, 2), round(ratios[-1], 3), flush=True)
    report = {
        "speed, apart over together": round(statistics.median(ratios), 3),
        "cells over tokens, together": round(cells.together / cells.real, 3),
        "cells over tokens, apart": round(cells.apart / cells.real, 3),
        "rows": given.rows,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

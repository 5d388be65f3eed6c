"""Time and memory of mutual information at the size of a large coding corpus, against that size.

    python benchmarks/relevance.py [--page]

Documents, words and labels are drawn so that their counts look like those of discharge summaries:
word frequencies fall off as 1/rank, a document holds about 500 different words and 15 labels,
labels fall off likewise. Each size runs in a process of its own, whose peak memory is its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

PAGE = Path(__file__).parent.parent / "docs" / "results" / "relevance-cost.md"
SIZES = ((3_125, 14_000, 2_200), (12_500, 28_000, 4_450), (50_000, 57_000, 8_900))
_WORDS, _LABELS = 500, 15


def drawn(documents: int, columns: int, each: int, seed: int) -> sparse.csr_matrix:
    """Draw presence (documents, columns) with frequencies that fall off as 1/rank."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, columns + 1)
    share *= each / share.sum()
    for _ in range(20):  # what is cut off at one goes to the others
        share = np.minimum(share, 1.0)
        free = share < 1
        share[free] *= (each - (~free).sum()) / share[free].sum()
    counts = rng.binomial(documents, np.minimum(share, 1.0))
    rows = [rng.choice(documents, c, replace=False) for c in counts]
    indptr = np.cumsum([0, *counts])
    ones = np.ones(indptr[-1], np.int32)
    shape = (documents, columns)
    return sparse.csc_matrix((ones, np.concatenate(rows), indptr), shape=shape).tocsr()


def measure(documents: int, words: int, labels: int, threads: int) -> dict[str, float]:
    """Return seconds and peak GiB of one size, data not counted in the seconds."""
    from attending.parts.planting.relevance import relevance

    held = drawn(documents, words, _WORDS, 0)
    truth = drawn(documents, labels, _LABELS, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    started = time.perf_counter()
    found = relevance(held, truth, threads=threads)
    return {
        "seconds": time.perf_counter() - started,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "data_gib": before,
        "pairs": len(found.indices),
        "words_in_documents": int(held.nnz),
    }


def main() -> None:
    """Measure every size and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the docs page")
    parser.add_argument("--one", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one, given.threads)))
        return
    rows = []
    for size in SIZES:
        command = [sys.executable, __file__, "--threads", str(given.threads), "--one"]
        ran = subprocess.run(
            [*command, *map(str, size)], capture_output=True, text=True, check=True
        )
        found = json.loads(ran.stdout)
        rows.append(
            f"| {size[0]:,} | {size[1]:,} | {size[2]:,} | {found['words_in_documents']:,} "
            f"| {found['seconds']:.1f} | {found['data_gib']:.2f} | {found['gib']:.2f} |"
        )
        print(rows[-1], flush=True)
    if given.page:
        PAGE.write_text(_page(rows, given.threads), encoding="utf-8")


def _page(rows: list[str], threads: int) -> str:
    head = "| Documents | Words | Labels | Word occurrences | Seconds | GiB before | Peak GiB |"
    return "\n".join(
        [
            "# What it costs to rank words by mutual information",
            "",
            "Generated data of the shape of discharge summaries: about 500 different words and 15 "
            "labels a document, frequencies that fall off as 1/rank. Presence matrices in, the "
            f"1,000 best words of each label out; {threads} thread(s) of a two-core x86 machine. "
            "`GiB before` is the process with its data, `Peak GiB` the most that it ever had.",
            "",
            "```text",
            "python benchmarks/relevance.py --page",
            "```",
            "",
            head,
            "|---:|---:|---:|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    main()

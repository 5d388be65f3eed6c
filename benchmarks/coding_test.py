"""Figures of CANTEMIST's test set, from the cells of its study, for the paper's Table 5.

    attending study benchmarks/studies/cantemist-test.toml --out OUT --cells CELLS --data-root DATA
    python benchmarks/coding_test.py CELLS
    python benchmarks/coding.py page cantemist

Nothing is trained or predicted here: the answers that the study kept are scored as Table 5 scores
them, without the code 8000/6. Writes benchmarks/results/cantemist-test.jsonl, a line a cell.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from attending.data.labels import load_labels
from attending.evaluation.multilabel.metrics import evaluate_multilabel
from attending.study.folders import DONE, CellFolder
from coding import BUILT, RESULTS, TABLES

NAME = "cantemist-test"
FIGURES = ("map", "map_cantemist", "micro_f1", "micro_precision", "micro_recall", "macro_f1")


def cell(folder: Path) -> dict[str, Any]:
    """Score the answers of one cell."""
    facts = json.loads((folder / DONE).read_text(encoding="utf-8"))
    documents, predictions = CellFolder(folder).answers()
    labels = load_labels(BUILT / f"{NAME}.jsonl")
    without = TABLES["cantemist"].without
    result = evaluate_multilabel(
        documents, predictions, labels, without=without, unknown="miss"
    ).to_dict()
    return {
        "recipe": facts["system"],
        "seed": facts["seed"],
        "documents": len(documents),
        "metrics": {key: result["metrics"][key] for key in FIGURES},
        "without": result["without"],
        "diversity": result["diversity"],
    }


def main() -> None:
    """Score every finished cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", type=Path)
    given = parser.parse_args()
    found = []
    for path in sorted(given.cells.rglob(DONE)):
        if json.loads(path.read_text(encoding="utf-8"))["study"] == NAME:
            found.append(cell(path.parent))
    text = "".join(json.dumps(line) + "\n" for line in found)
    (RESULTS / f"{NAME}.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(found)} cells of {NAME}")


if __name__ == "__main__":
    main()

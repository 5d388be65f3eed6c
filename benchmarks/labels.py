"""Builds what the coding studies need beside their corpora: label files, and abstracts by text.

    python benchmarks/labels.py --data-root DATA

What is written to benchmarks/labels/built stays on this machine: the ICD-O-3 tables may be used
and not passed on, and the abstracts come with conditions of their own. Label sets hold codes of the
code system and of rows that a model may see, never those that only rows it is scored on have.

    built/cantemist.jsonl     ICD-O-3 codes of the table without the suffix /H, and training codes
    built/cantemist-train.jsonl codes of the training rows alone
    built/cantemist-test.jsonl the first with the codes of dev1, which chooses there
    built/codiesp.jsonl       ICD-10-CM codes of the training rows, described
    built/codiesp-all.jsonl   all ICD-10-CM codes besides
    built/abstracts.jsonl     abstracts with every class of the same text (one row a text)
    built/pubmedqa.jsonl      1,000 abstracts with their MeSH headings, 250 of them to score
    built/pubmedqa-mesh.jsonl the headings of those 750
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attending.data.coding.build import build_label_set
from attending.data.corpora import load_corpus
from attending.data.labels import write_labels
from attending.records import Label, LabelSet

BUILT = Path(__file__).parent / "labels" / "built"
CANTEMIST, CODIESP = "cantemist/cantemist.jsonl.gz", "codiesp/codiesp.jsonl.gz"
TABLE = "cantemist/ecieo_valid_codes_es.tsv.gz"
ABSTRACTS = "disease5/disease5.csv.gz"
PUBMEDQA = "mesh_small/pubmedqa_l_mesh.jsonl.gz"
SCORED = 250


def codes_of(file: Path, column: str, *splits: str) -> set[str]:
    """Return the codes of some parts of a corpus."""
    parts = [load_corpus(file, label=column, where={"split": s}) for s in splits]
    return {code for part in parts for code in part.label_counts}


def icdo3(root: Path, only: Iterable[str] | None) -> LabelSet:
    """Describe ICD-O-3 codes in Spanish; all of the table by default."""
    table: dict[str, Any] = {"code": "1", "description": "2", "synonyms": "3", "header": False}
    made = build_label_set(
        "icdo3", table=root / TABLE, only=only, language="es", name="code", **table
    )
    return made.labels


def cantemist(root: Path) -> Iterator[tuple[str, LabelSet]]:
    """Yield the label sets of CANTEMIST."""
    listed = {code for code in icdo3(root, None).ids if not code.endswith("/H")}
    train = codes_of(root / CANTEMIST, "codes", "train")
    yield "cantemist-train", icdo3(root, sorted(train))
    for name, splits in (("cantemist", ["train"]), ("cantemist-test", ["train", "dev1"])):
        codes = listed | codes_of(root / CANTEMIST, "codes", *splits)
        yield name, icdo3(root, sorted(codes))


def codiesp(root: Path) -> Iterator[tuple[str, LabelSet]]:
    """Yield the label sets of CodiEsp, ids in small letters as in the corpus."""
    train = codes_of(root / CODIESP, "codes_D", "train")
    known = {code.lower() for code in build_label_set("icd10cm").labels.ids}
    for name, codes in (("codiesp", train), ("codiesp-all", train | known)):
        yield name, build_label_set("icd10cm", only=sorted(codes), name="code").labels


def abstracts(root: Path) -> Iterator[str]:
    """Yield one line a distinct text, with the classes of all its rows."""
    found: dict[str, dict[str, Any]] = {}
    with gzip.open(root / ABSTRACTS, "rb") as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8", newline="")):
            group = row["text_group"]
            kept = found.setdefault(group, {"id": group, "text": row["text"], "labels": []})
            kept["labels"].append(row["label_name"])
    return (json.dumps(row, ensure_ascii=False) for row in found.values())


def pubmedqa(root: Path) -> tuple[list[dict[str, Any]], LabelSet]:
    """Return titles and abstracts with headings, and the label set; the corpus has no parts.

    The 250 articles whose numbers have the smallest SHA-256 are those to score.
    """
    with gzip.open(root / PUBMEDQA, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows.sort(key=lambda row: hashlib.sha256(row["pmid"].encode()).hexdigest())
    made = [
        {
            "id": row["pmid"],
            "split": "test" if number < SCORED else "train",
            "text": f"{row['question']}\n{row['text']}",
            "labels": sorted(set(row["mesh"])),
        }
        for number, row in enumerate(rows)
    ]
    seen = {heading for row in made if row["split"] == "train" for heading in row["labels"]}
    labels = tuple(Label(id=heading, name=heading) for heading in sorted(seen))
    return made, LabelSet(labels, name="mesh")


def main() -> None:
    """Build all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, required=True)
    root = parser.parse_args().data_root
    BUILT.mkdir(parents=True, exist_ok=True)
    for build in (cantemist, codiesp):
        for name, labels in build(root):
            write_labels(labels, BUILT / f"{name}.jsonl", force=True)
            print(f"{name}.jsonl: {len(labels):,} labels")
    articles, labels = pubmedqa(root)
    write_labels(labels, BUILT / "pubmedqa-mesh.jsonl", force=True)
    print(f"pubmedqa-mesh.jsonl: {len(labels):,} labels")
    told = [json.dumps(article, ensure_ascii=False) for article in articles]
    for name, lines in (("abstracts", list(abstracts(root))), ("pubmedqa", told)):
        (BUILT / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}.jsonl: {len(lines):,} texts")


if __name__ == "__main__":
    main()

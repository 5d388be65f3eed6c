"""The study files that come with the project, and the page that explains them."""

import csv
import gzip
import io
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from attending.data.labels import load_labels
from attending.study.plan import load_study
from attending.study.spec import (
    ClaimTable,
    CorpusTable,
    Head,
    PublishedRow,
    PublishedTable,
    SplitTable,
    SystemTable,
)

ROOT = Path(__file__).parents[2]
LABELS = ROOT / "benchmarks" / "labels"
FILES = sorted((ROOT / "benchmarks" / "studies").glob("*.toml"))


def test_there_are_study_files():
    assert len(FILES) >= 6


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_study_files_load(path, tiny_encoder, tmp_path):
    text = path.read_text()
    root = None
    if "--data-root" in text:
        path, root = stand_in(path, tmp_path)
    study = load_study(path, root=root, encoder=str(tiny_encoder))
    assert study.file.name == path.stem and study.head.about
    assert study.head.pictures or (study.file.claims and len(study.systems) >= 4)
    assert f"attending study benchmarks/studies/{path.name} --out" in text
    for system in study.systems.values():
        assert len(system.recipes) == len(study.corpora)


def stand_in(path: Path, folder: Path) -> tuple[Path, Path]:
    """Copy a study and its labels, and write corpora of the form it names."""
    shutil.copytree(LABELS, folder / "labels", ignore=shutil.ignore_patterns("built", ".*"))
    (folder / "labels" / "built").mkdir()
    for made in ("data", "studies"):
        (folder / made).mkdir()
    copied = folder / "studies" / path.name
    shutil.copyfile(path, copied)
    for corpus in tomllib.loads(path.read_text())["corpus"]:
        labels = folder / "studies" / corpus["labels"]
        if not labels.is_file():
            lines = [json.dumps({"id": f"c{i}", "description": f"code {i}"}) for i in range(10)]
            labels.write_text("\n".join(lines) + "\n")
        beside = "built" in corpus["file"]
        file = (folder / ("studies" if beside else "data") / corpus["file"]).resolve()
        file.parent.mkdir(exist_ok=True)
        rows = [row(corpus, i, load_labels(labels).ids) for i in range(3200)]
        body = io.StringIO()
        if ".csv" in file.name:
            writer = csv.DictWriter(body, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            body.writelines(json.dumps(r) + "\n" for r in rows)
        data = body.getvalue().encode()
        file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
    return copied, folder / "data"


def row(corpus: dict[str, Any], i: int, ids: tuple[str, ...]) -> dict[str, Any]:
    """Make a row with the columns that a study names."""
    split = corpus["split"]
    parts = list(split.get("values", {"train": ""}).values())
    own = sorted({ids[i % len(ids)], ids[(i // 3) % len(ids)]})
    single = ".csv" in corpus["file"]
    return {
        corpus.get("id", "id"): str(i),
        corpus.get("text", "text"): f"abstract {i}",
        corpus.get("label", "label"): own[0] if single else own,
        **({split["column"]: parts[i % len(parts)]} if "column" in split else {}),
        **{corpus[role]: f"g{i}" for role in ("group",) if role in corpus},
        **{corpus[role]: [] for role in ("spans",) if role in corpus},
        **corpus.get("where", {}),
    }


def test_the_page_names_every_key():
    page = (ROOT / "docs" / "study.md").read_text()
    tables = (Head, CorpusTable, SplitTable, SystemTable, ClaimTable, PublishedTable, PublishedRow)
    keys = {key for table in tables for key in table.model_fields}
    missing = sorted(k for k in keys if f"`{k}`" not in page and f"published.{k}" not in page)
    assert missing == []


def test_the_file_of_the_page_loads(tmp_path, data, tiny_encoder):
    page = (ROOT / "docs" / "study.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    text = text.replace('labels = "labels.toml"', 'group = "writer"\nlabel = "label"')
    (data / "triage.toml").write_text(text)
    study = load_study(data / "triage.toml", encoder=str(tiny_encoder))
    assert len(study.systems) == 4 and len(study.file.claims) == 2


def test_every_key_says_what_it_is_for():
    for table in (Head, CorpusTable, SplitTable, SystemTable, ClaimTable, PublishedTable):
        for name, field in table.model_fields.items():
            if name not in ("split", "row", "published"):
                assert field.description, f"{table.__name__}.{name}"

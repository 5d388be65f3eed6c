"""Models to export: untrained networks of shipped recipes, tiny and different in every weight."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attending.export.folder import export_model
from attending.models.network import Network
from attending.models.neural import NeuralModel, plants
from attending.models.store import save_model
from attending.parts.planting.word_index import WordIndex
from attending.records import Document, Label, LabelSet

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

LABELS = LabelSet(
    (
        Label("routine", "", "please refill or cancel", keywords=("refill", "appointment")),
        Label("soon", "", "dizziness or leg swelling", keywords=("dizziness", "leg swelling")),
        Label("urgent", "", "chest pain now", keywords=("chest pain", "bleeding")),
    ),
    name="urgency",
    ordered=True,
)
ROWS = tuple(
    Document(f"d{i}", text, (label,))
    for i, (text, label) in enumerate(
        [
            ("please refill my metformin", "routine"),
            ("chest pain now, bleeding will not stop", "urgent"),
            ("my leg is swollen, leg swelling for two days", "soon"),
            ("no chest pain, feeling well after the visit. " * 30 + "leg swelling", "soon"),
            ("pain", "urgent"),
            ("please cancel the appointment with my doctor", "routine"),
        ]
    )
)
MIXED = (*ROWS, Document("blank", " "))


@pytest.fixture(scope="session")
def untrained(tiny_recipe: Callable[..., Any]) -> Callable[..., NeuralModel]:
    """Return a function that makes a model of a shipped recipe, weights as they start."""

    def make(name: str, **settings: Any) -> NeuralModel:
        plain = {"windows.max_tokens": 64}
        taught = name.startswith("distil")
        changes = {key.replace("__", "."): value for key, value in settings.items()}
        recipe = tiny_recipe(name, **({"encoder__layers": 2} if taught else {}))
        recipe = recipe.override(plain | changes)
        texts = [d.text for d in ROWS]
        index = WordIndex.learn(texts, min_count=1) if plants(recipe) else None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            network = Network(
                recipe,
                LABELS,
                counts=[3, 2, 1],
                documents=6,
                texts=texts,
                words=None if index is None else len(index),
            )
            for parameter in network.parameters():  # so that nothing starts at zero
                parameter.data += 0.05 * torch.randn_like(parameter)
            if network.planting is not None and index is not None:
                network.planting.static_words.random_(2, len(index))
                network.planting.static_scores.uniform_(0.0, 3.0)
        return NeuralModel(recipe, LABELS, network.eval(), index=index)

    return make


@pytest.fixture(scope="session")
def lesa(untrained: Callable[..., NeuralModel]) -> NeuralModel:
    """Return a tiny lesa-bert, for read-only use."""
    return untrained("lesa-bert")


@pytest.fixture(scope="session")
def lesa_folder(lesa: NeuralModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return its export in float, for read-only use."""
    folder = tmp_path_factory.mktemp("exported") / "lesa"
    source = save_model(lesa, folder.with_name("source"))
    export_model(lesa, folder, MIXED, sample="a few messages", source=source)
    return folder


@pytest.fixture(scope="session")
def lame(untrained: Callable[..., NeuralModel]) -> NeuralModel:
    """Return a tiny lame, which gives any number of labels by thresholds of their own."""
    from attending.parts.decoders import Decision

    model = untrained("lame")
    model.decision = Decision("threshold", threshold=0.5, thresholds={"urgent": 0.2})
    return model


@pytest.fixture(scope="session")
def lame_folder(lame: NeuralModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return its export in float, for read-only use."""
    folder = tmp_path_factory.mktemp("exported") / "lame"
    export_model(lame, folder, MIXED)
    return folder


@pytest.fixture(scope="session")
def mixed() -> tuple[Document, ...]:
    """Return texts of one window, of many, of one word and of none."""
    return MIXED


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Return a function that copies a folder to where it may be changed."""
    return lambda folder: Path(shutil.copytree(folder, tmp_path / f"copy-of-{folder.name}"))


@pytest.fixture(scope="session")
def logits_of() -> Callable[..., list[Any]]:
    """Return a function that gives the raw scores of rows."""
    return lambda model, rows: [s.logits for s in model.scores(rows)]


@pytest.fixture(scope="session")
def plant_folder(
    untrained: Callable[..., NeuralModel], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the export of a tiny plant, for read-only use."""
    folder = tmp_path_factory.mktemp("exported") / "plant"
    export_model(untrained("plant"), folder, MIXED, sample="a few messages")
    return folder

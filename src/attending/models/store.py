"""The model folder: everything that is needed to use a model, self-contained and checked."""

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module, metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from attending.data.labels import load_labels, write_labels
from attending.data.wording import plural, shown_label, some
from attending.errors import AttendingError, ModelError, OutputError
from attending.models.base import Model
from attending.models.card import model_card
from attending.models.cascade import FAMILY as CASCADE
from attending.models.cascade import CascadeModel
from attending.models.contents import content_of
from attending.models.precision import answer_in
from attending.models.tagger import TaggerModel
from attending.parts.decoders import Decision
from attending.parts.tagging.decision import SpanDecision
from attending.recipe import Recipe
from attending.records import LabelSet

FORMAT = 1
MANIFEST = "attending.json"
ENCODER = "encoder"
"""The ``family`` in the manifest of an encoder folder, which holds no model."""
EXPORTED = "exported"
"""The ``family`` of a graph that runs without torch; see ``attending export``."""
RUN = "run"
"""Where a model folder in the making keeps the state of its training."""
ALONG = ("data.json", "development.json")
"""Files that go along as they are where a model becomes part of another folder."""
_FOLDERS: WeakKeyDictionary[Model | TaggerModel, Path] = WeakKeyDictionary()
"""Where models that are in use were loaded from."""
_PACKAGES = ("attending", "torch", "transformers", "tokenizers", "scikit-learn", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def require_free(folder: Path, force: bool) -> None:
    """Make sure that a model may be written to a folder.

    Not even ``force`` replaces a folder that is no model: ``--out .`` would otherwise wipe the
    folder that one stands in.

    Raises:
        OutputError: If it holds something and ``force`` is not set, holds something else than a
            model, or is a file.
    """
    if folder.is_file():
        raise OutputError("is a file, not a folder", where=str(folder))
    held = {f.name for f in folder.iterdir()} if folder.is_dir() else set()
    if not held:
        return
    if not force:
        raise OutputError(
            "the output folder exists and is not empty",
            where=str(folder),
            step="Choose another --out, or pass --force to replace it.",
        )
    if MANIFEST not in held and held != {RUN}:
        raise OutputError(
            "the folder holds something that is no model, which --force leaves alone",
            where=str(folder),
            step="Choose another --out.",
        )


def save_model(
    model: Model | TaggerModel,
    folder: str | Path,
    *,
    metrics: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write a model folder in one step: a crash leaves the old one or the new one, whole.

    Raises:
        OutputError: If the folder holds something and ``force`` is not set, or something else
            than a model.
    """
    with whole_folder(folder, force) as new:
        _write(model, new, metrics or {})
    return Path(folder).resolve()


@contextmanager
def whole_folder(folder: str | Path, force: bool = False) -> Iterator[Path]:
    """Give an empty folder that, once it is filled, takes the place of ``folder`` in one step.

    Raises:
        OutputError: As ``require_free``.
    """
    folder = Path(folder).resolve()
    require_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        scratch.chmod(0o755)
        yield scratch
        _swap(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _swap(new: Path, folder: Path) -> None:
    """Put a folder in the place of another; the old one is removed only when the new one stands."""
    old = new.with_name(f"{new.name}-old")
    if folder.exists():
        os.replace(folder, old)
    try:
        os.replace(new, folder)
    except OSError:
        if old.exists():
            os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def portable(recipe: Recipe) -> Recipe:
    """Return a recipe whose encoder is named without the folders that lead to it.

    A model folder is passed on; where someone's files lie is nobody else's business.
    """
    encoder = recipe.get("encoder")
    key = "name" if getattr(encoder, "kind", None) == "pretrained" else "vectors"
    name = getattr(encoder, key, None)
    if name is None or not Path(name).expanduser().is_absolute():
        return recipe
    return recipe.override({f"encoder.{key}": Path(name).name})


def as_trained(recipe: Recipe) -> Recipe:
    """Return the recipe that trains the same again: portable, and with nothing left to settle.

    What it says of the bundled encoder and of another task has been settled by then, and would
    take the place of what a person set.
    """
    nothing: Mapping[str, Any] = MappingProxyType({})
    return replace(portable(recipe), bundled=nothing, other=nothing)


def _write(model: Model | TaggerModel, folder: Path, metrics: Mapping[str, Any]) -> None:
    model.save(folder)
    write_labels(model.labels, folder / "labels.toml")
    recipe = as_trained(model.recipe)
    (folder / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    _write_json(folder / "decision.json", model.decision.to_dict())
    _write_json(folder / "metrics.json", metrics)
    facts = {"versions": versions(), **model.facts}
    if "encoder" in recipe.slots:
        spec = recipe["encoder"]
        facts["encoder"] = getattr(spec, "name", spec.kind)
        if content := content_of(model.recipe):
            facts["encoder_content"] = content
    manifest = {
        "format": FORMAT,
        "family": model.recipe.family,
        "task": model.recipe.task,
        "recipe": model.recipe.name,
        "label_set_hash": model.labels.hash,
        **facts,
    }
    _write_json(folder / MANIFEST, manifest)
    card = model_card(model, facts, metrics)
    (folder / "README.md").write_text(card, encoding="utf-8")


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    body = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(body + "\n", encoding="utf-8")


def load_model(folder: str | Path, *, precision: str = "float32") -> Model:
    """Load the folder of a model that gives documents labels; see ``load_any``.

    Raises:
        ModelError: As ``load_any``, or if the model tags spans.
    """
    model = load_any(folder, precision=precision)
    if isinstance(model, TaggerModel):
        raise ModelError(
            "tags spans, it gives documents no labels",
            where=str(folder),
            step="evaluate, predict and explain take it; in Python, attending.Tagger.load does.",
        )
    return model


def load_tagger(folder: str | Path, *, precision: str = "float32") -> TaggerModel:
    """Load the folder of a model that tags spans; see ``load_any``.

    Raises:
        ModelError: As ``load_any``, or if the model gives labels.
    """
    model = load_any(folder, precision=precision)
    if not isinstance(model, TaggerModel):
        raise ModelError(
            "gives documents labels, it tags no spans",
            where=str(folder),
            step="Use attending.Classifier.load.",
        )
    return model


def load_any(folder: str | Path, *, precision: str = "float32") -> Model | TaggerModel:
    """Load a model folder; opens no socket and runs no pickled code.

    ``precision`` is what a network answers in, see ``attending.models.precision.answer_in``.

    Raises:
        ModelError: If it is no model folder, is of a newer format, or its labels were changed, or
            if there is no such precision.
    """
    model = _loaded(Path(folder))
    answer_in(model, precision)
    _FOLDERS[model] = Path(folder).resolve()
    return model


def folder_of(model: Model | TaggerModel) -> Path | None:
    """Return the folder that a model was loaded from; ``None`` if it was not loaded."""
    return _FOLDERS.get(model)


def _loaded(folder: Path) -> Model | TaggerModel:
    manifest = _read_manifest(folder)
    if manifest.get("format") != FORMAT:
        raise ModelError(
            "is of another format",
            where=str(folder),
            found=str(manifest.get("format")),
            allowed=str(FORMAT),
            step="Load it with the version of attending that wrote it.",
        )
    if manifest.get("family") == ENCODER:
        raise ModelError(
            "is an encoder, not a model",
            where=str(folder),
            step=f"Train a model on it with --encoder {folder}.",
        )
    labels = _read_labels(folder)
    if labels.hash != manifest.get("label_set_hash"):
        raise ModelError(
            "labels.toml was changed after training, so scores would get wrong names",
            where=str(folder),
            found=_changes(labels, manifest.get("label_counts")),
            step="Restore the file, or train again with the new labels.",
        )
    recipe = _read_recipe(folder)
    decided = _read_json(folder / "decision.json")
    facts = {k: v for k, v in manifest.items() if k not in ("format", "label_set_hash")}
    if recipe.task == "spans":
        return TaggerModel.load(folder, recipe, labels, SpanDecision.from_dict(decided), facts)
    decision = Decision.from_dict(decided, labels=labels)
    if manifest.get("family") == EXPORTED:
        # Named by string, as parts are: export stands above models.
        exported: Model = import_module("attending.export.runtime").ExportedModel.load(
            folder, recipe, labels, decision, facts
        )
        return exported
    if manifest.get("family") == CASCADE:
        return CascadeModel.load(folder, decision, facts)
    if recipe.family == "neural":
        from attending.models.neural import NeuralModel

        return NeuralModel.load(folder, recipe, labels, decision, facts)
    from attending.models.linear import LinearModel

    return LinearModel.load(folder, recipe, labels, decision, facts)


def task_in(folder: str | Path) -> str | None:
    """Return the task of the model in a folder, without loading it; ``None`` for an encoder.

    Raises:
        ModelError: If it is no model folder.
    """
    task = _read_manifest(Path(folder)).get("task")
    return None if task is None else str(task)


def _read_manifest(folder: Path) -> dict[str, Any]:
    return _read_json(folder / MANIFEST, "Give the folder that train wrote.")


def load_metrics(folder: str | Path) -> dict[str, Any]:
    """Return the development figures of a model folder.

    Raises:
        ModelError: If they are missing or can't be read.
    """
    return _read_json(Path(folder) / "metrics.json")


def _read_labels(folder: Path) -> LabelSet:
    try:
        return load_labels(folder / "labels.toml")
    except AttendingError as error:
        raise _damaged(folder, error) from None


def _changes(labels: LabelSet, trained: object) -> str | None:
    """Say what became of the labels; ``trained`` has the ids of training as its keys, if known."""
    if not isinstance(trained, Mapping) or not trained:
        return None
    gone = [i for i in trained if i not in labels]
    new = [i for i in labels.ids if i not in trained]
    if not gone and not new:
        moved = tuple(trained) != labels.ids
        return f"the same labels {'in another order' if moved else 'described otherwise'}"
    known = f"{plural(len(labels), 'label')}, trained on {len(trained):,}"
    parts = [(gone, "missing"), (new, "added")]
    told = [f"{what}: {some([shown_label(i) for i in ids])}" for ids, what in parts if ids]
    return "; ".join((known, *told))


def _read_recipe(folder: Path) -> Recipe:
    try:
        return Recipe.load(folder / "recipe.toml")
    except AttendingError as error:
        raise _damaged(folder, error) from None


def _damaged(folder: Path, error: AttendingError) -> ModelError:
    return ModelError(f"the model folder is damaged: {error}", where=str(folder))


def _read_json(path: Path, step: str | None = None) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            "is no model folder", where=str(path.parent), found=f"no {path.name}", step=step
        ) from None
    except (ValueError, OSError) as error:
        raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None
    if not isinstance(value, dict):
        raise ModelError("can't be read (it holds no table)", where=str(path))
    return value

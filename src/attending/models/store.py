"""The model folder: everything that is needed to use a model, self-contained and checked."""

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from attending.data.labels import load_labels, write_labels
from attending.errors import ModelError, OutputError
from attending.models.base import Model
from attending.models.card import model_card
from attending.parts.decoders import Decision
from attending.recipe import Recipe

FORMAT = 1
MANIFEST = "attending.json"
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
    """Make sure that an output folder may be written.

    Raises:
        OutputError: If it holds something and ``force`` is not set, or is a file.
    """
    if folder.is_file():
        raise OutputError("is a file, not a folder", where=str(folder))
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise OutputError(
            "the output folder exists and is not empty",
            where=str(folder),
            step="Choose another --out, or pass --force to replace it.",
        )


def save_model(
    model: Model,
    folder: str | Path,
    *,
    metrics: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write a model folder in one step: a crash leaves the old one or the new one, whole.

    Raises:
        OutputError: If the folder holds something and ``force`` is not set.
    """
    folder = Path(folder)
    require_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        scratch.chmod(0o755)
        _write(model, scratch, metrics or {})
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _write(model: Model, folder: Path, metrics: Mapping[str, Any]) -> None:
    model.save(folder)
    write_labels(model.labels, folder / "labels.toml")
    (folder / "recipe.toml").write_text(model.recipe.to_toml(), encoding="utf-8")
    _write_json(folder / "decision.json", model.decision.to_dict())
    _write_json(folder / "metrics.json", metrics)
    facts = {"versions": versions(), **model.facts}
    manifest = {
        "format": FORMAT,
        "family": model.recipe.family,
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


def load_model(folder: str | Path) -> Model:
    """Load a model folder; opens no socket and runs no pickled code.

    Raises:
        ModelError: If it is no model folder, is of a newer format, or its labels were changed.
    """
    folder = Path(folder)
    manifest = _read_json(folder / MANIFEST, "Give the folder that train wrote.")
    if manifest.get("format") != FORMAT:
        raise ModelError(
            "is of another format",
            where=str(folder),
            found=str(manifest.get("format")),
            allowed=str(FORMAT),
            step="Load it with the version of attending that wrote it.",
        )
    labels = load_labels(folder / "labels.toml")
    if labels.hash != manifest.get("label_set_hash"):
        raise ModelError(
            "labels.toml was changed after training, so scores would get wrong names",
            where=str(folder),
            step="Restore the file, or train again with the new labels.",
        )
    recipe = Recipe.load(folder / "recipe.toml")
    decision = Decision.from_dict(_read_json(folder / "decision.json"))
    facts = {k: v for k, v in manifest.items() if k not in ("format", "label_set_hash")}
    if recipe.family == "neural":
        from attending.models.neural import NeuralModel

        return NeuralModel.load(folder, recipe, labels, decision, facts)
    from attending.models.linear import LinearModel

    return LinearModel.load(folder, recipe, labels, decision, facts)


def _read_json(path: Path, step: str | None = None) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError("is no model folder", where=str(path.parent), found=f"no {path.name}",
                         step=step) from None
    except (ValueError, OSError) as error:
        raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None
    return value

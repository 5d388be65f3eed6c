"""What a recipe reads from files of the user's: a model and a cell know them by their content."""

import hashlib
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

from attending.parts.sources import BUNDLED, file_sha256
from attending.recipe import Recipe

_ASIDE = ("README.md", "metrics.json", "development.json", "data.json", "train.jsonl")
"""Files of a model folder that say something of the model, and that no answer depends on."""


def files_of(folder: Path, aside: Container[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield the files of a model folder that its answers depend on, by name and in order.

    ``aside`` are further names at the folder's top that don't count.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        top = name.parts[0]
        if top in _ASIDE or top in aside or top.startswith(("evaluation", ".")):
            continue
        if path.is_file():
            yield name.as_posix(), path


def content_of(recipe: Recipe) -> str | None:
    """Return one number for the encoder's folder or the word vectors' file that a recipe names.

    ``None`` where it names neither: the bundled encoder, and those of the hub, go by their names.
    """
    encoder = recipe.get("encoder")
    name = getattr(encoder, "name", None) or getattr(encoder, "vectors", None)
    if name is None or name == BUNDLED:
        return None
    path = Path(name).expanduser()
    if path.is_file():
        return _of_file(path, _seen(path))
    if not path.is_dir():
        return None
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    lines = [f"{p.name} {_of_file(p, _seen(p))}" for p in files]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _seen(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@cache
def _of_file(path: Path, seen: tuple[int, int]) -> str:
    """Return a file's SHA-256; ``seen`` makes a changed file a new one."""
    return file_sha256(path)

"""The public API: quick to import, complete, and the same for people and type checkers."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import attending

HEAVY = (
    "torch",
    "transformers",
    "accelerate",
    "tokenizers",
    "sklearn",
    "scipy",
    "numpy",
    "matplotlib",
    "jinja2",
    "pyarrow",
    "pydantic",
    "typer",
    "rich",
)


def modules_after(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import attending", "from attending import LabelSet, AttendingError, Prediction"],
)
def test_import_brings_in_nothing_heavy(statement):
    loaded = modules_after(statement)
    assert "attending" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("name", sorted(set(attending.__all__) - {"distil"}))
def test_no_name_but_that_of_students_brings_in_torch_by_itself(name):
    loaded = modules_after(f"import attending\nattending.{name}")
    assert loaded.isdisjoint({"torch", "transformers", "accelerate"})


def test_the_probe_sees_heavy_modules():
    assert {"numpy", "attending"} <= modules_after("import attending, numpy")


def test_every_public_name_is_there():
    assert len(attending.__all__) == len(set(attending.__all__)) == 18
    for name in attending.__all__:
        value = getattr(attending, name)
        assert callable(value)
        assert value.__name__ == name
        assert value.__doc__
        assert vars(attending)[name] is value


def test_public_names_come_from_the_modules_that_type_checkers_see():
    tree = ast.parse(Path(attending.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == attending.__all__
    for name, module in seen.items():
        assert getattr(importlib.import_module(module), name) is getattr(attending, name)


def test_dir_lists_the_public_names_before_they_are_loaded():
    code = "import attending; print(*dir(attending))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert set(attending.__all__) | {"__version__"} <= set(run.stdout.split())


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match=r"'attending' has no attribute 'Clasifier'"):
        _ = attending.Clasifier
    with pytest.raises(ImportError, match="Clasifier"):
        exec("from attending import Clasifier")


def test_the_build_takes_its_version_from_the_package():
    project = Path(__file__).parent.parent / "pyproject.toml"
    settings = tomllib.loads(project.read_text(encoding="utf-8"))
    named = project.parent / settings["tool"]["hatch"]["version"]["path"]
    assert settings["project"]["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", attending.__version__)
    assert f'__version__ = "{attending.__version__}"' in named.read_text(encoding="utf-8")


def test_the_package_is_typed():
    assert (Path(attending.__file__).parent / "py.typed").is_file()

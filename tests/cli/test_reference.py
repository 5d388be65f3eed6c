"""The page of all verbs is what the command line says of itself."""

import re
from pathlib import Path

import typer

from attending.cli import reference
from attending.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def every_option(command, path=()):
    if path:
        yield from ((path, name) for p in command.params for name in p.opts if name[:2] == "--")
    for name, below in getattr(command, "commands", {}).items():
        yield from every_option(below, (*path, name))


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == reference.page(), (
        "python -m attending.cli.reference > docs/cli.md"
    )


def test_every_option_of_every_verb_is_on_the_page():
    sections = dict(
        zip(*[iter(re.split(r"^#{2,3} (.+)$", reference.page(), flags=re.M)[1:])] * 2, strict=True)
    )
    found = [(" ".join(path), name) for path, name in every_option(typer.main.get_command(app))]
    assert len(found) > 90
    for path, name in found:
        assert f"`{name}" in sections[path], (path, name)


def test_every_verb_has_an_example():
    page = reference.page()
    for path in {path for path, _ in every_option(typer.main.get_command(app))}:
        assert re.search(rf"^\$ (.*\| )?attending {' '.join(path)} ?", page, re.M), path


def test_nothing_is_without_help():
    for line in reference.page().splitlines():
        if line.startswith("| `"):
            assert not line.rstrip().endswith("|  |"), line
            assert "None" not in line
            assert "[bold]" not in line

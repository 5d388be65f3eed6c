"""What the documentation shows works: its Python runs, its commands are commands.

The Python of a page runs top to bottom in one namespace, in a folder with a few small files and
with a tiny encoder in place of the bundled one. A console block's ``$ attending ...`` lines are
parsed by the command line itself, without running them. The scripts in ``examples/`` run in the
same folder. Every page is seen, and the counts below make sure of that: raise them when pages are
added.
"""

import csv
import re
import runpy
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import attending

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SLOW = ("export.md", "index.md", "distillation.md")
PYTHON_BLOCKS_AT_LEAST = 21
COMMANDS_AT_LEAST = 55
EXAMPLES_AT_LEAST = 4

FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>`{3,})(?P<kind>\w*)[^\n`]*\n"
    r"(?P<body>.*?)"
    r"^(?P=indent)(?P=marks)`* *$",
    re.MULTILINE | re.DOTALL,
)
REDIRECTION = re.compile(r"\s\d?[<>]{1,2}\s*\S+")
PROGRAMS = ("attending", ".venv/bin/attending")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``line`` is the page's line on which its body starts, from 1."""

    page: Path
    line: int
    kind: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("body")) + 1
        yield Block(page, line, fence["kind"], textwrap.dedent(fence["body"]))


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of each ``attending`` command of a console block, without the program."""
    for line in block.body.replace("\\\n", " ").splitlines():
        if not line.startswith("$ "):
            continue
        lexer = shlex.shlex(REDIRECTION.sub("", line[2:]), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(";&|()"):
                words.append(word)
                continue
            if words and words[0] in PROGRAMS:
                yield words[1:]
            words = []


BLOCKS = [block for page in PAGES for block in blocks(page)]
PYTHON = {
    page: found
    for page in PAGES
    if (found := [b for b in BLOCKS if b.page == page and b.kind == "python"])
}
COMMANDS = [(b, words) for b in BLOCKS if b.kind == "console" for words in commands(b)]


def parse(words: list[str]) -> None:
    """Let the command line parse a command: verb, options, arguments; nothing runs.

    Raises:
        Exception: The command line's own usage error.
    """
    import typer

    from attending.cli.app import app

    asks_for_help = "--help" in words
    words = [word for word in words if word != "--help"]
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="attending")
    given, words, _ = command.make_parser(context).parse_args(args=words)
    while words and hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, words)
        context = command.context_class(command, info_name=name, parent=context)
        given, words, _ = command.make_parser(context).parse_args(args=words)
    if asks_for_help:
        return
    assert not words, f"surplus arguments: {words}"
    missing = [p.name for p in command.params if p.required and not given.get(p.name)]
    assert not missing, f"missing: {missing}"


@pytest.fixture
def work_folder(tmp_path, tiny_encoder, portal_rows, monkeypatch):
    """Go to a folder with the files that snippets use, the bundled encoder replaced."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attending.parts.sources.bundled_path", lambda: tiny_encoder)
    by_label: dict[str, list[dict[str, str]]] = {}
    for row in portal_rows:
        by_label.setdefault(row["label"], []).append(row)
    mixed = [row for rows in zip(*by_label.values(), strict=False) for row in rows]
    columns = ("id", "text", "label", "writer")
    for name, rows, kept in (
        ("messages.csv", mixed[:90], columns),
        ("test.csv", mixed[90:120], columns),
        ("new.csv", mixed[120:130], ("id", "text")),
    ):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, kept, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    portal = Path(attending.__file__).parent / "data" / "portal"
    shutil.copy(portal / "labels.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (p.name in SLOW)) for p in PYTHON],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_python_of_a_page_runs(page, work_folder):
    namespace = {"__name__": "__main__"}
    for block in PYTHON[page]:
        padded = "\n" * (block.line - 1) + block.body
        exec(compile(padded, str(page), "exec"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(script, work_folder, monkeypatch, capsys):
    messages = attending.load_corpus("messages.csv")
    model = attending.Classifier(recipe="tfidf-logistic", labels="labels.toml")
    model.fit(messages).save("model")
    monkeypatch.setattr(sys, "argv", [str(script)])
    before = set(work_folder.iterdir())
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    made = {path.name for path in set(work_folder.iterdir()) - before}
    promised = set(re.findall(r'"([\w-]+\.(?:csv|html)|triage-\w+)"', script.read_text("utf-8")))
    assert made == promised - {path.name for path in before}


@pytest.mark.parametrize(
    ("block", "words"), COMMANDS, ids=[f"{b} {' '.join(w[:2])}" for b, w in COMMANDS]
)
def test_a_shown_command_exists(block, words):
    parse(words)


@pytest.mark.parametrize(
    "words",
    [
        ["no-such-verb"],
        ["train", "messages.csv", "--no-such-option"],
        ["train", "messages.csv", "--out"],
        ["train"],
        ["evaluate", "model", "test.csv", "surplus"],
    ],
    ids=" ".join,
)
def test_a_command_that_does_not_exist_is_noticed(words):
    with pytest.raises(Exception, match=r"(?i)no such|missing|requires|surplus"):
        parse(words)


def test_console_blocks_mark_their_commands():
    """A command without its prompt would not be checked."""
    for block in BLOCKS:
        if block.kind == "console":
            assert re.search(r"^\$ ", block.body, re.MULTILINE), f"{block} has no line with $"
        else:
            assert not re.search(r"^\$ attending", block.body, re.MULTILINE), f"{block}: console?"


def test_commands_are_read_as_a_shell_would():
    body = (
        "$ cat a.csv | attending predict model - --out 'b c.csv' > log && attending doctor\n"
        "attending is the output here\n"
        "$ attending train x.csv \\\n    --out m  # a comment\n"
    )
    assert list(commands(Block(ROOT, 1, "console", body))) == [
        ["predict", "model", "-", "--out", "b c.csv"],
        ["doctor"],
        ["train", "x.csv", "--out", "m"],
    ]


def test_every_fence_is_seen():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = len(re.findall(r"^ *`{3,}", text, re.MULTILINE))
        assert fences == 2 * sum(b.page == page for b in BLOCKS), page
    assert sum(len(found) for found in PYTHON.values()) >= PYTHON_BLOCKS_AT_LEAST
    assert len(COMMANDS) >= COMMANDS_AT_LEAST
    assert len(EXAMPLES) >= EXAMPLES_AT_LEAST

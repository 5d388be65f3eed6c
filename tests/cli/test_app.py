"""What holds for every verb: help, exit codes, one line of error, quiet libraries."""

import logging
import os
import subprocess
import sys
import warnings

import pytest

import attending
from attending.cli import faults
from attending.cli.quiet import quiet
from attending.errors import DataError, TrainingInterrupted

VERBS = ("demo", "doctor", "check", "data", "labels", "pretrain", "train", "evaluate", "predict",
         "explain", "recipes")  # fmt: skip
HEAVY = {"torch", "transformers", "sklearn", "scipy", "numpy", "matplotlib", "jinja2", "pyarrow",
         "tokenizers"}  # fmt: skip


def test_the_help_names_every_verb(run):
    done = run("--help")
    assert done.code == 0
    assert done.err == ""
    for verb in VERBS:
        assert f" {verb} " in done.out
    assert run().out.rstrip() == done.out.rstrip()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_help_page(run, verb):
    done = run(verb, "--help")
    assert done.code == 0
    assert f"attending {verb}" in done.out
    assert "\\" not in done.out
    assert run(verb, "-h").out == done.out


def test_the_version(run):
    assert run("--version").out == f"attending {attending.__version__}\n"


def test_help_brings_in_nothing_heavy():
    code = (
        "import sys\nfrom attending.cli.app import app\n"
        "try:\n    app(['train', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(*{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["recpes"], "No such command 'recpes'. Did you mean 'recipes'? See: attending --help"),
        (["train", "x.csv", "--lables", "y"], "No such option: --lables"),
        (["train"], "Missing argument 'FILE'"),
        (["train", "x.csv"], "Missing option '--out'"),
        (["train", "x.csv", "--out", "m", "--seed", "one"], "--seed"),
        (["train", "x.csv", "--out", "m", "--split-by", "luck"], "--split-by"),
        (["predict", "m", "x.csv", "--out", "o", "--format", "xml"], "'--format': 'xml' is not"),
        (["evaluate", "model", "x.csv", "surplus"], "surplus"),
        (["data", "spilt"], "Did you mean 'split'?"),
    ],
)
def test_wrong_usage_is_one_line(run, words, expected):
    done = run(*words)
    assert done.code == 2
    assert done.out == ""
    assert expected in done.error
    assert done.error.count("See: attending") == 1


def test_a_group_without_a_verb_shows_its_help(run):
    done = run("data")
    assert done.code == 0
    assert "convert" in done.out
    assert done.err == ""


def raising(error):
    def call():
        raise error

    return call


def test_an_error_on_purpose_is_one_line(capsys):
    assert faults.run(raising(DataError("is\nodd", where="a.csv", step="Look.")), False) == 2
    assert capsys.readouterr().err == "error: a.csv: is odd. Look.\n"


def test_a_stopped_training_says_how_to_go_on(capsys):
    error = TrainingInterrupted("stopped on request at step 3 of 9", step="Run it again.")
    assert faults.run(raising(error), False) == 130
    assert capsys.readouterr().err == "stopped on request at step 3 of 9. Run it again.\n"


def test_ctrl_c_is_one_line(capsys):
    assert faults.run(lambda: faults.guarded(raising(KeyboardInterrupt())), False) == 130
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError("ZXQ"), KeyError("ZXQ"), RuntimeError("a\nZXQ")])
def test_an_unexpected_error_hides_its_message(error, capsys):
    assert faults.run(raising(error), False) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert type(error).__name__ in line
    assert "--debug" in line
    assert "ZXQ" not in line


def test_an_unexpected_error_names_the_place_in_the_package(capsys):
    faults.run(lambda: attending.load_corpus(3), False)
    assert "in corpora line" in capsys.readouterr().err


def test_debug_shows_the_traceback(capsys):
    assert faults.run(raising(ValueError("ZXQ")), True) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "ValueError: ZXQ" in err


def test_a_full_disk_is_named(capsys):
    faults.run(raising(OSError(28, "No space left on device", "m/model.safetensors")), False)
    assert capsys.readouterr().err == "error: m/model.safetensors: No space left on device.\n"


def test_debug_may_stand_anywhere(run):
    for words in (["--debug", "check", "no.csv"], ["check", "no.csv", "--debug"]):
        done = run(*words)
        assert done.code == 2
        assert "Traceback" in done.err
        assert done.err.splitlines()[-1].startswith("error: no.csv: no such file")
    assert "Traceback" not in run("check", "no.csv").err


def test_a_reader_that_goes_away_is_no_fault(tmp_path):
    """As in ``attending recipes settings | head -1``, with a pipe that is closed at once."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "attending", "recipes", "show", "lesa-bert"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert done.returncode == faults.NO_READER
    assert done.stderr == b""


def test_libraries_are_silent_unless_asked_for(capsys):
    logger = logging.getLogger("some.library")
    with quiet():
        warnings.warn("a warning", stacklevel=1)
        logger.warning("a log line")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    with pytest.warns(UserWarning, match="again"):
        warnings.warn("again", stacklevel=1)


def test_quiet_keeps_what_the_user_set(monkeypatch):
    monkeypatch.setenv("TRANSFORMERS_VERBOSITY", "info")
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    with quiet():
        assert os.environ["TRANSFORMERS_VERBOSITY"] == "info"
        assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"

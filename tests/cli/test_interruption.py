"""Ctrl-C: one line, exit code 130, and the same command goes on to the same end."""

import os
import signal
import subprocess
import sys
import time

import pytest

from attending.cli import faults


def start(folder, *words):
    """Start the command line in a process of its own, as a terminal would.

    A shell that starts tests in the background has them ignore Ctrl-C, which is inherited.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "attending", *map(str, words)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(running, ready):
    deadline = time.monotonic() + 120
    while not ready():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "spans"])
def test_a_stopped_training_goes_on_to_the_same_model(
    kind, run, files, corpora, tiny_encoder, tmp_path
):
    of_kind: dict[str, list[object]] = {
        "labels": [files / "messages.csv", "--labels", files / "labels.toml"],
        "spans": [corpora / "notes", "--recipe", "btl-ner", "--dev", corpora / "notes",
                  "--set", "neighbours.k=3", "--set", "training.epochs=20"],
    }  # fmt: skip
    words = [
        "train", *of_kind[kind], "--no-check", "--encoder", tiny_encoder,
        "--set", "training.batch_size=2", "--set", "training.precision=float32",
        *([] if kind == "spans" else ["--set", "training.epochs=2"]), "--out",
    ]  # fmt: skip
    running = start(tmp_path, *words, "m")
    log = tmp_path / "m" / "run" / "train.jsonl"
    wait_for(running, log.is_file)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == faults.STOPPED, err
    assert out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("m/run: stopped on request at step ")
    assert last.endswith("Run the same command again to go on from there.")
    assert [p.name for p in (tmp_path / "m").iterdir()] == ["run"]

    done = run(*words, "m")
    assert done.code == 0, done.err
    assert "Going on after step" in done.err
    assert not (tmp_path / "m" / "run").exists()

    assert run(*words, "whole").code == 0
    for name in ("model.safetensors", "decision.json", "metrics.json", "recipe.toml"):
        one, other = ((tmp_path / o / name).read_bytes() for o in ("m", "whole"))
        assert one == other, name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_while_a_file_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    running = start(tmp_path, "check", "pipe.csv")
    with (tmp_path / "pipe.csv").open("w"):  # opens once the verb has begun to read
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == faults.STOPPED
    assert out == ""
    assert err == "Stopped. Run the same command again to start anew.\n"

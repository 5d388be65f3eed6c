"""``attending pretrain``: texts in, an encoder folder out that ``train`` takes."""

import csv
import json
import signal

import pytest

from attending.cli import faults
from attending.training.progress import Journal

QUICK = ("--set", "training.batch_size=8", "--set", "training.precision=float32",
         "--set", "training.development=0.2")  # fmt: skip
MARKER = "ZXQ-MARKER-7731"


@pytest.fixture
def pretrain(run, files, tiny_encoder):
    """Return a function that runs the verb on messages.csv."""

    def call(*words, file=files / "messages.csv"):
        return run("pretrain", file, "--encoder", tiny_encoder, *QUICK, *words)

    return call


def test_from_texts_to_a_model(run, pretrain, files, tmp_path):
    done = pretrain("--epochs", "2", "--out", "enc")
    assert done.code == 0, done.err
    assert "perplexity on the texts held out" not in done.out
    for part in ("perplexity", " -> ", "on 10 texts held out", "encoder      enc", "--encoder enc"):
        assert part in done.out
    for part in ('text "text"', "windows", "10 in float32", "epoch 2: perplexity", "note: the enc"):
        assert part in done.err
    trained = run(
        "train", files / "messages.csv", "--labels", files / "labels.toml", "--encoder", "enc",
        *QUICK[:4], "--set", "training.epochs=1", "--no-check", "--out", "m",
    )  # fmt: skip
    assert trained.code == 0, trained.err
    assert json.loads((tmp_path / "m" / "attending.json").read_text())["encoder"] == "enc"


def test_for_machines(pretrain):
    done = pretrain("--steps", "3", "--out", "enc", "--json")
    assert done.code == 0, done.err
    assert done.json["folder"] == "enc"
    assert done.json["steps"] == 3
    assert done.json["perplexity_after"] > 1


def test_several_files_and_chosen_rows(run, pretrain, files, tmp_path):
    done = pretrain(files / "new.csv", "--steps", "1", "--out", "enc")
    assert done.code == 0, done.err
    assert "messages.csv: 48 documents" in done.err
    assert "new.csv: 6 documents" in done.err
    assert "6 repeated texts: each text counts once" in done.err
    some = pretrain("--where", "writer=w1", "--steps", "1", "--out", "some", "--json")
    assert some.json["texts"] + some.json["held_out_texts"] == 12


def test_no_text_on_the_screen_or_in_a_file(run, pretrain, files, tmp_path):
    rows = list(csv.reader((files / "messages.csv").open(newline="")))
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                row if not n else [row[0], f"{row[1]} {MARKER}", *row[2:]]
                for n, row in enumerate(rows)
            ]
        )
        file.write(f'odd,"{MARKER}",urgent,w0,{MARKER}\n')
    done = pretrain("--steps", "12", "--out", "enc", file="in.csv")
    assert done.code == 0, done.err
    assert "1 row can't be read" in done.err
    written = [p.read_bytes().lower() for p in (tmp_path / "enc").iterdir()]
    assert len(written) >= 6
    for body in (done.out.lower().encode(), done.err.lower().encode(), *written):
        assert b"zxq" not in body and b"7731" not in body


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_encoder(pretrain, tmp_path, monkeypatch):
    class Stopping(Journal):
        def __call__(self, event):
            super().__call__(event)
            if event.kind == "step" and event.step == 3:
                signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("attending.training.pretrain.Journal", Stopping)
        done = pretrain("--epochs", "2", "--out", "enc")
    assert done.code == faults.STOPPED
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("enc/run: stopped on request at step 3 of 10")
    assert last.endswith("Run the same command again to go on from there.")
    again = pretrain("--epochs", "2", "--out", "enc")
    assert again.code == 0, again.err
    assert "Going on after step 3 of 10." in again.err
    assert pretrain("--epochs", "2", "--out", "whole").code == 0
    one, other = (tmp_path / name / "model.safetensors" for name in ("enc", "whole"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--epochs", "1", "--steps", "2"], ["--epochs and --steps exclude each other"]),
        (["--epochs", "0"], ["training.epochs", "greater than 0"]),
        (["--set", "masking.whole_word=true"], ['Did you mean "masking.whole_words"?']),
        (["--set", "epochs"], ["slot.key=value"]),
        (["--encoder", "./nowhere"], ["no such encoder folder", "minilm (bundled)"]),
        (["--text", "txet"], ['no column is called "txet"']),
        (["--where", "writer=w9"], ["writer"]),
        (["no.csv"], ["no.csv: no such file"]),
    ],
    ids=lambda x: " ".join(x) if x and x[0].startswith(("-", "no.")) else "",
)
def test_what_can_not_be(words, parts, pretrain, tmp_path):
    done = pretrain("--out", "enc", *words)
    assert done.code == 2
    assert done.out == ""
    for part in parts:
        assert part in done.error
    assert not (tmp_path / "enc").exists()


def test_blank_texts(pretrain, tmp_path):
    (tmp_path / "blank.csv").write_text("id,text\n1,\n2, \n")
    done = pretrain("--out", "enc", file="blank.csv")
    assert done.code == 2
    assert "text" in done.error
    assert not (tmp_path / "enc").exists()


def test_a_folder_in_use(run, pretrain, tmp_path):
    (tmp_path / "enc").mkdir()
    (tmp_path / "enc" / "letter.txt").write_text("mine")
    assert "not empty" in pretrain("--out", "enc").error
    assert "--force leaves alone" in pretrain("--out", "enc", "--force").error
    assert pretrain("--steps", "1", "--out", "other").code == 0
    assert "not empty" in pretrain("--steps", "1", "--out", "other").error
    assert pretrain("--steps", "2", "--out", "other", "--force").code == 0


def test_an_encoder_given_as_a_model(run, pretrain, files):
    assert pretrain("--steps", "1", "--out", "enc").code == 0
    done = run("predict", "enc", files / "new.csv", "--out", "p.jsonl")
    assert done.code == 2
    assert "enc: is an encoder, not a model" in done.error
    assert "--encoder enc" in done.error

"""No text of a document on a screen, in a log, or in a file that isn't meant for text."""

import csv
import json

import pytest

MARKER = "ZXQ-MARKER-7731"
# A word alone, as a vocabulary would keep it.
PIECES = (MARKER, "7731", "zxq")
MEANT_FOR_TEXT = ("in.csv", "in.jsonl", "words.html")


@pytest.fixture
def marked(files, tmp_path):
    """Write messages.csv again with a marker in every text, and some rows that can't be read."""
    rows = list(csv.reader((files / "messages.csv").open(newline="")))
    with (tmp_path / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([id_, f"{text} {MARKER}", *more] for id_, text, *more in rows[1:])
        writer.writerow(["odd", MARKER, "urgent", "w0", MARKER])
    odd = [{"text": f"chest pain {MARKER}"}, {"text": [MARKER]}, {"text": None, "remark": MARKER}]
    lines = [json.dumps(row) for row in odd] + [f'{{"text": "{MARKER}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def check(done, folder):
    """Look for the marker in what was printed and in every file that is not meant for text."""
    found = [piece for piece in PIECES if piece in (done.out + done.err).lower()]
    assert not found
    seen = 0
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in MEANT_FOR_TEXT:
            body = path.read_bytes().lower()
            assert not [p for p in PIECES if p.lower().encode() in body], path
            seen += 1
    return seen


def test_a_neural_model_from_training_to_explanation(run, marked, files, tiny_encoder):
    train = [
        "train", "in.csv", "--labels", files / "labels.toml", "--encoder", tiny_encoder,
        "--set", "training.epochs=1", "--set", "training.batch_size=8", "--holdout", "0.25",
        "--set", "training.precision=float32", "--out", "m",
    ]  # fmt: skip
    for words in (
        ["check", "in.csv", "--places", "50"],
        ["check", "in.csv", "--json"],
        train,
        [*train, "--json", "--force"],
        ["evaluate", "m", "in.csv"],
        ["evaluate", "m", "in.csv", "--json", "--force"],
        ["predict", "m", "in.jsonl", "--out", "p.jsonl", "--evidence"],
        ["predict", "m", "in.jsonl", "--out", "p.csv"],
        ["predict", "m", "in.csv", "--out", "-", "--evidence"],
        ["explain", "m", "in.csv", "--out", "words.html", "--faithfulness", "--limit", "8"],
    ):
        done = run(*words)
        assert done.code == 0, (words, done.err)
        check(done, marked)
    assert MARKER in (marked / "words.html").read_text()
    assert check(done, marked) >= 15


@pytest.mark.parametrize("verb", ["check", "evaluate", "predict", "explain"])
def test_a_header_that_is_a_message(run, verb, linear, marked):
    """A file without column names has a message in its first line."""
    (marked / "in.csv").write_text(f"{MARKER} said that it hurts a lot since today,urgent\n" * 2)
    words = {
        "check": ["check", "in.csv"],
        "evaluate": ["evaluate", linear, "in.csv", "--out", "r"],
        "predict": ["predict", linear, "in.csv", "--out", "p.jsonl"],
        "explain": ["explain", linear, "in.csv", "--out", "w.html"],
    }[verb]
    done = run(*words)
    assert done.code == 2
    check(done, marked)


def test_a_model_that_breaks_inside(run, linear, marked, monkeypatch):
    def broken(self, texts):
        raise ValueError(f"could not take {texts[0]}")

    monkeypatch.setattr("attending.models.linear.LinearModel.logits", broken)
    done = run("predict", linear, "in.csv", "--out", "p.jsonl")
    assert done.code == 1
    assert "ValueError" in done.error
    check(done, marked)
    done = run("--debug", "predict", linear, "in.csv", "--out", "p.jsonl")
    assert MARKER in done.err

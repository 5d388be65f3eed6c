"""Further pretraining: it learns, goes on exactly, and leaves an encoder that recipes load."""

import json
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attending.errors import (
    EncoderError,
    ModelError,
    OutputError,
    TrainingError,
    TrainingInterrupted,
)
from attending.models.store import load_model
from attending.parts.encoders import build_pretrained
from attending.records import Document
from attending.specs import PretrainedEncoder
from attending.specs.pretraining import SETTABLE, Pretraining
from attending.training import pretrain as module
from attending.training.fit import fit
from attending.training.pretrain import pretrain

QUICK = {
    "training.batch_size": 8,
    "training.epochs": 3,
    "training.learning_rate": 3e-3,
    "training.precision": "float32",
    "training.development": 0.2,
}


class Killed(Exception):
    """Stands for a power cut."""


def at(step, what):
    def listen(event):
        if event.kind == "step" and event.step == step:
            what()

    return listen


def stop(step):
    return at(step, lambda: signal.raise_signal(signal.SIGINT))


def kill(step):
    def die():
        raise Killed

    return at(step, die)


@pytest.fixture(scope="module")
def texts(messages):
    """Messages without labels."""
    return [Document(d.id, d.text, None) for d in messages]


@pytest.fixture(scope="module")
def learn(texts, tiny_encoder):
    """Return a function that trains a tiny encoder on messages."""

    def run(folder, *, encoder=tiny_encoder, rows=texts, steps=None, **more):
        settings = QUICK | {k.replace("__", "."): v for k, v in more.items() if "__" in k}
        options = {k: v for k, v in more.items() if "__" not in k}
        made = Pretraining().with_encoder(str(encoder)).override(settings)
        return pretrain(rows, folder, made, steps=steps, **options)

    return run


@pytest.fixture(scope="module")
def whole(learn, tmp_path_factory):
    """An uninterrupted run: 3 epochs of 5 steps."""
    return learn(tmp_path_factory.mktemp("whole") / "e")


def weights(done):
    return (done.folder / "model.safetensors").read_bytes()


def log(done):
    return [json.loads(line) for line in (done.folder / "pretrain.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
def test_it_learns_and_leaves_an_encoder(family, learn, make_tiny, tmp_path):
    base = make_tiny(family)
    done = learn(
        tmp_path / "e", encoder=base, training__epochs=6, training__head_learning_rate=0.02
    )
    assert done.after < 0.9 * done.before
    found = build_pretrained(PretrainedEncoder(name=str(done.folder)))
    original = build_pretrained(PretrainedEncoder(name=str(base)))
    assert (found.family, found.width, found.layers) == (family, 32, 2)
    assert found.tokenizer.get_vocab() == original.tokenizer.get_vocab()
    before, after = original.model.state_dict(), found.model.state_dict()
    assert before.keys() == after.keys()
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert len(moved) > 20
    if original.pretrained_pooler is not None:
        torch.testing.assert_close(
            found.pretrained_pooler.weight, original.pretrained_pooler.weight
        )


def test_a_recipe_trains_on_it(whole, messages, urgency, tiny_recipe):
    recipe = tiny_recipe("bert").with_encoder(str(whole.folder))
    fitted = fit(recipe.override({"training.epochs": 1}), messages, urgency)
    assert fitted.metrics["accuracy"] > 0


def test_training_can_go_on_with_its_head(whole, learn, tmp_path):
    again = learn(tmp_path / "e", encoder=whole.folder)
    assert whole.facts["fresh_head"] and not again.facts["fresh_head"]
    assert again.before == pytest.approx(whole.after, rel=1e-4)
    assert again.after < again.before
    assert any("head for hidden words" in note for note in whole.notes)
    assert not any("head for hidden words" in note for note in again.notes)


def test_the_folder_says_what_it_is_made_of(whole, texts):
    names = {p.name for p in whole.folder.iterdir()}
    assert names >= {"config.json", "tokenizer.json", "model.safetensors", "README.md",
                     "attending.json", "pretrain.jsonl"}  # fmt: skip
    assert "run" not in names
    manifest = json.loads((whole.folder / "attending.json").read_text())
    assert manifest["family"] == "encoder"
    assert manifest["texts"] + manifest["held_out_texts"] == len(texts)
    assert manifest["steps"] == 15
    card = (whole.folder / "README.md").read_text()
    for part in (manifest["encoder"], manifest["data_fingerprint"], f"{whole.after:,.2f}"):
        assert part in card
    assert all(f"`{slot}.{name}`" in card for slot, names in SETTABLE.items() for name in names)
    assert load_file(whole.folder / "model.safetensors")


def test_neither_texts_nor_places_are_in_the_folder(learn, texts, tmp_path, tiny_encoder):
    marked = [Document(d.id, f"{d.text} zxq7731", None) for d in texts]
    done = learn(tmp_path / "e", rows=marked, training__epochs=1)
    for path in done.folder.iterdir():
        body = path.read_bytes().lower()
        for piece in (b"zxq7731", str(tiny_encoder.parent).encode(), str(tmp_path).encode()):
            assert piece not in body, (path.name, piece)


def test_the_configuration_is_that_of_the_original(whole, tiny_encoder):
    def read(folder):
        return json.loads((folder / "config.json").read_text())

    mine, base = read(whole.folder), read(tiny_encoder)
    for config in (mine, base):
        config.pop("architectures", None)
        config.pop("dtype", None)
    assert mine == base


def test_fewer_layers(learn, tmp_path):
    done = learn(tmp_path / "e", encoder__layers=1, training__epochs=1)
    assert build_pretrained(PretrainedEncoder(name=str(done.folder))).layers == 1


def test_events_tell_loss_and_perplexity(whole):
    rows = log(whole)
    assert [row["kind"] for row in rows] == ["start", "epoch", "step", "epoch", "epoch", "end"]
    assert rows[0]["facts"]["windows"] == whole.facts["windows"]
    assert rows[-2]["metrics"]["perplexity"] == pytest.approx(whole.after, rel=1e-5)


@pytest.mark.parametrize("step", [1, 7, 10])
def test_a_stopped_run_goes_on_to_the_same_encoder(step, learn, whole, tmp_path):
    with pytest.raises(TrainingInterrupted) as caught:
        learn(tmp_path / "e", listener=stop(step))
    assert str(caught.value).startswith(f"{tmp_path}/e/run: stopped on request at step {step} of")
    assert [p.name for p in (tmp_path / "e").iterdir()] == ["run"]
    resumed = learn(tmp_path / "e")
    assert weights(resumed) == weights(whole)
    assert (resumed.before, resumed.after) == (whole.before, whole.after)


def test_a_killed_run_goes_on_to_the_same_encoder(learn, whole, tmp_path):
    with pytest.raises(Killed):
        learn(tmp_path / "e", listener=kill(8))
    assert weights(learn(tmp_path / "e")) == weights(whole)


def test_long_epochs_are_saved_on_the_way(learn, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS_UNSAVED", 2)
    plan = {"steps": 7, "training__accumulate": 2, "masking__whole_words": True}
    whole = learn(tmp_path / "whole", training__batch_size=4, **plan)
    scored = [row["step"] for row in log(whole) if row["kind"] == "epoch"]
    assert scored == [2, 4, 6, 7]
    with pytest.raises(Killed):
        learn(tmp_path / "e", training__batch_size=4, listener=kill(5), **plan)
    saved = {p.name for p in (tmp_path / "e" / "run" / "checkpoints").iterdir()}
    assert "checkpoint-4" in saved
    resumed = learn(tmp_path / "e", training__batch_size=4, **plan)
    assert weights(resumed) == weights(whole)
    assert resumed.facts["steps"] == 7


def test_the_best_checkpoint_wins(learn, tmp_path):
    rates = {"training__learning_rate": 0.05, "training__head_learning_rate": 0.05}
    done = learn(tmp_path / "e", training__epochs=8, **rates)
    scores = [row["metrics"]["perplexity"] for row in log(done) if row["kind"] == "epoch"]
    assert done.after == pytest.approx(min(scores), rel=1e-5)
    assert scores[-1] > min(scores), "else the last one was the best by itself"


def test_a_run_that_gains_nothing_says_so(learn, whole, tmp_path):
    done = learn(tmp_path / "e", encoder=whole.folder, training__learning_rate=1.0)
    assert done.after > done.before
    assert any("perplexity did not fall" in note for note in done.notes)


@pytest.mark.parametrize("steps", [1, 4, 5, 6])
def test_steps_are_exact(steps, learn, tmp_path):
    done = learn(tmp_path / "e", steps=steps)
    assert log(done)[-1]["step"] == done.facts["steps"] == steps


def test_without_texts_held_out(learn, tmp_path):
    done = learn(tmp_path / "e", training__development=0.0, training__epochs=1)
    assert (done.before, done.after) == (None, None)
    assert "Not measured" in (done.folder / "README.md").read_text()


def test_another_run_is_not_gone_on_with(learn, texts, tmp_path):
    with pytest.raises(TrainingInterrupted):
        learn(tmp_path / "e", listener=stop(2))
    with pytest.raises(TrainingError, match=r"differs in .*data_fingerprint"):
        learn(tmp_path / "e", rows=texts[:-1])
    with pytest.raises(TrainingError, match="differs in seed"):
        learn(tmp_path / "e", seed=1)
    with pytest.raises(TrainingError, match="differs in settings"):
        learn(tmp_path / "e", masking__share=0.2)
    assert learn(tmp_path / "e", seed=1, steps=1, force=True).facts["seed"] == 1


def test_a_folder_in_use(learn, whole, tmp_path):
    with pytest.raises(OutputError, match="not empty"):
        learn(whole.folder)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(OutputError, match="no model"):
        learn(tmp_path, force=True)
    learn(tmp_path / "e", steps=1)
    assert learn(tmp_path / "e", steps=2, force=True).facts["steps"] == 2


def test_bad_texts(learn, tmp_path):
    with pytest.raises(TrainingError, match="there is no text"):
        learn(tmp_path / "e", rows=[])
    short = [Document(str(i), word, None) for i, word in enumerate(("pain", "fever", "漢字 漢字"))]
    with pytest.raises(TrainingError, match=r"long enough to guess words in \(found 3 texts"):
        learn(tmp_path / "e", rows=short)
    with pytest.raises(EncoderError, match="no such encoder folder"):
        learn(tmp_path / "e", encoder="./nowhere")
    assert not (tmp_path / "e").exists()


def test_an_encoder_is_no_model(whole):
    with pytest.raises(ModelError, match="is an encoder, not a model"):
        load_model(whole.folder)


def test_every_setting_is_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "pretraining.md").read_text("utf-8")
    assert [
        f"{s}.{n}" for s, ns in SETTABLE.items() for n in ns if f"| `{s}.{n}` |" not in page
    ] == []

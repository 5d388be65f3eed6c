"""The model folder: whole, self-contained, checked, and nobody else's business."""

import json
import os
import pickletools
import shutil
import zipfile

import pytest

from attending.errors import ModelError, OutputError
from attending.models import store
from attending.models.store import load_metrics, load_model, portable, save_model
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from attending.training.fit import fit

COMMON = {
    "README.md",
    "attending.json",
    "decision.json",
    "labels.toml",
    "metrics.json",
    "model.safetensors",
    "recipe.toml",
}
METRICS = {"macro_f1": 0.5, "accuracy": 0.625}


@pytest.fixture(scope="module")
def saved(neural, linear, tmp_path_factory):
    """Folders of a neural and a linear model, for read-only use."""
    root = tmp_path_factory.mktemp("models")
    return {
        name: save_model(model, root / name, metrics=METRICS)
        for name, model in (("neural", neural), ("linear", linear))
    }


@pytest.fixture(params=["neural", "linear"])
def folder(request, saved, tmp_path):
    """A model folder of its own for a test that damages it."""
    return shutil.copytree(saved[request.param], tmp_path / "model")


def files_of(folder):
    return {str(f.relative_to(folder)): f for f in sorted(folder.rglob("*")) if f.is_file()}


def refused(folder):
    with pytest.raises(ModelError) as caught:
        load_model(folder)
    line = str(caught.value)
    assert str(folder) in line and "\n" not in line
    return line


def change(path, **values):
    content = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(content), encoding="utf-8")


def test_what_a_folder_holds(saved):
    assert set(files_of(saved["linear"])) == COMMON | {"vocabulary.json"}
    assert set(files_of(saved["neural"])) == COMMON | {
        "encoder/config.json",
        "encoder/tokenizer.json",
        "encoder/tokenizer_config.json",
    }
    manifest = json.loads((saved["neural"] / "attending.json").read_text(encoding="utf-8"))
    assert manifest["format"] == 1 and manifest["family"] == "neural"
    assert manifest["recipe"] == "lesa-bert" and manifest["seed"] == 1
    assert {"python", "torch", "transformers", "tokenizers", "scikit-learn", "numpy"} <= set(
        manifest["versions"]
    )
    assert len(manifest["label_set_hash"]) == len(manifest["data_fingerprint"]) == 64
    assert load_metrics(saved["neural"]) == METRICS


def test_nothing_is_pickled(saved):
    for folder in saved.values():
        for name, file in files_of(folder).items():
            assert file.suffix in (".json", ".toml", ".md", ".safetensors"), name
            assert not zipfile.is_zipfile(file)
            with pytest.raises(Exception), file.open("rb") as raw:  # noqa: B017
                list(pickletools.genops(raw))


def test_no_file_says_where_anything_lies_on_this_machine(saved, tiny_encoder):
    """A model is passed on; its maker's folders and name are nobody else's business."""
    secrets = {str(tiny_encoder), str(tiny_encoder.parent), os.path.expanduser("~"), os.getcwd()}
    for folder in saved.values():
        for name, file in files_of(folder).items():
            content = file.read_bytes()
            for secret in secrets | {str(folder.parent)}:
                assert secret.encode() not in content, f"{name} holds {secret}"
            assert b"/tmp/" not in content, name


def test_the_encoder_keeps_its_name_without_its_folder(saved, tiny_encoder):
    recipe = Recipe.load(saved["neural"] / "recipe.toml")
    assert recipe["encoder"].name == tiny_encoder.name
    card = (saved["neural"] / "README.md").read_text(encoding="utf-8")
    assert f"Encoder: {tiny_encoder.name}\n" in card
    for name in ("minilm", "dmis-lab/biobert-v1.1", "models/mine"):
        same = recipe.override({"encoder.name": name})
        assert portable(same) == same
    home = recipe.override({"encoder.name": "~/models/mine"})
    assert portable(home)["encoder"].name == "mine"


def test_a_moved_folder_works_without_the_encoder_it_was_made_from(
    neural, saved, messages, tmp_path
):
    moved = shutil.copytree(saved["neural"], tmp_path / "elsewhere" / "model")
    assert load_model(moved).predict(messages[:3]) == neural.predict(messages[:3])
    assert load_model(str(moved)).labels == neural.labels


def test_the_name_of_the_encoder_s_folder_is_not_looked_up(saved, tmp_path, monkeypatch):
    """A folder of that name next to the user must not be taken for the encoder."""
    recipe = Recipe.load(saved["neural"] / "recipe.toml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / recipe["encoder"].name).mkdir()
    assert load_model(saved["neural"]).recipe == recipe


def test_loading_never_needs_the_number_of_labels(saved, urgency):
    for folder in saved.values():
        loaded = load_model(folder)
        assert loaded.labels == urgency and loaded.labels.ordered


# What can be wrong with a folder.


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("non-urgent", "never-urgent"),
        lambda text: text.replace("ordered = true", "ordered = false"),
        lambda text: text.replace("dizziness", "sadness"),
        lambda text: "\n".join(reversed(text.split("\n\n"))),
    ],
)
def test_a_changed_label_file(folder, damage):
    path = folder / "labels.toml"
    text = path.read_text(encoding="utf-8")
    assert damage(text) != text
    path.write_text(damage(text), encoding="utf-8")
    line = refused(folder)
    assert "labels.toml was changed after training" in line or "damaged" in line


def test_what_became_of_the_labels_is_said(folder):
    path = folder / "labels.toml"
    text = path.read_text(encoding="utf-8")
    head, *tables = text.split("[[label]]")
    shrunk = "[[label]]".join([head, tables[0], tables[2]])
    path.write_text(shrunk, encoding="utf-8")
    assert '(found 2 labels, trained on 3; missing: "medium")' in refused(folder)
    path.write_text(text.replace('"medium"', '"middling"'), encoding="utf-8")
    assert 'on 3; missing: "medium"; added: "middling")' in refused(folder)
    path.write_text("[[label]]".join([head, tables[1], tables[0], tables[2]]), encoding="utf-8")
    assert "(found the same labels in another order)" in refused(folder)
    path.write_text(text.replace("dizziness", "sadness"), encoding="utf-8")
    assert "(found the same labels described otherwise)" in refused(folder)
    manifest = json.loads((folder / "attending.json").read_text(encoding="utf-8"))
    many = {f"c{i}": 1 for i in range(9)}
    change(folder / "attending.json", label_counts=manifest["label_counts"] | many)
    assert 'missing: "c0", "c1", "c2", "c3", "c4" and 4 more)' in refused(folder)
    change(folder / "attending.json", label_counts=None)
    assert "(found" not in refused(folder)


def test_another_format(folder):
    change(folder / "attending.json", format=2)
    assert "of another format (found 2; allowed: 1)" in refused(folder)


@pytest.mark.parametrize("name", sorted(COMMON - {"README.md", "metrics.json"}))
@pytest.mark.parametrize("damage", ["gone", "empty", "garbage"])
def test_a_damaged_file(folder, name, damage):
    path = folder / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else b"\x00\xff{[")
    refused(folder)


@pytest.mark.parametrize("content", ["[]", "3", "null"])
def test_json_that_is_no_table(folder, content):
    for name in ("decision.json", "attending.json"):
        (folder / name).write_text(content, encoding="utf-8")
        refused(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_damaged_encoder(saved, tmp_path, name):
    folder = shutil.copytree(saved["neural"], tmp_path / "model")
    (folder / "encoder" / name).unlink()
    refused(folder)
    shutil.rmtree(folder / "encoder")
    refused(folder)


def test_a_damaged_vocabulary(saved, tmp_path):
    folder = shutil.copytree(saved["linear"], tmp_path / "model")
    words = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
    for content in (words[:-1], [*words, "more"], {}):
        (folder / "vocabulary.json").write_text(json.dumps(content), encoding="utf-8")
        refused(folder)


def test_weights_of_another_recipe(saved, tmp_path):
    folder = shutil.copytree(saved["neural"], tmp_path / "model")
    shutil.copy(saved["linear"] / "model.safetensors", folder)
    assert "the weights don't fit the recipe" in refused(folder)


def test_no_model_folder(tmp_path):
    assert "is no model folder (found no attending.json)" in refused(tmp_path)
    assert "is no model folder" in refused(tmp_path / "nowhere")


# Saving.


def test_an_existing_folder_is_not_replaced_without_force(folder, linear):
    before = {n: f.read_bytes() for n, f in files_of(folder).items()}
    with pytest.raises(OutputError, match=r"exists and is not empty.*--force"):
        save_model(linear, folder)
    assert {n: f.read_bytes() for n, f in files_of(folder).items()} == before
    save_model(linear, folder, force=True)
    assert set(files_of(folder)) == COMMON | {"vocabulary.json"}


def test_force_replaces_models_only(linear, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(OutputError, match="no model, which --force leaves alone"):
        save_model(linear, tmp_path, force=True)
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_empty_or_missing_folder_is_fine(linear, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    save_model(linear, tmp_path / "empty")
    save_model(linear, tmp_path / "a" / "b")
    monkeypatch.chdir(tmp_path)
    assert load_model(save_model(linear, "relative")).labels == linear.labels
    with pytest.raises(OutputError, match="is a file"):
        (tmp_path / "file").write_text("")
        save_model(linear, tmp_path / "file", force=True)


@pytest.mark.parametrize("where", ["card", "swap"])
def test_a_failure_leaves_the_old_folder(folder, linear, monkeypatch, where):
    before = {n: f.read_bytes() for n, f in files_of(folder).items()}

    def fail(*_):
        raise OSError("disk full")

    if where == "card":
        monkeypatch.setattr(store, "model_card", fail)
    else:
        replace = os.replace
        monkeypatch.setattr(
            store.os, "replace", lambda a, b: fail() if b == folder else replace(a, b)
        )
        with pytest.raises(OSError, match="disk full"):
            save_model(linear, folder, force=True)
        # Even the way back is cut off: the old model stands beside, under another name.
        rest = [f for f in folder.parent.iterdir() if f.name.endswith("-old")]
        monkeypatch.undo()
        assert {n: f.read_bytes() for n, f in files_of(rest[0]).items()} == before
        return
    with pytest.raises(OSError, match="disk full"):
        save_model(linear, folder, force=True)
    assert {n: f.read_bytes() for n, f in files_of(folder).items()} == before
    assert [f.name for f in folder.parent.iterdir()] == ["model"]


def test_a_failed_swap_puts_the_old_folder_back(folder, linear, monkeypatch):
    before = {n: f.read_bytes() for n, f in files_of(folder).items()}
    replace, failed = os.replace, []

    def fail_once(source, target):
        if target == folder and not failed:
            failed.append(source)
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(store.os, "replace", fail_once)
    with pytest.raises(OSError, match="no"):
        save_model(linear, folder, force=True)
    assert {n: f.read_bytes() for n, f in files_of(folder).items()} == before
    assert [f.name for f in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize(
    "labels",
    [
        LabelSet((Label("a"), Label("b"))),
        LabelSet((Label("a", keywords=(" chest pain ", "")), Label("b", description=" x\ny "))),
        LabelSet((Label("a.1", parent="b"), Label("b", "B", synonyms=("x|y",))), "codes"),
        LabelSet((Label("\u00e9"), Label('"quoted"'), Label("tab\there")), ordered=True),
    ],
)
def test_any_label_set_comes_back_the_same(labels, tmp_path, tiny_recipe):
    rows = [Document(str(i), "pain", (label.id,)) for i, label in enumerate(labels)] * 2
    model = fit(tiny_recipe("frequency"), rows, labels, development=()).model
    assert load_model(save_model(model, tmp_path / "model")).labels == labels


def test_metrics_that_are_no_numbers_are_not_written(linear, tmp_path):
    with pytest.raises(ValueError, match="nan"):
        save_model(linear, tmp_path / "model", metrics={"accuracy": float("nan")})
    assert list(tmp_path.iterdir()) == []

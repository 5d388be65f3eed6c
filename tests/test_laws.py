"""What every shipped recipe obeys. One sweep over all of them, which knows its own size.

1. Padding changes nothing. 2. Nothing off reduces to plain. 3. Permuting labels permutes scores.
4. Saved equals loaded. 5. Eight documents can be overfitted. 6. A recipe survives TOML and back.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from attending.data.batches import collate, whole_documents
from attending.models import neural
from attending.models.dictionary import DictionaryModel
from attending.models.linear import LinearModel, Weights
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.models.store import load_model, save_model
from attending.parts.lexical import LexicalScorer
from attending.recipe import Recipe, shipped
from attending.records import Document, Label, LabelSet
from attending.tensors import AttentionTrace, Batch, LabelStates, LabelTrace
from attending.training.distil import distil
from attending.training.fit import fit

TAGS = tuple(name for name in shipped() if Recipe.load(name).task == "spans")
RECIPES = tuple(name for name in shipped() if name not in TAGS)  # the others: tagging laws
NEURAL = tuple(name for name in RECIPES if Recipe.load(name).family == "neural")
DATED = ("attending.json", "metrics.json", "README.md")
NOTHING_TO_TRAIN = ("frequency",)
TAUGHT_BY = {
    "distil-bert-6": "bert",
    "distil-lesa-bert-3": "lesa-bert",
    "distil-lesa-bert-6": "lesa-bert",
}
MORE_EPOCHS = {
    "bilstm-attention": 60,
    "lame-frozen": 150,
    "plant-awd-lstm": 120,
    "label-description": 40,
    "label-description-as-published": 40,
    "textcnn": 60,
}
LIGHT = tuple(n for n in NEURAL if Recipe.load(n)["encoder"].kind != "pretrained")
LABELS = LabelSet(
    (
        Label("routine", "", "please refill or cancel", keywords=("refill", "appointment")),
        Label("soon", "", "dizziness or leg swelling", keywords=("dizziness", "leg swelling")),
        Label("urgent", "", "chest pain now", keywords=("chest pain", "bleeding")),
    ),
    name="urgency",
    ordered=True,
)
EIGHT = tuple(
    Document(f"d{i}", text, (label,))
    for i, (text, label) in enumerate(
        [
            ("please refill my metformin", "routine"),
            ("new appointment next week please", "routine"),
            ("please refill the lisinopril tablet", "routine"),
            ("please cancel the appointment with my doctor", "routine"),
            ("my leg is swollen, leg swelling for two days", "soon"),
            ("more dizziness and leg swelling today", "soon"),
            ("severe chest pain and my arm is numb", "urgent"),
            ("chest pain now, bleeding will not stop", "urgent"),
        ]
    )
)
LONG = Document("long", "no chest pain, feeling well after the visit. " * 30 + "leg swelling")
MIXED = (*EIGHT, LONG, Document("short", "pain"), Document("blank", " "))


def test_the_sweep_sees_every_recipe():
    assert len(RECIPES) == len(set(RECIPES)) == len(shipped()) - len(TAGS) >= 29
    assert {"bert", "lesa-bert", "lesa-bert-as-coded", "frequency"} <= set(RECIPES)
    assert {"tfidf-svm", "tfidf-logistic", "dictionary", "dictionary-tfidf"} <= set(RECIPES)
    assert {"lame", "lame-frozen", "label-description", "label-description-as-published"} < set(
        NEURAL
    )
    assert {"plm-icd", "encoder-baseline", "lame-evidence"} < set(NEURAL)
    assert {"caml", "laat", "joint-laat", "multirescnn", "lsan", "textcnn", "bigru"} < set(NEURAL)
    assert {"bilstm-attention", "textcnn-triage", *TAUGHT_BY} < set(NEURAL)
    assert set(TAUGHT_BY) == {n for n in RECIPES if Recipe.load(n).get("distillation")}
    assert len(NEURAL) >= 23
    assert set(NOTHING_TO_TRAIN) < set(RECIPES)


@pytest.fixture(scope="module")
def fitted(tiny_recipe):
    """A function that fits (once) a recipe on the eight documents until it knows them."""
    made = {}

    def get(name):
        if name not in made:
            settings = {}
            if name in NEURAL:
                settings = {
                    "training.epochs": MORE_EPOCHS.get(name, 20),
                    "training.batch_size": 3,
                    "training.learning_rate": 5e-3,
                    "windows.max_tokens": 64,
                }
            recipe = tiny_recipe(name).override(settings)
            teacher = TAUGHT_BY.get(name)
            made[name] = (
                fit(recipe, EIGHT, LABELS, development=(), seed=1).model
                if teacher is None
                else distil(get(teacher), recipe, EIGHT, LABELS, development=(), seed=1).model
            )
        return made[name]

    return get


def logits_of(model, documents):
    return [s.logits for s in model.scores(documents)]


def gap(some, others):
    pairs = [(a, b) for a, b in zip(some, others, strict=True) if a is not None]
    assert all((a is None) == (b is None) for a, b in zip(some, others, strict=True))
    return max(float(np.abs(a - b).max()) for a, b in pairs)


# 1. Padding changes nothing.


@pytest.mark.parametrize("name", RECIPES)
def test_batch_mates_and_batch_size_move_no_score(name, fitted, monkeypatch):
    model = fitted(name)
    alone = [logits_of(model, [d])[0] for d in MIXED]
    assert alone[-1] is None
    assert gap(logits_of(model, MIXED), alone) <= 1e-5
    assert gap(logits_of(model, MIXED[::-1])[::-1], alone) <= 1e-5
    for size in (1, 3, 11):
        monkeypatch.setattr(neural, "_BATCH", size)
        assert gap(logits_of(model, MIXED), alone) <= 1e-5


@pytest.mark.parametrize("name", NEURAL)
@pytest.mark.parametrize("columns", [1, 13])
def test_pad_columns_move_no_score(name, columns, fitted):
    model = fitted(name)
    windowed = model.windower([d.text for d in MIXED[:-1]])
    joins = model.network.joins
    batch = collate(windowed, model.pad, join=joins)
    with torch.no_grad():
        plain = model.network(batch).logits
    for filler in (model.pad, 9):  # whatever stands under a false mask is not read
        wider = replace(
            batch,
            ids=pad(torch.where(batch.mask, batch.ids, filler), (0, columns), value=filler),
            mask=pad(batch.mask, (0, columns), value=False),
        )
        # Positions end at 64, so the widest windows get no more columns.
        short = [i for i in range(len(wider.mask)) if batch.mask[i].sum() + columns <= 64]
        keep = torch.tensor([i for i in short if batch.document[i] < 8])
        ids, mask = wider.ids[keep, :64], wider.mask[keep, :64]
        layout, positions = whole_documents(windowed[:8], ids.shape[1]) if joins else (None, None)
        under = None if batch.words is None else pad(batch.words, (0, columns))[keep, :64]
        cut = Batch(ids, mask, keep, 8, layout=layout, positions=positions, words=under)
        with torch.no_grad():
            assert (model.network(cut).logits - plain[:8]).abs().max() <= 1e-5


# 2. Nothing off reduces to plain.


@pytest.mark.parametrize("name", [n for n in NEURAL if "lesa" in n])
def test_no_labels_equal_the_plain_encoder_bit_for_bit(name, fitted):
    network = fitted(name).network
    batch = collate(fitted(name).windower([d.text for d in MIXED[:-1]]), fitted(name).pad)
    nothing = LabelStates(torch.zeros(0, network.encoder.width))
    with torch.no_grad():
        plain = network.encoder(batch.ids, batch.mask).states[:, 0]
        off = network.label_attention(network.encoder, batch.ids, batch.mask, nothing).context
        on = network(batch).pooled
    assert torch.equal(off, plain)
    assert (on - plain).abs().max() > 1e-3


def test_no_pull_equals_caml_bit_for_bit(fitted, tiny_recipe):
    pulled = fitted("dr-caml")
    off = pulled.recipe.override({"loss.description_pull": 0})
    again = fit(off, EIGHT, LABELS, development=(), seed=1).model
    plain = logits_of(fitted("caml"), MIXED)
    assert gap(logits_of(again, MIXED), plain) == 0
    assert gap(logits_of(pulled, MIXED), plain) > 1e-3


def test_nothing_planted_equals_learned_attention_bit_for_bit(fitted):
    planted = fitted("plant")
    off = planted.recipe.override({"planting.weight": 0, "planting.static_weight": 0})
    again = fit(off, EIGHT, LABELS, development=(), seed=1).model
    learned = logits_of(fitted("lant"), MIXED)
    assert again.network.planting is None
    assert gap(logits_of(again, MIXED), learned) == 0
    assert gap(logits_of(planted, MIXED), learned) > 1e-3


@pytest.mark.parametrize("name", ["plant", "plant-bilstm"])
def test_words_vote_for_labels_and_the_laws_hold(name, fitted, tmp_path):
    plain = fitted(name).recipe
    voting = fit(plain.override({"planting.vote": 5.0}), EIGHT, LABELS, development=()).model
    logits = logits_of(voting, MIXED)
    assert gap(logits, logits_of(fitted(name), MIXED)) > 1e-3
    alone = [logits_of(voting, [document])[0] for document in MIXED]
    assert gap(alone, logits) < 1e-5
    again = load_model(save_model(voting, tmp_path / "m"))
    assert gap(logits_of(again, MIXED), logits) == 0


@pytest.mark.parametrize("name", ["lesa-bert", "lesa-bert-as-coded", "lame"])
def test_words_are_planted_in_other_attention_or_nothing_changes(name, fitted, tmp_path):
    plain = fitted(name)
    planted, none = (
        fit(
            plain.recipe.override({"planting.kind": "ranked", "planting.min_count": 1} | more),
            EIGHT, LABELS, development=(), seed=1,
        ).model
        for more in ({}, {"planting.weight": 0, "planting.static_weight": 0})
    )  # fmt: skip
    expected = logits_of(plain, MIXED)
    assert gap(logits_of(none, MIXED), expected) == 0
    assert gap(logits_of(planted, MIXED), expected) > 1e-3
    assert "planted" in planted.methods
    (found, *_) = planted.token_scores(MIXED[:1], method="planted")
    assert set(found.scores) == set(LABELS.ids) and max(map(max, found.scores.values())) > 0
    again = load_model(save_model(planted, tmp_path / "m"))
    assert gap(logits_of(again, MIXED), logits_of(planted, MIXED)) == 0


@pytest.mark.parametrize("name", NEURAL)
def test_recording_changes_nothing(name, fitted):
    model = fitted(name)
    joins = model.network.joins
    batch = collate(model.windower([d.text for d in MIXED[:-1]]), model.pad, join=joins)
    if model.network.label_wise:
        wanted = LabelTrace(torch.tensor([2, 0]))
        with torch.no_grad():
            seen = model.network(batch, label_trace=wanted).logits
            assert torch.equal(seen, model.network(batch).logits)
        if wanted.weights is not None:
            assert wanted.weights.shape[1] == 2
            assert torch.allclose(wanted.weights.sum(dim=-1), torch.ones(()), atol=1e-5)
        return
    trace = AttentionTrace()
    with torch.no_grad():
        gap = (model.network(batch, trace).logits - model.network(batch).logits).abs().max()
    assert gap <= 1e-6 and (gap == 0 or "lesa" in name)
    expected = 0 if name in LIGHT else model.network.encoder.layers
    assert len(trace.cls) == (1 if name == "bilstm-attention" else expected)


# 3. Permuting labels permutes scores.


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2)])
def test_permuting_labels_permutes_scores(name, order, fitted):
    model = fitted(name)
    labels = LabelSet(tuple(LABELS[i] for i in order), LABELS.name, LABELS.ordered)
    if name in NEURAL:
        known = None if model.index is None else len(model.index)
        network = Network(model.recipe, labels, texts=[d.text for d in EIGHT], words=known)
        state = dict(model.network.state_dict())
        for key, value in state.items():
            own = key.partition(".")[0] in ("label_states", "head", "planting")
            if own and value.ndim and len(value) == len(order):
                state[key] = value[list(order)]
        network.load_state_dict(state)
        words = model.words
        if words is not None:
            words, _ = LexicalScorer.fit(model.recipe["lexical"], EIGHT, labels)
        permuted = NeuralModel(
            model.recipe, labels, network, model.decision, words=words, index=model.index
        )
    elif isinstance(model, DictionaryModel):
        permuted = fit(model.recipe, EIGHT, labels, development=(), seed=1).model
    else:
        rows = Weights(
            model.weights.coefficients[list(order)], model.weights.intercepts[list(order)]
        )
        permuted = LinearModel(model.recipe, labels, rows, model.vectoriser, model.decision)
    for before, after in zip(model.predict(MIXED), permuted.predict(MIXED), strict=True):
        assert list(after.scores) == (list(labels.ids) if before.scores else [])
        assert dict(after.scores) == pytest.approx(dict(before.scores), abs=1e-6)
        # Labels of equal scores stand in the order of the set.
        assert sorted(after.labels) == sorted(before.labels)


# 4. Saved equals loaded, bit for bit.


@pytest.mark.parametrize("name", RECIPES)
def test_saved_equals_loaded(name, fitted, tmp_path):
    model = fitted(name)
    save_model(model, tmp_path / "once")
    loaded = load_model(tmp_path / "once")
    for mine, yours in zip(logits_of(model, MIXED), logits_of(loaded, MIXED), strict=True):
        assert (mine is None) == (yours is None)
        assert mine is None or np.array_equal(mine, yours)
    assert loaded.predict(MIXED) == model.predict(MIXED)
    assert loaded.labels == model.labels and loaded.decision == model.decision
    save_model(loaded, tmp_path / "twice")
    files = [f for f in (tmp_path / "once").rglob("*") if f.is_file()]
    same = [f.relative_to(tmp_path / "once") for f in files if f.name not in DATED]
    assert len(same) >= 4 and any(f.suffix == ".safetensors" for f in same)
    for file in same:
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "twice" / file).read_bytes()


# 5. Eight documents can be overfitted.


@pytest.mark.parametrize("name", [n for n in RECIPES if n not in NOTHING_TO_TRAIN])
def test_eight_documents_can_be_overfitted(name, fitted):
    predictions = fitted(name).predict(EIGHT)
    assert [p.labels for p in predictions] == [d.labels for d in EIGHT]


@pytest.mark.parametrize("name", NOTHING_TO_TRAIN)
def test_what_has_nothing_to_train_gives_shares(name, fitted):
    (prediction,) = fitted(name).predict([LONG])
    assert dict(prediction.scores) == pytest.approx({"routine": 0.5, "soon": 0.25, "urgent": 0.25})


# 6. A recipe survives TOML and back.


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_toml(name):
    recipe = Recipe.load(name)
    assert Recipe.loads(recipe.to_toml()) == recipe
    assert recipe.header.startswith("# ") and recipe.to_toml().startswith(recipe.header)
    assert recipe.summary and recipe.source
    for encoder in (None, "minilm", "recipe", "some/other-encoder", "/a/folder"):
        settled = recipe.with_encoder(encoder)
        assert Recipe.loads(settled.to_toml()) == settled


@pytest.mark.parametrize("name", RECIPES)
def test_a_changed_recipe_survives_toml(name):
    recipe = Recipe.load(name)
    settings = {"decoder.calibrate": "none"}
    settings |= {"decoder.abstain_below": 0.25} if recipe.task == "single" else {}
    if recipe.family == "neural":
        settings |= {
            "training.head_learning_rate": 1e-3,
            "training.patience": 2,
            "sampler.kind": "bucketed",
            "sampler.pool": 3,
            "windows.on_overflow": "truncate",
        }
    changed = recipe.override(settings)
    assert changed != recipe
    again = Recipe.loads(changed.to_toml())
    assert again == changed
    assert again.with_encoder(None) == changed.with_encoder(None)
    for key, value in settings.items():
        slot, _, setting = key.partition(".")
        assert getattr(again[slot], setting) == value

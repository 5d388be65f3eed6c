"""What every recipe that tags obeys. One sweep over all of them and their variants.

1. Padding changes nothing. 2. Nothing off reduces to plain. 3. Permuting types permutes scores.
4. Saved equals loaded. 5. Eight documents can be overfitted. 6. A recipe survives TOML and back.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from attending.data.tagging.batches import collate_units
from attending.data.tagging.units import units_of
from attending.data.tagging.words import words
from attending.models.store import load_any, load_model, load_tagger, save_model
from attending.models.tagger import TaggerModel
from attending.models.tagging.chain import ChainScorer
from attending.models.tagging.network import TagNetwork
from attending.models.tagging.neural import NeuralScorer
from attending.parts.tagging.neighbours import Neighbours
from attending.recipe import Recipe, shipped
from attending.records import Document, Label, LabelSet, Span, Unreadable
from attending.tags import TagSet
from attending.training.tagging import fit_tagger

RECIPES = tuple(n for n in shipped() if Recipe.load(n).task == "spans")
LAYERS = {"scheme.kind": "layers"}
VOTES = {"neighbours.kind": "logits", "neighbours.k": 3}
VARIANTS = {
    "atl-ner, layers": ("atl-ner", LAYERS),
    "atl-ner, io": ("atl-ner", {"scheme.tags": "io"}),
    "atl-ner, weights": ("atl-ner", {"loss.class_weights": "inverse", "loss.gamma": 2.0}),
    "atl-ner, pieces": ("atl-ner", {"head.pieces": "all", "decoder.kind": "tag-argmax"}),
    "atl-ner, capitals": ("atl-ner", {"surface.kind": "capitals"}),
    "atl-ner, votes": ("atl-ner", {**VOTES, "neighbours.weight": 0.5}),
    "btl-ner, ignore": ("btl-ner", {"loss.other": "ignore", "neighbours.k": 1}),
    "btl-ner, per copy": ("btl-ner", {"loss.step": "per_copy", "neighbours.k": 1}),
    "btl-ner, sequential": ("btl-ner", {"loss.step": "sequential", "neighbours.k": 1}),
    "lame-ner, meaning": ("lame-ner", {"head.own": False}),
    "lame-ner, layers": ("lame-ner", LAYERS | {"head.attend": False}),
    "crf-ner, layers": ("crf-ner", LAYERS),
    "encoder-crf-ner, io": ("encoder-crf-ner", {"scheme.tags": "io"}),
    "features-ner, layers": ("features-ner", LAYERS | VOTES | {"neighbours.k": 1}),
}
SYSTEMS = (*RECIPES, *VARIANTS)
NEURAL = tuple(n for n in SYSTEMS if Recipe.load(VARIANTS.get(n, (n,))[0]).family == "neural")
DATED = ("attending.json", "metrics.json", "README.md")
LABELS = LabelSet(
    (
        Label("Body", "", "a part of the body"),
        Label("Drug", "", "a tablet or an antibiotic that is taken"),
        Label("Finding", "", "pain, swelling or weakness that is felt"),
    ),
    name="type",
)


def marked(number, text, **types):
    """A document in which the first occurrence of each phrase is a span."""
    spans = [
        Span(text.index(phrase), text.index(phrase) + len(phrase), label)
        for label, phrases in types.items()
        for phrase in phrases
    ]
    ordered = tuple(sorted(spans, key=lambda s: (s.start, s.end)))
    return Document(f"d{number}", text, spans=ordered)


EIGHT = (
    marked(0, "severe chest pain since morning", Finding=["severe chest pain"]),
    marked(1, "my left leg is swollen", Body=["left leg"], Finding=["swollen"]),
    marked(2, "took lisinopril, and the rash is better", Drug=["lisinopril"], Finding=["rash"]),
    marked(3, "please send the form to my doctor"),
    marked(4, "insulin and an antibiotic for two weeks", Drug=["insulin", "antibiotic"]),
    marked(5, "no fever. right arm is numb!", Body=["right arm"], Finding=["fever", "numb"]),
    marked(6, "when can i get my test results?"),
    marked(7, "stomach is tight, took insulin", Body=["stomach"], Drug=["insulin"]),
)
LONG = Document("long", "the visit was very good. " * 30 + "severe chest pain, took insulin")
MIXED = (
    *EIGHT, LONG, Document("short", "pain"), Document("blank", " \u200b "),
    Unreadable("bad", "not text"),
)  # fmt: skip


def test_the_sweep_sees_every_recipe():
    assert set(RECIPES) >= {
        "atl-ner", "btl-ner", "lame-ner", "crf-ner", "encoder-crf-ner", "features-ner",
    }  # fmt: skip
    assert len(RECIPES) == len(set(RECIPES)) >= 6
    assert len(SYSTEMS) == len(set(SYSTEMS)) >= 18
    assert len(NEURAL) >= 16
    assert {VARIANTS[v][0] for v in VARIANTS} == set(RECIPES)


def recipe_of(system, encoder):
    name, settings = VARIANTS.get(system, (system, {}))
    recipe = Recipe.load(name)
    if recipe.family == "linear":
        return recipe.override(settings) if settings else recipe
    quick = {
        "training.epochs": 60, "training.batch_size": 8, "training.learning_rate": 5e-3,
        "training.precision": "float32", "training.warmup": 0.05, "windows.overlap": 16,
        "head.dropout": 0.0,
    }  # fmt: skip
    if recipe["encoder"].kind == "pretrained":
        recipe = recipe.with_encoder(str(encoder))
        quick |= {"encoder.dropout": 0.0}
    else:
        quick |= {
            "encoder.dimension": 16, "encoder.hidden": 16, "encoder.min_count": 1,
            "encoder.dropout": 0.0, "training.learning_rate": 2e-2, "training.epochs": 90,
        }  # fmt: skip
    if "neighbours" in recipe.slots:
        quick["neighbours.k"] = 1  # 17 votes of eight documents are mostly of words outside
    if "layers" in system:
        quick["training.epochs"] = 120
    if "sequential" in system or "per copy" in system:
        quick["training.epochs"] = 25
    return recipe.override(quick | settings)


@pytest.fixture(scope="module")
def fitted(tiny_encoder):
    """A function that fits (once) a system on the eight documents until it knows them."""
    made = {}

    def get(system):
        if system not in made:
            if "features" in system:
                pytest.importorskip("pycrfsuite")
            recipe = recipe_of(system, tiny_encoder)
            made[system] = fit_tagger(recipe, EIGHT, LABELS, development=(), seed=1).model
        return made[system]

    return get


def found(document_or_prediction):
    return {(s.start, s.end, s.label) for s in document_or_prediction.spans}


def gap(some, others):
    assert all(
        np.array_equal(a.numbers, b.numbers) and a.status == b.status
        for a, b in zip(some, others, strict=True)
    )
    pairs = [(a, b) for a, b in zip(some, others, strict=True) if len(a.numbers)]
    return max(float(np.abs(a.logits - b.logits).max()) for a, b in pairs)


# 1. Padding changes nothing.


@pytest.mark.parametrize("system", SYSTEMS)
def test_batch_mates_and_batch_size_move_no_score(system, fitted, monkeypatch):
    model = fitted(system)
    alone = [model.scores([row])[0] for row in MIXED]
    assert [s.status for s in alone[-2:]] == ["empty_text", "failed"]
    assert gap(model.scores(MIXED), alone) <= 1e-5
    spans = [found(model.predict([row])[0]) for row in MIXED]
    assert [found(p) for p in model.predict(MIXED)] == spans
    monkeypatch.setattr("attending.models.tagging.neural._BATCH", 3)
    monkeypatch.setattr("attending.models.tagger._CHUNK", 50)
    assert gap(model.scores(MIXED[::-1])[::-1], alone) <= 1e-5
    assert [found(p) for p in model.predict(MIXED)] == spans


@pytest.mark.parametrize("system", NEURAL)
@pytest.mark.parametrize("columns", [1, 13])
def test_pad_columns_move_no_score(system, columns, fitted):
    scorer = fitted(system).scorer
    windowed = scorer.windower([d.text for d in EIGHT])
    units = [u for i, w in enumerate(windowed) for u in units_of(w, words(EIGHT[i].text), i)]
    batch = collate_units(units, scorer.pad)
    width = batch.ids.shape[1]
    with torch.no_grad():
        plain = scorer.network(batch).logits
        for filler in (scorer.pad, 9):  # whatever stands under a false mask is not read
            wider = replace(
                batch,
                ids=pad(torch.where(batch.mask, batch.ids, filler), (0, columns), value=filler),
                mask=pad(batch.mask, (0, columns), value=False),
                cells=batch.cells + columns * (batch.cells // width),
                shapes=None if batch.shapes is None else pad(batch.shapes, (0, columns)),
            )
            assert (scorer.network(wider).logits - plain).abs().max() <= 1e-5


# 2. Nothing off reduces to plain.


def test_shapes_that_say_nothing_change_nothing(fitted):
    model = deepcopy(fitted("atl-ner, capitals"))
    network = model.scorer.network
    torch.nn.init.zeros_(network.surface.vectors.weight)
    scored = model.scores(MIXED)
    network.surface = None
    assert gap(scored, model.scores(MIXED)) <= 1e-6


def test_binary_labels_of_one_type_equal_all_labels_bit_for_bit(tiny_encoder):
    drugs = LabelSet((LABELS["Drug"],))
    rows = [replace(d, spans=tuple(s for s in d.spans if s.label == "Drug")) for d in EIGHT]
    quick = {"training.epochs": 2, "loss.class_weights": "published"}
    made = []
    for system, more in (("atl-ner", {}), ("btl-ner", {"neighbours.weight": 0.0})):
        recipe = recipe_of(system, tiny_encoder).override(quick | more)
        made.append(fit_tagger(recipe, rows, drugs, development=(), seed=3).model)
    atl, btl = made
    assert gap(atl.scores(MIXED), btl.scores(MIXED)) <= 1e-5
    assert [found(p) for p in atl.predict(MIXED)] == [found(p) for p in btl.predict(MIXED)]


def test_votes_that_weigh_nothing_change_nothing(fitted):
    model = fitted("atl-ner")
    other = fitted("atl-ner, votes")
    silent = Neighbours(
        other.neighbours.spec.model_copy(update={"weight": 0.0}),
        other.neighbours.logits,
        other.neighbours.tags,
    )
    with_votes = TaggerModel(
        model.recipe, model.labels, model.scorer, model.decision, silent, model.facts
    )
    assert with_votes.predict(MIXED) == model.predict(MIXED)


def test_labels_without_meaning_leave_a_linear_head(fitted):
    head = fitted("lame-ner, layers").scorer.network.head
    states = torch.randn(5, 32)
    from attending.tensors import LabelStates

    with torch.no_grad():
        logits = head(states, LabelStates(torch.zeros(3, 32)))
        linear = head.own(states).view(5, 3, 2) + head.bias
    assert torch.equal(logits[:, :, 1:], linear)
    assert torch.equal(logits[:, :, 0], head.outside(states).expand(-1, 3))


# 3. Permuting types permutes scores.


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2)])
def test_permuting_types_permutes_scores(system, order, fitted):
    model = fitted(system)
    labels = LabelSet(tuple(LABELS[i] for i in order), LABELS.name)
    tags = TagSet(labels.ids, model.tags.begins, model.tags.layered)
    place = {name: cell for cell, name in _names(model.tags)}
    cells = [place[name] for _, name in _names(tags)]
    layer, column = np.array([c[0] for c in cells]), np.array([c[1] for c in cells])
    shape = tags.shape

    def moved(values):  # (..., K, C)
        return values[..., layer, column].reshape(*values.shape[:-2], *shape)

    scorer = _permuted(model, labels, tags, order, moved)
    neighbours = None
    if model.neighbours is not None:
        old = model.neighbours
        neighbours = Neighbours(old.spec, moved(old.logits), _moved_tags(old.tags, moved, shape))
    permuted = TaggerModel(model.recipe, labels, scorer, model.decision, neighbours)
    for before, after in zip(model.scores(MIXED), permuted.scores(MIXED), strict=True):
        assert after.logits == pytest.approx(moved(before.logits), abs=1e-4)
    # Which of two training words as near as each other votes is settled by the last digits.
    rows = MIXED if model.neighbours is None else EIGHT
    assert [found(p) for p in permuted.predict(rows)] == [found(p) for p in model.predict(rows)]


def _names(tags):
    for layer, names in enumerate(tags.names):
        for column, name in enumerate(names):
            whole = tags.labels[layer] if tags.layered and name == "O" else ""
            yield (layer, column), (whole, name)


def _moved_tags(old, moved, shape):
    hot = np.zeros((len(old), *shape))
    layers = np.arange(shape[0])
    hot[np.arange(len(old))[:, None], layers, old] = 1
    return moved(hot).argmax(axis=-1)


def _permuted(model, labels, tags, order, moved):
    if isinstance(model.scorer, ChainScorer):
        old = model.scorer
        moves = _moved_chain(old.moves, moved, tags)
        return ChainScorer(model.recipe, old.names, moved(old.weights), moves)
    texts = [d.text for d in EIGHT]
    network = TagNetwork(model.recipe, labels, tags, texts=texts)
    state = dict(model.scorer.network.state_dict())
    for key, value in state.items():
        part, _, name = key.partition(".")
        if part == "label_states" and value.ndim and len(value) == len(order):
            state[key] = value[list(order)]
        elif name.startswith("own."):
            rows = value.unflatten(0, (len(order), -1))[list(order)]
            state[key] = rows.flatten(0, 1)
        elif part == "head" and name.startswith("out."):
            rows = value.unflatten(0, tags.shape).movedim((0, 1), (-2, -1)).numpy()
            state[key] = torch.tensor(moved(rows)).movedim((-2, -1), (0, 1)).flatten(0, 1)
        elif part == "loss":
            state[key] = torch.tensor(_moved_chain(value.numpy(), moved, tags))
    network.load_state_dict(state)
    return NeuralScorer(model.recipe, network)


def _moved_chain(value, moved, tags):
    if value.ndim == 2:
        return moved(value)
    after = np.moveaxis(moved(np.moveaxis(value, 1, 0)), 0, 1)
    if tags.layered:  # tags within a layer stay
        return after
    return np.moveaxis(moved(np.moveaxis(after, 2, 0)), 0, 2)


# 4. Saved equals loaded, bit for bit.


@pytest.mark.parametrize("system", SYSTEMS)
def test_saved_equals_loaded(system, fitted, tmp_path):
    model = fitted(system)
    save_model(model, tmp_path / "once")
    loaded = load_tagger(tmp_path / "once")
    assert gap(model.scores(MIXED), loaded.scores(MIXED)) == 0
    assert loaded.predict(MIXED) == model.predict(MIXED)
    assert loaded.labels == model.labels and loaded.decision == model.decision
    save_model(loaded, tmp_path / "twice")
    files = [f for f in (tmp_path / "once").rglob("*") if f.is_file()]
    same = [f.relative_to(tmp_path / "once") for f in files if f.name not in DATED]
    assert len(same) >= 4 and any(f.suffix == ".safetensors" for f in same)
    for file in same:
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "twice" / file).read_bytes()
    assert isinstance(load_any(tmp_path / "once"), TaggerModel)
    with pytest.raises(Exception, match="tags spans, it gives documents no labels"):
        load_model(tmp_path / "once")


# 5. Eight documents can be overfitted.


@pytest.mark.parametrize("system", SYSTEMS)
def test_eight_documents_can_be_overfitted(system, fitted):
    predictions = fitted(system).predict(EIGHT)
    assert [found(p) for p in predictions] == [found(d) for d in EIGHT]
    for prediction in predictions:
        assert prediction.status == "ok" and prediction.labels == ()
        assert all(0 <= s.score <= 1 for s in prediction.spans)


# 6. A recipe survives TOML and back.


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recipe_survives_toml(system, tiny_encoder):
    name, settings = VARIANTS.get(system, (system, {}))
    recipe = Recipe.load(name)
    assert Recipe.loads(recipe.to_toml()) == recipe
    assert recipe.header.startswith("# ") and recipe.to_toml().startswith(recipe.header)
    assert recipe.summary and recipe.source
    for encoder in (None, "minilm", "recipe", "some/other-encoder"):
        settled = recipe.with_encoder(encoder).override(settings)
        again = Recipe.loads(settled.to_toml())
        assert again == settled and again.task == "spans"

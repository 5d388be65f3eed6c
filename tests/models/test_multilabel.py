"""Any number of labels a document: layouts, label states from texts, chunks, evidence, folders."""

import itertools

import numpy as np
import pytest
import torch

from attending.classifier import Classifier
from attending.data.batches import collate
from attending.errors import RecipeError, TrainingError
from attending.models.layouts import join
from attending.models.network import Network
from attending.models.neural import NeuralModel
from attending.models.store import load_model, save_model
from attending.parts import label_chunks
from attending.parts.heads import prior_logits
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from attending.tensors import TokenStates
from attending.training.fit import fit
from attending.training.rows import task_of, without_examples

LABELS = LabelSet(
    (
        Label("pain", "", "chest pain or headache"),
        Label("breath", "", "shortness of breath"),
        Label("refill", "", "please refill the tablet"),
        Label("rash", "", "rash and swollen throat"),
    ),
    name="finding",
)
TEXTS = (
    ("chest pain and shortness of breath", ("pain", "breath")),
    ("severe headache and chest pain", ("pain",)),
    ("shortness of breath after a walk", ("breath",)),
    ("please refill metformin tablet", ("refill",)),
    ("feeling well, thank you", ()),
    ("please refill the tablet, i have chest pain", ("refill", "pain")),
    ("thank the nurse for the visit", ()),
    ("breath is short and please refill the tablet", ("breath", "refill")),
)
DOCUMENTS = tuple(Document(f"d{i}", text, ids) for i, (text, ids) in enumerate(TEXTS))
LONG = Document("long", "feeling well after the visit today, thank you. " * 20 + "chest pain")


@pytest.fixture(scope="module")
def lame(tiny_recipe):
    recipe = tiny_recipe("lame").override(
        {
            "training.epochs": 60,
            "training.batch_size": 3,
            "training.learning_rate": 5e-3,
            "windows.max_tokens": 48,
        }
    )
    return fit(recipe, DOCUMENTS, LABELS, development=(), seed=1).model


def test_documents_say_their_task():
    assert task_of(DOCUMENTS) == "multi"
    assert task_of(DOCUMENTS[1:4]) == "single"
    assert task_of([Document("u", "x", None), *DOCUMENTS[1:4]]) == "single"
    assert task_of([Document("n", "x", ())]) == "multi"


def test_a_recipe_of_one_task_takes_the_form_of_the_other(tiny_recipe):
    bert = tiny_recipe("bert").for_task("multi")
    assert (bert.task, bert["loss"].kind, bert["decoder"].kind) == ("multi", "bce", "threshold")
    assert bert.for_task("multi") == bert and Recipe.loads(bert.to_toml()) == bert
    single = tiny_recipe("lame").for_task("single")
    assert (single.task, single["loss"].kind) == ("single", "cross-entropy")
    assert tiny_recipe("caml").for_task("single").task == "multi"
    with pytest.raises(RecipeError, match='"lesa-bert" gives one label a document'):
        tiny_recipe("lesa-bert").for_task("multi")
    with pytest.raises(RecipeError, match='"loss" bce is for multi-label but "decoder" argmax'):
        tiny_recipe("bert").override({"loss.kind": "bce"})


def test_sets_of_labels_are_learned_and_none_is_an_answer(lame):
    predictions = lame.predict(DOCUMENTS)
    assert [set(p.labels) for p in predictions] == [set(d.labels) for d in DOCUMENTS]
    assert all(p.status == "ok" and not p.abstained for p in predictions)
    for p in predictions:
        scores = [p.scores[i] for i in p.labels]
        assert scores == sorted(scores, reverse=True)


def test_a_label_without_a_row_is_kept_and_said_to_be_zero_shot(lame):
    assert lame.facts["label_counts"]["rash"] == 0
    assert "rash" in lame.predict(DOCUMENTS)[0].scores
    note = without_examples(lame.facts["label_counts"], LABELS)
    assert note == "1 label of 4 without a training row (zero-shot)"


def test_single_label_recipes_refuse_sets(tiny_recipe):
    with pytest.raises(TrainingError, match="with no label or several"):
        fit(tiny_recipe("bert"), DOCUMENTS, LABELS, development=())


def test_each_token_of_a_long_text_has_one_column(lame):
    (windowed,) = lame.windower([LONG.text])
    assert len(windowed.windows) > 3
    batch = collate([windowed, *lame.windower([d.text for d in DOCUMENTS[:2]])], 0, join=True)
    numbers = batch.positions[0]
    assert numbers[numbers >= 0].tolist() == list(range(len(windowed.offsets)))
    assert (batch.layout >= 0).sum(dim=1).tolist()[0] == len(windowed.offsets) + 2
    ids = batch.ids.flatten()[batch.layout[0].clamp(min=0)]
    flat = lame.network.encoder.tokenizer(LONG.text)["input_ids"]
    assert ids[batch.layout[0] >= 0].tolist() == flat


def test_joined_states_are_the_windows_states():
    states = torch.arange(24.0).reshape(2, 4, 3)
    layout = torch.tensor([[0, 1, 6, 7], [5, -1, -1, -1]])
    made = join(TokenStates(states, torch.ones(2, 4, dtype=torch.bool)), layout)
    assert made.states[0].tolist() == states.reshape(8, 3)[[0, 1, 6, 7]].tolist()
    assert made.mask.tolist() == [[True] * 4, [True, False, False, False]]
    assert not made.states[1, 1:].any()


def test_chunks_of_labels_change_nothing(lame, monkeypatch):
    whole = np.stack([s.logits for s in lame.scores(DOCUMENTS)])
    monkeypatch.setattr(label_chunks, "CELLS", 1)
    chunked = np.stack([s.logits for s in lame.scores(DOCUMENTS)])
    assert np.abs(whole - chunked).max() <= 1e-6
    batch = collate(lame.windower([d.text for d in DOCUMENTS]), 0, [[0]] * 8, labels=4, join=True)
    lame.network.train()
    lame.network(batch).loss.backward()
    grads = {n for n, p in lame.network.named_parameters() if p.grad is not None}
    lame.network.zero_grad()
    lame.network.eval()
    assert any(n.startswith("encoder.") for n in grads)
    assert any(n.startswith("label_attention.") for n in grads)


def test_label_attention_is_evidence_over_the_whole_text(lame):
    assert lame.methods[0] == "label-weights"
    (scores,) = lame.token_scores([LONG], labels=["pain", "refill"])
    assert set(scores.scores) == {"pain", "refill"}
    for row in scores.scores.values():
        assert len(row) == len(scores.offsets) and min(row) >= 0
        assert sum(row) <= 1 + 1e-5
    surfaces = [LONG.text[a:b] for a, b in scores.offsets]
    assert surfaces[-2:] == ["chest", "pain"]


def test_saved_label_states_are_read_and_not_made_again(lame, tmp_path, monkeypatch):
    save_model(lame, tmp_path / "m")
    loaded = load_model(tmp_path / "m")

    def forbidden(*_):
        raise AssertionError("labels were encoded again")

    monkeypatch.setattr(type(loaded.network.label_states), "_encode_all", forbidden)
    assert loaded.predict(DOCUMENTS) == lame.predict(DOCUMENTS)


def described(tiny_recipe, **settings):
    changes = {"label_states.refresh": 3, "label_states.sampled": 1, "encoder.dropout": 0.0}
    recipe = tiny_recipe("lame").override({**changes, **settings})
    torch.manual_seed(0)
    return Network(recipe, LABELS).label_states


def test_between_refreshes_only_labels_of_the_batch_and_samples_send_gradients(tiny_recipe):
    states = described(tiny_recipe)
    targets = torch.tensor([[1.0, 0, 0, 0]])
    moved = []
    for _ in range(4):
        out = states(targets).states
        rows = []
        for i in range(len(LABELS)):
            (grad,) = torch.autograd.grad(
                out[i, 0],
                states._encoder[0].model.encoder.layer[0].output.dense.bias,
                retain_graph=True,
                allow_unused=True,
            )
            rows.append(grad is not None and bool(grad.any()))
        moved.append(rows)
    assert all(rows[0] for rows in moved)
    assert all(1 <= sum(rows) <= 2 for rows in moved)


@pytest.mark.parametrize("sampled", [1, 2])
def test_on_average_sampled_labels_move_the_encoder_as_all_would(tiny_recipe, monkeypatch, sampled):
    targets = torch.tensor([[1.0, 0, 0, 0]])
    pull = torch.randn(len(LABELS), 32, generator=torch.Generator().manual_seed(5))
    orders = list(itertools.permutations(range(len(LABELS))))

    def gradient(states):
        out = states(targets).states
        bias = states._encoder[0].model.encoder.layer[0].output.dense.bias
        return torch.autograd.grad((out * pull[:, : out.shape[1]]).sum(), bias)[0], out

    wanted, whole = gradient(described(tiny_recipe, **{"label_states.refresh": 1}))
    for unbiased in (None, True, False):
        changes = {"label_states.sampled": sampled, "label_states.unbiased": unbiased}
        states, found = described(tiny_recipe, **changes), []
        for order in orders:
            with monkeypatch.context() as patched:
                patched.setattr(torch, "randperm", lambda n, order=order: torch.tensor(order))
                moved, out = gradient(states)
            assert torch.allclose(out, whole, atol=1e-5)
            found.append(moved)
        mean = torch.stack(found).mean(dim=0)
        assert torch.allclose(mean, wanted, atol=1e-4) == (unbiased is not False)


def test_cached_label_states_equal_fresh_ones_while_weights_stand(tiny_recipe):
    cached, fresh = described(tiny_recipe), described(tiny_recipe, **{"label_states.refresh": 1})
    targets = torch.tensor([[0.0, 1, 0, 1]])
    for _ in range(4):
        assert torch.allclose(cached(targets).states, fresh(targets).states, atol=1e-5)
    cached.eval(), fresh.eval()
    assert torch.allclose(cached().states, fresh().states, atol=1e-6)


def test_frozen_label_states_stay_what_they_were(tiny_recipe):
    states = described(tiny_recipe, **{"label_states.frozen": True})
    before = states().states.clone()
    with torch.no_grad():
        for parameter in states._encoder[0].parameters():
            parameter.add_(0.1)
    assert torch.equal(states().states, before)
    assert not states().states.requires_grad


def test_label_texts_that_are_missing_or_cut_are_told(tiny_recipe):
    labels = LabelSet((Label("a"), Label("b", "", "pain " * 40)))
    recipe = tiny_recipe("lame").override({"label_states.max_tokens": 8})
    notes = Network(recipe, labels).label_states.notes
    assert any("1 of 2 labels have no description" in n for n in notes)
    assert any("longer than 8 tokens" in n and '"b"' in n for n in notes)


def test_annotated_words_draw_attention(tiny_recipe):
    rows = []
    for d in DOCUMENTS:
        at = d.text.find("chest pain")
        span = {"start": at, "end": at + 10, "label": "pain"}
        rows.append(d if at < 0 else Document(d.id, d.text, d.labels, (_span(span),)))
    mass = {}
    for weight in (0.0, 2.0):
        recipe = tiny_recipe("lame").override(
            {"training.epochs": 12, "training.evidence_loss": weight}
        )
        model = fit(recipe, rows, LABELS, development=(), seed=1).model
        (found,) = model.token_scores([DOCUMENTS[0]], labels=["pain"])
        row = np.array(found.scores["pain"])
        mass[weight] = row[:2].sum() / row.sum()
    assert mass[2.0] > mass[0.0]


def _span(row):
    from attending.records import Span

    return Span(row["start"], row["end"], row["label"])


def test_the_classifier_takes_lists_of_labels(tiny_recipe):
    made = Classifier(tiny_recipe("bert"), LABELS, encoder="recipe")
    made.fit([d.text for d in DOCUMENTS], [list(d.labels) for d in DOCUMENTS], development=())
    found = made.predict([d.text for d in DOCUMENTS])
    assert all(isinstance(x, tuple) for x in found)
    assert made.predict_proba(["chest pain"]).shape == (1, 4)
    assert 0 <= made.score([d.text for d in DOCUMENTS], [d.labels for d in DOCUMENTS]) <= 1
    assert isinstance(made.model_, NeuralModel) and made.model_.recipe.task == "multi"


def test_described_labels_need_a_first_token_to_read_it(tiny_recipe):
    light = {"encoder.kind": "cnn", "encoder.filters": 32, "encoder.min_count": 1}
    with pytest.raises(RecipeError, match=r'pool = "cls" needs an encoder with a first token'):
        Network(tiny_recipe("lame").override(light), LABELS, texts=[d.text for d in DOCUMENTS])
    mean = tiny_recipe("lame").override({**light, "label_states.pool": "mean"})
    assert fit(mean, DOCUMENTS, LABELS, development=()).model.predict(DOCUMENTS)[0].status == "ok"


def test_notes_of_an_encoder_are_among_the_facts(tiny_recipe):
    model = fit(tiny_recipe("bigru"), DOCUMENTS, LABELS, development=()).model
    assert isinstance(model.facts["encoder_notes"], list)
    assert "state-gradient" not in model.methods and "gradient" in model.methods


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("bert", {"training.evidence_loss": 1.0}, "labels that attend over whole documents"),
        ("lame", {"training.evidence_loss": 1.0, "windows.join": "logits"}, "whole documents"),
        ("dr-caml", {"head.kind": "shared"}, "a vector a label"),
        ("lame", {"head.kind": "linear"}, "does not fit"),
    ],
)
def test_settings_without_effect_are_refused(tiny_recipe, name, settings, said):
    recipe = tiny_recipe(name).for_task("multi").override(settings)
    with pytest.raises(RecipeError, match=said):
        Network(recipe, LABELS, texts=[d.text for d in DOCUMENTS])


def test_descriptions_pull_classifiers(tiny_recipe):
    pulled = {"label_states.kind": "described", "loss.description_pull": 1.0}
    pulled |= {"descriptions.kind": "label-states"}
    recipe = tiny_recipe("caml").override(
        {"encoder.filters": 16, "label_states.pool": "mean", **pulled}
    )
    network = Network(recipe, LABELS, texts=[d.text for d in DOCUMENTS])
    assert isinstance(fit(recipe, DOCUMENTS, LABELS, development=()).model, NeuralModel)
    assert network.head.label_vectors.shape == (4, 16)


class TestBiases:
    """Where a network starts: at the labels' shares of the training rows, if it may."""

    COUNTS = (12, 3, 1, 0)

    def biases(self, tiny_recipe, name, task="multi", **settings):
        recipe = tiny_recipe(name).for_task(task).override(settings)
        network = Network(recipe, LABELS, counts=self.COUNTS, documents=20)
        out = getattr(network.head, "out", network.head)
        return (out.biases if hasattr(out, "biases") else out.bias).detach()

    def test_of_multi_label_networks(self, tiny_recipe):
        wanted = prior_logits(self.COUNTS, 20)
        for name in ("lame", "lant", "bert", "plm-icd"):
            torch.testing.assert_close(self.biases(tiny_recipe, name), wanted, msg=name)

    def test_a_loss_that_weighs_starts_where_it_will_end(self, tiny_recipe):
        found = self.biases(tiny_recipe, "bert", **{"loss.kind": "balanced-bce"})
        plain = prior_logits(self.COUNTS, 20)
        gap = found - plain
        torch.testing.assert_close(gap, gap[:1].expand_as(gap))
        assert gap[0] > 0

    def test_not_of_others(self, tiny_recipe):
        for name, task, settings in (
            ("lame", "single", {}),
            ("lame", "multi", {"head.biases": "zero"}),
            ("lame-evidence", "multi", {}),  # its words are heard first
        ):
            assert not self.biases(tiny_recipe, name, task, **settings).any(), name

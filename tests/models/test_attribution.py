"""Which tokens drove the scores."""

import numpy as np
import pytest
import torch

from attending.data.batches import collate
from attending.errors import ModelError, RecipeError
from attending.models.attribution import METHODS
from attending.models.neural import Network, NeuralModel
from attending.records import Document
from attending.tensors import AttentionTrace
from attending.training.fit import fit

LONG = Document("long", "no chest pain today, and feeling well. " * 20)
ROWS = (
    Document("a", "Severe CHEST pain; my arm is numb"),
    Document("b", "refill"),
    LONG,
    Document("blank", "  "),
)


@pytest.fixture(scope="module")
def models(neural, tiny_recipe, urgency):
    """A model of every neural recipe, fitted or not: attributions are the same algebra."""
    made = {"lesa-bert": neural}
    for name in ("bert", "bert-mean", "lesa-bert-as-coded"):
        recipe = tiny_recipe(name)
        torch.manual_seed(2)
        network = Network(recipe, urgency).eval()
        with torch.no_grad():  # heads start near zero, and so would every gradient
            network.head.out.weight.mul_(20)
        made[name] = NeuralModel(recipe, urgency, network)
    return made


CASES = [
    (name, method)
    for name in ("bert", "bert-mean", "lesa-bert", "lesa-bert-as-coded")
    for method in METHODS
]


def scores_of(model, rows, method, labels=None):
    return model.token_scores(rows, method=method, labels=labels)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_every_method_of_every_recipe(name, method, models, urgency):
    model = models[name]
    if method not in model.methods:
        with pytest.raises(ModelError, match=rf'no evidence method "{method}".*allowed'):
            scores_of(model, ROWS, method)
        return
    found = scores_of(model, ROWS, method)
    assert len(found) == len(ROWS)
    for row, scores, windowed in zip(
        ROWS, found, model.windower([d.text for d in ROWS]), strict=True
    ):
        assert scores.offsets == windowed.offsets
        if row.id == "blank":
            assert scores.offsets == () and all(x == () for x in scores.scores.values())
            continue
        labels = list(scores.scores)
        assert labels == ([None] if method == "attention" else list(urgency.ids))
        for values in scores.scores.values():
            assert len(values) == len(scores.offsets)
            assert np.isfinite(values).all()
            assert any(values)
            if not method.endswith("gradient") or method == "attention-gradient":
                assert min(values) >= 0
        surfaces = {row.text[a:b] for a, b in scores.offsets}
        assert "" not in surfaces and not surfaces & {"[CLS]", "[SEP]", "[PAD]"}


@pytest.mark.parametrize(("name", "method"), CASES)
def test_company_and_padding_change_no_attribution(name, method, models):
    model = models[name]
    if method not in model.methods:
        return
    together = scores_of(model, ROWS, method)
    for row, whole in zip(ROWS, together, strict=True):
        (alone,) = scores_of(model, [row], method)
        assert alone.offsets == whole.offsets
        for label, values in alone.scores.items():
            np.testing.assert_allclose(values, whole.scores[label], atol=1e-5, rtol=1e-4)


def test_attention_of_a_single_window_sums_to_one_with_the_special_tokens(neural):
    """What is left out is what [CLS] gave to itself and to [SEP]."""
    (windowed,) = neural.windower([ROWS[0].text])
    trace = AttentionTrace()
    with torch.no_grad():
        neural.network(collate([windowed], neural.pad), trace)
    weights = torch.stack(trace.cls).mean(dim=(0, 2))[0]
    assert float(weights.sum()) == pytest.approx(1, abs=1e-5)
    (found,) = scores_of(neural, ROWS[:1], "attention")
    np.testing.assert_allclose(found.scores[None], weights[1:-1].tolist(), atol=1e-6)


def test_labels_have_attention_of_their_own(neural, urgency):
    (found,) = scores_of(neural, ROWS[:1], "label-attention")
    rows = [found.scores[i] for i in urgency.ids]
    assert all(0 < sum(row) < 1 for row in rows)
    assert rows[0] != rows[1] != rows[2]


def test_input_gradients_are_the_change_of_the_score(models):
    """To first order: embedding times gradient is what shrinking that embedding takes away."""
    model = models["bert"]
    network, row = model.network, ROWS[0]
    (windowed,) = model.windower([row.text])
    batch = collate([windowed], model.pad)
    (found,) = scores_of(model, [row], "gradient", ["urgent"])
    position = model.labels.position("urgent")
    table = network.encoder.word_embeddings
    with torch.no_grad():
        before = network(batch).logits[0, position].double()
        for token in (0, 3, len(found.offsets) - 1):
            step = 1e-2

            def shrink(module, inputs, output, at=token + 1, step=step):
                output = output.clone()
                output[0, at] *= 1 - step
                return output

            handle = table.register_forward_hook(shrink)
            after = network(batch).logits[0, position].double()
            handle.remove()
            change = float((before - after) / step)
            assert change == pytest.approx(found.scores["urgent"][token], abs=0.02, rel=0.1)


def test_state_gradients_of_mean_pooling_add_up_to_the_score(models, urgency):
    """The head is linear in the mean of the states, so the shares are exact."""
    model = models["bert-mean"]
    row = ROWS[0]
    (windowed,) = model.windower([row.text])
    batch = collate([windowed], model.pad)
    with torch.no_grad():
        head = model.network.head.out
        logits = model.network(batch).logits[0]
        states = model.network.encoder(batch.ids, batch.mask).states[0]
        # What [CLS] and [SEP] add to the mean belongs to no word.
        rest = head.weight @ (states[[0, -1]].sum(dim=0) / len(states)) + head.bias
    (found,) = scores_of(model, [row], "state-gradient")
    sums = [sum(found.scores[label]) for label in urgency.ids]
    np.testing.assert_allclose(sums, (logits - rest).tolist(), atol=1e-4)


def test_asking_for_some_labels(neural):
    (found,) = scores_of(neural, ROWS[:1], "attention-gradient", ["urgent"])
    (every,) = scores_of(neural, ROWS[:1], "attention-gradient")
    assert list(found.scores) == ["urgent"]
    np.testing.assert_allclose(found.scores["urgent"], every.scores["urgent"], rtol=1e-5)


@pytest.mark.parametrize("method", ["attention", "attention-gradient", "label-attention"])
def test_overlapping_windows_are_laid_over_each_other(method, neural):
    """A token that stands in two windows has one score: the sum of gradients, else the mean."""
    windower = neural.windower
    (windowed,) = windower([LONG.text])
    assert len(windowed.windows) > 1
    (found,) = scores_of(neural, [LONG], method, None if method == "attention" else ["urgent"])
    (values,) = found.scores.values()
    assert len(values) == windowed.read.of
    times = np.zeros(len(values))
    for window in windowed.windows:
        times[window.first : window.first + window.tokens] += 1
    assert set(times) == {1.0, 2.0}
    assert all(np.isfinite(values))


def test_no_gradient_is_left_behind(neural):
    for method in neural.methods:
        scores_of(neural, ROWS, method)
    assert all(p.grad is None for p in neural.network.parameters())
    assert not neural.network.encoder.word_embeddings._forward_hooks
    assert not neural.network.encoder._forward_hooks


def test_only_some_layers_see_labels(tiny_recipe, urgency):
    recipe = tiny_recipe("lesa-bert", label_attention__layers=[1])
    torch.manual_seed(0)
    model = NeuralModel(recipe, urgency, Network(recipe, urgency))
    for method in model.methods:
        (found,) = scores_of(model, ROWS[:1], method)
        assert all(any(x) for x in found.scores.values())


def test_at_least_one_layer_must_see_labels(tiny_recipe):
    with pytest.raises(RecipeError, match=r"label_attention\.layers"):
        tiny_recipe("lesa-bert", label_attention__layers=[])


def test_words_vote_only_where_labels_are_scored_one_by_one(tiny_recipe, urgency):
    recipe = tiny_recipe("lesa-bert", planting__kind="ranked", planting__vote=2.0)
    with pytest.raises(RecipeError, match=r'"lesa" scores no label by itself.*planting\.vote = 0'):
        Network(recipe, urgency, words=9)


def test_what_is_planted_on_a_word_does_not_depend_on_what_stands_around_it(tiny_recipe):
    rows = [
        Document("a", "chest pain and fever", ("pain",)),
        Document("b", "severe pain in the chest", ("pain",)),
        Document("c", "please refill the tablet", ("refill",)),
        Document("d", "refill please, thank you", ("refill",)),
        Document("e", "feeling well today", ()),
    ]
    model = fit(tiny_recipe("plant", planting__min_count=1), rows, development=()).model
    assert model.methods[:2] == ("label-weights", "planted")
    (found, other), labels = scores_of(model, [rows[0], rows[1]], "planted"), ("pain", "refill")
    assert set(found.scores) == set(labels)
    word, elsewhere = rows[0].text.index("pain"), rows[1].text.index("pain")
    mine = found.scores["pain"][[s for s, _ in found.offsets].index(word)]
    theirs = other.scores["pain"][[s for s, _ in other.offsets].index(elsewhere)]
    assert mine == pytest.approx(theirs, abs=1e-6) and mine > 0
    assert min(found.scores["pain"]) >= 0
    with pytest.raises(ModelError, match="planted"):
        scores_of(
            fit(tiny_recipe("lant", training__epochs=1), rows, development=()).model,
            rows[:1],
            "planted",
        )

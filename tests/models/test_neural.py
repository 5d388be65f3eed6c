"""Neural models: the one forward pass."""

import json

import numpy as np
import pytest
import torch

from attending.data.windows import Window, Windowed
from attending.errors import ModelError
from attending.models import neural as neural_module
from attending.models.layouts import pool_windows
from attending.models.neural import Network, NeuralModel
from attending.records import Coverage, Document, LabelSet, Unreadable
from attending.tensors import Batch


@pytest.fixture(scope="module")
def batch(case):
    """The texts of the empty-text case as rows, as the readers give them."""
    texts = json.loads((case("D18") / "batch.json").read_text(encoding="utf-8"))
    return [
        Document(f"row-{i}", text)
        if isinstance(text, str)
        else Unreadable(f"row-{i}", f"not text but {type(text).__name__}")
        for i, text in enumerate(texts)
    ]


def test_empty_and_missing_texts_in_a_batch(neural, linear, batch, case):
    values = json.loads((case("D18") / "expected.json").read_text(encoding="utf-8"))["values"]
    for model in (neural, linear):
        found = model.predict(batch)
        assert len(found) == values["n_results"]
        assert [p.id for p in found] == [row.id for row in batch]
        for i in values["empty_indices"]:
            assert found[i].status == "empty_text"
            assert found[i].labels == () and dict(found[i].scores) == {}
            assert found[i].read == Coverage(0, 0, 0)
        for i in values["invalid_indices"]:
            assert found[i].status == "failed" and "NoneType" in found[i].reason
            assert found[i].labels == ()
        for i in values["normal_indices"]:
            (alone,) = model.predict([batch[i]])
            assert found[i].status == "ok" and found[i].labels == alone.labels
            assert dict(found[i].scores) == pytest.approx(dict(alone.scores), abs=1e-5)
            assert np.isfinite(list(found[i].scores.values())).all()


def test_nothing_but_what_can_t_be_read(neural, batch):
    assert [p.status for p in neural.predict(batch[:4])] == ["empty_text"] * 3 + ["failed"]
    assert neural.predict([]) == []


def test_order_and_scores_do_not_depend_on_company(neural, messages, monkeypatch):
    rows = [*messages[:20], Document("long", "chest pain " * 200), Document("one", "rash")]
    together = neural.predict(rows)
    assert [p.id for p in together] == [d.id for d in rows]
    monkeypatch.setattr(neural_module, "_CHUNK", 5)
    for chunked, whole in zip(neural.predict(rows), together, strict=True):
        assert chunked.id == whole.id and chunked.read == whole.read
        assert dict(chunked.scores) == pytest.approx(dict(whole.scores), abs=1e-5)
    for row, whole in zip(rows[::7], together[::7], strict=True):
        assert dict(neural.predict([row])[0].scores) == pytest.approx(dict(whole.scores), abs=1e-5)


def test_progress_ends_at_all(neural, messages, batch, monkeypatch):
    monkeypatch.setattr(neural_module, "_BATCH", 4)
    monkeypatch.setattr(neural_module, "_CHUNK", 8)
    calls = []
    neural.predict([*messages[:10], *batch], progress=lambda *done: calls.append(done))
    done = [d for d, _ in calls]
    assert done == sorted(done) and done[-1] == 15
    assert {total for _, total in calls} == {15}


def test_scores_that_are_not_finite_are_a_failure_not_an_answer(neural, messages, urgency):
    network = Network(neural.recipe, urgency)
    network.load_state_dict(neural.network.state_dict())
    with torch.no_grad():
        network.head.out.bias[1] = float("nan")
    found = NeuralModel(neural.recipe, urgency, network).predict(messages[:3])
    assert {p.status for p in found} == {"failed"}
    assert all(p.labels == () and not p.scores and "finite" in p.reason for p in found)


def test_predicting_changes_nothing(neural, messages):
    before = {k: v.clone() for k, v in neural.network.state_dict().items()}
    neural.network.train()
    first = neural.predict(messages[:4])
    assert neural.predict(messages[:4]) == first, "dropout must be off"
    assert not neural.network.training
    assert all(torch.equal(before[k], v) for k, v in neural.network.state_dict().items())
    assert all(p.grad is None for p in neural.network.parameters())


def test_too_long_is_said(neural, urgency, tiny_recipe):
    recipe = tiny_recipe("lesa-bert", windows__on_overflow="error", windows__max_tokens=10)
    model = NeuralModel(recipe, urgency, neural.network)
    long, short = model.predict([Document("a", "pain " * 9), Document("b", "pain " * 8)])
    assert (long.status, long.labels, long.read) == ("too_long", (), Coverage(0, 9, 0))
    assert short.status == "ok"


def test_truncation_is_said(neural, urgency, tiny_recipe):
    recipe = tiny_recipe("lesa-bert", windows__on_overflow="truncate", windows__max_tokens=10)
    model = NeuralModel(recipe, urgency, neural.network)
    (found,) = model.predict([Document("a", "pain " * 30)])
    assert found.status == "ok" and found.read.truncated
    assert found.read == Coverage(8, 30, 1, len("pain " * 8) - 1)


def test_windows_of_a_document_become_one_score():
    logits = torch.tensor([[1.0, 5.0], [3.0, -1.0], [2.0, 2.0]])
    document = torch.tensor([0, 0, 1])
    assert pool_windows(logits, document, 2, "max").tolist() == [[3.0, 5.0], [2.0, 2.0]]
    assert pool_windows(logits, document, 2, "mean").tolist() == [[2.0, 2.0], [2.0, 2.0]]
    low = torch.tensor([[-1.0], [-2.0], [-3.0]])
    assert pool_windows(low, document, 2, "max").tolist() == [[-1.0], [-3.0]]
    assert torch.equal(pool_windows(logits, torch.arange(3), 3, "max"), logits)


def test_pooling_windows_passes_gradients():
    logits = torch.tensor([[1.0], [3.0], [2.0]], requires_grad=True)
    pool_windows(logits, torch.tensor([0, 0, 1]), 2, "max").sum().backward()
    assert logits.grad.flatten().tolist() == [0.0, 1.0, 1.0]


def test_a_long_text_is_scored_by_its_strongest_window(neural):
    text = "refill please " * 40
    (windowed,) = neural.windower([text])
    assert len(windowed.windows) > 1
    each = [
        neural._logits([Windowed((window,), windowed.offsets, windowed.read)])[0]
        for window in windowed.windows
    ]
    (scored,) = neural.scores([Document("x", text)])
    np.testing.assert_allclose(scored.logits, np.max(each, axis=0), atol=1e-5)


def test_vectors_of_documents(neural, messages):
    rows = [*messages[:5], Document("long", "chest pain " * 60)]
    vectors = neural.pooled(rows)
    assert vectors.shape == (6, 32) and vectors.dtype == np.float32
    np.testing.assert_allclose(neural.pooled(rows[2:3])[0], vectors[2], atol=1e-5)
    with pytest.raises(ModelError, match="without text has no vector"):
        neural.pooled([Document("x", " ")])


def test_the_loss_counts_the_labels_own_only_if_asked(urgency, tiny_recipe):
    def losses(**settings):
        torch.manual_seed(0)
        network = Network(tiny_recipe("lesa-bert", **settings), urgency).eval()
        ids = torch.tensor([[2, 9, 10, 3]])
        rows = Batch(ids, ids >= 0, torch.tensor([0]), 1, torch.tensor([1]))
        with torch.no_grad():
            return network(rows).loss.item()

    assert losses(loss__label_loss=5.0) > losses() + 1


def test_methods_by_what_the_network_has(tiny_recipe, urgency):
    def methods(name):
        recipe = tiny_recipe(name)
        return set(NeuralModel(recipe, urgency, Network(recipe, urgency)).methods)

    assert "label-attention" in methods("lesa-bert")
    assert "attention" in methods("bert") and "label-attention" not in methods("bert")
    assert "attention" not in methods("bert-mean")
    assert all(methods(name) for name in ("bert", "bert-mean", "lesa-bert", "lesa-bert-as-coded"))


def test_one_label_more_is_another_network(tiny_recipe, urgency):
    network = Network(tiny_recipe("bert"), LabelSet.from_ids(["a", "b", "c", "d"]))
    ids = torch.tensor([[2, 9, 3]])
    assert network(Batch(ids, ids >= 0, torch.tensor([0]), 1)).logits.shape == (1, 4)


def test_windows_without_tokens_never_reach_the_network(neural):
    assert Window((2, 3), 0, 0) not in neural.windower(["pain"])[0].windows

"""What classifiers are drawn to: a slow reference, labels without rows, labels without words."""

import pytest
import torch

from attending import registry
from attending.errors import RecipeError
from attending.models.network import Network
from attending.models.store import load_model, save_model
from attending.parts.descriptions import DescriptionVectors, LabelStateVectors
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet
from attending.specs import ConvolvedDescriptions, LabelStateDescriptions
from attending.tensors import LabelStates
from attending.training.fit import fit

TEXTS = ("chest pain at night", "shortness of breath", "refill the tablet", "chest pain again")
LABELS = LabelSet(
    (
        Label("pain", "", "chest pain or pain in the arm at night"),
        Label("breath", "", "shortness of breath"),
        Label("tablet", "refill of a tablet", ""),
        Label("unseen", "", "night pain"),
    )
)
DOCUMENTS = tuple(
    Document(f"d{i}", text, ids)
    for i, (text, ids) in enumerate(
        zip(TEXTS, (("pain",), ("breath",), ("tablet", "breath"), ("pain",)), strict=True)
    )
)


@pytest.fixture(scope="module")
def encoder(tiny_recipe):
    spec = tiny_recipe("caml")["encoder"]
    return registry.build(spec, texts=[*TEXTS, "pain or arm in a of at night"])


def built(encoder, labels=LABELS, counts=None, width=7, **settings) -> DescriptionVectors:
    spec = ConvolvedDescriptions(filters=5, **({"kernel": 3} | settings))
    torch.manual_seed(3)
    made = registry.build(spec, encoder=encoder, labels=labels, width=width, counts=counts)
    return made.eval()


@torch.no_grad()
def slow(part: DescriptionVectors, words: torch.Tensor) -> torch.Tensor:
    """Read one description filter by filter and place by place; words (M, D)."""
    (branch,) = part.body.branches
    filters, _, kernel = branch.weight.shape
    best = [-2.0] * filters
    for f in range(filters):
        for place in range(len(words)):
            total = float(branch.bias[f])
            for k in range(kernel):
                at = place + k - kernel // 2
                if 0 <= at < len(words):
                    total += float(branch.weight[f, :, k] @ words[at])
            best[f] = max(best[f], float(torch.tanh(torch.tensor(total))))
    return part.out.weight @ torch.tensor(best) + part.out.bias


@pytest.mark.parametrize("kernel", [3, 4, 10])
def test_the_vectors_equal_a_slow_reference(encoder, kernel):
    part = built(encoder, kernel=kernel)
    found = part(torch.arange(4))
    assert found.shape == (4, 7)
    for i, label in enumerate(LABELS):
        words = part.embeddings.weight[part.ids[i][part.mask[i]]]
        assert len(words) == len((label.description or label.name).split())
        torch.testing.assert_close(found[i], slow(part, words), atol=1e-5, rtol=0)
        alone = part(torch.tensor([i]))[0]
        torch.testing.assert_close(alone, found[i], atol=1e-6, rtol=0)
    assert part(torch.arange(0)).shape == (0, 7)


def test_its_words_start_as_the_encoder_s_and_are_its_own(encoder):
    part = built(encoder)
    used = torch.tensor(encoder.tokenizer("chest pain", add_special_tokens=False)["input_ids"])
    assert len(part.embeddings.weight) < len(encoder.word_embeddings.weight)
    torch.testing.assert_close(
        part.embeddings.weight[part.ids[0, :2]], encoder.word_embeddings(used)
    )
    assert part.embeddings.weight.data_ptr() != encoder.word_embeddings.weight.data_ptr()


def test_labels_without_words_have_a_vector(encoder):
    bare = LabelSet((Label("\u200b1", "", ""), Label("\u200b2", "", "")))
    part = built(encoder, labels=bare)
    assert torch.isfinite(part(torch.arange(2))).all()
    assert any("2 of 2 labels have no description" in note for note in part.notes)
    assert any('the first is "tablet"' in note for note in built(encoder).notes)


def test_only_labels_without_rows_are_lent_a_classifier(encoder):
    part = built(encoder, counts=[2, 2, 1, 0])
    classifiers = torch.zeros(4, 7)
    part.lend(classifiers)
    assert classifiers.any(dim=1).tolist() == [False, False, False, True]
    torch.testing.assert_close(classifiers[3], part(torch.tensor([3]))[0])
    for same in (built(encoder), built(encoder, counts=[2, 2, 1, 0], unseen=False)):
        classifiers = torch.zeros(4, 7)
        same.lend(classifiers)
        assert not classifiers.any()


def test_label_states_hand_themselves_on():
    part = registry.build(LabelStateDescriptions())
    assert isinstance(part, LabelStateVectors) and not list(part.parameters())
    states = torch.arange(6.0).reshape(3, 2)
    assert part(torch.tensor([2, 0]), LabelStates(states)).tolist() == [[4, 5], [0, 1]]


@pytest.fixture(scope="module")
def models(tiny_recipe):
    """dr-caml with a weak and with a strong pull."""
    return {
        pull: fit(
            tiny_recipe("dr-caml", loss__description_pull=pull, training__epochs=30),
            DOCUMENTS,
            LABELS,
            development=(),
            seed=1,
        ).model
        for pull in (1e-6, 10.0)
    }


def distances(model):
    network = model.network
    described = network.descriptions(torch.arange(len(LABELS)))
    return (network.head.label_vectors - described).square().mean(dim=1)


def test_the_pull_draws_classifiers_to_descriptions(models):
    weak, strong = (distances(models[pull]) for pull in (1e-6, 10.0))
    assert (strong[:3] < weak[:3] / 2).all()
    assert max(strong[3], weak[3]) < 1e-12  # no row has it


def test_a_saved_model_needs_no_descriptions_of_its_own(models, tmp_path):
    model = models[10.0]
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.predict(DOCUMENTS) == model.predict(DOCUMENTS)
    assert any("tablet" in note for note in model.facts["label_state_notes"])


def test_a_pull_needs_descriptions_and_descriptions_a_pull():
    with pytest.raises(RecipeError, match='"descriptions" is missing'):
        Recipe.load("caml").override({"loss.description_pull": 1.0})
    with pytest.raises(RecipeError, match='"descriptions" is of no use'):
        Recipe.load("caml").override({"descriptions.kind": "convolution"})
    off = Recipe.load("dr-caml").override({"loss.description_pull": 0})
    assert dict(off.slots) == dict(Recipe.load("caml").slots)


def test_a_pretrained_encoder_can_read_the_words(tiny_recipe):
    settings = {"descriptions.kind": "convolution", "loss.description_pull": 1.0}
    recipe = tiny_recipe("plm-icd").override(settings)
    network = Network(recipe, LABELS)
    assert network.descriptions(torch.arange(4)).shape == network.head.label_vectors.shape

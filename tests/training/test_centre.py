"""What a cosine head measures before training, and what it is for."""

import pytest
import torch

from attending.data.batches import collate
from attending.models.network import Network
from attending.models.store import load_model, save_model
from attending.records import Document, Label, LabelSet
from attending.training import centre as centring
from attending.training.centre import centre_rows

STILL = {
    "training__learning_rate": 1e-12,
    "training__head_learning_rate": 1e-12,
    "training__label_learning_rate": 1e-12,
    "training__epochs": 1,
}


def cosines(model, document):
    """Cosines of labels and what they find in one document, one at a time."""
    network = model.network.eval()
    batch = collate(model.windower([document.text]), model.pad, join=network.joins)
    with torch.no_grad():
        labels, prepared = (
            network.label_states(),
            network.label_attention.prepare(network.tokens(batch)),
        )
        found = network.label_attention(prepared, labels).context[0]
    return torch.nn.functional.cosine_similarity(found, labels.states, dim=-1)


def test_scores_start_from_the_mean_of_training_rows_and_of_no_others(train, messages, tmp_path):
    rows, others = messages[:10], messages[10:16]
    fitted = train("lame-cosine", rows=[*rows, Document("b", " ", rows[0].labels)],
                   development=others, **STILL)  # fmt: skip
    model = fitted.model
    wanted = torch.stack([cosines(model, d) for d in rows]).mean(dim=0)
    torch.testing.assert_close(model.network.head.means, wanted, atol=1e-5, rtol=0)
    assert model.facts["centred_on"] == 10
    save_model(model, tmp_path / "model", metrics=fitted.metrics)
    again = load_model(tmp_path / "model").network.head.means
    assert torch.equal(again, model.network.head.means)


def test_of_many_rows_some_are_drawn_and_other_heads_want_none(
    tiny_recipe, urgency, messages, monkeypatch
):
    monkeypatch.setattr(centring, "MOST_ROWS", 4)
    recipe = tiny_recipe("lame-cosine").for_task("single")
    network = Network(recipe, urgency)
    rows = [Document("blank", "  ", ()), *messages]
    drawn = centre_rows(network, rows, 1)
    assert len(drawn) == 4 and all(d in messages for d in drawn)
    assert [d.id for d in drawn] == [d.id for d in messages if d in drawn]
    assert drawn == centre_rows(network, rows, 1) != centre_rows(network, rows, 2)
    plain = Network(tiny_recipe("lame").for_task("single"), urgency)
    assert centre_rows(plain, rows, 1) == []


LABELS = LabelSet(
    (
        Label("heart", "heart", "chest pain, palpitations, a racing heart"),
        Label("skin", "skin", "a rash, itching, hives on the skin"),
        Label("gut", "stomach", "nausea, vomiting, stomach cramps, diarrhoea"),
        Label("eye", "eyes", "blurred vision, a red and painful eye"),
    )
)
SAID = {
    "heart": ("My chest feels tight.", "My heart races at night.", "Pressure behind my ribs."),
    "skin": ("I itch all over.", "Red spots on both arms.", "The cream made the rash worse."),
    "gut": ("I threw up twice.", "Cramps after every meal.", "Loose stools since Monday."),
}


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_label_without_an_example_is_found_by_its_meaning(epochs):
    from attending.classifier import resolve_recipe
    from attending.training.fit import fit

    rows = [Document(f"{k}{i}", t, (k,)) for k, said in SAID.items() for i, t in enumerate(said)]
    settings = {"training.epochs": epochs, "training.batch_size": 3, "encoder.layers": 6}
    recipe = resolve_recipe("lame-cosine", None, settings, "multi")
    model = fit(recipe, rows, LABELS, development=(), seed=0).model
    told = ["Everything I look at is blurry.", "My left eye is red and hurts in the light."]
    news = [
        Document(f"n{i}", text) for i, text in enumerate((*told, *(s[1] for s in SAID.values())))
    ]
    scores = [p.scores["eye"] for p in model.predict(news)]
    assert min(scores[:2]) > max(scores[2:])

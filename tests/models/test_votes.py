"""Words that vote for their labels, whether or not a training document has them."""

import pytest

from attending.records import Document, Label, LabelSet
from attending.training.fit import fit

LABELS = LabelSet(
    (
        Label("pain", "", "pain of the chest"),
        Label("refill", "", "refill of a tablet"),
        Label("fracture", "", "fracture of the femur"),
        Label("burn", "", "burn of the hand"),
    ),
    name="reasons",
)
ROWS = tuple(
    Document(f"{reason}-{i}", text, (reason,))
    for reason, texts in {
        "pain": ("chest pain and fever", "severe pain in the chest", "the chest, a dull pain"),
        "refill": ("please refill the tablet", "refill please", "a refill of this tablet"),
    }.items()
    for i, text in enumerate(texts)
)
ASKED = (Document("x", "fell, fracture of the left femur"), Document("y", "fell on the left side"))


def scores(tiny_recipe, vote):
    recipe = tiny_recipe("plant", planting__vote=vote, planting__min_count=1)
    model = fit(recipe, ROWS, LABELS, development=()).model
    return model, [found.logits for found in model.scores(ASKED)]


def test_a_label_without_documents_is_found_by_the_words_of_its_text(tiny_recipe):
    model, (told, other) = scores(tiny_recipe, 6.0)
    fracture, burn = (model.labels.position(name) for name in ("fracture", "burn"))
    assert told[fracture] - other[fracture] > 3
    assert other[fracture] == pytest.approx(other[burn], abs=1), "nothing there speaks for either"
    assert told[fracture] == max(told)


def test_without_a_vote_it_is_not(tiny_recipe):
    model, (told, other) = scores(tiny_recipe, 0.0)
    fracture = model.labels.position("fracture")
    assert abs(told[fracture] - other[fracture]) < 1 and told[fracture] < max(told)

"""A service whose model gives several labels of an ordered set: the most urgent one counts."""

from dataclasses import replace

import pytest

from attending.recipe import Recipe
from attending.records import Document, Prediction
from attending.serve.entries import Filters
from attending.serve.placing import by_urgency

RISING = ("non-urgent", "urgent")
"""What the model says, the likelier first: urgency the other way round."""


class Several:
    """A model that gives every text two labels, of which the less urgent is the likelier."""

    def __init__(self, model):
        self._model = model
        self.recipe = Recipe.load(model.recipe.name).for_task("multi")
        self.methods = ()

    def __getattr__(self, name):
        return getattr(self._model, name)

    def predict(self, rows):
        found = zip(rows, self._model.predict(rows), strict=True)
        scores = {"non-urgent": 0.9, "medium": 0.1, "urgent": 0.6}
        return [
            replace(p, labels=RISING, scores=scores, abstained=False, evidence=())
            if isinstance(r, Document)
            else p
            for r, p in found
        ]


@pytest.fixture
def client(serve, store, model_folder):
    from attending.models.store import load_model

    made = serve(store=store, load=lambda folder: Several(load_model(folder)))
    made.service.predictor.load()
    return made


def standing(store, **filters):
    found = store.inbox(Filters(**filters)).entries
    return {e.row.id: (e.standing, e.leading, e.labels) for e in found}


def test_it_stands_under_the_most_urgent_of_its_labels(client, store):
    sent = client.post("/v1/messages", json={"documents": [{"id": "a", "text": "chest pain"}]})
    assert sent.status_code == 201
    csv = b"id,text\nb,refill\n"
    assert client.post("/inbox/upload", files={"file": ("x.csv", csv)}).status_code == 200
    assert standing(store) == {x: ("urgent", "urgent", RISING) for x in "ab"}
    # How sure it is, is said of that label too.
    assert set(standing(store, unsure=True)) == {"a", "b"}
    page = client.get("/inbox").text
    assert page.count("unsure, 60 %") == 2
    assert '<section class="group high"' in page


def test_a_correction_too_and_what_is_left_when_it_is_taken_back(client, store):
    client.post("/v1/messages", json={"documents": [{"id": "a", "text": "chest pain"}]})
    rising = ["non-urgent", "medium"]
    client.post("/v1/messages/1/correction", json={"labels": rising})
    assert standing(store)["a"][0] == "medium"
    client.post("/inbox/messages/1/label", data={"label": ["non-urgent", "urgent"]})
    assert standing(store)["a"][0] == "urgent"
    for left in ("medium", "urgent"):
        client.post("/inbox/messages/1/undo")
        assert standing(store)["a"][0] == left


def test_labels_without_an_order_stand_under_the_first(labels, store):
    assert by_urgency(replace(labels, ordered=False)) == ()
    answer = Prediction("a", "ok", RISING, {"non-urgent": 0.9, "urgent": 0.6})
    store.add_messages([Document("a", "chest pain")], [answer], "test")
    assert standing(store)["a"][0] == "non-urgent"

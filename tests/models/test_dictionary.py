"""What chooses a dictionary's threshold: rows scored by views that had not seen them."""

import numpy as np
import pytest

from attending.models.development import DevelopmentScores
from attending.recipe import Recipe
from attending.records import Document, Label, LabelSet, Span
from attending.training.fit import fit

LABELS = LabelSet(
    (
        Label("C50", "", "malignant neoplasm of breast"),
        Label("E11", "", "type 2 diabetes mellitus"),
        Label("I10", "", "essential hypertension"),
        Label("J45", "", "asthma"),
    )
)
WORDS = {
    "C50": ("breast cancer", "carcinoma of the breast", "mastectomy"),
    "E11": ("diabetes", "raised glucose", "metformin"),
    "I10": ("hypertension", "high blood pressure", "amlodipine"),
    "J45": ("asthma", "wheezing", "salbutamol"),
}


def rows(count=60, seed=0):
    draw = np.random.default_rng(seed)
    made = []
    for i in range(count):
        codes = sorted(draw.choice(list(WORDS), size=draw.integers(1, 3), replace=False).tolist())
        said = [WORDS[c][draw.integers(3)] for c in codes]
        said.append(WORDS["J45"][0] if draw.random() < 0.2 else "no other complaint")
        made.append(Document(f"d{i}", f"Seen in clinic {i} with {', '.join(said)}.", tuple(codes)))
    return made


def fitted(documents, development=None, **settings):
    recipe = Recipe.load("dictionary").for_task("multi").override(settings)
    return fit(recipe, documents, LABELS, development=development, seed=1)


@pytest.mark.parametrize("combine", ["learned", "best"])
def test_all_rows_train_and_all_choose(combine):
    documents = [*rows(), Document("blank", "  ", ("I10",))]
    done = fitted(documents, **{"estimator.combine": combine})
    facts = done.model.facts
    assert facts["training_rows"] == facts["development_rows"] == 61
    assert "had not seen it" in facts["development"]
    assert done.model.held is None  # not kept: it is as large as the corpus
    assert isinstance(done.development, DevelopmentScores)
    assert done.development.probabilities.shape == (60, 4)
    assert done.development.fingerprint == facts["development_fingerprint"]


def test_a_row_is_scored_by_a_view_that_has_not_seen_it():
    """Of a word that one row alone has, its own view would be sure, and another knows nothing."""
    text = "Seen in clinic with zyzzyva."
    odd = Document("odd", text, ("C50",), spans=(Span(20, 27, "C50"),))
    done = fitted([*rows(), odd], **{"estimator.combine": "best"})
    at = [d.id for d in (*rows(), odd)].index("odd")
    held = done.development.probabilities[at]
    (seen,) = done.model.predict([odd])
    assert text[20:27] == "zyzzyva"
    assert held[0] < 0.5 < seen.scores["C50"]


def test_development_rows_choose_where_they_are_given_or_wanted():
    documents = rows()
    given = fitted(documents[:40], documents[40:])
    assert given.model.facts["development_rows"] == 20
    assert "development" not in given.model.facts
    carved = fitted(documents, **{"estimator.tune": "development"})
    facts = carved.model.facts
    assert facts["training_rows"] + facts["development_rows"] == 60
    assert facts["development_rows"] < 12


def test_of_many_rows_a_sample_chooses(monkeypatch):
    monkeypatch.setattr("attending.models.base.MOST_KEPT", 30 * len(LABELS))
    documents = rows()
    done, again = fitted(documents), fitted(documents)
    assert done.model.facts["training_rows"] == 60
    assert done.model.facts["development_rows"] == 30
    assert done.model.decision == again.model.decision

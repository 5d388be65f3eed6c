"""Log-odds of words: sparse, fixed before training, and blind to a document's own annotation."""

from dataclasses import replace

import numpy as np
import pytest

from attending.errors import ModelError
from attending.parts.lexical import Combiner, LexicalScorer, LexicalView
from attending.parts.lexical.combiner import input_count
from attending.parts.lexical.scorer import best_surface
from attending.records import Document, Label, LabelSet, Span
from attending.specs import LexicalSurfaces

LABELS = LabelSet(
    (
        Label("duct", "", "carcinoma ductal infiltrante", synonyms=("comedo",)),
        Label("adeno", "", "adenocarcinoma"),
        Label("giant", "", "tumor maligno de células gigantes"),
    )
)
SPEC = LexicalSurfaces(mined=0)


def rows(count):
    """Documents of one label each; its word is annotated, and unlike any word of the label."""
    made = []
    for i in range(count):
        label, word = (("duct", "cdi"), ("adeno", "acg"))[i % 2]
        text = f"informe {i} con {word} en colon"
        start = text.index(word)
        made.append(Document(f"d{i}", text, (label,), (Span(start, start + 3, label),)))
    return tuple(made)


@pytest.fixture(scope="module")
def fitted():
    return LexicalScorer.fit(SPEC, rows(60), LABELS)


def test_a_document_s_own_annotation_has_no_hand_in_its_score():
    """Only one document says ``unico``: to the views that look at it, it is an unknown word."""
    own = Document("own", "hubo unico ayer", ("giant",), (Span(5, 10, "giant"),))
    scorer, held = LexicalScorer.fit(SPEC, (*rows(20), own), LABELS)
    giant = LABELS.position("giant")
    assert giant not in held.labels[held.indptr[-2] :].tolist()
    assert held.counts[held.view[-1], giant] == 0
    scores = scorer.scores([own])
    assert giant in scores.labels.tolist()
    assert scores.counts[0, giant] == pytest.approx(1)
    assert scores.dense()[0, giant] > held.dense()[-1, giant]


def test_scores_are_the_combiner_s_of_dense_features(fitted):
    scorer, held = fitted
    assert scorer.combiner is not None
    features = scorer.view.features_training(rows(60))
    assert held.dense() == pytest.approx(scorer.combiner.score(features.dense()), abs=1e-5)
    texts = [Document("x", "un cdi"), Document("y", ""), Document("z", "adenocarcinoma y cdi")]
    dense = scorer.combiner.score(scorer.view.features(texts).dense())
    assert scorer.scores(texts).dense() == pytest.approx(dense, abs=1e-5)
    assert dense[0].argmax() == 0


def test_too_few_matches_leave_the_best_surface():
    scorer, held = LexicalScorer.fit(SPEC, rows(6), LABELS)
    assert scorer.combiner is None
    dense = scorer.view.features([Document("x", "un cdi")]).dense()[0]
    (found,) = scorer.scores([Document("x", "un cdi")]).dense()
    assert found == pytest.approx(best_surface(dense, scorer.view.names))
    assert found[0] > found[1] == -6
    assert len(held) == 6
    assert "fewer than 20" in scorer.notes[0]


def test_rows_can_follow_others(fitted):
    scorer, held = fitted
    assert scorer.notes == ()
    more = scorer.scores([Document("x", "un cdi"), Document("y", "nada")])
    both = held.followed_by(more)
    assert len(both) == len(held) + 2
    assert np.array_equal(both.dense(), np.concatenate([held.dense(), more.dense()]))
    assert both.counts[both.view[-1], 0] > both.counts[both.view[0], 0]


def test_no_documents_no_scores(fitted):
    scores = fitted[0].scores([])
    assert len(scores) == 0 and scores.dense().shape == (0, 3)


def test_annotated_surfaces_become_synonyms_once_two_documents_have_them(fitted):
    scorer, _ = fitted
    known = scorer.with_synonyms(LABELS, 2)
    assert known["duct"].synonyms == ("cdi", "comedo")
    assert known["giant"].synonyms == ()
    assert known.ids == LABELS.ids
    assert scorer.with_synonyms(LABELS, 0) == LABELS
    once, _ = LexicalScorer.fit(SPEC, rows(2), LABELS)
    assert once.with_synonyms(LABELS, 2)["duct"].synonyms == ("comedo",)
    blind, _ = LexicalScorer.fit(LexicalSurfaces(annotated=False, mined=0), rows(40), LABELS)
    assert blind.with_synonyms(LABELS, 2) == LABELS


def test_of_several_surfaces_the_surest_come_first():
    texts = ["cdi visto", "cdi claro", "cdi aqui", "dudoso si", "dudoso no", "dudoso quiza"]
    ids = [("duct",)] * 5 + [()]
    made = [
        Document(str(i), t, own, (Span(0, t.index(" "), "duct"),) if own else ())
        for i, (t, own) in enumerate(zip(texts, ids, strict=True))
    ]
    scorer = LexicalScorer(SPEC, LexicalView.fit(SPEC, made, LABELS))
    assert scorer.with_synonyms(LABELS, 5)["duct"].synonyms == ("cdi", "dudoso", "comedo")
    assert scorer.with_synonyms(LABELS, 1)["duct"].synonyms == ("cdi", "comedo")


def test_saved_equals_loaded(fitted, tmp_path):
    scorer, _ = fitted
    scorer.save(tmp_path)
    again = LexicalScorer.load(tmp_path, SPEC, LABELS)
    texts = [Document("x", "un cdi y tumor maligno"), Document("y", "nada")]
    assert np.array_equal(again.scores(texts).dense(), scorer.scores(texts).dense())
    assert again.with_synonyms(LABELS, 3) == scorer.with_synonyms(LABELS, 3)
    (tmp_path / "combiner.safetensors").write_bytes(b"{}")
    with pytest.raises(ModelError, match="damaged"):
        LexicalScorer.load(tmp_path, SPEC, LABELS)


def test_a_combiner_of_other_features_is_refused(fitted, tmp_path):
    scorer, _ = fitted
    size = input_count(3)
    ones = np.ones(size)
    other = Combiner(ones, ones, ones, ones, np.zeros((size, size)), 0.0, 0.0)
    LexicalScorer(SPEC, scorer.view, other).save(tmp_path)
    with pytest.raises(ModelError, match="doesn't fit"):
        LexicalScorer.load(tmp_path, SPEC, LABELS)


def test_rows_of_one_group_leave_the_best_surface():
    """No other group, so no view that has not seen a row: all known pairs are true ones."""
    grouped = tuple(replace(d, group="ward") for d in rows(60))
    scorer, held = LexicalScorer.fit(SPEC, grouped, LABELS)
    assert len(held) == 60 and (scorer.combiner is None) == bool(scorer.notes)
    assert np.isfinite(scorer.scores([Document("x", "un cdi")]).dense()).all()

"""Thresholds of models that listen to words: carved-off rows choose them with all others."""

from math import log

import numpy as np
import pytest
from scipy.special import expit

from attending.evaluation.steadied import steadied_threshold
from attending.evaluation.thresholds import log_odds
from attending.models.base import keepable
from attending.models.store import load_model, save_model
from attending.parts.decoders import Decision
from attending.records import Document, Label, LabelSet, Span
from attending.training import carved
from attending.training.fit import fit
from attending.training.settle import MOVED, moved, settle_again

WORDS = ("ache", "dyspnoea", "rash", "fever", "cough", "nausea", "cramp", "itch")
RARE = ("gout", "lupus", "mumps", "croup", "sepsis", "rabies")
LABELS = LabelSet(tuple(Label(w, "", f"{w} found") for w in (*WORDS, *RARE)), name="finding")


def document(i):
    """Return a row with a frequent finding, every fifth with one that no other row has.

    Some name a finding that they don't have, so that words alone can't be right throughout.
    """
    own = [WORDS[i % len(WORDS)]]
    if i % 5 == 0 and i // 5 < len(RARE):
        own.append(RARE[i // 5])
    other = WORDS[(i * 3 + 1) % len(WORDS)]
    text = f"today {' and '.join(own)}, no {other if i % 3 == 0 else 'complaint'}, visit {i}"
    spans = tuple(Span(text.index(w), text.index(w) + len(w), w) for w in own)
    return Document(f"d{i}", text, tuple(own), spans)


ROWS = tuple(document(i) for i in range(48))
NEW = tuple(document(i) for i in range(100, 130))


@pytest.fixture(scope="module")
def make(tiny_recipe):
    """Return a function that fits a small model with these settings."""

    def fitted(development=None, name="lame-evidence", **settings):
        few = {"training.epochs": 1, "training.development": 0.2, "windows.max_tokens": 48}
        recipe = tiny_recipe(name).override({**few, **settings})
        return fit(recipe, ROWS, LABELS, development=development, seed=1)

    return fitted


def test_it_moves_to_what_words_of_all_rows_and_the_network_of_those_carved_off_say(
    make, monkeypatch
):
    seen = {}
    effect = carved._effect

    def kept(model, held, decision, rows, scored, seed):
        seen.update(model=model, held=held, decision=decision, rows=rows, scored=scored)
        return effect(model, held, decision, rows, scored, seed)

    monkeypatch.setattr(carved, "_effect", kept)
    fitted = make()
    model = fitted.model
    rows, decision = seen["rows"], seen["decision"]
    assert len(rows.development) >= 5 and len(rows.train) + len(rows.development) == len(ROWS)
    # No carved-off row has a finding that no other row has: that is what is wrong with them.
    assert not {i for d in rows.development for i in d.labels} & set(RARE)
    more = carved._probabilities(model, decision, seen["held"], range(len(rows.train)))
    words = carved._probabilities(
        model, decision, model.words.scores(rows.development), range(len(rows.development))
    )
    own = np.stack([decision.probabilities(s.logits) for s in seen["scored"]])
    assert not np.array_equal(own, words)
    truth, more_truth = (carved.truth_of(part, LABELS) for part in (rows.development, rows.train))
    cut = steadied_threshold(own, words, truth, more, more_truth, seed=1)
    assert model.facts[MOVED] == pytest.approx(log_odds(cut) - log_odds(decision.threshold))
    assert model.decision == moved(decision, model.facts[MOVED])
    assert model.decision.threshold == pytest.approx(cut) != decision.threshold
    assert model.held is None
    said = f"the threshold is {model.decision.threshold:.2f} in place of {decision.threshold:.2f}"
    assert any(note.startswith(said) for note in fitted.notes)


def test_words_alone_of_a_training_row_are_of_a_view_that_had_not_seen_it(make, monkeypatch):
    """A rare finding that only this row has is not known to the view that scores it."""
    seen = {}
    monkeypatch.setattr(
        carved, "_effect", lambda model, held, *_: seen.update(model=model, held=held) or 0.0
    )
    model = make(**{"lexical.label_text": []}).model
    held, own = seen["held"], [d.id for d in carved_train(model)]

    def matched(scores, row):
        return {LABELS.ids[i] for i in scores.labels[scores.indptr[row] : scores.indptr[row + 1]]}

    checked = 0
    for document in ROWS:
        for rare in set(document.labels) & set(RARE):
            assert rare in matched(model.words.scores([document]), 0)
            assert rare not in matched(held, own.index(document.id))
            checked += 1
    assert checked == len(RARE)


def carved_train(model):
    from attending.training.rows import choose_rows

    return choose_rows(model.recipe, ROWS, LABELS, None, 1).train


def test_it_stays_where_rows_are_given_or_it_is_told_to_or_no_words_are_heard(make):
    own = make()
    for other in (
        make(development=NEW),
        make(**{"lexical.tune": "development"}),
        make(**{"decoder.tune": "none"}),
        make(**{"decoder.metric": "macro_f1"}),
        make(**{"lexical.weight": 0, "lexical.synonyms": 0, "label_states.synonyms": 0}),
        make(name="lame"),
    ):
        assert MOVED not in other.model.facts
        assert other.model.held is None
    plain = make(**{"lexical.tune": "development"}).model.decision
    assert own.model.decision == moved(plain, own.model.facts[MOVED])
    assert make(development=()).model.decision.threshold == 0.5
    assert any("which the rows carved off chose" in note for note in own.notes)


def test_a_decision_made_anew_on_the_same_rows_is_moved_as_well(make, tmp_path):
    from attending.training.rows import choose_rows

    model = load_model(save_model(make().model, tmp_path / "model"))
    assert model.facts[MOVED]
    rows = choose_rows(model.recipe, ROWS, LABELS, None, 1).development
    same, _ = settle_again(model, rows, model.recipe, scored=model.scores(rows))
    assert same.threshold == pytest.approx(model.decision.threshold, abs=1e-6)
    facts = dict(model.facts)
    other, _ = settle_again(model, NEW, model.recipe, scored=model.scores(NEW))
    model.facts = {k: v for k, v in facts.items() if k != MOVED}
    bare, _ = settle_again(model, NEW, model.recipe, scored=model.scores(NEW))
    assert other == bare


def test_of_very_many_cells_some_rows_are_drawn(make, monkeypatch):
    monkeypatch.setattr("attending.models.base.MOST_KEPT", 10 * len(LABELS))
    places = range(5, 55)
    some = keepable(places, len(LABELS), 3)
    assert len(some) == 10 and some == sorted(set(some)) == keepable(places, len(LABELS), 3)
    assert set(some) < set(places) and some != keepable(places, len(LABELS), 4)
    assert keepable([1, 4, 6], len(LABELS), 3) == [1, 4, 6]
    assert MOVED in make().model.facts


def test_thresholds_move_in_log_odds():
    decision = Decision("threshold", threshold=0.4, thresholds={"rash": 0.2})
    found = moved(decision, -0.5)
    assert found.threshold == pytest.approx(expit(log(0.4 / 0.6) - 0.5))
    assert found.thresholds["rash"] == pytest.approx(expit(log(0.25) - 0.5))
    assert moved(decision, 0.0) is decision
    kept = Decision("threshold", thresholds={"rash": 0.2, "gout": 0.3}, recall_floors={"rash": {}})
    assert moved(kept, -0.5).thresholds["rash"] == 0.2
    assert moved(kept, -0.5).thresholds["gout"] < 0.3
    assert 0 < moved(Decision("threshold", threshold=0.0), 1.0).threshold < 1e-8

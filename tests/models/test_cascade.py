"""Two models as one: each answers what it should, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.errors import ModelError
from attending.explain.evidence import explained_words
from attending.models.cascade import CascadeModel
from attending.models.store import load_model, save_model
from attending.parts.decoders import Decision
from attending.records import Document, Unreadable
from attending.serve.maker import Maker
from attending.training.cascade import make_cascade, margin_for

BLANK = Document("blank", " \n")
BROKEN = Unreadable("broken", "characters_broken")


def probabilities(model, rows):
    found = [s.logits for s in model.scores(rows)]
    return [None if x is None else model.decision.probabilities(x[None])[0] for x in found]


def leads(model, rows):
    return [np.diff(np.sort(p)[-2:])[0] for p in probabilities(model, rows)]


@pytest.fixture(scope="module")
def middle(linear, messages):
    """Return the margin at which the linear model answers half of the messages."""
    return float(np.median(leads(linear, messages)))


@pytest.fixture(scope="module")
def cascade(linear, neural, middle):
    return CascadeModel(linear, neural, middle)


def test_each_model_answers_its_rows(cascade, linear, neural, messages, middle):
    quick = np.array(leads(linear, messages)) >= middle
    assert 20 <= quick.sum() <= 28
    found = probabilities(cascade, messages)
    for model, chosen in ((linear, quick), (neural, ~quick)):
        own = probabilities(model, messages)
        for i in np.flatnonzero(chosen):
            assert found[i] == pytest.approx(own[i], abs=1e-6)
    expected = [
        (linear if q else neural).predict([m])[0].labels
        for q, m in zip(quick, messages, strict=True)
    ]
    assert [p.labels for p in cascade.predict(messages)] == expected


def test_the_second_model_reads_no_row_that_the_first_answers(cascade, neural, messages):
    seen = []

    class Watched:
        def __getattr__(self, name):
            return getattr(neural, name)

        def scores(self, rows, *, progress=None):
            seen.extend(row.id for row in rows)
            return neural.scores(rows, progress=progress)

    watched = CascadeModel(cascade.first, Watched(), cascade.margin)
    watched.predict(messages)
    quick = watched.settled(watched.first_scores(messages))
    assert seen == [m.id for m, q in zip(messages, quick, strict=True) if not q]


@pytest.mark.parametrize(("margin", "who"), [(0.0, 0), (1.0, 1)])
def test_the_ends_are_the_models_themselves(linear, neural, messages, margin, who):
    model = (linear, neural)[who]
    made = CascadeModel(linear, neural, margin)
    for a, b in zip(made.predict(messages), model.predict(messages), strict=True):
        assert a.labels == b.labels
        assert dict(a.scores) == pytest.approx(dict(b.scores), abs=1e-9)


def test_rows_without_an_answer_keep_their_place_and_reason(cascade, messages):
    rows = [BLANK, messages[0], BROKEN, messages[1]]
    found = cascade.predict(rows)
    assert [p.status for p in found] == ["empty_text", "ok", "failed", "ok"]
    assert found[2].reason == "characters_broken"
    alone = [cascade.predict([row])[0] for row in rows]
    assert [(p.status, p.labels) for p in alone] == [(p.status, p.labels) for p in found]


def test_progress_tells_every_row_once(cascade, messages, linear, neural):
    for model in (cascade, CascadeModel(linear, neural, 0.0)):
        told = []
        model.predict(messages, progress=lambda done, of, told=told: told.append((done, of)))
        assert told == sorted(set(told)) and told[-1] == (len(messages), len(messages))


def test_evidence_is_that_of_the_model_that_answered(cascade, messages):
    predictions = cascade.predict(messages)
    words = explained_words(cascade, messages, predictions)
    quick = cascade.settled(cascade.first_scores(messages))
    for i, (m, p) in enumerate(zip(messages, predictions, strict=True)):
        model = cascade.first if quick[i] else cascade.second
        (own,) = explained_words(model, [m], [p])
        assert words[i].keys() == own.keys()
        for label, found in words[i].items():
            assert [(e.start, e.end, e.score) for e in found] == [
                (e.start, e.end, pytest.approx(e.score, abs=1e-6)) for e in own[label]
            ]
            assert {e.method for e in found} == {"own"}
    with pytest.raises(ModelError, match="own"):
        cascade.token_scores(messages, method="attention")


def test_a_folder_gives_the_same_answers_and_its_version_tells_the_margin(
    cascade, messages, tmp_path, middle
):
    made = CascadeModel(cascade.first, cascade.second, middle)
    save_model(made, tmp_path / "a")
    read = load_model(tmp_path / "a")
    assert isinstance(read, CascadeModel) and read.margin == middle
    assert read.decision == made.decision
    for a, b in zip(read.predict(messages), made.predict(messages), strict=True):
        assert a.labels == b.labels and a.scores == pytest.approx(dict(b.scores), abs=1e-6)
    save_model(read, tmp_path / "b")
    assert Maker.of(load_model(tmp_path / "b")).version == Maker.of(read).version
    made.margin = 1.0
    save_model(made, tmp_path / "c")
    assert Maker.of(load_model(tmp_path / "c")).version != Maker.of(read).version


def test_a_cascade_may_be_a_part_of_one(cascade, messages, tmp_path):
    whole = CascadeModel(cascade.first, cascade, 0.99)
    save_model(whole, tmp_path / "m")
    read = load_model(tmp_path / "m")
    assert [p.labels for p in read.predict(messages)] == [
        p.labels for p in cascade.predict(messages)
    ]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": 2, "margin": 0.5}', '{"format": 1}',
                '{"format": 1, "margin": "a"}', '{"format": 1, "margin": 1.5}',
                '{"format": 1, "margin": true}', '{"format": 1, "margin": NaN}'],
)  # fmt: skip
def test_a_damaged_folder_is_one_clear_line(cascade, tmp_path, content):
    made = CascadeModel(cascade.first, cascade.second, 0.5)
    save_model(made, tmp_path / "m")
    (tmp_path / "m" / "cascade.json").write_text(content)
    with pytest.raises(ModelError, match=r"cascade\.json"):
        load_model(tmp_path / "m")


def test_models_that_cannot_answer_as_one_are_refused(linear, neural, urgency):
    other = replace(urgency, labels=tuple(reversed(urgency.labels)))
    for wrong in (Other(neural, labels=other), Other(neural, recipe=Task("multi", "many"))):
        with pytest.raises(ModelError):
            CascadeModel(linear, wrong, 0.5)


class Task:
    def __init__(self, task, name):
        self.task, self.name = task, name


class Other:
    """A model with some attributes of its own."""

    def __init__(self, model, **own):
        self._model = model
        self.__dict__.update(own)

    def __getattr__(self, name):
        return getattr(self._model, name)


SHARES = st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 3))


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]), st.booleans()), min_size=1),
    SHARES,
)
def test_the_margin_is_the_smallest_that_keeps_the_answers(rows, changed):
    lead, other = np.array([x for x, _ in rows]), np.array([x for _, x in rows])
    fits = [
        m for m in sorted(set(lead)) if sum(o for x, o in rows if x >= m) <= changed * len(rows)
    ]
    if not fits:
        with pytest.raises(ModelError, match="never sure enough"):
            margin_for(lead, other, changed)
        return
    found = margin_for(lead, other, changed)
    assert found.margin == fits[0]
    assert found.first == sum(x >= fits[0] for x in lead)
    assert found.changed == sum(o for x, o in rows if x >= fits[0]) <= changed * len(rows)


def test_real_rows_choose_the_margin(linear, neural, messages):
    made, found = make_cascade(linear, neural, [*messages, BLANK, BROKEN], changed=0.1)
    answers = made.predict(messages), neural.predict(messages)
    changed = sum(a.labels != b.labels for a, b in zip(*answers, strict=True))
    assert (found.rows, found.changed) == (len(messages), changed) and changed <= 4.8
    assert found.first == made.settled(made.first_scores(messages)).sum() > 0
    half, told = make_cascade(linear, neural, messages, share=0.5)
    assert told.first == half.settled(half.first_scores(messages)).sum() >= 24
    with pytest.raises(ModelError, match="read none"):
        make_cascade(linear, neural, [BLANK, BROKEN])


def test_what_the_second_model_decides_by_is_kept(linear, neural, messages):
    second = Other(neural, decision=Decision(abstain_below=0.999, temperature=3.0))
    made = CascadeModel(linear, second, 1.0)
    assert made.decision == Decision(abstain_below=0.999)
    assert all(p.abstained for p in made.predict(messages))


def test_scores_of_both_joined_are_those_of_the_cascade(cascade, messages):
    rows = [*messages, BLANK, BROKEN]
    joined = cascade.joined(cascade.first.scores(rows), cascade.second.scores(rows))
    for a, b in zip(joined, cascade.scores(rows), strict=True):
        assert a.status == b.status
        assert (a.logits is None) == (b.logits is None)
        if a.logits is not None:
            np.testing.assert_allclose(np.exp(a.logits), np.exp(b.logits), atol=1e-6)


def test_rows_are_scored_once_where_scores_are_given(linear, neural, messages):
    class Deaf(Other):
        def scores(self, rows, *, progress=None):
            raise AssertionError("scored again")

    scored = linear.scores(messages), neural.scores(messages)
    found = make_cascade(Deaf(linear), Deaf(neural), messages, scored=scored)[1]
    assert found == make_cascade(linear, neural, messages)[1]

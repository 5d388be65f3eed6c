"""Changed copies of texts: words of the text and of others, in order, and never none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.altered import altered
from attending.records import Document, Span

TEXTS = [
    " ".join(f"{name}{i}" for i in range(40)) for name in ("pain", "refill", "breath", "visit")
]
ROWS = [Document(f"d{i}", text, ("x",), spans=(Span(0, 4),)) for i, text in enumerate(TEXTS)]


def words(text, name):
    return [int(w.removeprefix(name)) for w in text.split() if w.startswith(name)]


def test_each_document_has_its_copies_without_labels_in_turns():
    made = altered(ROWS, 3, seed=0)
    assert [d.id for d in made[:5]] == ["d0~1", "d1~1", "d2~1", "d3~1", "d0~2"]
    assert len({d.id for d in made}) == 12
    assert all(d.labels is None and d.spans == () for d in made)
    assert altered(ROWS, 0, seed=0) == ()


def test_the_same_seed_makes_the_same_copies_and_more_of_them_change_none():
    assert altered(ROWS, 2, seed=1) == altered(ROWS, 4, seed=1)[:8]
    assert [d.text for d in altered(ROWS, 2, seed=1)] != [d.text for d in altered(ROWS, 2, seed=2)]


def test_words_stay_in_order_and_all_three_kinds_occur():
    names = ("pain", "refill", "breath", "visit")
    kinds = {"left out": 0, "part": 0, "joined": 0}
    for i, document in enumerate(altered(ROWS, 100, seed=0)):
        own = words(document.text, names[i % 4])
        assert own and own == sorted(own)
        others = [n for n in names if n != names[i % 4] and words(document.text, n)]
        assert len(others) <= 1
        if others:
            kinds["joined"] += 1
            assert words(document.text, others[0]) == sorted(words(document.text, others[0]))
        else:
            kinds["part" if own[-1] - own[0] < 33 else "left out"] += 1
    # A third each; long parts count as whole texts here.
    assert 100 < kinds["joined"] < 170 and kinds["part"] > 50 and kinds["left out"] > 100


def test_some_words_are_left_out():
    long = [Document("d", " ".join(f"w{i}" for i in range(4000)), None)]
    shares = []
    for document in altered(long, 60, seed=0):
        kept = words(document.text, "w")
        if kept == sorted(set(kept)) and kept[-1] - kept[0] > 3990:
            shares.append(len(kept) / 4000)
    assert len(shares) > 5 and abs(np.median(shares) - 0.85) < 0.02


def test_lines_stay_lines():
    text = "Dear nurse,\n\nmy chest hurts.\nPlease call me.\n"
    copies = altered([Document("d", text, None)], 20, seed=0)
    assert any("\n\n" in d.text for d in copies)
    assert all(set(d.text.split()) <= set(text.split()) for d in copies)


@pytest.mark.parametrize("text", ["", " ", "no", "don't stop", "痛み止めをください"])
def test_the_shortest_texts_have_copies_too(text):
    copies = altered([Document("d", text, None), Document("e", "please call", None)], 30, seed=0)
    own = [d.text for d in copies if d.id.startswith("d~")]
    assert all(bool(t.strip()) or not text.strip() for t in own)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.integers(0, 3))
def test_any_texts_have_copies_made_of_their_words(texts, seed):
    rows = [Document(str(i), text, None) for i, text in enumerate(texts)]
    known = {word for text in texts for word in text.split()}
    made = altered(rows, 3, seed)
    assert len(made) == 3 * len(rows)
    assert all(set(d.text.split()) <= known for d in made)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.parts.planting.described import blended, described
from attending.parts.planting.relevance import collected
from attending.parts.planting.word_index import WordIndex

TEXTS = ["Chest pain, chest pain!", "Metastatic melanoma; pain", "melanoma of the chest"]


@pytest.fixture(scope="module")
def index():
    return WordIndex.learn(TEXTS, min_count=1)


def test_words_under_tokens(index):
    text = "Chest  pain, unheard"
    tokens = [(0, 3), (3, 5), (7, 11), (11, 12), (13, 16), (16, 20), (5, 7)]
    found = index.under([text], [tokens])[0]
    number = {w: i for i, w in enumerate(index.words)}
    assert found == (number["chest"], number["chest"], number["pain"], number[","], 1, 1, 0)


def test_nothing_under_nothing(index):
    assert index.under(["", "   ", "chest"], [[], [(0, 1)], []]) == [(), (0,), ()]
    assert index.under([], []) == []


@given(st.text(max_size=40))
def test_every_token_finds_a_word_or_none(text):
    index = WordIndex.learn(TEXTS, min_count=1)
    tokens = [(i, i + 1) for i in range(len(text))]
    found = index.under([text], [tokens])[0]
    assert len(found) == len(tokens) and all(0 <= i < len(index) for i in found)


def test_index_survives_its_folder(index, tmp_path):
    index.save(tmp_path)
    again = WordIndex.load(tmp_path)
    assert again.words == index.words and again.ids(TEXTS) == index.ids(TEXTS)


def test_words_of_label_texts_are_known_too():
    index = WordIndex.learn(TEXTS, min_count=2, more=["Carcinoma of the lung"])
    assert {"chest", "pain", "melanoma", "carcinoma", "lung"} <= set(index.words)
    assert "metastatic" not in index.words


def test_described_words_and_their_forms():
    index = WordIndex.learn(["metastasis metastatic pain of"], min_count=1, more=["of the lung"])
    texts = ["Metastasis of lung", "pain of the lung", "of"]
    found = described(index, texts)
    ranked = [[index.words[i] for i in found.of(k)[0]] for k in range(3)]
    assert ranked[0][:2] == ["metastasis", "metastatic"] or ranked[0][0] == "metastasis"
    scores = dict(zip(ranked[0], found.of(0)[1].tolist(), strict=True))
    assert scores["metastasis"] == 1.0 and scores["metastatic"] == pytest.approx(0.5)
    assert scores["lung"] < 0.6 and scores["of"] < 0.01
    assert ranked[1][0] in ("pain", "the")


def test_examples_take_over_from_the_text():
    import numpy as np

    def one(words, scores):
        return collected([(np.array(words, np.int32), np.array(scores, np.float32))], 10)

    counted, told = one([3, 4], [0.2, 0.1]), one([5, 4], [1.0, 0.5])
    for count, best in ((0, [5, 4]), (5, [3, 4, 5]), (500, [3, 4, 5])):
        words, scores = blended(counted, told, [count], prior=5, keep=10).of(0)
        assert words.tolist() == best
        assert scores.max() <= 1.0 + 1e-6

"""Word vectors: learned the same each time, and read from files with every fault named."""

import gzip
import random
import sys

import numpy as np
import pytest

from attending.errors import EncoderError, MissingExtra
from attending.parts.word_vectors import (
    WordVectors,
    read_vectors,
    table_of,
    train_vectors,
    words_of,
)
from attending.parts.words import learn_tokenizer, vocabulary_of

TEXTS = tuple(
    f"the {animal} has {sign} and needs {drug}"
    for animal in ("patient", "child", "woman", "man")
    for sign, drug in (("fever", "paracetamol"), ("pain", "ibuprofen"), ("cough", "rest"))
)
GLOVE = "the 0.1 0.2 -0.3\nfever 1 2 3\n. . . 0.4 0.5 0.6\npain -1e-2 0 1.5\nfever 9 9 9\n"


@pytest.fixture
def file(tmp_path):
    """A function that writes a file of word vectors."""

    def write(text, name="v.txt"):
        path = tmp_path / name
        with gzip.open(path, "wb") if name.endswith(".gz") else path.open("wb") as out:
            out.write(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_training_gives_the_same_vectors_each_time():
    first = train_vectors(TEXTS, dimension=8, seed=3)
    again = train_vectors(TEXTS, dimension=8, seed=3)
    assert first.words == again.words
    assert first.vectors.shape == (len(first.words), 8)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert not np.array_equal(train_vectors(TEXTS, dimension=8, seed=4).vectors, first.vectors)


def test_training_follows_its_settings():
    tokenizer = learn_tokenizer(TEXTS, min_count=4)
    plain = train_vectors(TEXTS, tokenizer, dimension=4)
    assert set(plain.words) == set(vocabulary_of(tokenizer)[2:])
    for other in ({"algorithm": "skip-gram"}, {"window": 1}, {"epochs": 9}):
        found = train_vectors(TEXTS, tokenizer, dimension=4, **other)
        assert not np.allclose(found.vectors, plain.vectors)


def test_words_of_the_same_texts_come_near_each_other():
    topics = [[f"{letter}{i}" for i in range(30)] for letter in "ab"]
    draw = random.Random(0)
    texts = [" ".join(draw.sample(topic, 10)) for topic in topics for _ in range(150)]
    found = train_vectors(texts, dimension=8, epochs=15).unit()
    rows = found.vectors[[found.words.index(word) for topic in topics for word in topic]]
    alike = rows @ rows.T
    assert alike[:30, :30].mean() > alike[:30, 30:].mean() + 0.03


def test_training_says_nothing(capfd):
    train_vectors(TEXTS, dimension=2)
    assert capfd.readouterr() == ("", "")


def test_without_gensim_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtra, match=r"gensim.*attending\[vectors\]"):
        train_vectors(TEXTS)


def test_texts_without_a_known_word_are_refused():
    with pytest.raises(EncoderError, match="no text holds a word"):
        train_vectors(["nothing here"], learn_tokenizer(TEXTS))


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
@pytest.mark.parametrize("head", ["", "5 3\n"])
def test_reads_both_formats(file, name, head):
    path = file(head + GLOVE, name)
    found = read_vectors(path)
    assert found.words == ("the", "fever", ". . .", "pain")
    assert found.dimension == 3
    np.testing.assert_allclose(found.vectors[1:4:2], [[1, 2, 3], [-0.01, 0, 1.5]], rtol=1e-6)
    some = read_vectors(path, {"pain", "unheard"}, dimension=3)
    assert some.words == ("pain",)
    assert list(words_of(path)) == ["the", "fever", ". . .", "pain", "fever"]


def test_reads_tabs_trailing_blanks_and_strange_words(file):
    found = read_vectors(file("a\t1\t2\n\u00a0 3 4 \n\nb 5 6\n"))
    assert found.words == ("a", "\u00a0", "b")
    assert found.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("a 1 2\nb 1\n", r"v\.txt line 2: a vector of another width \(found 1 numbers; allowed: 2"),
        ("a 1 2\nb 1.0 2.0 3.0\n", r"v\.txt line 2: a vector of another width \(found 3 numbers"),
        ("2 3\na 1 2 3\nb 1 2\n", r"v\.txt line 3: a vector of another width"),
        ("a 1 2\nb 1 x\n", r"v\.txt line 2: a number can't be read"),
        ("a 1 2\nb nan 1\n", r"v\.txt line 2: a number is not finite"),
        ("a\nb\n", r"v\.txt line 1: holds no numbers"),
        ("", r"v\.txt: holds no word vectors"),
        ("3 2\n", r"v\.txt: holds no word vectors"),
        (b"3 2\n\xff\x00\x01\n", r"v\.txt line 2: a vector of another width .*text file"),
    ],
)
def test_a_faulty_file_is_refused(file, text, say):
    with pytest.raises(EncoderError, match=say) as caught:
        read_vectors(file(text))
    assert "\n" not in str(caught.value)


def test_a_file_of_another_width_is_refused(file):
    for text in (GLOVE, "5 3\n" + GLOVE):
        with pytest.raises(EncoderError, match=r"3 numbers for encoder\.dimension = 50.*Set"):
            read_vectors(file(text), dimension=50)


def test_a_file_that_is_not_there_or_damaged_is_refused(tmp_path):
    with pytest.raises(EncoderError, match="no such file of word vectors"):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(EncoderError, match=r"can't be read \(BadGzipFile\)"):
        read_vectors(not_zipped(tmp_path))
    with pytest.raises(EncoderError, match=r"can't be read"):
        read_vectors(tmp_path)


def not_zipped(folder):
    path = folder / "v.gz"
    path.write_text(GLOVE, encoding="utf-8")
    return path


def test_the_table_has_a_row_for_every_word():
    tokenizer = learn_tokenizer(["fever pain cough rest"])
    known = WordVectors(("pain", "fever"), np.array([[3, -1], [1, 5]], np.float32))
    table = table_of(tokenizer, known, 2, seed=1)
    words = vocabulary_of(tokenizer)
    assert table.shape == (6, 2) and table.dtype == np.float32
    assert table[words.index("pain")].tolist() == [3, -1]
    assert table[words.index("fever")].tolist() == [1, 5]
    assert table[0].tolist() == [0, 0]
    assert table[1].tolist() == [2, 2]
    bound = np.sqrt(3) * known.vectors.std()
    assert 0 < np.abs(table[[words.index("cough"), words.index("rest")]]).max() <= bound
    np.testing.assert_array_equal(table, table_of(tokenizer, known, 2, seed=1))


def test_the_table_is_drawn_where_nothing_is_known():
    tokenizer = learn_tokenizer([" ".join(f"w{i}" for i in range(200))])
    table = table_of(tokenizer, None, 5, seed=1)
    assert np.abs(table[1:]).max() <= 0.25 < np.abs(table[1:]).max() + 0.01
    assert not table[0].any() and table[1].any()


def test_unit_vectors():
    found = WordVectors(("a", "b"), np.array([[3, 4], [0, 0]], np.float32)).unit()
    np.testing.assert_allclose(found.vectors, [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_a_vector_a_word():
    with pytest.raises(EncoderError, match="one vector a word"):
        WordVectors(("a",), np.zeros((2, 3), np.float32))


def test_accents_are_matched_however_they_are_composed(file):
    path = file("caf\u00e9 1 2\nse\u0301pticos 3 4\n")
    found = read_vectors(path, ["cafe\u0301", "s\u00e9pticos"])
    assert found.words == ("cafe\u0301", "s\u00e9pticos")
    tokenizer = learn_tokenizer(["caf\u00e9 bueno"])
    assert len(read_vectors(path, vocabulary_of(tokenizer)).words) == 1

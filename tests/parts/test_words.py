"""Words: what counts as one, where it stands, and what the vocabulary is learned from."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attending.data.windows import Windower
from attending.errors import EncoderError
from attending.parts.words import (
    PAD_ID,
    UNKNOWN_ID,
    Sentences,
    learn_tokenizer,
    read_tokenizer,
    vocabulary_of,
)
from attending.specs import Windows

TEXTS = (
    "Chest pain since 3 days, no fever.",
    "No chest pain; fever of 38.5 and chills.",
    "Pain after 500mg metformin, don't stop.",
)


def words(text, **settings):
    """The words of a text as the tokenizer sees them, by a vocabulary of that text."""
    tokenizer = learn_tokenizer([text], **settings)
    coded = tokenizer(text, return_offsets_mapping=True, split_special_tokens=True)
    known = vocabulary_of(tokenizer)
    return [known[i] for i in coded["input_ids"]], [text[a:b] for a, b in coded["offset_mapping"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BP 120/80 mmHg", "bp 120 / 80 mmhg"),
        ("500mg, 2.5 mg/dL", "500 mg , 2.5 mg / dl"),
        ("IL-6 T4N1M0 a1c", "il - 6 t4n1m0 a1c"),
        ("don’t; Crohn's", "don't ; crohn 's"),
        ("10⁹/L not 109", "10⁹ / l not 109"),
        ("'she' said", "' she ' said"),
        ("(C50.9)", "( c50 . 9 )"),
        ("👩‍⚕️ 🙂", "👩 ⚕\ufe0f 🙂"),
        ("[PAD] [UNK]", "[ pad ] [ unk ]"),
    ],
)
def test_what_a_word_is(text, expected):
    assert " ".join(words(text)[0]) == expected


def test_spellings_that_look_alike_are_one_word():
    found, pieces = words("caf\u00e9 cafe\u0301 can\u00adcer cancer \u00b5g \u03bcg")
    assert found == ["cafe\u0301", "cafe\u0301", "cancer", "cancer", "μg", "μg"]
    assert pieces == ["café", "cafe\u0301", "can\u00adcer", "cancer", "\u00b5g", "\u03bcg"]


def test_capitals_are_kept_if_asked_for():
    assert words("US us", lowercase=False)[0] == ["US", "us"]
    assert words("US us")[0] == ["us", "us"]


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
@example(["\U00010d50"])  # a capital of Unicode 16
def test_offsets_are_true(texts):
    tokenizer = learn_tokenizer(["any words", *texts])
    known = vocabulary_of(tokenizer)
    windower = Windower(Windows(max_tokens=8, overlap=2), tokenizer=tokenizer, limit=10**30)
    for text, windowed in zip(texts, windower(texts), strict=True):
        spelled = [i for w in windowed.windows for i in w.ids]
        assert PAD_ID not in spelled
        coded = tokenizer(text.encode("utf-8", "replace").decode(), split_special_tokens=True)
        if windowed.offsets:
            assert len(coded["input_ids"]) == len(windowed.offsets) == windowed.read.of
        before = 0
        for i, (start, end) in zip(coded["input_ids"], windowed.offsets, strict=False):
            assert before <= start < end <= len(text)
            spelling = text[start:end]
            assert i == UNKNOWN_ID or newer(spelling) or fold(known[i]) in fold(spelling)
            before = start


def newer(text):
    """Whether a text has characters that this Python doesn't know, and so not their case either."""
    return any(unicodedata.category(c) == "Cn" for c in text)


def fold(text):
    """A text without case, composition, format characters and the spellings that count as one."""
    alike = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "\u00b5": "\u03bc"})
    apart = unicodedata.normalize("NFD", text.translate(alike).lower())
    return "".join(c for c in apart if unicodedata.category(c) != "Cf")


def test_the_vocabulary_is_of_the_texts_most_frequent_first():
    tokenizer = learn_tokenizer(TEXTS)
    found = vocabulary_of(tokenizer)
    assert found[:2] == ["[PAD]", "[UNK]"]
    assert found[2:8] == [".", "pain", ",", "chest", "fever", "no"]
    assert tokenizer("pain unheard")["input_ids"] == [3, UNKNOWN_ID]
    assert vocabulary_of(learn_tokenizer(reversed(TEXTS))) == found
    assert vocabulary_of(learn_tokenizer(TEXTS, min_count=3)) == ["[PAD]", "[UNK]", ".", "pain"]
    assert len(learn_tokenizer(TEXTS, max_vocabulary=4)) == 6


def test_further_words_follow_while_there_is_room():
    more = ["pain", "Stroke", "stroke", "two words", "il-6", "sepsis", "shock"]
    found = vocabulary_of(learn_tokenizer(TEXTS, min_count=2, more=more))
    assert found[-3:] == ["stroke", "sepsis", "shock"]
    assert found.count("pain") == 1
    assert vocabulary_of(learn_tokenizer(TEXTS, min_count=2, more=more, max_vocabulary=7))[-1] == (
        "stroke"
    )


def test_no_word_at_all_is_refused():
    with pytest.raises(EncoderError, match=r"no word occurs 9 times .*min_count"):
        learn_tokenizer(TEXTS, min_count=9)
    with pytest.raises(EncoderError, match="no word occurs 1 times"):
        learn_tokenizer([" \n"])


def test_saved_equals_loaded(tmp_path):
    tokenizer = learn_tokenizer(TEXTS, max_vocabulary=9)
    tokenizer.save_pretrained(tmp_path)
    again = read_tokenizer(tmp_path)
    assert vocabulary_of(again) == vocabulary_of(tokenizer)
    for text in (*TEXTS, "unheard [PAD] word"):
        settings = {"return_offsets_mapping": True, "split_special_tokens": True}
        assert dict(again(text, **settings)) == dict(tokenizer(text, **settings))
    assert (again.pad_token_id, again.unk_token_id) == (PAD_ID, UNKNOWN_ID)
    written = "".join(p.read_text("utf-8") for p in tmp_path.iterdir())
    assert str(tmp_path) not in written


def test_a_damaged_or_foreign_tokenizer_is_refused(tmp_path, tiny_encoder):
    with pytest.raises(EncoderError, match="words can't be read"):
        read_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(EncoderError, match="words can't be read"):
        read_tokenizer(tmp_path)
    assert (tiny_encoder / "tokenizer.json").is_file()
    with pytest.raises(EncoderError, match="not one of words"):
        read_tokenizer(make_foreign(tmp_path))


def make_foreign(folder):
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="b")).save(
        str(folder / "tokenizer.json")
    )
    return folder


def test_sentences_are_known_words_in_pieces():
    tokenizer = learn_tokenizer(TEXTS, max_vocabulary=3)
    kept = set(vocabulary_of(tokenizer)[2:])
    sentences = Sentences(TEXTS, tokenizer, longest=2)
    once = list(sentences)
    assert once == list(sentences)
    assert {w for s in once for w in s} == kept
    assert max(map(len, once)) == 2
    whole = list(Sentences(["pain " * 7, "\ud800 pain"], tokenizer, longest=3))
    assert [len(s) for s in whole] == [3, 3, 1, 1]

import json
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.errors import ShapeError
from attending.explain.words import STOP_WORDS, PieceShares, is_stop_word, word_spans

SIGNS = st.sampled_from(
    "aB9é'’-.,/:%° \n_\u0301\u0308\u200b\u200c\u200d\ufeff\u00ad\u202e頭カがشש😀👍🏽❤\ufe0f🇬🇧½²\x00"
)
TEXTS = st.one_of(st.text(SIGNS, max_size=40), st.text(max_size=40))


def surfaces(text):
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't, patients' 'own' follow-up -- x-", "I can't patients own follow-up x"),
        ("38.5° BP 120/80 at 12:30, sats 98%. Dose 1,200 mg.", None),
        ("[name] and/or _x_", "name and or x"),
        ("頭が痛い", "頭 が 痛 い"),
        ("לא كأب می\u200cخواهم", "לא كأب می\u200cخواهم"),
        ("👩\u200d⚕️👍🏽👍 🇬🇧🇫🇷 ok❤️", "👩\u200d⚕️ 👍🏽 👍 🇬🇧 🇫🇷 ok ❤️"),
        ("word\ufeffjoined tw\u00adice a\u200b b", "word\ufeffjoined tw\u00adice a b"),
        ("... --- !? \u200b \u0301", ""),
    ],
)
def test_what_a_reader_would_point_at(text, words):
    if words is None:
        words = "38.5° BP 120/80 at 12:30 sats 98% Dose 1,200 mg"
    assert surfaces(text) == words.split()


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_words_lie_in_the_text_in_order_and_hold_something(text):
    end_before = 0
    for start, end in word_spans(text):
        assert end_before <= start < end <= len(text)
        assert not any(c.isspace() for c in text[start:end])
        end_before = end


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_every_letter_and_digit_is_in_a_word(text):
    inside = {i for start, end in word_spans(text) for i in range(start, end)}
    assert {i for i, c in enumerate(text) if c.isalnum()} <= inside


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_composed_and_decomposed_accents_give_the_same_words(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    normal = [unicodedata.normalize("NFC", word) for word in surfaces(decomposed)]
    assert normal == [unicodedata.normalize("NFC", word) for word in surfaces(composed)]


@pytest.mark.parametrize("text", ["a\u200b", "1.", "'a", "\u200d\u0301", "👍\u200d"])
def test_long_runs_take_linear_time(text):
    assert len(word_spans(text * 50_000)) <= 50_000


def test_negations_are_never_stop_words():
    assert is_stop_word("The") and is_stop_word("i’m") and len(STOP_WORDS) > 100
    negations = "no not nor never none without cannot can't won't isn't denies nothing"
    assert not any(map(is_stop_word, negations.split()))


def test_pieces_are_summed_over_their_word():
    text = "breathless now."
    pieces = [(0, 6), (6, 10), (11, 14), (14, 15)]
    assert PieceShares(word_spans(text), pieces).join([0.25, 0.5, 0.125, 9.0]) == [0.75, 0.125]


def test_empty_pieces_belong_to_no_word_and_blanks_don_t_count():
    words = word_spans("no pain")
    pieces = [(0, 0), (0, 2), (2, 7), (7, 7)]
    assert PieceShares(words, pieces).join([5.0, 1.0, 2.0, 7.0]) == [1.0, 2.0]


def test_a_piece_over_several_words_is_shared_by_length():
    assert PieceShares(word_spans("ab\u200b cdefgh"), [(0, 10)]).join([8.0]) == [2.0, 6.0]


def test_bytes_of_one_character_add_up():
    shares = PieceShares(word_spans("x 😀"), [(0, 1), (2, 3), (2, 3), (2, 3)])
    assert shares.join([1, 1, 2, 3]) == [1, 6]


def test_one_score_a_piece():
    with pytest.raises(ShapeError, match="2 offsets and 1 scores"):
        PieceShares([(0, 1)], [(0, 1), (1, 2)]).join([1.0])


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_joining_loses_nothing_that_lies_in_words(text, data):
    words = word_spans(text)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    pieces = list(pairwise(cuts))
    scores = [float(data.draw(st.integers(-9, 9))) for _ in pieces]
    kept = sum(
        score
        for (start, end), score in zip(pieces, scores, strict=True)
        if any(a < end and start < b for a, b in words)
    )
    assert sum(PieceShares(words, pieces).join(scores)) == pytest.approx(kept, abs=1e-9)


def wordpiece(text, lowercase):
    """Train-free WordPiece: letters and a few pieces, accents stripped where lower-casing."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    letters = dict.fromkeys(unicodedata.normalize("NFC", text) + text.lower() + text)
    stripped = unicodedata.normalize("NFD", text.lower())
    letters |= dict.fromkeys(c for c in stripped if not unicodedata.combining(c))
    known = ["[CLS]", "[SEP]", "[UNK]", "spots", "ra", "##sh", "no", "pain", "fever", "cou", "##gh"]
    known += [c for c in letters if not c.isspace()] + [f"##{c}" for c in letters]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(known))}
    core = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    core.normalizer = BertNormalizer(lowercase=lowercase, strip_accents=lowercase)
    core.pre_tokenizer = BertPreTokenizer()
    core.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    encoding = core.encode(text)
    return [
        (piece, offsets)
        for piece, offsets, special in zip(
            encoding.tokens, encoding.offsets, encoding.special_tokens_mask, strict=True
        )
        if not special
    ]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("form", ["nfc", "nfd"])
def test_accents_move_no_offset(case, form, lowercase):
    folder = case("D16")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    text = (folder / f"{form}.txt").read_text(encoding="utf-8").removesuffix("\n")
    assert len(text) == values[f"len_{form}"]
    pieces = wordpiece(text, lowercase)
    offsets = [place for _, place in pieces]
    words = word_spans(text)
    for name, place in values[form].items():
        assert tuple(place) in words
        scores = [float(a >= place[0] and b <= place[1]) for a, b in offsets]
        joined = PieceShares(words, offsets).join(scores)
        found = [words[i] for i, score in enumerate(joined) if score]
        assert found == [tuple(place)]
        assert text[slice(*found[0])] == name
    assert max(end for _, end in words) <= len(text)


def test_cased_and_uncased_pieces_cover_the_same_words(case):
    folder = case("D16")
    totals = set()
    for form in ("nfc", "nfd"):
        text = (folder / f"{form}.txt").read_text(encoding="utf-8").removesuffix("\n")
        for lowercase in (False, True):
            pieces = [place for _, place in wordpiece(text, lowercase)]
            joined = PieceShares(word_spans(text), pieces).join([1.0] * len(pieces))
            assert all(joined), "a word without a piece"
            totals.add(len(joined))
    assert totals == {7}


def test_equal_words_are_kept_apart(case):
    folder = case("D17")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    text = (folder / "text.txt").read_text(encoding="utf-8").removesuffix("\n")
    pieces = [place for _, place in wordpiece(text, lowercase=True)]
    words = word_spans(text)
    scores = [float(i + 1) for i in range(len(pieces))]
    joined = dict(zip(words, PieceShares(words, pieces).join(scores), strict=True))
    assert len(words) == values["n_words"]
    spans = [tuple(span) for span in values["no_spans"]]
    assert [text[a:b] for a, b in spans] == ["no", "no", "no"]
    assert len({joined[span] for span in spans}) == 3
    assert all(
        joined[word]
        == sum(s for p, s in zip(pieces, scores, strict=True) if word[0] <= p[0] < word[1])
        for word in words
    )

"""Windows over a whole text: true offsets, every token read, nothing cut in silence."""

import json
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from attending.data.windows import Windower
from attending.records import Coverage
from attending.specs import Windows

KINDS = ("bert", "roberta")
TEXTS = st.lists(
    st.sampled_from(
        [
            "chest pain",
            "dizziness",
            "caf\u00e9",
            "cafe\u0301",
            "S\u00c3O",
            "\U0001f614",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "a\u200bb",
            "\ufeff",
            "\r\n",
            "\t",
            "\u00a0",
            "37.5\u00b0C",
            "\u6f22\u5b57",
            "\ufb01ne",
            "\u0130stanbul",
            "xyzzy",
            "",
            ".",
            "\ud83d",
        ]
    )
    | st.text(max_size=6),
    max_size=60,
).map(" ".join)


@pytest.fixture(scope="module")
def tokenizers(make_tiny):
    return {kind: AutoTokenizer.from_pretrained(make_tiny(kind)) for kind in KINDS}


def windower(tokenizer, limit=64, **spec):
    return Windower(Windows(**spec), tokenizer=tokenizer, limit=limit)


def plain(surface):
    """A surface as a lower-casing tokenizer without accents sees it."""
    letters = unicodedata.normalize("NFD", surface.lower())
    return "".join(x for x in letters if unicodedata.category(x) not in ("Mn", "Cc", "Cf"))


def whole_characters(text):
    return "".join("\ufffd" if 0xD800 <= ord(x) <= 0xDFFF else x for x in text)


def check_windows(found, size):
    """Whatever the text is, all of this holds."""
    starts = [start for start, _ in found.offsets]
    assert starts == sorted(starts)
    assert len(found.offsets) == found.read.of
    assert found.read.windows == len(found.windows)
    covered = set()
    for window in found.windows:
        assert len(window.ids) == window.tokens + 2 <= size
        assert window.tokens > 0
        assert window.first >= 0 and window.first + window.tokens <= len(found.offsets)
        covered.update(range(window.first, window.first + window.tokens))
    assert covered == set(range(found.read.tokens))
    assert found.length == sum(window.tokens + 2 for window in found.windows)
    assert bool(found.windows) == (found.status == "ok")


# Space, tab, line feed, vertical tab, form feed and carriage return in a byte-level vocabulary.
BYTE_SPACES = "".join(chr(c) for c in (0x120, 0x109, 0x10A, 0x10B, 0x10C, 0x10D))


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(text=TEXTS, size=st.integers(4, 20), overlap=st.integers(0, 40))
def test_every_token_is_read_and_every_offset_is_true(tokenizers, kind, text, size, overlap):
    tokenizer = tokenizers[kind]
    (found,) = windower(tokenizer, max_tokens=size, overlap=overlap)([text])
    check_windows(found, size)
    assert found.read.tokens == found.read.of
    for window in found.windows:
        for place, token in enumerate(window.ids[1:-1], window.first):
            start, end = found.offsets[place]
            surface = text[start:end]
            assert 0 <= start <= end <= len(text)
            piece = tokenizer.convert_ids_to_tokens(token)
            if kind == "roberta":
                whole = tokenizer(whole_characters(surface), add_special_tokens=False)["input_ids"]
                names = "".join(tokenizer.convert_ids_to_tokens(whole))
                # White space around a token is part of no surface.
                assert piece.strip(BYTE_SPACES) in names
                assert surface or not piece.strip(BYTE_SPACES)
            elif token != tokenizer.unk_token_id:
                assert plain(surface) == piece.removeprefix("##")
                assert surface


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=TEXTS, size=st.integers(4, 20), overlap=st.integers(0, 40))
def test_windows_are_the_text_s_own_tokens_in_order(tokenizers, text, size, overlap):
    (found,) = windower(tokenizers["bert"], max_tokens=size, overlap=overlap)([text])
    (whole,) = windower(tokenizers["bert"], limit=10**6, max_tokens=10**6)([text])
    assert found.offsets == whole.offsets
    if not whole.windows:
        assert not found.windows
        return
    ids = whole.windows[0].ids
    for window in found.windows:
        assert window.ids[0] == ids[0] and window.ids[-1] == ids[-1]
        assert window.ids[1:-1] == ids[1 + window.first : 1 + window.first + window.tokens]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_of_either_form(tokenizers, kind, form):
    text = unicodedata.normalize(form, "S\u00e3o caf\u00e9 rash")
    (found,) = windower(tokenizers[kind])([text])
    surfaces = "".join(text[start:end] for start, end in dict.fromkeys(found.offsets))
    assert plain(surfaces) == "saocaferash"
    assert found.offsets[-1][1] == len(text) == {"NFC": 13, "NFD": 15}[form]


def test_accents_move_offsets_by_the_file_s_own_letters(tokenizers, case):
    folder = case("D16")
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["values"]
    for form in ("nfc", "nfd"):
        text = (folder / f"{form}.txt").read_text(encoding="utf-8").removesuffix("\n")
        assert len(text) == values[f"len_{form}"]
        (found,) = windower(tokenizers["bert"])([text])
        assert tuple(values[form]["rash"]) in found.offsets


def test_emoji_line_ends_and_zero_width_marks(tokenizers):
    text = "\U0001f614 pain\r\nin\u200b arm"
    (found,) = windower(tokenizers["bert"])([text])
    assert [text[a:b] for a, b in found.offsets] == ["\U0001f614", "pain", "in", "arm"]
    assert found.offsets[1:] == ((2, 6), (8, 10), (12, 15))


def test_half_a_character_costs_one_code_point_and_no_error(tokenizers):
    text = "chest \ud83d\ud83d pain \udc00"
    for tokenizer in tokenizers.values():
        (found,) = windower(tokenizer)([text])
        assert found.status == "ok"
        assert max(b for _, b in found.offsets) == len(text) - (tokenizer is tokenizers["bert"]) * 2
    (found,) = windower(tokenizers["bert"])([text])
    assert [text[a:b] for a, b in found.offsets if text[a:b].isalpha()] == ["chest", "pain"]


LONG = " ".join(["pain"] * 23)


def test_windows_by_hand(tokenizers):
    """23 tokens, 8 a window, 3 shared: windows start at 0, 5, 10, 15 and the last ends the text."""
    (found,) = windower(tokenizers["bert"], max_tokens=10, overlap=3)([LONG])
    assert [(w.first, w.tokens) for w in found.windows] == [(0, 8), (5, 8), (10, 8), (15, 8)]
    assert found.read == Coverage(23, 23, 4)
    (found,) = windower(tokenizers["bert"], max_tokens=10, overlap=0)([LONG])
    assert [(w.first, w.tokens) for w in found.windows] == [(0, 8), (8, 8), (16, 7)]


def test_a_text_that_just_fits_is_one_window(tokenizers):
    for count, windows in ((8, 1), (9, 2)):
        (found,) = windower(tokenizers["bert"], max_tokens=10)([" ".join(["pain"] * count)])
        assert len(found.windows) == windows
        assert found.read == Coverage(count, count, windows)


def test_overlap_is_at_most_half_a_window(tokenizers):
    """Else a small window with the default overlap would read each token many times over."""
    (found,) = windower(tokenizers["bert"], max_tokens=10, overlap=32)([" ".join(["pain"] * 800)])
    assert len(found.windows) == 199
    assert [w.first for w in found.windows[:3]] == [0, 4, 8]


def test_truncating_keeps_the_first_window_and_says_so(tokenizers):
    (found,) = windower(tokenizers["bert"], max_tokens=10, on_overflow="truncate")([LONG])
    assert [(w.first, w.tokens) for w in found.windows] == [(0, 8)]
    assert found.read == Coverage(8, 23, 1, found.offsets[7][1]) and found.read.truncated
    assert len(found.offsets) == 23


@pytest.mark.parametrize(("most", "windows"), [(1, 1), (6, 1), (7, 2), (12, 3), (99, 7)])
def test_no_more_is_read_than_the_most(tokenizers, most, windows):
    made = Windower(
        Windows(max_tokens=8, overlap=2, most_tokens=most), tokenizer=tokenizers["bert"], limit=64
    )
    text = " ".join(["pain"] * 28)
    (found,) = made([text])
    end = 5 * most - 1 if most < 28 else None
    assert found.read == Coverage(min(most, 28), 28, windows, end) and found.status == "ok"
    assert len(found.offsets) == 28
    reached = {w.first + i for w in found.windows for i in range(w.tokens)}
    assert reached == set(range(min(most, 28)))


def test_refusing_long_texts_gives_a_status(tokenizers):
    strict = windower(tokenizers["bert"], max_tokens=10, on_overflow="error")
    long, short = strict([LONG, "chest pain"])
    assert (long.status, long.windows, long.read) == ("too_long", (), Coverage(0, 23, 0))
    assert (short.status, short.read) == ("ok", Coverage(2, 2, 1))


@pytest.mark.parametrize("mode", ["window", "truncate", "error"])
@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\ufeff", "\x00", "\u00ad"])
def test_nothing_to_read(tokenizers, text, mode):
    for tokenizer in tokenizers.values():
        (found,) = windower(tokenizer, on_overflow=mode)([text])
        assert found.status == "empty_text"
        assert (found.windows, found.offsets, found.read) == ((), (), Coverage(0, 0, 0))
        assert found.length == 0


def test_the_smallest_limit_decides(tokenizers):
    assert windower(tokenizers["bert"], limit=12, max_tokens=256).limit == 12
    assert windower(tokenizers["bert"], limit=512, max_tokens=20).limit == 20


def test_order_is_kept_and_one_text_does_not_change_another(tokenizers):
    read = windower(tokenizers["bert"], max_tokens=10)
    texts = ["chest pain", "", LONG, "rash"]
    assert read(texts) == [read([text])[0] for text in texts]
    assert read([]) == []
    assert read.count_tokens(texts) == [2, 0, 23, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_letters_of_a_special_token_are_plain_text(tokenizers, kind):
    """Else a message could end the model's view of itself."""
    tokenizer = tokenizers[kind]
    text = "pain [SEP] [PAD] </s> <pad> rash"
    (window,) = windower(tokenizer)([text])[0].windows
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    assert special.isdisjoint(window.ids[1:-1])
    assert special.issuperset((window.ids[0], window.ids[-1]))

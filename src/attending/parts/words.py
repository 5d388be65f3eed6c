"""Words of clinical text: a word-level tokenizer that is learned from the training texts.

A word is a run of letters that may hold digits (``t4n1m0``, ``a1c``), with apostrophes inside
(``don't``); a possessive ``'s`` is a word of its own. A number is a run of digits with points or
commas inside (``2.5``), told apart from a unit right after it (``500`` ``mg``). Any other visible
character is a word of its own, the hyphen too: on three corpora, kept compounds were more often
unknown than their parts (6.9 against 5.0 % of words in the Hallmarks of Cancer abstracts).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from attending.errors import EncoderError

PAD, UNKNOWN = "[PAD]", "[UNK]"
SPECIAL = (PAD, UNKNOWN)
PAD_ID, UNKNOWN_ID = 0, 1

_WORD = r"\p{L}[\p{L}\p{M}\p{N}]*"
_NUMBER = r"\p{N}+(?:[.,]\p{N}+)*"
_OTHER = r"[^\s\p{Z}\p{L}\p{M}\p{N}\p{Cc}\p{Cf}\p{Co}]\p{M}*"
_PATTERN = rf"{_NUMBER}|{_WORD}(?:'(?!s\b){_WORD})*|'s\b|{_OTHER}"
_BATCH = 256


def learn_tokenizer(
    texts: Iterable[str],
    *,
    lowercase: bool = True,
    min_count: int = 1,
    max_vocabulary: int = 100_000,
    more: Iterable[str] = (),
) -> Any:
    """Learn a fast word-level tokenizer with [PAD], [UNK] and true character offsets.

    The words come from ``texts`` alone, most frequent first and in alphabetical order where
    counts are equal, so that the order of the texts does not matter. ``more`` are further words,
    such as those of a file of word vectors; they follow while there is room, and those that the
    tokenizer would not give are left out.

    Raises:
        EncoderError: If no word occurs ``min_count`` times.
    """
    core = _core(lowercase)
    trainer = trainers.WordLevelTrainer(
        vocab_size=max_vocabulary + len(SPECIAL),
        min_frequency=min_count,
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    core.train_from_iterator((_encodable(t) for t in texts), trainer)
    vocabulary = core.get_vocab()
    if len(vocabulary) == len(SPECIAL):
        raise EncoderError(
            f"no word occurs {min_count} times in the training texts",
            step="Lower encoder.min_count, or give more texts.",
        )
    for word in map(spelled, more):
        if len(vocabulary) >= max_vocabulary + len(SPECIAL):
            break
        if word not in vocabulary and _is_word(core, word):
            vocabulary[word] = len(vocabulary)
    core.model = models.WordLevel(vocabulary, unk_token=UNKNOWN)
    return _wrapped(core)


def read_tokenizer(folder: Path) -> Any:
    """Read a tokenizer that ``save_pretrained`` wrote.

    Raises:
        EncoderError: If it is missing or of another kind.
    """
    try:
        core = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises bare exceptions
        what = f"the words can't be read ({type(error).__name__})"
        raise EncoderError(what, where=str(folder)) from None
    if [core.id_to_token(i) for i in (PAD_ID, UNKNOWN_ID)] != list(SPECIAL):
        raise EncoderError("the tokenizer is not one of words", where=str(folder))
    return _wrapped(core)


def vocabulary_of(tokenizer: Any) -> list[str]:
    """Return a tokenizer's words by id, special ones included."""
    words: dict[str, int] = tokenizer.get_vocab()
    return sorted(words, key=words.__getitem__)


def spelled(word: str) -> str:
    """Return a word as tokenizers hold it, accents after their letters (NFD)."""
    return unicodedata.normalize("NFD", word)


class Sentences:
    """Known words of texts, as lists of at most ``longest``; can be gone through many times.

    Args:
        texts: The texts.
        tokenizer: Says what the words are; unknown ones are left out.
        longest: Longer texts come in pieces.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Any, longest: int = 1000) -> None:
        self._texts, self._tokenizer, self._longest = texts, tokenizer, longest
        self._words = vocabulary_of(tokenizer)

    def __iter__(self) -> Iterator[list[str]]:
        for start in range(0, len(self._texts), _BATCH):
            coded = self._tokenizer(
                [_encodable(t) for t in self._texts[start : start + _BATCH]],
                add_special_tokens=False,
                return_attention_mask=False,
                split_special_tokens=True,
                verbose=False,
            )
            for ids in coded["input_ids"]:
                known = [self._words[i] for i in ids if i != UNKNOWN_ID]
                for first in range(0, len(known), self._longest):
                    yield known[first : first + self._longest]


def _core(lowercase: bool) -> Tokenizer:
    core = Tokenizer(models.WordLevel({}, unk_token=UNKNOWN))
    # The compatible forms would make 10⁹ a 109, and composed ones lose an accent's place.
    steps: list[Any] = [
        normalizers.NFD(),
        normalizers.Replace(Regex(r"\p{Cf}"), ""),  # soft hyphens and joiners inside words
        normalizers.Replace(Regex("[‘’ʼ]"), "'"),
        normalizers.Replace("\u00b5", "\u03bc"),  # the two signs for micro
    ]
    core.normalizer = normalizers.Sequence(steps + [normalizers.Lowercase()] * lowercase)
    core.pre_tokenizer = pre_tokenizers.Split(Regex(_PATTERN), "removed", invert=True)
    return core


def _wrapped(core: Tokenizer) -> Any:
    from transformers import PreTrainedTokenizerFast  # which exported models do without

    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        unk_token=UNKNOWN,
        model_input_names=["input_ids", "attention_mask"],
    )


def _is_word(core: Tokenizer, word: str) -> bool:
    same = core.normalizer.normalize_str(word) == word
    return same and [w for w, _ in core.pre_tokenizer.pre_tokenize_str(word)] == [word]


def _encodable(text: str) -> str:
    """Replace halves of characters (lone surrogates), which tokenizers can't take."""
    return text.encode("utf-8", "replace").decode("utf-8")

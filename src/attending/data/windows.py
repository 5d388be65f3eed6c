"""Windows of tokens over a whole text, with true character offsets.

Nothing is cut silently: a text longer than a window gets more windows, up to a bound on what one
text may cost, and what was read is counted. Offsets are code points into the text as given.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attending.records import Coverage, is_blank
from attending.specs import Windows

Offsets = tuple[tuple[int, int], ...]
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids with special ones around: ``before`` ones before, the rest after.

    ``first`` is the number of the first real token in the text, ``tokens`` how many there are.
    """

    ids: tuple[int, ...]
    first: int
    tokens: int
    before: int = 1


@dataclass(frozen=True, slots=True)
class Windowed:
    """A text as windows.

    ``offsets`` hold one (start, end) per token of the text, special tokens left out. ``status``
    is ``empty_text`` for a text with nothing to read, ``too_long`` where the recipe refuses more
    than one window; then there are no windows. ``words`` is the number of what each token is a
    piece of, where that is looked for: a word, or how it is written.
    """

    windows: tuple[Window, ...]
    offsets: Offsets
    read: Coverage
    status: str = "ok"
    words: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Tokens in all windows: what a pass over the text costs."""
        return sum(len(w.ids) for w in self.windows)


class Words(Protocol):
    """What numbers words, ``parts.planting.word_index``, or shapes, ``parts.tagging.shapes``."""

    def under(self, texts: Sequence[str], tokens: Sequence[Offsets]) -> list[tuple[int, ...]]:
        """Return the number under each token, given the tokens' offsets in each text."""
        ...


class Windower:
    """Turns texts into windows.

    Attributes:
        index: What numbers the words under the tokens, if anyone asks for them.

    Args:
        spec: Size, overlap and what to do with longer texts.
        tokenizer: A fast tokenizer of transformers.
        limit: The most tokens that encoder and tokenizer take, special ones included.
    """

    def __init__(self, spec: Windows, *, tokenizer: Any, limit: int) -> None:
        self.spec = spec
        self.tokenizer = tokenizer
        self.limit = min(limit, spec.max_tokens)
        around = tokenizer("", add_special_tokens=True)["input_ids"]
        self._before, self._after = tuple(around[:1]), tuple(around[1:])
        self.content = self.limit - len(around)
        # More overlap than half a window would read each token many times over.
        self.step = max(1, self.content - min(spec.overlap, self.content // 2))
        self.index: Words | None = None

    def __call__(self, texts: Sequence[str]) -> list[Windowed]:
        """Window texts, in order."""
        if not texts:
            return []
        blank = [is_blank(t) for t in texts]
        coded = self.tokenizer(
            [" " if b else _encodable(t) for b, t in zip(blank, texts, strict=True)],
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            truncation=False,
            split_special_tokens=True,  # a message may hold the letters "[SEP]"
            verbose=False,
        )
        windowed = [
            self._window(() if b else tuple(ids), () if b else tuple(map(tuple, offsets)))
            for b, ids, offsets in zip(
                blank, coded["input_ids"], coded["offset_mapping"], strict=True
            )
        ]
        if self.index is None:
            return windowed
        under = self.index.under(texts, [w.offsets for w in windowed])
        return [replace(w, words=own) for w, own in zip(windowed, under, strict=True)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special ones left out."""
        return [w.read.of for w in self(texts)]

    def _window(self, ids: tuple[int, ...], offsets: Any) -> Windowed:
        total = len(ids)
        if not total:
            return Windowed((), (), Coverage(0, 0, 0), "empty_text")
        reach = min(total, self.spec.most_tokens)
        if total <= self.content or self.spec.on_overflow == "truncate":
            starts = [0]
        elif self.spec.on_overflow == "error":
            return Windowed((), offsets, Coverage(0, total, 0), "too_long")
        else:
            starts = list(range(0, reach - self.content + self.step, self.step)) or [0]
        windows = tuple(
            Window(self._before + part + self._after, s, len(part), len(self._before))
            for s in starts
            if (part := ids[s : min(reach, s + self.content)])
        )
        read = min(reach, starts[-1] + self.content)
        end = int(offsets[read - 1][1]) if read < total else None
        return Windowed(windows, offsets, Coverage(read, total, len(windows), end))


def owners(document: Windowed) -> NDArray[np.int64]:
    """Return which window speaks for each token that was read, (T,).

    Of several that read a token it is the one in whose middle the token lies most, where it sees
    most of its surroundings; the first of equals.
    """
    last = document.windows[-1]
    found = np.zeros(last.first + last.tokens, dtype=np.int64)
    margin = np.full(len(found), -1)
    for number, window in enumerate(document.windows):
        column = np.arange(window.tokens)
        inside = np.minimum(column, window.tokens - 1 - column)
        here = slice(window.first, window.first + window.tokens)
        better = inside > margin[here]
        found[here] = np.where(better, number, found[here])
        margin[here] = np.where(better, inside, margin[here])
    return found


def _encodable(text: str) -> str:
    """Put U+FFFD for each half of a character (lone surrogate), which tokenizers can't take."""
    return _HALVES.sub("\ufffd", text)

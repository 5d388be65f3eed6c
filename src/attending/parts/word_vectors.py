"""Word vectors: learned from the training texts, or read from a file."""

import gzip
import logging
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attending.errors import EncoderError, MissingExtra
from attending.parts.words import (
    PAD_ID,
    UNKNOWN_ID,
    Sentences,
    learn_tokenizer,
    spelled,
    vocabulary_of,
)

_DECIMAL = re.compile(r"-?\d*\.\d+(e-?\d+)?", re.IGNORECASE)
_FORMAT = "Give a GloVe or word2vec text file, one word and its numbers a line, plain or .gz."


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words and their vectors, (N, D) float32, row by row."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise EncoderError(
                "one vector a word", found=f"{len(self.words)} words, {self.vectors.shape}"
            )

    @property
    def dimension(self) -> int:
        """D, the width of a vector."""
        return int(self.vectors.shape[1])

    def unit(self) -> "WordVectors":
        """Return the vectors scaled to length 1; zero vectors stay."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        scaled = self.vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return WordVectors(self.words, scaled)


def train_vectors(
    texts: Sequence[str],
    tokenizer: Any = None,
    *,
    dimension: int = 100,
    algorithm: Literal["cbow", "skip-gram"] = "cbow",
    window: int = 5,
    epochs: int = 5,
    seed: int = 0,
) -> WordVectors:
    """Learn word2vec vectors from texts; the same texts and seed give the same vectors.

    Args:
        texts: Training texts, never development or test ones.
        tokenizer: Says what the words are; by default it is learned from the texts.
        dimension: Width of a vector.
        algorithm: Continuous bag of words (as CAML and LAAT used it) or skip-gram.
        window: Words on either side that count.
        epochs: Passes over the texts.
        seed: Decides the start and the draws.

    Returns:
        A vector for each word of the tokenizer that occurs in the texts.

    Raises:
        MissingExtra: If gensim isn't installed.
        EncoderError: If the texts hold no known word.

    Source: Mikolov et al. 2013, with gensim's five negative samples and down-sampling of frequent
    words. One worker: with more, the order of updates and so the result would vary.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtra("gensim", "vectors", "training word vectors") from None
    tokenizer = learn_tokenizer(texts) if tokenizer is None else tokenizer
    # gensim cuts sentences of more than 10,000 words without a word; ours are shorter.
    sentences = Sentences(texts, tokenizer)
    model = Word2Vec(
        vector_size=dimension,
        sg=int(algorithm == "skip-gram"),
        window=window,
        min_count=1,
        epochs=epochs,
        seed=seed,
        workers=1,
    )
    with _quiet():
        model.build_vocab(sentences)
        if not model.wv.index_to_key:
            raise EncoderError("no text holds a word that the tokenizer knows")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, np.float32))


def read_vectors(
    path: str | Path, vocabulary: Collection[str] | None = None, *, dimension: int | None = None
) -> WordVectors:
    """Read a GloVe or word2vec text file, plain or gzipped.

    Args:
        path: The file; a first line of two whole numbers (word2vec) is understood.
        vocabulary: Keep only these words, as they are spelled here; by default all.
        dimension: The width that the vectors must have; by default whatever they have.

    Returns:
        The words found, in the file's order; of a repeated word the first vector counts.

    Raises:
        EncoderError: If the file can't be read, with the line if one is wrong.
    """
    wanted = None if vocabulary is None else {spelled(word): word for word in vocabulary}
    rows: dict[str, NDArray[np.float32]] = {}
    seen = 0
    for number, read, fields in _lines(Path(path), dimension):
        seen += 1
        word = read if wanted is None else wanted.get(spelled(read))
        if word is None or word in rows:
            continue
        try:
            rows[word] = np.array(fields, dtype=np.float32)
        except ValueError:
            what = "a number can't be read"
            raise EncoderError(what, where=f"{path} line {number}", step=_FORMAT) from None
        if not np.isfinite(rows[word]).all():
            raise EncoderError("a number is not finite", where=f"{path} line {number}")
    if not seen:
        raise EncoderError("holds no word vectors", where=str(path), step=_FORMAT)
    width = len(next(iter(rows.values()))) if rows else dimension or 0
    return WordVectors(tuple(rows), np.array(list(rows.values()), np.float32).reshape(-1, width))


def words_of(path: str | Path, dimension: int | None = None) -> Iterator[str]:
    """Yield the words of a file of word vectors in its order, numbers unread.

    Raises:
        EncoderError: If the file can't be read, with the line if one is wrong.
    """
    return (word for _, word, _ in _lines(Path(path), dimension))


def table_of(
    tokenizer: Any, found: WordVectors | None, dimension: int, seed: int
) -> NDArray[np.float32]:
    """Lay vectors out by token id, (V, D): zeros for [PAD], drawn evenly for words without one.

    Drawn numbers spread as the known ones do, or over -0.25 to 0.25 where none is known (Kim
    2014, section 3). [UNK] is the mean of the known vectors.
    """
    words = vocabulary_of(tokenizer)
    bound = 0.25 if found is None else float(np.sqrt(3) * found.vectors.std())
    table = np.random.default_rng(seed).uniform(-bound, bound, (len(words), dimension))
    table[PAD_ID] = 0
    if found is not None:
        rows = {word: row for row, word in enumerate(found.words)}
        known = [i for i, word in enumerate(words) if i > UNKNOWN_ID and word in rows]
        table[known] = found.vectors[[rows[words[i]] for i in known]]
        table[UNKNOWN_ID] = table[known].mean(axis=0) if known else 0
    return table.astype(np.float32)


def _lines(path: Path, dimension: int | None) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line number, word and the fields of its numbers; all lines have the same number."""
    try:
        start = gzip.open if path.suffix == ".gz" else open
        with start(path, "rt", encoding="utf-8", errors="replace") as lines:
            width = None
            for number, raw in enumerate(lines, 1):
                line = raw.replace("\t", " ").rstrip("\n ")
                if number == 1 and re.fullmatch(r"\d+ +\d+", line):
                    width = _checked(int(line.split()[1]), dimension, path, 1)
                    continue
                if width is None:
                    width = _checked(line.count(" "), dimension, path, number)
                if line:
                    yield (number, *_parted(line, width, path, number))
    except FileNotFoundError:
        raise EncoderError(
            "no such file of word vectors",
            where=str(path),
            step="encoder.vectors is random, train, or a file.",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        what = f"the file of word vectors can't be read ({type(error).__name__})"
        raise EncoderError(what, where=str(path)) from None


def _checked(width: int, dimension: int | None, path: Path, number: int) -> int:
    if width < 1:
        raise EncoderError("holds no numbers", where=f"{path} line {number}", step=_FORMAT)
    if dimension is not None and width != dimension:
        raise EncoderError(
            "the vectors are not as wide as the recipe says",
            where=f"{path} line {number}",
            found=f"{width} numbers for encoder.dimension = {dimension}",
            step=f"Set encoder.dimension = {width}, or give another file.",
        )
    return width


def _parted(line: str, width: int, path: Path, number: int) -> tuple[str, list[str]]:
    """Split a line at blanks, from the right: some words of public files hold white space."""
    word, *fields = line.rsplit(" ", width)
    surplus = word.split(" ")[1:]
    if len(fields) != width or any(_DECIMAL.fullmatch(x) for x in surplus):
        raise EncoderError(
            "a vector of another width",
            where=f"{path} line {number}",
            found=f"{len(fields) + len(surplus)} numbers",
            allowed=str(width),
            step=_FORMAT,
        )
    return word, fields


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep gensim's remarks on small corpora to itself."""
    logger = logging.getLogger("gensim")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)

"""Light encoders: convolutions or recurrent layers on word vectors.

They do what a pretrained encoder does for the rest of a network, without [CLS], without limit on
a window's length and without attention that labels could enter. Words and their vectors are
learned from the training texts, or start from a file; see ``words`` and ``word_vectors``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from attending.errors import EncoderError
from attending.parts.attention import AttentionCall
from attending.parts.awd_lstm import AwdLstm
from attending.parts.convolutions import ParallelConvolutions, ResidualConvolutions
from attending.parts.embeddings import UsedRowsEmbedding
from attending.parts.encoders import Limits
from attending.parts.recurrent import Recurrent
from attending.parts.word_vectors import (
    WordVectors,
    read_vectors,
    table_of,
    train_vectors,
    words_of,
)
from attending.parts.words import PAD_ID, SPECIAL, learn_tokenizer, read_tokenizer, vocabulary_of
from attending.specs import (
    AwdLstmEncoder,
    BiGruEncoder,
    BiLstmEncoder,
    CnnEncoder,
    MultiCnnEncoder,
    MultiResCnnEncoder,
)
from attending.specs.encoders import RecurrentEncoder, WordEncoder
from attending.tensors import TokenStates


class LightEncoder(nn.Module):
    """Word vectors, dropout and a body that makes states of them.

    Args:
        body: A module from vectors (W, T, D), zero at padding, and mask (W, T) to states
            (W, T, H), with H as its ``width``.
        tokenizer: A word-level tokenizer of transformers.
        vectors: Word vectors by token id, (V, D).
        spec: Name, dropout, and whether vectors are trained.
        bidirectional: Whether the first half of a state has read the text up to its token and
            the second half from it.
        notes: What a person should know of the words.
    """

    takes_labels = False
    pretrained_pooler = None

    def __init__(
        self,
        body: nn.Module,
        tokenizer: Any,
        vectors: Tensor,
        spec: WordEncoder,
        *,
        bidirectional: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.name = spec.name
        self.bidirectional = bidirectional
        self.notes = tuple(notes)
        rows, dimension = vectors.shape
        self.embeddings: nn.Module = nn.Embedding(rows, dimension, PAD_ID, _weight=vectors)
        self.embeddings.requires_grad_(spec.trainable)
        self.dropout = nn.Dropout(spec.dropout)
        self.body = body

    @property
    def width(self) -> int:
        """H, the width of a token state."""
        return int(cast(Any, self.body).width)

    @property
    def limits(self) -> Limits:
        """No limit of the encoder's own: a window is as long as the recipe wants it."""
        return Limits(
            tokenizer=int(self.tokenizer.model_max_length),
            positions=int(self.tokenizer.model_max_length),
        )

    @property
    def word_embeddings(self) -> nn.Module:
        """The module that holds the word vectors."""
        return self.embeddings

    def as_input(self, vectors: Tensor) -> Tensor | None:
        """Return ``None``: word vectors go in as they are."""
        return None

    def train_only(self, ids: Tensor) -> None:
        """Train only the vectors of these token ids, (N,) int64; fixed vectors stay fixed."""
        if isinstance(self.embeddings, nn.Embedding) and self.embeddings.weight.requires_grad:
            self.embeddings = UsedRowsEmbedding(self.embeddings, torch.unique(ids))

    def train_all(self) -> None:
        """Undo ``train_only``: one ordinary matrix again, trained rows written back."""
        if isinstance(self.embeddings, UsedRowsEmbedding):
            self.embeddings = self.embeddings.merged()

    def forward(
        self,
        ids: Tensor | None,
        mask: Tensor,
        call: AttentionCall | None = None,
        *,
        embeddings: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> TokenStates:
        """Encode windows: ids (W, T) int64, mask (W, T) bool, padding on the right.

        ``embeddings`` (W, T, D) stand in for ids. There is no attention for ``call`` to reach and
        no position to number. States are zero at padding.
        """
        vectors = self.embeddings(ids) if embeddings is None else embeddings
        real = mask.unsqueeze(-1)
        states = self.body(self.dropout(vectors) * real, mask)
        return TokenStates(states * real, mask)

    def save(self, folder: Path) -> None:
        """Write the words (vectors and other weights are the model folder's)."""
        self.tokenizer.save_pretrained(folder)


def build_cnn(
    spec: CnnEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build one convolution over word vectors; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    body = ParallelConvolutions(spec.dimension, [spec.kernel], [spec.filters], spec.activation)
    return _encoder(spec, body, words)


def build_multi_cnn(
    spec: MultiCnnEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build parallel convolutions; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    body = ParallelConvolutions(spec.dimension, spec.kernels, spec.filters_of, spec.activation)
    return _encoder(spec, body, words)


def build_multi_res_cnn(
    spec: MultiResCnnEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build residual convolutions; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    body = ResidualConvolutions(spec.dimension, spec.kernels, spec.filters, spec.dropout)
    return _encoder(spec, body, words)


def build_bilstm(
    spec: BiLstmEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build a bidirectional LSTM; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    return _encoder(spec, _recurrent("lstm", spec), words, bidirectional=True)


def build_bigru(
    spec: BiGruEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build a bidirectional GRU; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    return _encoder(spec, _recurrent("gru", spec), words, bidirectional=True)


def build_awd_lstm(
    spec: AwdLstmEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
    **_: Any,
) -> LightEncoder:
    """Build an AWD-LSTM; arguments and errors as ``words_and_vectors``."""
    words = words_and_vectors(spec, folder=folder, texts=texts, seed=seed)
    body = AwdLstm(
        spec.dimension,
        spec.hidden,
        spec.width,
        spec.layers,
        hidden_dropout=spec.hidden_dropout,
        input_dropout=spec.input_dropout,
        weight_dropout=spec.weight_dropout,
    )
    return _encoder(spec, body, words)


def _recurrent(cell: Any, spec: RecurrentEncoder) -> Recurrent:
    return Recurrent(cell, spec.dimension, spec.hidden, spec.layers, spec.dropout)


def _encoder(
    spec: WordEncoder,
    body: nn.Module,
    words: tuple[Any, Tensor, tuple[str, ...]],
    *,
    bidirectional: bool = False,
) -> LightEncoder:
    tokenizer, vectors, notes = words
    return LightEncoder(body, tokenizer, vectors, spec, bidirectional=bidirectional, notes=notes)


def words_and_vectors(
    spec: WordEncoder,
    *,
    folder: Path | None = None,
    texts: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[Any, Tensor, tuple[str, ...]]:
    """Return an encoder's tokenizer, its word vectors (V, D), and notes on them.

    Args:
        spec: What the vectors are and where they come from.
        folder: What ``save`` wrote, to load saved weights into; the vectors are zeros then.
        texts: The training texts.
        seed: Decides what is drawn.

    Raises:
        EncoderError: If there are no texts, no words in them, or no such vectors.
        MissingExtra: If vectors are to be trained and gensim isn't installed.
    """
    if folder is not None:
        tokenizer = read_tokenizer(folder)
        return tokenizer, torch.zeros(len(tokenizer), spec.dimension), ()
    if not texts:
        raise EncoderError(
            "learns its words from the training texts, and there are none",
            where=f"encoder {spec.name}",
        )
    from_file = spec.vectors not in ("random", "train")
    tokenizer = learn_tokenizer(
        texts,
        lowercase=spec.lowercase,
        min_count=spec.min_count,
        max_vocabulary=spec.max_vocabulary,
        more=words_of(spec.vectors, spec.dimension) if spec.unseen else (),
    )
    found, notes = _from_file(spec, tokenizer) if from_file else (None, ())
    if spec.vectors == "train":
        found = _trained(spec, texts, tokenizer, seed)
    if found is not None and spec.unit_length:
        found = found.unit()
    return tokenizer, torch.from_numpy(table_of(tokenizer, found, spec.dimension, seed)), notes


def _trained(spec: WordEncoder, texts: Sequence[str], tokenizer: Any, seed: int) -> WordVectors:
    return train_vectors(
        texts,
        tokenizer,
        dimension=spec.dimension,
        algorithm=spec.word2vec,
        window=spec.word2vec_window,
        epochs=spec.word2vec_epochs,
        seed=seed,
    )


def _from_file(spec: WordEncoder, tokenizer: Any) -> tuple[WordVectors, tuple[str, ...]]:
    words = set(vocabulary_of(tokenizer)) - set(SPECIAL)
    found = read_vectors(Path(spec.vectors).expanduser(), words, dimension=spec.dimension)
    if not found.words:
        raise EncoderError(
            "holds none of the words of the training texts",
            where=spec.vectors,
            step="Is it of another language, or in capitals where encoder.lowercase is true?",
        )
    note = f"{len(found.words):,} of {len(words):,} words have a vector in the file"
    return found, (f"{note}; the others start at random",)

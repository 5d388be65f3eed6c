"""Pretrained encoders: the bundled MiniLM, a local folder or a hub id.

Families: BERT, RoBERTa / XLM-R, ELECTRA, DistilBERT. No model code is forked: label attention
enters through the library's attention interface (``attending.parts.lesa``).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

from attending.errors import EncoderError
from attending.parts.attention import IMPLEMENTATION, AttentionCall
from attending.parts.embeddings import UsedRowsEmbedding
from attending.parts.narrow import narrow
from attending.parts.remembered import RememberedStates
from attending.parts.sources import Location, locate
from attending.parts.width_groups import in_groups, is_plain, width_groups
from attending.specs import PretrainedEncoder
from attending.tensors import TokenStates

FAMILIES = ("bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta")
_ROBERTA = ("camembert", "roberta", "xlm-roberta")
_DROPOUT_KEYS = ("hidden_dropout_prob", "dropout")
_ATTENTION_DROPOUT_KEYS = ("attention_probs_dropout_prob", "attention_dropout")


@dataclass(frozen=True, slots=True)
class Limits:
    """The three limits of a window, in tokens, special ones included, and the smallest of them.

    A tokenizer without a limit reports 10^30; positions come from the model's configuration.
    """

    tokenizer: int
    positions: int
    wanted: int | None = None

    @property
    def effective(self) -> int:
        """The number of tokens that a window may hold."""
        return min(x for x in (self.tokenizer, self.positions, self.wanted) if x is not None)


class AnyEncoder(Protocol):
    """What every encoder, pretrained or light, is to the parts that read its states."""

    takes_labels: bool
    name: str
    tokenizer: Any

    @property
    def width(self) -> int:
        """H, the width of a token state."""

    @property
    def limits(self) -> Limits:
        """The tokenizer's and the model's limit on a window."""

    @property
    def word_embeddings(self) -> nn.Module:
        """The module from token ids to word vectors."""

    def __call__(self, ids: Tensor, mask: Tensor, call: AttentionCall | None = None) -> TokenStates:
        """Encode windows: ids (W, T) int64, mask (W, T) bool."""


class Encoder(nn.Module):
    """A pretrained transformer and its tokenizer.

    Args:
        model: A transformers model of one of ``FAMILIES``.
        tokenizer: Its fast tokenizer.
        name: What the recipe called it.
        pooler: The dense layer it was pretrained with, for a head to start from.
        frozen: No weight is trained; then it stays in evaluation mode, without dropout.
    """

    takes_labels = True
    """Whether labels can take part in its attention."""

    model: Any

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        name: str,
        pooler: nn.Linear | None = None,
        *,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self.name = name
        self._pooler = (pooler,)
        self.frozen = frozen
        self._memory: RememberedStates | None = None
        if frozen:
            model.requires_grad_(False)

    @property
    def pretrained_pooler(self) -> nn.Linear | None:
        """The dense layer that the encoder was pretrained with on [CLS], if any; not a child."""
        return self._pooler[0]

    @property
    def config(self) -> Any:
        """The transformers configuration."""
        return self.model.config

    @property
    def family(self) -> str:
        """The model family, such as ``bert``."""
        return str(self.config.model_type)

    @property
    def width(self) -> int:
        """H, the width of a token state."""
        return int(self.config.hidden_size)

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(self.config.num_hidden_layers)

    @property
    def first_position(self) -> int:
        """The position number of the first token (RoBERTa starts after its padding index)."""
        return int(self.config.pad_token_id) + 1 if self.family in _ROBERTA else 0

    @property
    def limits(self) -> Limits:
        """The tokenizer's and the model's limit on a window."""
        return limits(self.config, self.tokenizer)

    @property
    def word_embeddings(self) -> nn.Module:
        """The word-embedding module of the model."""
        return cast(nn.Module, self.model.get_input_embeddings())

    def project(self, vectors: Tensor) -> Tensor:
        """Map vectors of the word table (..., E) to the model's width (..., H).

        Only ELECTRA has tables narrower than its states.
        """
        projection = getattr(self.model, "embeddings_project", None)
        return vectors if projection is None else cast(Tensor, projection(vectors))

    @torch.no_grad()
    def as_input(self, vectors: Tensor) -> Tensor | None:
        """Bring word vectors (N, E) to the scale at which the first layer takes words.

        The first token type is added and the embeddings' own normalisation applied; position is
        left out. ``None`` where vectors of this width are not normalised.
        """
        made = getattr(self.model, "embeddings", None)
        norm = getattr(made, "LayerNorm", None)
        if norm is None or tuple(norm.normalized_shape) != vectors.shape[-1:]:
            return None
        types = getattr(made, "token_type_embeddings", None)
        return cast(Tensor, norm(vectors if types is None else vectors + types.weight[0]))

    def train(self, mode: bool = True) -> "Encoder":
        """Switch training on or off; a frozen encoder stays in evaluation mode."""
        return super().train(mode and not self.frozen)

    @property
    def remembers(self) -> bool:
        """Whether each distinct window is encoded once now."""
        return self._memory is not None

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Encode each distinct window once while this lasts, if no weight is trained."""
        if self.frozen:
            self._memory = RememberedStates(
                lambda ids, mask: self._encode(self.word_embeddings(ids), mask, None)
            )
        try:
            yield
        finally:
            self._memory = None

    def train_only(self, ids: Tensor) -> None:
        """Train only the word embeddings of these token ids, (N,) int64; none where frozen."""
        full = cast(nn.Embedding, self.word_embeddings)
        if not full.weight.requires_grad:
            return
        rows = torch.unique(ids)
        self.model.set_input_embeddings(UsedRowsEmbedding(full, rows))

    def train_all(self) -> None:
        """Undo ``train_only``: one ordinary matrix again, trained rows written back."""
        table = self.word_embeddings
        if isinstance(table, UsedRowsEmbedding):
            self.model.set_input_embeddings(table.merged())

    def forward(
        self,
        ids: Tensor | None,
        mask: Tensor,
        call: AttentionCall | None = None,
        *,
        embeddings: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> TokenStates:
        """Encode windows: ids (W, T) int64, mask (W, T) bool or (W, 1, T, T) bool.

        ``embeddings`` (W, T, E) and ``positions`` (W, T) stand in for ids where a part inserts
        tokens of its own. ``call`` reaches the attention of every layer. Windows that are much
        shorter than others are encoded apart from them (``width_groups``). Returns the last
        layer's states.
        """
        # The gradient of what a trace records is that of the very tensors that attention uses.
        whole = call is not None and call.trace is not None and torch.is_grad_enabled()
        if self._memory and ids is not None and call is None and is_plain(mask):
            return TokenStates(self._memory(ids, mask), mask)
        if positions is None and mask.ndim == 2 and not whole:
            groups = width_groups(mask)
            if groups:
                vectors = self.word_embeddings(ids) if embeddings is None else embeddings
                return TokenStates(in_groups(self._encode, vectors, mask, groups, call), mask)
        out = self._run(mask, call, input_ids=ids, inputs_embeds=embeddings, position_ids=positions)
        real = mask if mask.ndim == 2 else mask[:, 0].any(dim=1)
        return TokenStates(out, real)

    def _encode(self, embeddings: Tensor, mask: Tensor, call: AttentionCall | None) -> Tensor:
        """Encode embedded windows of one width: (W, T, E) and mask (W, T) to states (W, T, H)."""
        return self._run(mask, call, inputs_embeds=embeddings)

    def _run(self, mask: Tensor, call: AttentionCall | None, **inputs: Tensor | None) -> Tensor:
        """Return the model's last states of its inputs, those left out that are ``None``."""
        given: dict[str, Any] = {k: v for k, v in inputs.items() if v is not None}
        if call is not None:
            given["call"] = call
        return cast(Tensor, self.model(attention_mask=mask, **given).last_hidden_state)

    def save(self, folder: Path) -> None:
        """Write configuration and tokenizer (weights are the model folder's)."""
        self.config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def limits(config: Any, tokenizer: Any) -> Limits:
    """Read the limits of a window from a configuration and a tokenizer."""
    positions = int(config.max_position_embeddings)
    if config.model_type in _ROBERTA:
        positions -= int(config.pad_token_id) + 1
    return Limits(tokenizer=int(tokenizer.model_max_length), positions=positions)


def build_pretrained(spec: PretrainedEncoder, *, folder: Path | None = None, **_: Any) -> "Encoder":
    """Build an encoder; with ``folder``, an untrained one to load saved weights into.

    Raises:
        EncoderError: If it isn't there, is damaged, or is of a family that can't be used.
        MissingExtra: If the bundled encoder isn't installed.
    """
    place = locate(spec.name) if folder is None else Location(str(folder), offline=True)
    config = _read_config(place, spec)
    tokenizer = _read_tokenizer(place, spec.name, config)
    if folder is not None:
        model = AutoModel.from_config(config, attn_implementation=IMPLEMENTATION)
    else:
        model = _read_weights(place, config, spec)
    if spec.ffn is not None:
        narrow(model, spec.ffn, spec.name)
    dense = _take_pooler(model)
    encoder = Encoder(model, tokenizer, spec.name, dense, frozen=spec.frozen)
    if spec.word_embeddings == "frozen":
        encoder.word_embeddings.requires_grad_(False)
    return encoder


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the library's progress bars and warnings (such as of unused upper layers) to itself."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _take_pooler(model: Any) -> nn.Linear | None:
    pooler = getattr(model, "pooler", None)
    if pooler is None:
        return None
    model.pooler = None
    dense = getattr(pooler, "dense", None)
    return dense if isinstance(dense, nn.Linear) else None


def describe(spec: PretrainedEncoder) -> Limits:
    """Return the limits of an encoder from its configuration and tokenizer, weights unread."""
    place = locate(spec.name)
    config = _read_config(place, spec)
    return limits(config, _read_tokenizer(place, spec.name, config))


def _read_config(place: Location, spec: PretrainedEncoder) -> Any:
    try:
        config = AutoConfig.from_pretrained(place.source, local_files_only=place.offline)
    except Exception as error:
        raise EncoderError(
            f"the configuration can't be read ({type(error).__name__})", where=spec.name
        ) from error
    if config.model_type not in FAMILIES:
        raise EncoderError(
            f'the attention of the family "{config.model_type}" does not take labels',
            where=spec.name,
            allowed=", ".join(FAMILIES),
            step="Use an encoder of one of these families.",
        )
    return _adjusted(config, spec)


def _adjusted(config: Any, spec: PretrainedEncoder) -> Any:
    """Put a recipe's number of layers and dropouts into a configuration."""
    if spec.layers is not None:
        if spec.layers > config.num_hidden_layers:
            raise EncoderError(
                f"encoder.layers = {spec.layers} is more than the encoder has",
                where=spec.name,
                found=f"{config.num_hidden_layers} layers",
            )
        config.num_hidden_layers = spec.layers
    for keys, value in (
        (_DROPOUT_KEYS, spec.dropout),
        (_ATTENTION_DROPOUT_KEYS, spec.attention_dropout),
    ):
        for key in keys:
            if value is not None and hasattr(config, key):
                setattr(config, key, value)
    return config


def _read_tokenizer(place: Location, name: str, config: Any) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            place.source, local_files_only=place.offline, use_fast=True
        )
    except Exception as error:
        raise EncoderError(
            f"the tokenizer can't be read ({type(error).__name__})", where=name
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise EncoderError("has no fast tokenizer, so offsets can't be true", where=name)
    # Without tokenizer files the library makes up one that knows no word.
    if not len(tokenizer.all_special_ids) < len(tokenizer) <= config.vocab_size:
        raise EncoderError(
            "the tokenizer is missing or of another model",
            where=name,
            found=f"{len(tokenizer)} tokens for {config.vocab_size} rows of word embeddings",
            step="Put the encoder's own tokenizer files into its folder.",
        )
    return tokenizer


def _read_weights(place: Location, config: Any, spec: PretrainedEncoder) -> Any:
    try:
        with quiet():
            model, report = AutoModel.from_pretrained(
                place.source,
                config=config,
                local_files_only=place.offline,
                attn_implementation=IMPLEMENTATION,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except Exception as error:
        raise EncoderError(
            f"the weights can't be read ({type(error).__name__})", where=spec.name
        ) from error
    missing = [k for k in report["missing_keys"] if "pooler" not in k and "position_ids" not in k]
    if missing:
        raise EncoderError(
            f"{len(missing)} weights are missing, the first is {sorted(missing)[0]}",
            where=spec.name,
            step="The folder is damaged, or holds a model of another kind.",
        )
    return model

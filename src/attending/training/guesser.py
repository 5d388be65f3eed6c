"""An encoder with a head that guesses hidden words, and how well it guesses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModelForMaskedLM

from attending.data.layout import by_length
from attending.errors import EncoderError
from attending.models.precision import computing_in
from attending.parts.attention import IMPLEMENTATION
from attending.parts.encoders import Encoder, build_pretrained, quiet
from attending.parts.sources import locate
from attending.specs import PretrainedEncoder
from attending.training.masking import IGNORED, Masker, Passage

_BATCH = 32


@dataclass(frozen=True)
class WordGuesser:
    """An encoder with a head that guesses hidden words, and its tokenizer.

    fresh_head: whether no weights of the head came with the encoder.
    """

    network: Any
    encoder: Encoder
    fresh_head: bool


def load_guesser(spec: PretrainedEncoder) -> WordGuesser:
    """Load an encoder with its head for hidden words; a missing head is made anew.

    The last map of the head is the word table itself, in every family.

    Raises:
        EncoderError: If the encoder can't be read, or its tokenizer has no mask.
    """
    encoder = build_pretrained(spec)
    if encoder.tokenizer.mask_token_id is None:
        raise EncoderError(
            "the tokenizer has no token to hide words with, so the encoder can't be trained on",
            where=spec.name,
            step="Choose an encoder that was made by guessing hidden words.",
        )
    place = locate(spec.name)
    with quiet():
        network, report = AutoModelForMaskedLM.from_pretrained(
            place.source,
            config=encoder.config,
            local_files_only=place.offline,
            attn_implementation=IMPLEMENTATION,
            dtype=torch.float32,
            output_loading_info=True,
        )
    network.base_model.register_forward_hook(_keep_chosen, with_kwargs=True)
    own = f"{network.base_model_prefix}."
    missing = [k for k in report["missing_keys"] if not k.startswith(own)]
    return WordGuesser(network, encoder, any(k.endswith("weight") for k in missing))


@torch.no_grad()
def start_from_frequencies(network: Any, passages: Sequence[Passage]) -> None:
    """Let a new head start from how frequent tokens are, by its bias (V,): the log of their share.

    Otherwise it has to learn that first, in thousands of small steps that teach the encoder
    nothing. A token that doesn't occur counts as if it had occurred half a time.
    """
    bias = network.get_output_embeddings().bias
    counts = torch.full_like(bias, 0.5)
    for passage in passages:
        ids = torch.from_numpy(passage.ids[passage.words >= 0]).to(bias.device, torch.int64)
        counts.index_add_(0, ids, torch.ones_like(ids, dtype=counts.dtype))
    bias.copy_(torch.log(counts / counts.sum()))


def _keep_chosen(module: nn.Module, args: Any, kwargs: Mapping[str, Any], output: Any) -> Any:
    """Let the head see hidden tokens only: states (P, T, H) become (1, number of chosen, H).

    The head costs as much per token as a small encoder, since it scores the whole vocabulary, and
    the scores of the other 85 % are not used.
    """
    chosen = kwargs.get("chosen")
    if chosen is not None:
        output["last_hidden_state"] = output["last_hidden_state"][chosen].unsqueeze(0)
    return output


def masked_loss(
    outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None
) -> Tensor:
    """Return the mean cross-entropy over hidden tokens.

    outputs.logits (1, C, V) of the C hidden tokens, labels (P, T) with ``IGNORED`` elsewhere;
    ``num_items_in_batch`` hidden tokens are in all batches of the step together.
    """
    targets = labels[labels != IGNORED]
    total = functional.cross_entropy(outputs.logits[0].float(), targets, reduction="sum")
    return total / (len(targets) if num_items_in_batch is None else num_items_in_batch)


@torch.inference_mode()
def log_loss(network: Any, passages: Sequence[Passage], masker: Masker, precision: str) -> float:
    """Return the mean loss over the hidden tokens of passages; the same ones at every call."""
    before, device = network.training, network.device
    total, count = 0.0, 0
    network.eval()
    for rows in by_length([p.length for p in passages], _BATCH):
        batch = {k: v.to(device) for k, v in masker([passages[i] for i in rows], 0).items()}
        labels = batch.pop("labels")
        with computing_in(precision, device):
            outputs = network(**batch)
        hidden = int(batch["chosen"].sum())
        total += float(masked_loss(outputs, labels)) * hidden
        count += hidden
    network.train(before)
    return total / count


def perplexity(loss: float) -> float:
    """Return e to the loss: among how many equally likely tokens the encoder wavers."""
    return math.exp(min(loss, 700.0))

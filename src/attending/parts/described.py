"""Label states that the shared encoder reads from the labels' own texts, and what that costs.

Encoding every description in every step is what stopped the authors of label-description
attention at 623 labels. Here all labels are encoded once every few steps, without gradient; in
between only the labels of the batch and some others are, with gradient. For prediction all are
encoded once in all, and the result is saved with the model.

A batch's own labels are pulled towards its documents and the others pushed away from them. If all
of the first but few of the others send gradients, the encoder learns to say the same of every
label. So each of the others that is encoded anew counts as often as it must to stand for those
that are not (``unbiased``; switched off, each counts for itself).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import cast

import torch
from torch import Tensor, nn

from attending.errors import RecipeError
from attending.parts.encoders import Encoder
from attending.parts.label_sample import LabelSample
from attending.parts.masking import masked_mean
from attending.records import LabelPart, LabelSet
from attending.specs import DescribedLabelStates
from attending.tensors import LabelStates

_CHUNK = 64


class DescribedLabels(nn.Module):
    """States of all labels, (L, H), and token by token (L, M, H) for parts that read them so.

    Args:
        spec: What is read, and how often.
        encoder: The encoder that reads the documents too; not a child of this module.
        ids: Token ids of the labels' texts, (L, M) int64.
        mask: Their real tokens, (L, M) bool.
        tokens: Whether to keep every token's state.
        notes: What a person should know of the labels' texts.
    """

    ids: Tensor
    mask: Tensor
    kept: Tensor
    steps: Tensor
    ready: Tensor

    def __init__(
        self,
        spec: DescribedLabelStates,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        *,
        tokens: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.spec, self.tokens, self.notes = spec, tokens, tuple(notes)
        self._encoder = (encoder,)
        shape = (len(ids), ids.shape[1], encoder.width) if tokens else (len(ids), encoder.width)
        self.register_buffer("ids", ids)
        self.register_buffer("mask", mask)
        self.register_buffer("kept", torch.zeros(shape))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("ready", torch.zeros((), dtype=torch.bool))

    def forward(
        self, targets: Tensor | None = None, sample: LabelSample | None = None
    ) -> LabelStates:
        """Return the label states.

        In training, ``targets`` (B, L) or (B,) name the batch's labels, which are encoded anew.
        With a ``sample`` nothing is read that the step does not score: others that are encoded
        anew are of the sample, and with ``refresh = 1`` the rest is left 0.
        """
        if not self.training or self.spec.frozen:
            if not bool(self.ready):
                self._encode_all()
            return self._states(self.kept)
        whole = self.spec.refresh == 1 or len(self.ids) <= self.spec.sampled
        due = int(self.steps) % self.spec.refresh == 0
        self.steps += 1
        self.ready.fill_(False)
        if whole and sample is not None:
            fresh = self._encode(self.ids[sample.which], self.mask[sample.which])
            blank = torch.zeros_like(self.kept, dtype=fresh.dtype)
            return self._states(blank.index_copy(0, sample.which, fresh))
        if whole:
            return self._states(self._encode(self.ids, self.mask))
        if due:
            self._encode_all()
            self.ready.fill_(False)
        chosen, counts = self._chosen(targets, sample)
        fresh = self._encode(self.ids[chosen], self.mask[chosen])
        kept = self.kept.clone()
        self.kept[chosen] = fresh.detach()
        if self.spec.unbiased is not False:
            fresh = _weighed(fresh, counts)
        return self._states(kept.index_copy(0, chosen, fresh))

    def _chosen(self, targets: Tensor | None, sample: LabelSample | None) -> tuple[Tensor, Tensor]:
        """Return what is encoded anew, rising positions (n,), and how many each stands for (n,).

        All others have the same chance to be drawn. So what stands for many of them is that
        chance's inverse; a label of the batch, drawn or not, stands for itself.
        """
        count, device = len(self.ids), self.ids.device
        wanted = torch.zeros(count, dtype=torch.bool, device=device)
        if targets is not None:
            wanted |= (
                torch.bincount(targets, minlength=count) > 0
                if targets.ndim == 1
                else (targets > 0).any(dim=0)
            )
        others = torch.randperm(count).to(device) if sample is None else sample.others
        drawn = others[: self.spec.sampled]
        counts = torch.ones(count, device=device)
        counts[drawn] = len(others) / max(len(drawn), 1)
        counts[wanted] = 1.0
        wanted[drawn] = True
        chosen = torch.nonzero(wanted).flatten()
        return chosen, counts[chosen]

    def _encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode label texts, ids and mask (N, M); returns (N, H) or (N, M, H)."""
        longest = ids.shape[1] if self.tokens else int(mask.sum(dim=1).max())
        ids, mask = ids[:, :longest], mask[:, :longest]
        states: Tensor = self._encoder[0](ids, mask).states.float()
        if self.tokens:
            return states * mask.unsqueeze(-1)
        return states[:, 0] if self.spec.pool == "cls" else masked_mean(states, mask)

    @torch.no_grad()
    def _encode_all(self) -> None:
        encoder = self._encoder[0]
        before = encoder.training
        encoder.eval()
        # What is encoded once in all is encoded in float32, in training too.
        precise = torch.autocast(self.ids.device.type, enabled=False)
        with precise if self.spec.frozen else nullcontext():
            for start in range(0, len(self.ids), _CHUNK):
                here = slice(start, start + _CHUNK)
                self.kept[here] = self._encode(self.ids[here], self.mask[here])
        encoder.train(before)
        self.ready.fill_(True)

    def finish(self) -> None:
        """Forget encodings made while training, in its precision; the next use makes them anew."""
        if not self.spec.frozen:
            self.ready.fill_(False)

    def _states(self, kept: Tensor) -> LabelStates:
        if not self.tokens:
            return LabelStates(kept)
        first = kept[:, 0] if self.spec.pool == "cls" else masked_mean(kept, self.mask)
        return LabelStates(first, kept, self.mask)


def _weighed(states: Tensor, counts: Tensor) -> Tensor:
    """Return states (N, ...) as they are, whose gradients count ``counts`` (N,) times."""
    fixed = states.detach()
    shape = (-1, *[1] * (states.ndim - 1))
    return fixed + counts.to(states.dtype).view(shape) * (states - fixed)


def ids_of_texts(states: nn.Module | None) -> set[int]:
    """Return the token ids of the label texts that the encoder reads, if it reads any."""
    if not isinstance(states, DescribedLabels):
        return set()
    return set(states.ids[states.mask].tolist())


def build_described(
    spec: DescribedLabelStates,
    *,
    encoder: Encoder,
    labels: LabelSet,
    tokens: bool = False,
    **_: object,
) -> DescribedLabels:
    """Tokenise the labels' texts and build their states.

    Raises:
        RecipeError: If the first token is to be read and the encoder puts none before a text.
    """
    if spec.pool == "cls" and not encoder.tokenizer("", add_special_tokens=True)["input_ids"]:
        raise RecipeError(
            'label_states.pool = "cls" needs an encoder with a first token of its own',
            where=encoder.name,
            step="Use label_states.pool = mean.",
        )
    texts = label_texts(labels, spec.text, spec.synonyms, spec.parents)
    coded = encoder.tokenizer(
        texts,
        truncation=True,
        max_length=min(spec.max_tokens, encoder.limits.effective),
        padding="max_length" if tokens else True,
        return_tensors="pt",
        return_token_type_ids=False,
    )
    return DescribedLabels(
        spec,
        encoder,
        coded["input_ids"],
        coded["attention_mask"].bool(),
        tokens=tokens,
        notes=text_notes(spec.text, spec.max_tokens, labels, encoder, texts),
    )


def label_texts(labels: LabelSet, text: str, synonyms: int = 0, parents: int = 0) -> list[str]:
    """Return what is read of each label; ``text`` is ``description``, ``name`` or ``both``."""
    parts: list[str] = ["name", "description"] if text == "both" else [text]
    if synonyms:
        parts.append("synonyms")
    wanted = cast(list[LabelPart], parts)
    return [labels.text_of(i, wanted, parents=parents, synonyms=synonyms) for i in labels.ids]


def text_notes(
    text: str, max_tokens: int, labels: LabelSet, encoder: Encoder, texts: Sequence[str]
) -> list[str]:
    """Return what a person should know of labels' texts: which have none, which are cut."""
    notes = []
    bare = [x.id for x in labels if not x.description] if text != "name" else []
    if bare:
        notes.append(
            f'{len(bare)} of {len(labels)} labels have no description, the first is "{bare[0]}": '
            "they are read by their names"
        )
    lengths = [len(ids) for ids in encoder.tokenizer(texts, verbose=False)["input_ids"]]
    cut = [i for i, n in zip(labels.ids, lengths, strict=True) if n > max_tokens]
    if cut:
        notes.append(
            f"{len(cut)} of {len(labels)} labels' texts are longer than "
            f'{max_tokens} tokens and are read in part, the first is "{cut[0]}"'
        )
    return notes

"""What labels' classifiers are drawn to: vectors (L, H') of the labels' descriptions.

``loss.description_pull`` weighs the distance between the two; see ``MultiLabelLoss.pull``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attending.parts.convolutions import ParallelConvolutions
from attending.parts.described import label_texts, text_notes
from attending.parts.encoders import Encoder
from attending.parts.masking import mask_value
from attending.records import LabelSet
from attending.specs import ConvolvedDescriptions, LabelStateDescriptions
from attending.tensors import LabelStates

_CHUNK = 512


class DescriptionVectors(nn.Module):
    """z_l = W max over tokens of tanh(conv(description of l)) + b, on word vectors of its own.

    The word vectors start as the encoder's; only those of words in descriptions are kept.

    Source: DR-CAML (Mullenbach et al. 2018, arXiv:1802.05695, section 2.5) and its public code.
    Deviation: padding is masked before the maximum.

    Args:
        ids: Word numbers of the labels' texts, rows of ``vectors``, (L, M) int64.
        mask: Their real tokens, (L, M) bool, at least one a label.
        vectors: Word vectors that this part trains, (U, D).
        spec: Size and dropout.
        width: H', the width of a label's classifier.
        unseen: Labels that no training row has, (L,) bool.
        notes: What a person should know of the labels' texts.
    """

    ids: Tensor
    mask: Tensor
    unseen: Tensor

    def __init__(
        self,
        ids: Tensor,
        mask: Tensor,
        vectors: Tensor,
        spec: ConvolvedDescriptions,
        width: int,
        unseen: Tensor,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.notes = tuple(notes)
        # Not saved: they follow from the labels, and only training reads them.
        for name, value in (("ids", ids), ("mask", mask), ("unseen", unseen)):
            self.register_buffer(name, value, persistent=False)
        self.embeddings = nn.Embedding(len(vectors), vectors.shape[1], _weight=vectors)
        self.dropout = nn.Dropout(spec.dropout)
        self.body = ParallelConvolutions(vectors.shape[1], [spec.kernel], [spec.filters], "tanh")
        self.out = nn.Linear(spec.filters, width)
        nn.init.xavier_uniform_(self.out.weight)

    def forward(self, which: Tensor, labels: LabelStates | None = None) -> Tensor:
        """Return the vectors of some labels, positions (l,) int64; returns (l, H')."""
        ids, mask = self.ids[which], self.mask[which]
        longest = max(1, int(mask.sum(dim=1).max())) if len(which) else 1
        ids, mask = ids[:, :longest], mask[:, :longest]
        real = mask.unsqueeze(-1)
        states = self.body(self.dropout(self.embeddings(ids)) * real, mask)
        most = states.masked_fill(~real, mask_value(states.dtype)).amax(dim=1)
        vectors: Tensor = self.out(most)
        return vectors

    @torch.no_grad()
    def lend(self, classifiers: Tensor) -> None:
        """Give classifiers (L, H') of labels without training rows their description's vector.

        Source: the public code of CAML, which does so before it scores.
        """
        unseen = torch.nonzero(self.unseen).flatten()
        for start in range(0, len(unseen), _CHUNK):
            some = unseen[start : start + _CHUNK]
            classifiers[some] = self(some).to(classifiers.dtype)


class LabelStateVectors(nn.Module):
    """The label states, as they are."""

    def forward(self, which: Tensor, labels: LabelStates) -> Tensor:
        """Return the states of some labels, positions (l,) int64; returns (l, H)."""
        return labels.states[which]

    def lend(self, classifiers: Tensor) -> None:
        """Leave the classifiers as they are: contexts may be of another kind than label states."""


def build_convolved(
    spec: ConvolvedDescriptions,
    *,
    encoder: Encoder,
    labels: LabelSet,
    width: int | None = None,
    counts: Sequence[int] | None = None,
    **_: object,
) -> DescriptionVectors:
    """Tokenise the labels' texts and build the convolution; ``width`` is that of a classifier."""
    texts = label_texts(labels, spec.text, spec.synonyms)
    coded = encoder.tokenizer(
        texts,
        add_special_tokens=False,
        truncation=True,
        max_length=spec.max_tokens,
        padding=True,
        return_tensors="pt",
        return_token_type_ids=False,
    )
    ids, mask = coded["input_ids"].long(), coded["attention_mask"].bool()
    if not ids.shape[1]:  # no label has a word that is one
        ids = torch.full((len(labels), 1), int(encoder.tokenizer.pad_token_id))
        mask = torch.ones_like(ids, dtype=torch.bool)
    mask[~mask.any(dim=1), 0] = True  # a label without words is read as one [PAD]
    words, ids = torch.unique(ids, return_inverse=True)
    with torch.no_grad():
        vectors = encoder.word_embeddings(words.unsqueeze(0))[0].clone()
    unseen = torch.zeros(len(labels), dtype=torch.bool)
    if spec.unseen and counts is not None:
        unseen = torch.tensor(list(counts)) == 0
    return DescriptionVectors(
        ids,
        mask,
        vectors,
        spec,
        width or encoder.width,
        unseen,
        notes=text_notes(spec.text, spec.max_tokens, labels, encoder, texts),
    )


def build_label_states(spec: LabelStateDescriptions, **_: object) -> LabelStateVectors:
    """Build what hands the label states on."""
    return LabelStateVectors()

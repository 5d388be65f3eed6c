"""Label vectors: what the model knows of each label before it reads a text."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attending.parts.encoders import Encoder
from attending.records import LabelSet
from attending.specs import LearnedLabelStates
from attending.tensors import LabelStates


class LearnedLabels(nn.Module):
    """One trained vector per label, (L, H).

    Attributes:
        notes: What did not start from keywords although it should have, by label id.
    """

    def __init__(self, vectors: Tensor, notes: Sequence[str] = ()) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors)
        self.notes = tuple(notes)

    def forward(self) -> LabelStates:
        """Return the label states (L, H)."""
        return LabelStates(self.vectors)


def build_learned(
    spec: LearnedLabelStates, *, encoder: Encoder, labels: LabelSet, **_: object
) -> LearnedLabels:
    """Start label vectors from keywords or at random.

    A phrase is the mean of its word pieces' rows in the word table, a label the mean of its
    phrases; a label without known keywords is drawn from N(0, s^2) with s the encoder's own
    initialiser range.
    Source: Si et al. 2020, section 3.2. Deviation: the public code draws the label without
    keywords from N(0, 1), about fifty times the scale of the others.
    """
    spread = float(getattr(encoder.config, "initializer_range", 0.02))
    vectors = torch.randn(len(labels), encoder.width) * spread
    notes: list[str] = []
    if spec.init == "keywords":
        for row, label in enumerate(labels):
            phrases = [p for k in label.keywords if (p := _phrase(encoder, k)) is not None]
            if len(phrases) < len(label.keywords):
                counts = f"{len(label.keywords) - len(phrases)} of {len(label.keywords)}"
                notes.append(f'label "{label.id}": {counts} keywords unknown to the encoder')
            if phrases:
                vectors[row] = torch.stack(phrases).mean(dim=0)
            else:
                notes.append(f'label "{label.id}": no known keyword, its vector starts at random')
    return LearnedLabels(vectors, notes)


def _phrase(encoder: Encoder, phrase: str) -> Tensor | None:
    # After a space, as inside a text: byte-level tokenizers tell the two apart.
    ids = encoder.tokenizer(f" {phrase}", add_special_tokens=False)["input_ids"]
    known = [i for i in ids if i != encoder.tokenizer.unk_token_id]
    if not known:
        return None
    with torch.no_grad():
        rows = encoder.word_embeddings(torch.tensor(known))
        return encoder.project(rows).mean(dim=0)

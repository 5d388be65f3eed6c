"""Two levels of labels: groups are scored first and tell the labels what they found."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from attending.parts.encoders import Encoder
from attending.parts.hierarchy import groups
from attending.parts.label_attention import LAAT_SPREAD, Prepared, Projected, attend, scale_of
from attending.records import LabelSet
from attending.specs import JointAttention
from attending.tensors import Attended, LabelStates, TokenStates


class Joint(Projected):
    """Projected label attention over a first level of groups and over the labels.

    Groups attend with vectors and weights of their own; p = sigmoid(P sigmoid(logits of groups))
    is appended to every label's context. The groups' logits are in ``Prepared.groups``, for a
    loss of their own.

    Source: JointLAAT (Vu et al. 2020) and its public code, where groups are the first
    three characters of a code. Deviation: padding is masked; a parent, where labels have one,
    makes the group.

    Attributes:
        group_ids: The groups, sorted.
        group_of: Each label's group, (L,) int64.

    Args:
        width: H of token states.
        size: K of the projected token states.
        appended: Width of what the groups tell the labels.
        labels: The labels.
        prefix: Characters of an id that name the group of a label without a parent.
        scale: What scores are multiplied by.
    """

    group_of: Tensor

    def __init__(
        self,
        width: int,
        size: int,
        appended: int,
        labels: LabelSet,
        prefix: int = 3,
        scale: float = 1.0,
    ) -> None:
        super().__init__(width, size, scale)
        self.width = width + appended
        self.group_ids, places = groups(labels, prefix)
        # Not saved: it follows from the labels, whose order is theirs.
        self.register_buffer("group_of", torch.tensor(places), persistent=False)
        count = len(self.group_ids)
        self.group_project = nn.Linear(width, size, bias=False)
        self.group_vectors = nn.Parameter(torch.empty(count, size))
        self.group_weights = nn.Parameter(torch.empty(count, width))
        self.group_biases = nn.Parameter(torch.zeros(count))
        self.tell = nn.Linear(count, appended, bias=False)
        for weights in (self.group_project.weight, self.group_vectors, self.group_weights):
            nn.init.normal_(weights, std=LAAT_SPREAD)

    def prepare(self, tokens: TokenStates) -> Prepared:
        """Return keys and values for the labels, and the groups' logits (B, G)."""
        keys = torch.tanh(self.group_project(tokens.states))
        of_groups = Prepared(keys, tokens.states, tokens.mask)
        context, _ = attend(self.group_vectors, of_groups, self.scale)
        logits = torch.einsum("bgh,gh->bg", context, self.group_weights) + self.group_biases
        return replace(super().prepare(tokens), groups=logits)

    def forward(
        self,
        prepared: Prepared,
        labels: LabelStates,
        weights: bool = True,
        bias: Tensor | None = None,
    ) -> Attended:
        """Attend for labels (l, K): context (B, l, H + appended), weights (B, l, T)."""
        assert prepared.groups is not None
        attended = super().forward(prepared, labels, weights, bias)
        told = torch.sigmoid(self.tell(torch.sigmoid(prepared.groups)))
        told = told.unsqueeze(1).expand(-1, attended.context.shape[1], -1)
        return Attended(torch.cat([attended.context, told], dim=-1), attended.weights)


def build_joint(spec: JointAttention, *, encoder: Encoder, labels: LabelSet, **_: object) -> Joint:
    """Build label attention over groups and labels."""
    size = spec.size or encoder.width
    scale = scale_of(spec.scale, size)
    return Joint(encoder.width, size, spec.appended, labels, spec.prefix, scale)

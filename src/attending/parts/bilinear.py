"""Position-bilinear attention between document tokens and description tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attending.errors import RecipeError, ShapeError
from attending.parts.encoders import Encoder
from attending.parts.label_attention import LabelWise
from attending.specs import PositionBilinearAttention, Windows
from attending.tensors import Attended, LabelStates, TokenStates


@dataclass(frozen=True, slots=True)
class Pooled:
    """Windows pooled by position: states (W, H)."""

    states: Tensor


class PositionBilinear(LabelWise):
    """Score of a window and a description from all pairs of their tokens, weighted by position.

    Published: M = D E^T over every position of a window D (T, H) and of a description E_c (M, H);
    a linear map over the window's positions (weights w1, bias b1), then one over the
    description's (w2, b2). That equals, exactly,

        z_c = < sum_i w1_i d_i , sum_j w2_j e_cj > + b1 sum_j w2_j + b2

    which needs no T x M numbers per label: about a thousand times fewer. The weights know the
    position and not the content, so there is nothing to show as attention. The context (W, l, 1)
    is the score itself; the ``identity`` head hands it on.

    Source: label-description attention of DFKI-MLT at CANTEMIST 2020, public code. Deviation: a
    padded position counts as a zero vector, in windows and in descriptions, where the public code
    reads what the encoder happens to write there; the offset is the same for all labels in both.

    Args:
        width: H of token states.
        window: T, the positions of a window that have a weight.
        description: M, the positions of a description that have a weight.
        spread: Standard deviation of the weights at the start; biases start at zero.
    """

    reads_tokens = True
    has_weights = False

    def __init__(self, width: int, window: int, description: int, spread: float = 0.02) -> None:
        super().__init__()
        self.width, self.label_width = 1, width
        self.of_window = nn.Linear(window, 1)
        self.of_description = nn.Linear(description, 1)
        for linear in (self.of_window, self.of_description):
            nn.init.normal_(linear.weight, std=spread)
            nn.init.zeros_(linear.bias)

    def prepare(self, tokens: TokenStates) -> Pooled:
        """Pool windows, states (W, T, H), by their positions.

        Raises:
            ShapeError: If a real token stands where there is no weight.
        """
        return Pooled(
            _by_position(tokens.states, tokens.mask, self.of_window.weight[0], "windows.max_tokens")
        )

    def forward(self, prepared: Pooled, labels: LabelStates, weights: bool = True) -> Attended:
        """Score labels with tokens (l, M, H): context (W, l, 1); there are no weights.

        Raises:
            ShapeError: If the labels come without tokens, or with more than have a weight.
        """
        if labels.tokens is None or labels.mask is None:
            raise ShapeError(
                "position-bilinear attention reads labels token by token",
                found="one vector a label",
                step='Use label_states of kind "described".',
            )
        by_place = self.of_description.weight[0]
        pooled = _by_position(labels.tokens, labels.mask, by_place, "label_attention.label_tokens")
        offset = self.of_window.bias * by_place.sum() + self.of_description.bias
        return Attended((prepared.states @ pooled.T + offset).unsqueeze(-1))


def _by_position(states: Tensor, mask: Tensor, weights: Tensor, setting: str) -> Tensor:
    """Return the sum over positions of weights (P,) times states (N, T, H) of real tokens."""
    places = len(weights)
    if states.shape[1] > places and bool(mask[:, places:].any()):
        raise ShapeError(
            f"{setting} is too small for the label attention's position weights",
            found=f"a token at position {int(mask.any(dim=0).nonzero().max()) + 1}",
            allowed=f"{places} positions",
        )
    states, mask = states[:, :places], mask[:, :places]
    shares = weights[: states.shape[1]] * mask
    return torch.einsum("nt,nth->nh", shares.to(states.dtype), states)


def build_position_bilinear(
    spec: PositionBilinearAttention, *, encoder: Encoder, windows: Windows, **_: object
) -> PositionBilinear:
    """Build position-bilinear attention over windows of the recipe's size.

    Raises:
        RecipeError: If windows are joined to documents, where positions have no end.
    """
    if windows.join == "tokens":
        raise RecipeError(
            "label_attention position-bilinear weighs the positions of a window",
            found='windows.join = "tokens"',
            allowed='windows.join = "logits"',
        )
    return PositionBilinear(encoder.width, windows.max_tokens, spec.label_tokens)

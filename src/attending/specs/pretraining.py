"""Settings of further pretraining; named as in recipes where they mean the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from attending.errors import RecipeError, nearest
from attending.specs.base import Share, Spec
from attending.specs.encoders import PretrainedEncoder
from attending.specs.training import Training
from attending.specs.windows import Windows


class Masking(Spec):
    """Which words are hidden; of these tokens 80 % are masked, 10 % swapped, 10 % left."""

    slot: ClassVar[str] = "masking"
    kind: Literal["words"] = "words"
    share: float = Field(0.15, gt=0, lt=1, description="share of the tokens, or words, to guess")
    whole_words: bool = Field(
        False, description="hide all pieces of a word together, so that none gives it away"
    )


class MaskedTraining(Training):
    """Optimisation of further pretraining; the score that picks a checkpoint is the loss."""

    epochs: float = Field(3, gt=0, description="passes over the texts")
    batch_size: int = Field(16, ge=1, description="windows a step")
    learning_rate: float = Field(5e-5, gt=0, description="of the encoder, at its peak")
    head_learning_rate: float | None = Field(
        None, gt=0, description="of the head; unset: same, or 1e-3 for a head made anew"
    )
    select: Literal["log_loss"] = Field("log_loss", description="loss on held-out texts")
    development: Share = Field(
        0.05, description="share of the texts held out to tell the perplexity; at most 1,000"
    )


SETTABLE: Mapping[str, tuple[str, ...]] = {
    "encoder": ("layers", "dropout", "attention_dropout"),
    "windows": ("max_tokens",),
    "masking": ("share", "whole_words"),
    "training": (
        "epochs",
        "batch_size",
        "accumulate",
        "learning_rate",
        "head_learning_rate",
        "weight_decay",
        "warmup",
        "clip",
        "precision",
        "development",
    ),
}
"""What may be set, by slot; the other settings of these specs belong to labelled documents."""


@dataclass(frozen=True)
class Pretraining:
    """How an encoder is trained on: which one, in which windows, what is hidden, how fitted.

    Windows don't overlap: each token of a text is read once in an epoch.
    """

    encoder: PretrainedEncoder = field(default_factory=PretrainedEncoder)
    windows: Windows = field(default_factory=lambda: Windows(overlap=0))
    masking: Masking = field(default_factory=Masking)
    training: MaskedTraining = field(default_factory=MaskedTraining)

    def with_encoder(self, name: str) -> "Pretraining":
        """Return the settings for another encoder."""
        return replace(self, encoder=self.encoder.model_copy(update={"name": name}))

    def override(self, settings: Mapping[str, Any]) -> "Pretraining":
        """Return the settings with some replaced, by dotted key: ``{"masking.share": 0.2}``.

        Raises:
            RecipeError: With all faults at once; a wrong key gets the nearest one.
        """
        known = [f"{slot}.{name}" for slot, names in SETTABLE.items() for name in names]
        faults = [
            f'there is no setting "{key}".{nearest(key, known)}'
            for key in settings
            if key not in known
        ]
        changed: dict[str, Any] = {}
        for slot, names in SETTABLE.items():
            own = {n: settings[f"{slot}.{n}"] for n in names if f"{slot}.{n}" in settings}
            spec = getattr(self, slot)
            try:
                changed[slot] = type(spec).model_validate({**spec.model_dump(), **own})
            except ValidationError as error:
                faults += [
                    f'"{slot}.{fault["loc"][0]}": {fault["msg"]}, found {fault["input"]!r}'
                    for fault in error.errors(include_url=False)
                ]
        if faults:
            raise RecipeError(
                "; ".join(f.rstrip(".") for f in faults),
                where="pretraining",
                allowed=None if all(key in known for key in settings) else ", ".join(known),
            )
        return Pretraining(**changed)

    def to_table(self) -> dict[str, dict[str, Any]]:
        """Return what may be set as plain tables, one a slot."""
        return {
            slot: {name: getattr(getattr(self, slot), name) for name in names}
            for slot, names in SETTABLE.items()
        }

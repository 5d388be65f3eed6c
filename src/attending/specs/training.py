"""Optimisation."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from attending.specs.base import Share, Spec


class Training(Spec):
    """Optimisation by transformers' Trainer."""

    slot: ClassVar[str] = "training"
    kind: Literal["trainer"] = "trainer"
    epochs: float = Field(6, gt=0, description="passes over the training rows")
    min_steps: int = Field(
        0,
        ge=0,
        description="optimiser steps at least: few rows are passed over more often than epochs "
        "says, and scored and kept as often as it says",
    )
    batch_size: int = Field(16, ge=1, description="documents a step")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are added up a step")
    learning_rate: float = Field(3e-5, gt=0, description="of the encoder, at its peak")
    head_learning_rate: float | None = Field(None, gt=0, description="of the head; unset: same")
    label_learning_rate: float | None = Field(
        None, gt=0, description="of label vectors; unset: as the encoder's"
    )
    weight_decay: float = Field(0.01, ge=0, description="not on biases, norms and embeddings")
    warmup: Share = Field(0.1, description="share of the steps with a rising learning rate")
    schedule: Literal["linear", "one-cycle"] = Field(
        "linear",
        description="how rates rise and fall, in every stage: in straight lines, or along cosines",
    )
    unfreeze: tuple[Share, ...] = Field(
        (),
        description="shares of the run, rising, after which further layers of the encoder train, "
        "from the top down; before the first only the rest trains",
    )
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 where the processor multiplies it natively"
    )
    select: Literal["macro_f1", "micro_f1", "map", "accuracy", "log_loss"] = Field(
        "macro_f1",
        description="development metric that picks the checkpoint; micro_f1 and map: multi-label, "
        "accuracy: single-label",
    )
    evidence_loss: float = Field(
        0.0,
        ge=0,
        description="weight of the loss that draws label attention to annotated words; needs "
        "windows.join = tokens",
    )
    sampled_labels: int | None = Field(
        None,
        ge=1,
        description="labels that each step scores beside those of its documents, drawn at random; "
        "each also stands for its share of those left out. For thousands of labels that attend "
        "each for itself. Unset: all labels in every step",
    )
    patience: int | None = Field(None, ge=1, description="epochs without gain before stopping")
    development: Share = Field(
        0.1, description="share of the training rows carved off if no development file is given"
    )

    @property
    def known_epochs(self) -> float | None:
        """The epochs, where no number of steps may make them more."""
        return None if self.min_steps else self.epochs

    @field_validator("unfreeze")
    @classmethod
    def _rising(cls, unfreeze: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 < cut < 1 for cut in unfreeze) or list(unfreeze) != sorted(set(unfreeze)):
            raise ValueError("shares must rise and lie between 0 and 1, as in [0.2, 0.5]")
        return unfreeze

"""Which documents make a batch."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Spec


class ShuffledSampler(Spec):
    """Every row once an epoch, shuffled."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["shuffled"] = "shuffled"


class BucketedSampler(Spec):
    """Every row once an epoch, shuffled, then batched with rows of like length."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["bucketed"] = "bucketed"
    pool: int = Field(16, ge=1, description="batches drawn at random, then sorted by length")


class BalancedSampler(Spec):
    """As many rows of every label in each batch; rarer labels repeat."""

    slot: ClassVar[str] = "sampler"
    kind: Literal["balanced"] = "balanced"

"""From scores to labels."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Share, Spec


class ArgmaxDecoder(Spec):
    """The label with the highest score."""

    slot: ClassVar[str] = "decoder"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["argmax"] = "argmax"
    calibrate: Literal["temperature", "none"] = Field(
        "temperature", description="one temperature, fitted on development rows"
    )
    abstain_below: Share | None = Field(
        None, description="give no label if the best calibrated score is lower"
    )

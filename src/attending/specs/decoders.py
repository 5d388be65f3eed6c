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


class ThresholdDecoder(Spec):
    """All labels whose probability reaches a threshold, the most probable first."""

    slot: ClassVar[str] = "decoder"
    task: ClassVar[Literal["single", "multi"]] = "multi"
    kind: Literal["threshold"] = "threshold"
    tune: Literal["one", "per-label", "none"] = Field(
        "one",
        description="fitted on development rows: one threshold, or one a label, drawn to the "
        "shared one where the label is rare",
    )
    metric: Literal["micro_f1", "macro_f1"] = Field(
        "micro_f1", description="what the shared threshold makes as high as possible"
    )
    threshold: Share = Field(0.5, description="where none is tuned")
    shrinkage: float = Field(
        10.0,
        ge=0,
        description="the shared threshold counts as much as so many development documents of a "
        "label; 0: each label's own alone",
    )
    at_least_one: bool = Field(
        False, description="give the best label where none reaches its threshold"
    )
    calibrate: Literal["temperature", "none"] = Field(
        "temperature", description="one temperature for all labels, fitted on development rows"
    )
    keep_scores: int = Field(
        100, ge=1, description="of more than 200 labels, scores of so many are written"
    )


class TopKDecoder(Spec):
    """The same number of labels for every document, the most probable first."""

    slot: ClassVar[str] = "decoder"
    task: ClassVar[Literal["single", "multi"]] = "multi"
    kind: Literal["top-k"] = "top-k"
    k: int | None = Field(
        None,
        ge=1,
        description="how many; unset: mean number of labels of training documents that have any",
    )
    calibrate: Literal["temperature", "none"] = Field(
        "temperature", description="one temperature for all labels, fitted on development rows"
    )
    keep_scores: int = Field(
        100, ge=1, description="of more than 200 labels, scores of so many are written"
    )

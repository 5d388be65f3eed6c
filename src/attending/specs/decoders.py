"""From scores to labels."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from attending.specs.base import Share, Spec

RecallFloors = tuple[str, ...]


def read_floors(floors: RecallFloors | None) -> dict[str, float]:
    """Return the wanted recall of each label, of ``label=share`` texts, in the order given.

    Raises:
        ValueError: If one is not of that form, its share is not above 0 and at most 1, or a label
            has two.
    """
    found: dict[str, float] = {}
    for floor in floors or ():
        label, equals, share = floor.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            value = 0.0
        if not equals or not label.strip() or not 0 < value <= 1:
            raise ValueError(f'"{floor}" is no recall floor; allowed: LABEL=SHARE, as urgent=0.95')
        if label.strip() in found:
            raise ValueError(f'two recall floors of the label "{label.strip()}"')
        found[label.strip()] = value
    return found


def _checked(floors: RecallFloors | None) -> RecallFloors | None:
    read_floors(floors)
    return floors


class ArgmaxDecoder(Spec):
    """The label with the highest score."""

    slot: ClassVar[str] = "decoder"
    task: ClassVar[Literal["single", "multi"]] = "single"
    kind: Literal["argmax"] = "argmax"
    calibrate: Literal["temperature", "vector", "none"] = Field(
        "temperature",
        description="fitted on development rows: one temperature; or a scale and an offset for "
        "each label, where there are rows enough and it helps on rows it wasn't fitted on",
    )
    recall_floors: RecallFloors | None = Field(
        None,
        description='"label=share": find at least this share of a label\'s development rows, with '
        "the fewest alerts; of ordered labels, rows of at least this level",
    )
    surely: bool | None = Field(
        None,
        description="the lower end of the recall's 95% interval must reach the floor, not the "
        "recall alone",
    )
    abstain_below: Share | None = Field(
        None, description="give no label if the chosen one's calibrated score is lower"
    )
    abstain_margin: Share | None = Field(
        None, description="give no label if the chosen one isn't ahead of the next by so much"
    )
    abstain_share: Share | None = Field(
        None, description="hand this share of development rows over: those least sure"
    )
    abstain_accuracy: Share | None = Field(
        None,
        description="hand over as few development rows as it takes for the others to be right so "
        "often",
    )
    abstain_by: Literal["probability", "margin"] | None = Field(
        None,
        description="how sure a row is, for the two above: probability of the chosen label, or "
        "how far it is ahead of the next",
    )
    prior_shift: float = Field(
        0.0,
        ge=0,
        description="tau: choose by log probability - tau x log share of training rows, so that "
        "rare labels are found more often; 0: the most probable, 1: best mean recall. "
        "Probabilities stay as they are",
    )
    _read = field_validator("recall_floors")(_checked)


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
    recall_floors: RecallFloors | None = Field(
        None,
        description='"label=share": find at least this share of a label\'s development rows, with '
        "the fewest alerts; the label's own threshold then",
    )
    surely: bool | None = Field(
        None,
        description="the lower end of the recall's 95% interval must reach the floor, not the "
        "recall alone",
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
    _read = field_validator("recall_floors")(_checked)


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

"""What a student learns from its teacher."""

from typing import ClassVar, Literal

from pydantic import Field

from attending.specs.base import Share, Spec


class SoftTargets(Spec):
    """A fitted teacher's probabilities as targets, beside or in place of the rows' labels."""

    slot: ClassVar[str] = "distillation"
    kind: Literal["soft-targets"] = "soft-targets"
    temperature: float = Field(
        1.0,
        gt=0,
        description="T: scores of teacher and student are divided by it; higher: more of how the "
        "teacher ranks wrong labels",
    )
    loss: Literal["cross-entropy", "kl"] = Field(
        "cross-entropy",
        description="cross-entropy to the teacher (paper), or T^2 x divergence from it, which is "
        "0 where both agree",
    )
    hard_share: Share = Field(
        0.0, description="share of the loss that comes from the rows' own labels"
    )
    copies: int = Field(
        0,
        ge=0,
        description="changed copies of each training text that the teacher answers too: words left "
        "out, parts, parts of two; a pass over the rows then takes each text or one of its copies, "
        "so training costs the same, the teacher's answers as many times more",
    )
    vectors: float | None = Field(
        None,
        gt=0,
        description="weight of the squared distance between the vectors that student and teacher "
        "make of a document, which says more of it than a few probabilities; of several teachers "
        "the first one's; unset: not looked at",
    )
    calibrated: bool = Field(
        False,
        description="divide the teacher's scores by its fitted temperature first, which makes "
        "probabilities of margins",
    )
    start: Literal["auto", "teacher", "pretrained"] = Field(
        "auto",
        description="where the student's layers come from: the first ones of the encoder as "
        "pretrained (paper), or of the teacher, the first of several, with its labels and head "
        "(public code); auto: of the teacher where it has such layers",
    )

"""One way in for both kinds of task: evaluate, and say in short what came out."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attending.evaluation import wording
from attending.evaluation.metrics import Evaluation, evaluate
from attending.evaluation.multilabel import wording as multilabel_wording
from attending.evaluation.multilabel.metrics import evaluate_multilabel
from attending.evaluation.multilabel.result import MultiLabelEvaluation
from attending.records import LabelSet, Prediction, Row

Task = Literal["single", "multi"]
AnyEvaluation = Evaluation | MultiLabelEvaluation


def evaluate_task(
    task: Task,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    *,
    training_counts: Mapping[str, int] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    **more: Any,
) -> AnyEvaluation:
    """Score predictions of a task; see ``evaluate`` and ``evaluate_multilabel``.

    ``training_counts`` and what else ``evaluate_multilabel`` takes (``ks``, ``without``,
    ``removed``, ``cutoffs``, ``unknown``) are for multi-label tasks; a single-label task has no
    use for them and leaves them.

    Raises:
        DataError: As the two functions.
        LabelError: As the two functions.
    """
    if task == "single":
        return evaluate(
            documents, predictions, labels, resamples=resamples, seed=seed, confidence=confidence
        )
    return evaluate_multilabel(
        documents,
        predictions,
        labels,
        training_counts=training_counts,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        **more,
    )


def in_short(evaluation: AnyEvaluation) -> list[str]:
    """Say in a few sentences what came out."""
    if isinstance(evaluation, MultiLabelEvaluation):
        return multilabel_wording.in_short(evaluation)
    return wording.in_short(evaluation)

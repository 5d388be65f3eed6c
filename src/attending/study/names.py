"""How figures and claims are written: ``recall of urgent``, ``a > b on macro_f1``."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from attending.errors import StudyError, nearest
from attending.evaluation.counts import LabelCounts, averages, scores_of
from attending.evaluation.definitions import DEFINITIONS
from attending.evaluation.multilabel.decisions import MACRO, MICRO
from attending.evaluation.multilabel.definitions import MULTILABEL_DEFINITIONS, definition_of
from attending.evaluation.multilabel.frequency import BUCKETS, CUTOFFS
from attending.evaluation.pairs import PER_LABEL
from attending.evaluation.task import Task
from attending.evaluation.wording import title_of

_GROUP = re.compile(rf"^({'|'.join(BUCKETS)}) labels$")
_OF_GROUP = re.compile(r"^(micro_precision|micro_recall|micro_f1|macro_f1|r_at_(1|5|8|15))$")
_RANGES = {
    "head": f"more than {CUTOFFS[1]} training documents",
    "torso": f"{CUTOFFS[0] + 1} to {CUTOFFS[1]} training documents",
    "tail": f"1 to {CUTOFFS[0]} training documents",
    "unseen": "no training document",
}
_CUT = re.compile(r"^(p|r|ndcg)_at_([1-9]\d*)$")
_CLAIM = re.compile(r"^(?P<a>.+?) > (?P<b>.+?)(?: - (?P<margin>\d*\.?\d+))? on (?P<figure>.+)$")
_OF_LABEL = (*PER_LABEL, "roc_auc", "average_precision")
_COUNTS = ("support", "predicted", "right", "no_answer", "training")
_RANKED = (
    "example_f1", "subset_accuracy", "r_precision", "map", "map_assigned", "map_cantemist",
    "map_cantemist_ranked",
)  # fmt: skip
_LOWER = ("brier", "log_loss", "ece", "hamming_loss", "under_triaged", "over_triaged", "mean_abs",
          "highest_level_missed")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure by its key, and what it is of if not of all labels.

    Attributes:
        key: Such as ``macro_f1``.
        label: The label that it is of.
        group: The labels that it is of, by their training documents: one of ``BUCKETS``.
    """

    key: str
    label: str | None = None
    group: str | None = None

    def __str__(self) -> str:
        return self.key if self.of is None else f"{self.key} of {self.of}"

    @property
    def of(self) -> str | None:
        """What it is of; ``None``: all labels."""
        return self.label if self.group is None else f"{self.group} labels"

    @property
    def title(self) -> str:
        """What a table calls it."""
        name = title_of(self.key)
        return name if self.of is None else f"{name}, {self.of}"

    @property
    def cut(self) -> int | None:
        """The k of a figure such as ``p_at_8``."""
        found = _CUT.match(self.key)
        return int(found[2]) if found else None

    @property
    def better_low(self) -> bool:
        """Whether less is better."""
        return self.key.startswith(_LOWER)

    def definition(self, task: Task) -> str:
        """What it means, in one line."""
        if task == "single":
            return DEFINITIONS[self.key]
        if self.group is None:
            return definition_of(self.key)
        if self.cut is None:
            return f"{definition_of(self.key)} Of labels with {_RANGES[self.group]} alone."
        return (
            f"Of all true document-label pairs of labels with {_RANGES[self.group]}, the share "
            f"that is among the first {self.cut} of the document's ranking."
        )


def parse_figure(text: str) -> Figure:
    """Read ``macro_f1``, ``Macro-F1``, ``recall of urgent`` or ``r_at_15 of unseen labels``."""
    key, of, label = text.strip().partition(" of ")
    folded = key.strip().lower().replace("-", "_").replace(" ", "_")
    group = _GROUP.match(label.strip())
    if group:
        return Figure(folded, group=group[1])
    return Figure(folded, label.strip() if of else None)


@cache
def counted() -> tuple[str, ...]:
    """Return the single-label figures that a paired test knows by name."""
    return tuple(averages(scores_of(LabelCounts.of(np.eye(2, dtype=np.int64)))))


def is_tested(figure: Figure, task: Task) -> bool:
    """Say whether paired tests and intervals can be computed for a figure."""
    if figure.group is not None:
        return task == "multi" and _OF_GROUP.match(figure.key) is not None
    if figure.label is not None:
        return figure.key in PER_LABEL
    if task == "single":
        return figure.key in counted()
    return figure.key in (*MICRO, *MACRO, *_RANKED) or _CUT.match(figure.key) is not None


def fault_of(figure: Figure, task: Task, labels: tuple[str, ...]) -> str | None:
    """Say what is wrong with a figure for documents of a task, or ``None``."""
    if figure.group is not None:
        if task == "multi" and _OF_GROUP.match(figure.key):
            return None
        return (
            f'"{figure}" is no figure (of groups of labels, where documents have any number of '
            "them: micro_precision, micro_recall, micro_f1, macro_f1, r_at_1, 5, 8 and 15)"
        )
    if figure.label is not None:
        if figure.key not in _OF_LABEL:
            return f'"{figure.key}" is no figure of one label (allowed: {", ".join(_OF_LABEL)})'
        if figure.label not in labels:
            return f'no label "{figure.label}".{nearest(figure.label, labels)}'.rstrip()
        return None
    definitions = DEFINITIONS if task == "single" else MULTILABEL_DEFINITIONS
    known = [k for k in definitions if k not in (*_OF_LABEL, *_COUNTS) and not k.endswith("_at_k")]
    if figure.key in known or (task == "multi" and _CUT.match(figure.key)):
        return None
    if figure.key in _OF_LABEL:
        return f'"{figure.key}" needs a label, such as "{figure.key} of {labels[-1]}"'
    return f'unknown metric "{figure.key}" of {task}-label documents.{nearest(figure.key, known)}'


@dataclass(frozen=True, slots=True)
class Comparison:
    """``a > b - margin on figure``: what a claim says."""

    a: str
    b: str
    figure: Figure
    margin: float = 0.0


def parse_claim(text: str) -> Comparison:
    """Read a claim such as ``lesa-bert > bert on macro_f1``.

    ``student > teacher - 0.01 on macro_f1`` says that the student is not more than 0.01 behind.

    Raises:
        StudyError: If it can't be read.
    """
    found = _CLAIM.match(" ".join(text.split()))
    if found is None:
        raise StudyError(
            f'the claim "{text}" can\'t be read', allowed='"A > B on FIGURE", "A > B - 0.01 on ..."'
        )
    margin = float(found["margin"] or 0.0)
    return Comparison(found["a"], found["b"], parse_figure(found["figure"]), margin)

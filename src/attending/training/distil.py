"""Distillation: a small network learns to answer as larger ones do.

Source: Hinton et al. 2015, arXiv:1503.02531; Si et al. 2020, section 3.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attending.data.wording import plural
from attending.errors import LabelError, RecipeError
from attending.models.base import Model, Progress
from attending.recipe import Recipe
from attending.records import Document, LabelSet
from attending.training.fit import Fitted, fit
from attending.training.job import train_into
from attending.training.lesson import Lesson, require_fit
from attending.training.progress import Listener
from attending.training.student import with_start

COPIES = 3
"""Changed copies of each text in a student's recipe where none is named."""


def distil(
    teacher: Model | Sequence[Model],
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    transfer: Sequence[Document] = (),
    seed: int = 0,
    run: Path | None = None,
    listener: Listener | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit a student on the answers of one teacher, or of several as one.

    The student is made by ``recipe``, whose ``distillation`` says what it learns; one without
    gets the defaults. ``train`` are labelled documents, as for ``fit``: the teachers answer them,
    their own labels choose checkpoint and temperature on the development part, and count in
    training as ``distillation.hard_share`` says. Unlabelled ones among them, and ``transfer``,
    are learned from by the teachers' answers alone. ``labels`` are the teacher's if left out,
    else must have the same ids; ``development``, ``seed``, ``run`` and ``listener`` are as for
    ``fit``. The teachers' answers are kept in ``run`` while it lasts. ``progress`` is told of
    them.

    Raises:
        RecipeError: If the recipe has no network that could learn so.
        TrainingError: If teachers and student don't fit, or the rows can't train a model.
        LabelError: If an ordered label set has another order than the teacher's.
        TrainingInterrupted: If the user stopped it; ``run`` can be resumed.
    """
    given = _Given.of(teacher, recipe, train, labels, transfer, progress)
    fitted = fit(
        given.recipe,
        given.rows,
        given.labels,
        development=development,
        seed=seed,
        run=run,
        listener=listener,
        lesson=given.lesson,
    )
    return replace(fitted, notes=(*given.notes, *fitted.notes))


def distil_into(
    folder: str | Path,
    teacher: Model | Sequence[Model],
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet | None = None,
    *,
    development: Sequence[Document] | None = None,
    transfer: Sequence[Document] = (),
    seed: int = 0,
    force: bool = False,
    listener: Listener | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit a student and write its model folder; see ``distil``, and ``train_into`` for the rest.

    Raises:
        OutputError: As ``train_into``.
        RecipeError: As ``distil``.
        TrainingError: As ``distil``.
        LabelError: As ``distil``.
        TrainingInterrupted: As ``distil``.
    """
    given = _Given.of(teacher, recipe, train, labels, transfer, progress)
    fitted = train_into(
        folder,
        given.recipe,
        given.rows,
        given.labels,
        development=development,
        seed=seed,
        force=force,
        listener=listener,
        lesson=given.lesson,
    )
    return replace(fitted, notes=(*given.notes, *fitted.notes))


@dataclass(frozen=True, slots=True)
class _Given:
    """What a student is made from, once it is known to fit together."""

    recipe: Recipe
    rows: tuple[Document, ...]
    labels: LabelSet
    lesson: Lesson
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        teacher: Model | Sequence[Model],
        recipe: Recipe,
        train: Sequence[Document],
        labels: LabelSet | None,
        transfer: Sequence[Document],
        progress: Progress | None,
    ) -> "_Given":
        teachers = tuple(teacher) if isinstance(teacher, Sequence) else (teacher,)
        recipe = as_student(recipe)
        known, notes = _labels(teachers, labels)
        require_fit(teachers, recipe, known)
        recipe = with_start(recipe, teachers)
        unlabelled = [d for d in train if d.labels is None]
        bare = tuple(replace(d, labels=None, spans=()) for d in (*unlabelled, *transfer))
        if unlabelled:
            said = f"{plural(len(unlabelled), 'training row')} without a label"
            notes = (*notes, f"{said}: learned from by the teacher's answers alone")
        rows = tuple(d for d in train if d.labels is not None)
        return cls(recipe, rows, known, Lesson(teachers, bare, progress), notes)


def as_student(recipe: Recipe) -> Recipe:
    """Return a recipe that learns from a teacher; as it is, if it does so already.

    Raises:
        RecipeError: If it has no network.
    """
    if recipe.family != "neural" or recipe.task == "spans":
        raise RecipeError(
            f'recipe "{recipe.name}" can\'t learn from a teacher',
            found="no network that labels documents",
            step="Choose a neural recipe for the student: attending recipes lists them.",
        )
    if recipe.get("distillation") is not None:
        return recipe
    return recipe.override({"distillation.kind": "soft-targets"})


def student_recipe(teacher: Recipe, layers: int) -> Recipe:
    """Return a teacher's own recipe for a student with fewer layers.

    A student of a model that was trained on labels gets twice the epochs at twice the rate: with
    half the layers that costs as much as its teacher did, and it needs both to come near it. It
    learns from the teacher's answers to changed copies of the texts too (``distillation.copies``),
    since to texts that it was trained on a teacher hardly says more than their labels do.

    Raises:
        RecipeError: If the teacher's encoder has no layers to choose from.
    """
    encoder = teacher.get("encoder")
    if encoder is None or encoder.kind != "pretrained":
        raise RecipeError(
            f'a "{teacher.name}" teacher has no layers that a student could take',
            step="Name the student's recipe: --recipe distil-lesa-bert-3.",
        )
    if teacher.get("distillation") is None:
        name, summary = f"distil-{teacher.name}", f"A student that learned from {teacher.name}"
        teacher = replace(teacher, name=name, summary=summary, header="")
        spec = teacher["training"]
        longer = {
            "training.epochs": 2 * spec.epochs,
            "training.learning_rate": 2 * spec.learning_rate,
            "distillation.kind": "soft-targets",
            "distillation.copies": COPIES,
        }
        teacher = teacher.override(longer)
    return as_student(teacher.override({"encoder.layers": layers}))


def _labels(teachers: Sequence[Model], labels: LabelSet | None) -> tuple[LabelSet, tuple[str, ...]]:
    """Return the student's labels in the order of the teacher's, and a note if that is new."""
    known = teachers[0].labels if teachers else labels
    if labels is None or known is None or labels.ids == known.ids:
        return labels or known or LabelSet(()), ()
    if sorted(labels.ids) != sorted(known.ids):
        return labels, ()
    if labels.ordered:
        raise LabelError(
            "the labels are ordered, and in another order than the teacher's",
            found=", ".join(labels.ids),
            allowed=", ".join(known.ids),
        )
    return replace(labels, labels=tuple(labels[i] for i in known.ids)), (
        "the labels have the order of the teacher's",
    )

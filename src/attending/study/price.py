"""What a study will cost in minutes: from finished cells of a system, or from a measured step."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attending.data.wording import plural
from attending.errors import AttendingError
from attending.models.base import Model
from attending.recipe import Recipe
from attending.records import Document
from attending.study.corpora import Parts, nested_order
from attending.study.folders import StudyFolder
from attending.study.plan import Cell, Study
from attending.study.train import is_made
from attending.training.fit import Fitted, fit
from attending.training.lesson import copies_of
from attending.training.progress import Event, Listener

_BATCHES = 6
_FEWEST_ROWS = 48
_MOST_ROWS = 2000
_SCORED = 32
_CARVED = 0.1


class Clock:
    """Knows how long finished cells took, by corpus and system, for each training row.

    Args:
        home: The folder of the study.
    """

    def __init__(self, home: StudyFolder) -> None:
        self.home = home
        self._seconds: dict[tuple[str, str], list[tuple[float, int]]] = {}
        for cell in home.study.cells():
            if home.cell(cell).done:
                self.learn(cell, home.cell(cell).facts)

    def learn(self, cell: Cell, facts: dict[str, Any]) -> None:
        """Take a finished cell; one that was stopped on the way says nothing of the whole."""
        spent = facts["seconds"]
        if not facts["resumed"]:
            seconds = spent["training"] + spent["predicting"]
            rows = rows_of(self.home.study, cell)
            self._seconds.setdefault((cell.corpus, cell.system), []).append((seconds, rows))

    def known(self, cell: Cell) -> int:
        """Return from how many finished cells the time of one like this is known."""
        return len(self._seconds.get((cell.corpus, cell.system), ()))

    def seconds(self, cell: Cell) -> float | None:
        """Return how long a cell will take; ``None`` where nothing is known of its system."""
        found = self._seconds.get((cell.corpus, cell.system))
        if not found:
            return None
        rows = rows_of(self.home.study, cell)
        same = [seconds for seconds, number in found if number == rows]
        each = [seconds / number for seconds, number in found]
        return sum(same) / len(same) if same else rows * sum(each) / len(each)

    def left(self, cells: Sequence[Cell]) -> tuple[float | None, int]:
        """Return the time that cells will take, and of how many of them nothing is known."""
        found = [self.seconds(cell) for cell in cells]
        known = [seconds for seconds in found if seconds is not None]
        return (sum(known) if known else None), len(found) - len(known)


def rows_of(study: Study, cell: Cell) -> int:
    """Return how many training rows a cell has."""
    return cell.size or len(study.corpora[cell.corpus].parts(cell.seed, cell.fold).train)


@dataclass(frozen=True, slots=True)
class Price:
    """What the cells of a system on a corpus will cost.

    ``seconds`` is ``None`` where it couldn't be measured, and ``basis`` then says why.
    """

    corpus: str
    system: str
    cells: int
    made: int
    seconds: float | None
    basis: str


def price_study(
    home: StudyFolder, progress: Callable[[str], None] | None = None
) -> tuple[Price, ...]:
    """Say what every system of a study will cost on every corpus.

    Where cells of a system are finished, their mean time for a training row says it; else a few
    steps are measured on a few rows, with the encoder that will be used. ``progress`` is told
    what is being measured.
    """
    clock = Clock(home)
    return tuple(
        _price(home, clock, corpus, system, progress or (lambda _: None))
        for corpus in home.study.corpora
        for system in home.study.systems
    )


def _price(
    home: StudyFolder, clock: Clock, corpus: str, system: str, progress: Callable[[str], None]
) -> Price:
    cells = [c for c in home.study.cells() if (c.corpus, c.system) == (corpus, system)]
    left = [c for c in cells if not is_made(home, c)]
    made = len(cells) - len(left)
    if not left:
        return Price(corpus, system, len(cells), made, 0.0, "finished")
    if clock.known(left[0]):
        seconds, _ = clock.left(left)
        basis = plural(clock.known(left[0]), "finished cell")
        return Price(corpus, system, len(cells), made, seconds, basis)
    progress(f"{system} on {corpus}")
    try:
        measured = measure(home.study, left[0])
    except AttendingError as error:
        return Price(corpus, system, len(cells), made, None, str(error))
    total = sum(measured.seconds(home.study, cell) for cell in left)
    return Price(corpus, system, len(cells), made, total, measured.basis)


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of a system: to begin, for a training row in one epoch, for a row to score.

    ``answer_row`` is the time of a student's teachers for a training row and its copies;
    ``steps_rows`` the rows that are read at least, whatever the epochs.
    """

    begin: float
    train_row: float
    score_row: float
    epochs: float
    basis: str
    answer_row: float = 0.0
    steps_rows: int = 0

    def seconds(self, study: Study, cell: Cell) -> float:
        """Return how long a cell will take."""
        parts = study.corpora[cell.corpus].parts(cell.seed, cell.fold, cell.size)
        carved = parts.development is None
        development = _CARVED * len(parts.train) if carved else len(parts.development or ())
        rounds = math.ceil(self.epochs) + 1
        scored = rounds * development + len(parts.test)
        scored += len(parts.train) if study.head.score_train else 0
        read = max(self.epochs * len(parts.train), self.steps_rows)
        answered = self.answer_row * len(parts.train)
        return self.begin + self.train_row * read + answered + self.score_row * scored


def measure(study: Study, cell: Cell) -> Measured:
    """Train a system on a few rows for one epoch and score a few, and take the time.

    Raises:
        AttendingError: If that can't be done.
    """
    recipe, corpus = study.recipe(cell), study.corpora[cell.corpus]
    parts = corpus.parts(cell.seed, cell.fold, cell.size)
    rows = list(_sample(parts, recipe))
    neural = recipe.family == "neural"
    steps: list[float] = []

    def listen(event: Event) -> None:
        if event.kind == "step":
            steps.append(event.seconds)

    teachers = [_quick(study, t, rows).model for t in study.teachers(cell)[:1]]
    started = time.monotonic()
    fitted = _quick(study, cell, rows, teachers, listen)
    spent = time.monotonic() - started
    scored = parts.test[:_SCORED]
    score_row = _scoring(fitted.model, scored)
    taught = len(study.teachers(cell)) * (1 + copies_of(recipe))
    answer_row = taught * _scoring(teachers[0], scored) if teachers else 0.0
    epochs, least = 1.0, 0
    if neural:
        training = recipe["training"]
        epochs = float(training.epochs)
        least = training.min_steps * training.batch_size * training.accumulate
    if len(steps) > 1:
        # The first step pays for what is set up only once.
        step = (steps[-1] - steps[0]) / (len(steps) - 1)
        train = step * len(steps)
        basis = f"a measured step of {step:.2f} s"
    else:
        train, basis = spent, f"a fit on {plural(len(rows), 'row')}"
    begin = max(0.0, spent - train)
    return Measured(begin, train / len(rows), score_row, epochs, basis, answer_row, least)


def _scoring(model: Model, rows: Sequence[Document]) -> float:
    """Return how long a model takes for a row."""
    started = time.monotonic()
    model.predict(rows)
    return (time.monotonic() - started) / len(rows)


def _quick(
    study: Study,
    cell: Cell,
    rows: Sequence[Document],
    teachers: Sequence[Model] = (),
    listener: Listener | None = None,
) -> Fitted:
    """Train a system on a few rows for one epoch; a student learns from teachers made so."""
    recipe, labels = study.recipe(cell), study.corpora[cell.corpus].labels
    if recipe.family == "neural":
        recipe = recipe.override({"training.epochs": 1.0, "training.min_steps": 0})
    more: dict[str, Any] = {"development": [], "seed": cell.seed, "listener": listener}
    taught = teachers or [_quick(study, t, rows).model for t in study.teachers(cell)[:1]]
    if not taught:
        return fit(recipe, rows, labels, **more)
    from attending.training.distil import distil

    return distil(taught, recipe, rows, labels, **more)


def _sample(parts: Parts, recipe: Recipe) -> Iterator[Document]:
    """Yield a few rows with the shares of the labels that the whole has."""
    wanted = _MOST_ROWS
    if recipe.family == "neural":
        wanted = max(_FEWEST_ROWS, _BATCHES * int(recipe["training"].batch_size))
    for i in nested_order(parts.train, 0)[:wanted]:
        yield parts.train[i]

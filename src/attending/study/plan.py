"""From a study file to its cells: everything is resolved and checked before anything trains."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from attending.data.wording import plural
from attending.dotted import flatten
from attending.errors import AttendingError, StudyError, nearest
from attending.recipe import Recipe
from attending.study import claims
from attending.study.corpora import StudyCorpus, find, read_corpus
from attending.study.names import Figure, fault_of, is_tested, parse_figure
from attending.study.spec import (
    ALL,
    CorpusTable,
    Head,
    StudyFile,
    SystemTable,
    parse_tables,
    read_table,
)

_USUAL = {"single": ("macro_f1", "accuracy"), "multi": ("micro_f1", "macro_f1", "map")}


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One training: a system on a corpus, with a seed, and where asked a fold and a size."""

    corpus: str
    system: str
    seed: int
    size: int | None = None
    fold: int | None = None

    def __str__(self) -> str:
        rows = "" if self.size is None else f", {self.size:,} rows"
        fold = "" if self.fold is None else f", fold {self.fold + 1}"
        return f"{self.corpus}, {self.system}, seed {self.seed}{rows}{fold}"


@dataclass(frozen=True, slots=True)
class System:
    """A row of the table: its recipe for every corpus, settings and encoder settled."""

    name: str
    table: SystemTable
    recipes: Mapping[str, Recipe]
    seeds: tuple[int, ...]

    @property
    def teacher(self) -> str | None:
        """The system whose scores it learns."""
        return self.table.teacher


@dataclass(frozen=True, slots=True)
class Study:
    """A study that is ready to run.

    ``systems`` stand in the order of the file; ``figures`` are those to show by corpus, the first
    of them the one that is tested.
    """

    file: StudyFile
    path: Path
    corpora: Mapping[str, StudyCorpus]
    systems: Mapping[str, System]
    figures: Mapping[str, tuple[Figure, ...]]

    @property
    def head(self) -> Head:
        """What stands above the tables of the file."""
        return self.file.head

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """Training sizes, ``None`` for all rows; all rows come first."""
        given = dict.fromkeys(None if s == ALL else s for s in self.head.sizes)
        return tuple(sorted(given, key=lambda s: (s is not None, s or 0)))

    @property
    def largest(self) -> int | None:
        """The largest training size; ``None`` for all rows."""
        given = [size for size in self.sizes if size is not None]
        return None if None in self.sizes else max(given)

    def cells(self) -> list[Cell]:
        """List the cells in the order to make them: seed by seed, teachers before students."""
        return [
            Cell(corpus, system, seed, size, fold)
            for size in self.sizes
            for seed in sorted({s for system in self.systems.values() for s in system.seeds})
            for corpus in self.corpora
            for system in self._taught_later()
            if seed in self.systems[system].seeds
            for fold in self.folds(corpus)
        ]

    def folds(self, corpus: str) -> tuple[int | None, ...]:
        """Return the folds of a corpus, or a single ``None``."""
        number = self.corpora[corpus].folds
        return (None,) if number is None else tuple(range(number))

    def recipe(self, cell: Cell) -> Recipe:
        """Return the recipe of a cell."""
        return self.systems[cell.system].recipes[cell.corpus]

    def teachers(self, cell: Cell) -> tuple[Cell, ...]:
        """Return the cells whose models a cell learns from; none for most systems."""
        system = self.systems[cell.system]
        if system.teacher is None:
            return ()
        seeds: tuple[int, ...] = (cell.seed,)
        if system.table.teacher_seeds == "all":
            seeds = self.systems[system.teacher].seeds
        return tuple(Cell(cell.corpus, system.teacher, s, cell.size, cell.fold) for s in seeds)

    def students(self, cell: Cell) -> tuple[Cell, ...]:
        """Return the cells that learn from a cell's model; none for most systems."""
        return tuple(
            Cell(cell.corpus, name, seed, cell.size, cell.fold)
            for name, system in self.systems.items()
            if system.teacher == cell.system
            for seed in system.seeds
            if seed == cell.seed or system.table.teacher_seeds == "all"
        )

    def _taught_later(self) -> list[str]:
        return sorted(self.systems, key=lambda name: len(_line(name, self.systems)))


def load_study(
    path: str | Path, *, root: str | Path | None = None, encoder: str | None = None
) -> Study:
    """Read a study file, its corpora and its recipes.

    Args:
        path: The study file.
        root: Folder of the data; files beside the study file are found without it.
        encoder: Takes the place of the study's encoder.

    Raises:
        StudyError: With every fault of the file, its recipes and its data at once.
    """
    place = Path(path)
    table = read_table(place)
    faults: list[str] = []
    file = parse_tables(table, faults)
    base = None if root is None else Path(root)
    if base is not None and not base.is_dir():
        faults.append(f'the data root "{base}" is no folder')
    made = _Maker(file, place, base, encoder, faults).make()
    if faults:
        raise faulty(place, faults)
    return made


def faulty(path: Path, faults: Sequence[str]) -> StudyError:
    """Return the error that holds all faults of a study file."""
    if len(faults) == 1:
        return StudyError(faults[0].rstrip("."), faults=faults, where=str(path))
    listed = "; ".join(f"({i}) {fault.rstrip('.')}" for i, fault in enumerate(faults, 1))
    return StudyError(f"{len(faults)} faults: {listed}", faults=faults, where=str(path))


class _Maker:
    """Turns what a study file says into a study; what is wrong is added to ``faults``."""

    def __init__(
        self, file: StudyFile, path: Path, root: Path | None, encoder: str | None,
        faults: list[str],
    ) -> None:  # fmt: skip
        self.file, self.path, self.root, self.encoder = file, path, root, encoder
        self.faults = faults

    def make(self) -> Study:
        corpora = dict(self._corpora())
        systems = {name: s for name, s in self._systems(corpora)}
        study = Study(
            self.file,
            self.path,
            MappingProxyType(corpora),
            MappingProxyType(systems),
            MappingProxyType({name: self._figures(c) for name, c in corpora.items()}),
        )
        self._teachers(systems, corpora)
        if self.file.head.reference is not None:
            self._known_system(self.file.head.reference, "reference")
        self.faults += _encoder_faults(systems.values())
        self.faults += _data_faults(study)
        self.faults += claims.faults(study, self.file.mentioned)
        return study

    def _known_system(self, name: str, where: str) -> None:
        names = self.file.mentioned
        if name not in names:
            self.faults.append(f'{where}: no system "{name}".{nearest(name, names)}')

    def _corpora(self) -> Iterator[tuple[str, StudyCorpus]]:
        seen: set[str] = set()
        for table in self.file.corpora:
            name = _corpus_name(table)
            if name in seen:
                self.faults.append(f'two corpora are called "{name}": give them names')
                continue
            seen.add(name)
            try:
                yield name, read_corpus(table, name, self.path.parent, self.root)
            except AttendingError as error:
                self.faults.append(f'corpus "{name}": {error}')

    def _systems(self, corpora: Mapping[str, StudyCorpus]) -> Iterator[tuple[str, System]]:
        seen: set[str] = set()
        for table in self.file.systems:
            name = table.name or table.recipe
            if not name:
                self.faults.append('a system has neither "name" nor "recipe"')
                continue
            recipes = self._recipes(table, name, corpora)
            if name in seen:
                self.faults.append(f'two systems are called "{name}": give one another name')
                continue
            seen.add(name)
            seeds = tuple(dict.fromkeys(table.seeds or self.file.head.seeds))
            yield name, System(name, table, MappingProxyType(recipes), seeds)

    def _recipes(
        self, table: SystemTable, name: str, corpora: Mapping[str, StudyCorpus]
    ) -> dict[str, Recipe]:
        found: dict[str, Recipe] = {}
        told: set[str] = set()
        try:
            source = table.recipe or name
            if source.endswith(".toml"):
                source = str(find(source, self.path.parent, None))
            named = Recipe.load(source)
        except AttendingError as error:
            self.faults.append(f'system "{name}": {error}')
            return {}
        encoder = table.encoder
        if encoder is None and getattr(named.get("encoder"), "kind", None) == "pretrained":
            # A network that learns its own words keeps them, unless it is asked by name.
            encoder = self.encoder or self.file.head.encoder
        for corpus in corpora.values():
            try:
                made = named.with_encoder(encoder).for_task(corpus.task)
                of_corpus = flatten(corpus.table.settings)
                fitting = {k: v for k, v in of_corpus.items() if k.partition(".")[0] in made.slots}
                found[corpus.name] = made.override({**fitting, **flatten(table.settings)})
            except AttendingError as error:
                if str(error) not in told:
                    self.faults.append(f'system "{name}" on "{corpus.name}": {error}')
                told.add(str(error))
        return found

    def _figures(self, corpus: StudyCorpus) -> tuple[Figure, ...]:
        given = corpus.table.metrics
        if given is None:
            given = self.file.head.metrics
        if given is None:
            given = _USUAL[corpus.task]
        figures = tuple(dict.fromkeys(map(parse_figure, given)))
        for figure in figures:
            fault = fault_of(figure, corpus.task, corpus.labels.ids)
            if fault:
                self.faults.append(f'corpus "{corpus.name}": {fault}')
        if not figures:
            self.faults.append(f'corpus "{corpus.name}": no metrics to show')
        elif not is_tested(figures[0], corpus.task):
            self.faults.append(
                f'corpus "{corpus.name}": the first metric is the one that is tested, and no test'
                f' is known for "{figures[0]}"; put another one first, such as macro_f1'
            )
        return figures

    def _teachers(self, systems: Mapping[str, System], corpora: Mapping[str, StudyCorpus]) -> None:
        for name, system in systems.items():
            if system.teacher is None:
                if system.table.teacher_seeds == "all":
                    self.faults.append(f'system "{name}": teacher_seeds without a teacher')
                if any(recipe.get("distillation") for recipe in system.recipes.values()):
                    self.faults.append(
                        f'system "{name}" learns from a teacher: name one of the systems as teacher'
                    )
                continue
            self._known_system(system.teacher, f'teacher of "{name}"')
            teacher = systems.get(system.teacher)
            if teacher is None:
                continue
            if name in _line(name, systems):
                self.faults.append(f'system "{name}" is its own teacher, in the end')
            if system.table.teacher_seeds == "all":
                apart = [c.name for c in corpora.values() if c.per_seed]
                if apart:
                    self.faults.append(
                        f'system "{name}": teachers of all seeds have trained on test rows, since'
                        f' "{apart[0]}" has a split for each seed; use one split.seed'
                    )
            elif not set(system.seeds) <= set(teacher.seeds):
                self.faults.append(
                    f'system "{name}" has seeds that its teacher "{teacher.name}" has not'
                )


def _corpus_name(table: CorpusTable) -> str:
    if table.name:
        return table.name
    file = table.file or table.train or table.test or "corpus"
    return Path(file.removesuffix(".gz")).stem


def _line(name: str, systems: Mapping[str, System]) -> list[str]:
    """Return a system's teacher, the teacher's teacher and so on; a circle ends where it closes."""
    found: list[str] = []
    teacher = systems[name].teacher
    while teacher is not None and teacher in systems and teacher not in found:
        found.append(teacher)
        teacher = systems[teacher].teacher
    return found


def _encoder_faults(systems: Iterable[System]) -> list[str]:
    """Say which encoders are nowhere, once each."""
    from attending.parts.sources import locate

    faults: list[str] = []
    looked: set[str] = set()
    for system in systems:
        for recipe in system.recipes.values():
            encoder = recipe.get("encoder")
            if encoder is None or encoder.kind != "pretrained" or encoder.name in looked:
                continue
            looked.add(encoder.name)
            try:
                locate(encoder.name)
            except AttendingError as error:
                faults.append(f'system "{system.name}": {error}')
    return faults


def _data_faults(study: Study) -> list[str]:
    """Split every corpus for every seed, and say where that can't be done."""
    faults: list[str] = []
    own = {s for table in study.file.systems for s in table.seeds or ()}
    seeds = sorted(own | set(study.head.seeds))
    for corpus in study.corpora.values():
        try:
            made = [corpus.parts(s, fold) for s in seeds for fold in study.folds(corpus.name)]
        except AttendingError as error:
            faults.append(f'corpus "{corpus.name}": {error}')
            continue
        empty = [part for part in ("train", "test") if not all(getattr(p, part) for p in made)]
        faults += [f'corpus "{corpus.name}": no labelled row in the {part} part' for part in empty]
        least = min(len(parts.train) for parts in made)
        faults += [
            f'corpus "{corpus.name}": size {size:,} is more than its'
            f" {plural(least, 'training row')}"
            for size in study.sizes
            if size is not None and size > least
        ]
    return faults

"""What a study file may hold: one frozen spec a table, so that every fault is told at once."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attending.errors import StudyError, nearest

PER_SEED: Final = "per seed"
ALL: Final = "all"
SEED = 2020
_LISTS = ("corpus", "system", "claim")


class Table(BaseModel):
    """Base of all tables of a study file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


Names = Annotated[tuple[str, ...], Field(strict=False)]
Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]


class SplitTable(Table):
    """How a corpus of one file is split into training, development and test rows."""

    by: Literal["label", "group", "date", "random"] = Field(
        "label", description="keep every label's share, whole groups, the newest in test, or any"
    )
    test: float = Field(0.2, gt=0, lt=1, description="share of all rows in the test part")
    dev: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="share of all rows in a development part; without one, every training carves "
        "its own from its training rows, by its seed",
    )
    seed: int | Literal["per seed"] = Field(
        SEED, description="one split for all seeds, or `per seed`: a split of its own for each"
    )
    groups: Names | None = Field(None, description="by group: the groups that form the test part")
    keep_together: Literal["text", "group"] | None = Field(
        None, description="what must not be on both sides besides"
    )
    folds: int | None = Field(
        None, ge=2, description="cross-validation with so many folds in place of a test share"
    )
    column: str | None = Field(
        None, description="a column that says which part a row belongs to, in place of a draw"
    )
    values: dict[str, str] = Field(
        default_factory=lambda: {"train": "train", "dev": "dev", "test": "test"},
        description="what that column says for train, dev and test",
    )


class CorpusTable(Table):
    """Documents with labels, and how they are split."""

    name: str | None = Field(None, description="what tables call it; the file's name if left out")
    file: str | None = Field(None, description="`portal`, or a file, relative to the data root")
    train: str | None = Field(None, description="a file of training rows, in place of `file`")
    dev: str | None = Field(None, description="a file of development rows")
    test: str | None = Field(None, description="a file of test rows")
    labels: str | None = Field(None, description="a label file; else the labels found, sorted")
    text: str | None = Field(None, description="column of the text")
    label: str | None = Field(None, description="column of the label")
    id: str | None = Field(None, description="column of the id")
    group: str | None = Field(None, description="column of the group")
    date: str | None = Field(None, description="column of the date")
    spans: str | None = Field(None, description="column of annotated words, for recipes that learn "
                              "from them")  # fmt: skip
    where: dict[str, str] = Field(default_factory=dict, description="take only rows with these")
    encoding: str = Field("utf-8", description="how characters are stored")
    label_separator: str | None = Field(None, description="what stands between a cell's labels")
    empty_labels: Literal["unlabelled", "none"] = Field(
        "unlabelled", description="what an empty cell of labels says"
    )
    labelled_none: Literal["keep", "drop"] = Field(
        "keep", description="documents that are labelled with none: keep them or leave them out"
    )
    unknown_labels: Literal["error", "miss"] = Field(
        "error",
        description="labels of test documents that the label file lacks: stop, or count as missed",
    )
    task: Literal["auto", "single", "multi"] = Field("auto", description="one label or any number")
    split: SplitTable | None = None
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="overrides for every system that has the slot, such as windows.max_tokens",
    )
    metrics: Names | None = Field(None, description="figures for this corpus, in place of those")


class SystemTable(Table):
    """A row of the table: a recipe with its settings."""

    name: str | None = Field(None, description="what tables call it; the recipe's name if left out")
    recipe: str | None = Field(None, description="a shipped recipe or a file; `name` if left out")
    encoder: str | None = Field(
        None, description="as train --encoder; the study's, else the bundled one"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="overrides of the recipe")
    seeds: Seeds | None = Field(None, description="its own seeds, such as [0] without randomness")
    teacher: str | None = Field(None, description="another system, whose scores this one learns")
    teacher_seeds: Literal["same", "all"] = Field(
        "same", description="the teacher of the same seed, or the mean of those of all seeds"
    )


class ClaimTable(Table):
    """Something said about two systems, which the paired test decides."""

    says: str = Field(description="`A > B on FIGURE`, or with a margin `A > B - 0.01 on FIGURE`")
    text: str = Field("", description="the claim in the words of who made it")
    corpus: str | None = Field(None, description="on which corpus; on each if left out")
    rows: int | Literal["all"] = Field(ALL, description="with how many training rows")


class PublishedRow(Table):
    """A row of a published table."""

    name: str = Field(description="what the paper calls it")
    system: str | None = Field(None, description="the system that it stands beside")
    rows: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        ALL, description="with how many training rows; the largest size of the study if not said"
    )
    figures: dict[str, float | list[float]] = Field(
        description="figure -> value, or [value, what stands behind ±]"
    )


class PublishedTable(Table):
    """A paper's figures, shown beside ours and never mixed with them."""

    source: str = Field(description="which table of which paper")
    note: str = Field("", description="what to know before comparing: data, encoder, meaning of ±")
    corpus: str | None = Field(None, description="the corpus that they stand beside")
    row: Annotated[tuple[PublishedRow, ...], Field(strict=False)] = ()


class Head(Table):
    """What stands above the tables of a study file."""

    name: str = Field(description="name of the study")
    about: str = Field("", description="what it asks, for the head of the page")
    seeds: Seeds = Field((0, 1, 2, 3, 4), description="seeds of every system")
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=2)] | Literal["all"], ...], Field(strict=False)
    ] = Field((ALL,), description="training rows; smaller parts lie within larger ones, by seed")
    metrics: Names | None = Field(
        None,
        description="figures to show, the first is tested and drawn; macro_f1 and accuracy if left "
        "out, of documents with several labels micro_f1, macro_f1 and map",
    )
    reference: str | None = Field(None, description="the system that all others are tested against")
    encoder: str | None = Field(None, description="encoder of every system that names none")
    timing: bool = Field(False, description="measure parameters and time at batch size 1 as well")
    timing_documents: int = Field(100, ge=1, description="documents that time is measured on")
    score_train: bool = Field(False, description="score training rows too: how much is learnt by "
                              "heart")  # fmt: skip
    keep_models: bool = Field(False, description="keep the model folder of every cell")
    pictures: Annotated[tuple[Literal["words", "map"], ...], Field(strict=False)] = Field(
        (),
        description="draw, by each system's first model: the words of one test document a label, "
        "shaded (words); all test documents (map). Pictures of words hold the documents' text",
    )
    rounds: int = Field(10_000, ge=100, description="random rounds of a paired test")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="level at which a test decides")
    published: PublishedTable | None = None


class StudyFile(Table):
    """A study file, read and checked table by table.

    ``mentioned`` are the names of all systems, those whose tables have faults too.
    """

    head: Head
    corpora: tuple[CorpusTable, ...]
    systems: tuple[SystemTable, ...]
    claims: tuple[ClaimTable, ...] = ()
    mentioned: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.head.name


T = TypeVar("T", bound=Table)


def read_table(path: Path) -> dict[str, Any]:
    """Read the TOML of a study file.

    Raises:
        StudyError: If it is missing or no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError("no such study file", where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"can't be read ({type(error).__name__})", where=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"is not valid TOML: {error}", where=str(path)) from None


def parse_tables(table: Mapping[str, Any], faults: list[str]) -> StudyFile:
    """Check every table of a study file; faults are added to a list.

    Returns what could be read: without the tables that have faults, and without the faulty keys
    of the head, so that what follows from the rest can be told as well.
    """
    rest = {key: value for key, value in table.items() if key not in _LISTS}
    head = _checked(Head, rest, "", faults)
    if head is None:
        sound = {key: value for key, value in rest.items() if _is_sound(key, value)}
        head = Head.model_validate({"name": "study", **sound})
    rows = table.get("system")
    named = [
        str(row.get("name") or row.get("recipe"))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
    return StudyFile(
        head=head,
        corpora=_several(CorpusTable, table.get("corpus"), "corpus", faults),
        systems=_several(SystemTable, rows, "system", faults),
        claims=_several(ClaimTable, table.get("claim", []), "claim", faults),
        mentioned=tuple(named),
    )


def _is_sound(key: str, value: Any) -> bool:
    try:
        Head.model_validate({"name": "study", key: value})
    except ValidationError:
        return False
    return True


def _several(kind: type[T], rows: Any, name: str, faults: list[str]) -> tuple[T, ...]:
    if rows is None:
        faults.append(f"no [[{name}]]: a study needs at least one")
        return ()
    if not isinstance(rows, list):
        faults.append(f'"{name}" must be written as [[{name}]] tables')
        return ()
    made = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            faults.append(f'"{name}" must be written as [[{name}]] tables')
            break
        named = row.get("name") or row.get("recipe") or row.get("file") or row.get("says")
        where = f"{name} {number}" if not isinstance(named, str) else f'{name} "{named}"'
        found = _checked(kind, row, where, faults)
        made += [] if found is None else [found]
    return tuple(made)


def _checked(kind: type[T], row: Mapping[str, Any], where: str, faults: list[str]) -> T | None:
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        seen: set[tuple[Any, ...]] = set()
        for fault in error.errors(include_url=False):
            place = _place(fault["loc"])
            if place in seen:
                continue  # one fault for each member of a union
            seen.add(place)
            faults.append(_sentence(kind, fault, place, where))
        return None


def _place(loc: Sequence[Any]) -> tuple[Any, ...]:
    """Drop what pydantic adds for the members of unions, which no file holds."""
    return tuple(p for p in loc if not (isinstance(p, str) and ("[" in p or p in ("int", "float"))))


def _sentence(kind: type[Table], fault: Any, place: tuple[Any, ...], where: str) -> str:
    key = ".".join(str(p + 1) if isinstance(p, int) else str(p) for p in place)
    head = f"{where}: " if where else ""
    if fault["type"] == "extra_forbidden":
        hint = nearest(str(place[-1]), _fields(kind, place))
        return f'{head}unknown key "{key}".{hint}'
    if fault["type"] == "missing":
        return f'{head}"{key}" is missing'
    what = fault["msg"].removeprefix("Input should be ")
    return f'{head}"{key}" must be {what}, found {fault["input"]!r}'


def _fields(kind: type[Table], place: tuple[Any, ...]) -> list[str]:
    """Return the keys of the table that a wrong key stands in."""
    inner: dict[str, type[Table]] = {"split": SplitTable, "published": PublishedTable}
    if "row" in place:
        return list(PublishedRow.model_fields)
    owner = inner.get(str(place[0]), kind) if len(place) > 1 else kind
    return [*owner.model_fields, *(_LISTS if owner is Head else ())]

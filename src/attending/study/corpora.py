"""The corpora of a study: read once, split by seed and fold, cut to nested training sizes."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attending.data.corpora import BUNDLED, Corpus, load_corpus
from attending.data.labels import infer_labels, load_labels, require_known
from attending.data.splits import Split, folds, split
from attending.data.wording import plural
from attending.errors import DataError, StudyError
from attending.evaluation.multilabel.outcome import Unknown
from attending.evaluation.task import Task
from attending.records import Document, LabelSet
from attending.study.spec import PER_SEED, CorpusTable, SplitTable
from attending.training.rows import task_of

_PARTS = ("train", "dev", "test")
_ROLES = ("text", "label", "id", "group", "date", "spans")


@dataclass(frozen=True, slots=True)
class Parts:
    """What one training gets, and what it is scored on.

    ``development`` is ``None`` where each training carves its own from its training rows.
    """

    train: tuple[Document, ...]
    development: tuple[Document, ...] | None
    test: tuple[Document, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyCorpus:
    """A corpus of a study: documents that are split, or parts that came as files of their own.

    Args:
        name: What tables call it.
        table: What the study file says of it.
        labels: Its label set.
        task: Whether a document gets one label or any number.
        documents: The rows to split; empty where ``fixed`` holds the parts.
        fixed: Parts that are the same for every seed.
        notes: What a person should know of how it was read.
    """

    name: str
    table: CorpusTable
    labels: LabelSet
    task: Task
    documents: tuple[Document, ...]
    fixed: Parts | None = None
    notes: tuple[str, ...] = ()
    _made: dict[tuple[int, int | None], Parts] = field(default_factory=dict, repr=False)

    @property
    def split(self) -> SplitTable:
        """How it is split."""
        return self.table.split or SplitTable()

    @property
    def unknown(self) -> Unknown:
        """What becomes of test documents' labels that the label set lacks."""
        return self.table.unknown_labels

    @property
    def folds(self) -> int | None:
        """In how many folds it is dealt, if it is cross-validated."""
        return None if self.fixed else self.split.folds

    @property
    def per_seed(self) -> bool:
        """Whether every seed has a split of its own."""
        return self.fixed is None and self.split.seed == PER_SEED

    def parts(self, seed: int, fold: int | None = None, size: int | None = None) -> Parts:
        """Return the parts of a seed and fold, with so many training rows.

        Smaller training parts lie within larger ones of the same seed.

        Raises:
            DataError: If the corpus can't be split so.
        """
        made = self.fixed or self._split(seed, fold)
        if size is None:
            return made
        if size > len(made.train):
            raise DataError(
                f"there are not {size:,} training rows",
                where=f'corpus "{self.name}"',
                found=plural(len(made.train), "training row"),
            )
        order = nested_order(made.train, seed)
        chosen = sorted(order[:size])
        return replace(made, train=tuple(made.train[i] for i in chosen))

    def _split(self, seed: int, fold: int | None) -> Parts:
        drawn = seed if self.split.seed == PER_SEED else int(self.split.seed)
        key = (drawn, fold)
        if key not in self._made:
            self._made[key] = _drawn(self.documents, self.split, drawn, fold)
        return self._made[key]


def _drawn(documents: Sequence[Document], table: SplitTable, seed: int, fold: int | None) -> Parts:
    made: Split
    if table.folds is not None:
        by: Any = table.by
        dealt = folds(documents, table.folds, by=by, seed=seed, keep_together=table.keep_together)
        made = dealt[fold or 0]
    else:
        made = split(
            documents,
            by=table.by,
            test=table.test,
            seed=seed,
            groups=table.groups,
            keep_together=table.keep_together,
        )
    train = tuple(documents[i] for i in made.train)
    test = tuple(documents[i] for i in made.test)
    if table.dev is None:
        return Parts(train, None, test, made.notes)
    share = table.dev * len(documents) / len(train)
    if share >= 1:
        raise DataError(
            "development and test shares leave nothing to train on",
            found=f"dev {table.dev} and test {table.test}",
        )
    inner = split(train, by=table.by, test=share, seed=seed, keep_together=table.keep_together)
    kept, held = (tuple(train[i] for i in side) for side in (inner.train, inner.test))
    return Parts(kept, held, test, (*made.notes, *inner.notes))


def nested_order(documents: Sequence[Document], seed: int) -> list[int]:
    """Order rows so that every beginning holds about the same share of each label.

    A document with several labels counts for the rarest of them. Rows of a label are shuffled and
    spread evenly, so the first n rows of an order lie within its first m > n.
    """
    counts = Counter(label for d in documents for label in d.labels or ())
    strata: dict[str, list[int]] = {}
    for i, d in enumerate(documents):
        own = min(d.labels, key=lambda x: (counts[x], x)) if d.labels else ""
        strata.setdefault(own, []).append(i)
    chance = random.Random(seed)
    places: list[tuple[float, float, int]] = []
    for own in sorted(strata):
        members = strata[own]
        chance.shuffle(members)
        places += [
            ((rank + 0.5) / len(members), chance.random(), i) for rank, i in enumerate(members)
        ]
    return [i for _, _, i in sorted(places)]


def read_corpus(table: CorpusTable, name: str, here: Path, root: Path | None) -> StudyCorpus:
    """Read a corpus of a study file.

    Args:
        table: What the file says of it.
        name: What to call it.
        here: Folder of the study file.
        root: Folder of the data; files are looked for in ``here`` too.

    Raises:
        StudyError: If it has no test part, or its keys contradict each other.
        DataError: If a file can't be read.
        LabelError: If the label file is wrong, or a row's label isn't in it.
    """
    _require_parts(table)
    files = {part: getattr(table, part) for part in _PARTS if getattr(table, part)}
    loaded = {
        part: _load(table, file, here, root)
        for part, file in (files or {"file": table.file}).items()
    }
    labels = _labels(table, loaded, here, root)
    known = {part: _known(table, part, c, labels) for part, c in loaded.items()}
    notes = tuple(dict.fromkeys(note for c in known.values() for note in c.notes))
    rows = {part: _kept(table, c.documents) for part, c in known.items()}
    every = [d for documents in rows.values() for d in documents]
    if not every:
        raise DataError("no document has a label", found=plural(sum(map(len, known.values())),
                                                                "document"))  # fmt: skip
    task: Task = table.task if table.task != "auto" else "single"
    if table.task == "auto" and task_of(every) == "multi":
        task = "multi"
    # The one label of a document can't be missed and the rest be scored.
    if task == "single" and table.unknown_labels == "miss":
        for corpus in loaded.values():
            require_known(corpus, labels, "error")
    made = StudyCorpus(name, table, labels, task, rows.get("file", ()), notes=notes)
    if files:
        return replace(made, fixed=Parts(rows["train"], rows.get("dev"), rows["test"]))
    if table.split is not None and table.split.column is not None:
        return replace(made, fixed=_by_column(known["file"], table))
    return made


def _require_parts(table: CorpusTable) -> None:
    """Make sure that it is said where training and test rows come from, once.

    Raises:
        StudyError: If it isn't.
    """
    files = [part for part in _PARTS if getattr(table, part)]
    if table.file and files:
        raise StudyError(f'has "file" and "{files[0]}" as well', step="Name one or the other.")
    if not table.file and not files:
        raise StudyError("names no file", allowed='"file", or "train" and "test"')
    if files and table.split is not None:
        raise StudyError("has files for its parts and a split as well", step="Drop one of them.")
    if files and not table.train:
        raise StudyError('has no training rows: "train" is missing')
    if (files and not table.test) or (table.file and table.split is None):
        raise StudyError(
            "has no test split", step="Add [corpus.split], or a file of test rows as test = ..."
        )
    if table.split is not None and table.split.folds is not None and table.split.by == "date":
        raise StudyError("can't be cross-validated by date", allowed="label, group, random")


def _load(table: CorpusTable, file: str | None, here: Path, root: Path | None) -> Corpus:
    source = BUNDLED if file == BUNDLED else find(str(file), here, root)
    named: dict[str, Any] = {role: getattr(table, role) for role in _ROLES}
    return load_corpus(
        source,
        **named,
        where=table.where,
        encoding=table.encoding,
        label_separator=table.label_separator,
        empty_labels=table.empty_labels,
    )


def find(file: str, here: Path, root: Path | None) -> Path:
    """Find a file that a study names: beside the study file, or under the data root.

    Raises:
        StudyError: If it is in neither.
    """
    places = list(dict.fromkeys(folder for folder in (here, root) if folder is not None))
    for place in places:
        if (place / file).is_file():
            return place / file
    raise StudyError(
        f'there is no file "{file}" in {" or ".join(map(str, places))}',
        step=None if root else "Say where the data lies with --data-root.",
    )


def _labels(
    table: CorpusTable, loaded: Mapping[str, Corpus], here: Path, root: Path | None
) -> LabelSet:
    if table.labels is not None:
        path = table.labels if table.labels == BUNDLED else find(table.labels, here, root)
        return load_labels(path)
    if table.file == BUNDLED:
        return load_labels(BUNDLED)
    return infer_labels(Corpus(tuple(d for c in loaded.values() for d in c)))


def _known(table: CorpusTable, part: str, corpus: Corpus, labels: LabelSet) -> Corpus:
    """Make sure that a part's labels are in the set, where the study asks for that.

    Training finds out by itself about labels of the rows that it gets.
    """
    if table.unknown_labels == "miss" and part in ("file", "test"):
        return corpus
    return require_known(corpus, labels, "error")


def _kept(table: CorpusTable, documents: Sequence[Document]) -> tuple[Document, ...]:
    """Leave out what nobody labelled and, where that is wanted, what is labelled with none."""
    return tuple(
        d for d in documents if d.labels is not None and (d.labels or table.labelled_none == "keep")
    )


def _by_column(corpus: Corpus, table: CorpusTable) -> Parts:
    made = table.split or SplitTable()
    column, values = made.column or "", made.values
    strange = [part for part in values if part not in _PARTS]
    if strange or "train" not in values or "test" not in values:
        raise StudyError(
            'split.values must name "train" and "test"', found=", ".join(values), allowed="dev too"
        )
    parts: dict[str, tuple[Document, ...]] = {}
    for part, value in values.items():
        optional = part == "dev" and not any(
            str(d.attributes.get(column, "")).strip() == value for d in corpus
        )
        if not optional:
            parts[part] = _kept(table, corpus.select({column: value}).documents)
    return Parts(parts["train"], parts.get("dev"), parts["test"])

"""The rows of a training run: read, matched with the labels, split, and looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attending.cli.also import add_rows, shares_with
from attending.cli.columns import Columns, described
from attending.cli.console import Screen
from attending.cli.origin import By, Origin, hold_out
from attending.cli.rows import counts_in_words, findings_in_short
from attending.cli.tokens import TokenCounter, token_counter
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.check import CheckReport
    from attending.data.corpora import Corpus
    from attending.recipe import Recipe, Task
    from attending.records import Document, LabelSet

BUNDLED = "portal"
# Windows read long texts to the end, and what is held out was split by text.
_NO_MATTER = ("long-texts",)


@dataclass(frozen=True, slots=True)
class HoldoutWish:
    """What the user wants to keep out of training, if anything."""

    share: float | None
    by: By
    seed: int
    groups: Sequence[str] | None

    @classmethod
    def of(cls, share: float | None, by: By, seed: int, groups: str | None) -> "HoldoutWish":
        """Read the options.

        Raises:
            DataError: If they contradict each other.
        """
        named = None if groups is None else [g.strip() for g in groups.split(",") if g.strip()]
        if named == []:
            raise DataError("--holdout-groups names no group", allowed="ids, commas between them")
        if named and share is not None:
            raise DataError("--holdout and --holdout-groups exclude each other")
        if named and by not in ("label", "group"):
            raise DataError(f"--holdout-groups and --split-by {by} exclude each other")
        if share is not None and not 0 < share < 1:
            raise DataError(
                "--holdout must be a share", found=f"{share:g}", allowed="above 0 and below 1"
            )
        if share is None and not named and by != "label":
            raise DataError(f"--split-by {by} needs --holdout", step="Pass --holdout 0.2.")
        return cls(share, "group" if named else by, seed, named)

    @property
    def wanted(self) -> float:
        """The share to hold out; where groups are named, it is theirs and this one has no say."""
        return 0.5 if self.share is None else self.share


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Rows to train on and to choose by, their labels, and where they came from."""

    train: "Corpus"
    development: "Corpus | None"
    labels: "LabelSet"
    origin: Origin

    @property
    def task(self) -> "Task":
        """Whether the rows have one label each, or any number; or spans."""
        from attending.training.rows import task_of

        return "spans" if self.tagged else task_of(self.train.documents)

    @property
    def tagged(self) -> bool:
        """Whether the rows are documents with annotated spans, and the labels their types."""
        from attending.data.spans.corpus import SpanCorpus

        return isinstance(self.train, SpanCorpus)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many training documents have each label; how many spans there are of each type."""
        from attending.data.spans.corpus import SpanCorpus

        train = self.train
        found = train.type_counts if isinstance(train, SpanCorpus) else train.label_counts
        return {x: found.get(x, 0) for x in self.labels.ids}

    @property
    def held_out(self) -> int:
        """How many documents were held out."""
        return len(self.origin.holdout.positions) if self.origin.holdout else 0


def read_training_data(
    file: str,
    columns: Columns,
    labels: str | None,
    dev: str | None,
    wish: HoldoutWish,
    unknown: Literal["error", "skip"],
    *,
    loaded: "Corpus | None" = None,
    known: "LabelSet | None" = None,
    also: Sequence[str] = (),
) -> TrainingData:
    """Read a training file, its labels and a development file; hold out what is to be held out.

    ``loaded`` is the file if it is read already, ``known`` the labels where none are named;
    ``also`` are files of more rows to train on.

    Raises:
        DataError: If a file can't be read or split.
        LabelError: If the label file is wrong, or a row's label isn't in it.
    """
    from attending.data.labels import infer_labels, load_labels, require_known

    loaded = columns.load(file) if loaded is None else loaded
    path = labels or (BUNDLED if file == BUNDLED and known is None else None)
    if path:
        known = load_labels(path)
    elif known is None:
        known = infer_labels(loaded)
    train = require_known(loaded, known, unknown)
    held = None
    if wish.share is not None or wish.groups is not None:
        train, held = hold_out(loaded, wish.by, wish.wanted, wish.seed, wish.groups)
        train = require_known(train, known, unknown)
    development = require_known(columns.load(dev), known, unknown) if dev else None
    test = loaded.subset(held.positions if held else ())
    whole = held is not None and held.by == "group"
    require_unseen(test, development, dev, whole)
    kept_out = [*test, *(development or ())]
    train, more = add_rows(train, also, columns, known, unknown, kept_out, whole)
    origin = Origin(
        file=Path(file).name,
        fingerprint=loaded.fingerprint,
        documents=len(loaded),
        columns={**loaded.columns, **columns.cells},
        where=columns.conditions,
        holdout=held,
        development=development.fingerprint if development else None,
        also=more,
    )
    return TrainingData(train, development, known, origin)


def require_unseen(
    held: Iterable["Document"], development: "Corpus | None", file: str | None, whole_groups: bool
) -> None:
    """Make sure that what is held out chooses nothing: none of it is among development rows.

    Raises:
        DataError: If some is.
    """
    from attending.data.wording import plural

    is_held = shares_with(held, whole_groups)
    shared = sum(map(is_held, development or ()))
    if shared:
        raise DataError(
            f"{plural(shared, 'development row')} of a text or group that is held out: what "
            "chooses can't test",
            where=file,
            step="Leave --holdout out, or name a --dev file of other rows.",
        )


def data_facts(data: TrainingData) -> Iterator[tuple[str, str]]:
    """Yield what a person should know of the rows."""
    from attending.data.wording import plural

    origin = data.origin
    own = len(data.train) - sum(more.documents for more in origin.also)
    part = f"{own:,} of {origin.documents:,}" if data.held_out or origin.also else f"{own:,}"
    counts = data.counts
    how = f"{sum(counts.values()):,} spans" if data.tagged else described(origin.columns)
    yield "file", f"{origin.file}: {part} documents to train on; {how}"
    for more in origin.also:
        yield "also", f"{more.file}: {plural(more.documents, 'document')}"
    yield "types" if data.tagged else "labels", counts_in_words(counts)
    if origin.holdout:
        yield "held out", f"{plural(data.held_out, 'document')}: {origin.holdout.in_words}"
    if data.development is not None:
        yield "development", f"{plural(len(data.development), 'document')} of a file of their own"


def data_remarks(data: TrainingData) -> Iterator[str]:
    """Yield what may surprise about the rows that were held out."""
    held = data.origin.holdout
    if held is None:
        return
    yield from held.notes
    if held.by in ("label", "random") and any(d.group is not None for d in data.train):
        yield (
            f"a {data.origin.columns.get('group', 'group')} may be on both sides of the split, so "
            "figures say little about new ones: --split-by group holds out whole ones"
        )


def recipe_counter(recipe: "Recipe") -> TokenCounter | None:
    """Return what counts tokens as a recipe's encoder does; ``None`` for one that has none."""
    name = encoder_name(recipe)
    return None if name is None else token_counter(name, recipe["windows"].max_tokens)


def encoder_name(recipe: "Recipe") -> str | None:
    """Return the pretrained encoder of a recipe; ``None`` where it learns its words or has none."""
    encoder = recipe.get("encoder")
    return None if encoder is None or encoder.kind != "pretrained" else str(encoder.name)


def look_first(
    data: TrainingData,
    counter: TokenCounter | None,
    screen: Screen,
    again: str,
    without: Sequence[str] = (),
) -> "CheckReport":
    """Check the rows, tell errors and warnings in short, and stop at errors.

    Args:
        data: The rows.
        counter: Counts tokens.
        screen: Where to tell.
        again: The command that shows all of it.
        without: Kinds of findings that don't matter here.

    Raises:
        DataError: If an error was found.
    """
    from attending.data.check import check

    parts = {"train": data.train}
    if data.development is not None:
        parts["development"] = data.development
    report = check(
        parts,
        data.labels,
        count_tokens=counter.count if counter else None,
        max_tokens=counter.limit if counter else None,
    )
    hidden = (*_NO_MATTER, *without, *(() if data.origin.holdout is None else ("duplicates",)))
    # Where a sentence is a document, short ones recur, in official splits too.
    mild = ("leak-text",) if data.tagged else ()
    found = list(findings_in_short(report, hidden, mild))
    screen.tell_all("warning", (message for severity, message in found if severity != "error"))
    errors = [message for severity, message in found if severity == "error"]
    if errors:
        more = f", and {len(errors) - 1} more errors" if len(errors) > 1 else ""
        raise DataError(
            f"{errors[0]}{more}",
            where=data.origin.file,
            step=f"See the lines with: {again}. Or pass --no-check.",
        )
    if found:
        screen.tell("note", f"the lines are shown by: {again}")
    return report


def window_facts(report: "CheckReport", recipe: "Recipe") -> Iterator[tuple[str, str]]:
    """Yield how much of the texts the model will read."""
    tokens = next((x for s in report.corpora[:1] for x in s.lengths if x.unit == "tokens"), None)
    if tokens is None or recipe.family != "neural":
        return
    spec = recipe["windows"]
    line = f"up to {tokens.limit:,} tokens; longest document {tokens.largest:,}"
    if tokens.over:
        fates = {
            "window": "read in several windows, to the end",
            "truncate": f"cut: {tokens.unread:.1%} of all tokens would not be read",
            "error": "refused as too long",
        }
        line += f"; {tokens.over:,} longer ones are {fates[spec.on_overflow]}"
    if tokens.largest > spec.most_tokens and spec.on_overflow == "window":
        line += f", but no further than token {spec.most_tokens:,}"
    yield "windows", line

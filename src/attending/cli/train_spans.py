"""The annotated documents of a training run: read, matched with the types, held out, told."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.origin import Holdout, Origin, hold_out
from attending.cli.spans import SpanFile, fault_lines, load_annotated
from attending.cli.training_data import HoldoutWish, TrainingData
from attending.errors import DataError, LabelError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.data.spans.corpus import SpanCorpus
    from attending.recipe import Recipe
    from attending.records import LabelSet

Unknown = Literal["error", "skip"]
_ADD = "Add it to the label file, or pass --unknown-labels skip to leave such spans out."
_Corpus = TypeVar("_Corpus", bound="Corpus")


def read_span_data(
    file: str,
    span_file: SpanFile,
    columns: Columns,
    labels: str | None,
    dev: str | None,
    wish: HoldoutWish,
    unknown: Unknown,
    *,
    strict: bool = True,
) -> TrainingData:
    """Read annotated documents, their types and a development file; hold out whole documents.

    Without a file of types, they are those found in FILE and in the development file.

    Raises:
        DataError: If a file can't be read or split, or holds no spans.
        LabelError: If the file of types is wrong, or a span's type isn't in it.
    """
    from attending.data.labels import load_labels
    from attending.data.spans.types import infer_types

    loaded = load_annotated(file, span_file, columns, strict=strict)
    beside = load_annotated(dev, span_file, columns, strict=strict) if dev else None
    known = load_labels(labels) if labels else infer_types((*loaded, *(beside or ())))
    train = known_types(loaded, known, unknown)
    held = None
    if wish.share is not None or wish.groups is not None:
        train, held = hold_out_documents(train, wish)
    development = known_types(beside, known, unknown) if beside else None
    read_by = columns.cells | dict(loaded.columns) if loaded.format == "table" else span_file.cells
    origin = Origin(
        file=Path(file).name,
        fingerprint=loaded.fingerprint,
        documents=len(loaded),
        columns=read_by,
        where=columns.conditions,
        holdout=held,
        development=development.fingerprint if development else None,
    )
    return TrainingData(train, development, known, origin)


def known_types(corpus: _Corpus, labels: "LabelSet", unknown: Unknown, step: str = _ADD) -> _Corpus:
    """Return the corpus if every type is in the set; ``skip`` leaves out spans of other types.

    ``step`` says what to do about an unknown one.

    Raises:
        LabelError: With ``error``: names the file, the type and the nearest known one.
    """
    from attending.data.spans.corpus import count_types
    from attending.data.wording import nearest_label, plural, shown_label, some

    known = frozenset(labels.ids)
    counts = count_types(corpus.documents)
    strange = {name: n for name, n in counts.items() if name not in known}
    if not strange:
        return corpus
    if unknown == "error":
        first = next(iter(strange))
        near = nearest_label(first, labels.ids)
        size = plural(len(labels), "type") + (f"; nearest {shown_label(near)}" if near else "")
        more = f", as {plural(len(strange) - 1, 'other type')}" if len(strange) > 1 else ""
        raise LabelError(
            f"type {shown_label(first)} is not among the labels ({size}){more}",
            where=corpus.name,
            step=step,
        )
    rows = tuple(replace(d, spans=tuple(s for s in d.spans if s.label in known)) for d in corpus)
    names = some([f"{shown_label(name)}: {n:,}" for name, n in strange.items()])
    many = plural(sum(strange.values()), "span")
    note = f"{many} of types that are not among the labels left out ({names})"
    return replace(corpus, rows=(*rows, *corpus.problems), notes=(*corpus.notes, note))


def hold_out_documents(corpus: "SpanCorpus", wish: HoldoutWish) -> tuple["SpanCorpus", Holdout]:
    """Keep documents out of training; by label means that each type keeps its share.

    Raises:
        DataError: If the documents can't be split so.
    """
    documents = corpus.documents
    typed = [replace(d, labels=tuple(sorted({s.label or "" for s in d.spans}))) for d in documents]
    own = {id(t): d for t, d in zip(typed, documents, strict=True)}
    part, held = hold_out(
        replace(corpus, rows=tuple(typed)), wish.by, wish.wanted, wish.seed, wish.groups
    )
    kept = tuple(own[id(t)] for t in part)
    return replace(corpus, rows=(*kept, *corpus.problems)), held


def refuse_label_options(
    recipe: "Recipe", decided: Mapping[str, object], also: Sequence[str] | None
) -> None:
    """Refuse recall floors and bands, which spans have none of, and more rows of a table.

    Raises:
        DataError: If one was asked for.
    """
    if decided:
        raise DataError(
            "--recall-floor and --abstain are for recipes that give documents labels",
            found=f'recipe "{recipe.name}", which tags spans',
        )
    if also:
        raise DataError(
            "--also is for recipes that give documents labels",
            found=f'recipe "{recipe.name}", which tags spans',
            step="Put the annotated files into one folder.",
        )


def tell_faults(screen: Screen, data: TrainingData) -> None:
    """Tell what could not be read of the files, or was read by a rule."""
    from attending.data.spans.corpus import SpanCorpus

    for corpus in (data.train, data.development):
        if isinstance(corpus, SpanCorpus):
            for level, line in fault_lines(corpus):
                screen.tell(level, line)


def tagger_commands(
    out: Path, data: TrainingData, file: str, how: SpanFile | Columns, several: bool
) -> Iterator[str]:
    """Yield what to type after a training: evaluate, then predict."""
    ending = "-notes" if Path(file).is_dir() else "".join(Path(file).suffixes)
    test = [file, *how.words()]
    if not data.held_out:
        test = [f"test{ending}", *how.words("text", "id", "spans")]
    why = f"  # on the {data.held_out:,} documents held out" if data.held_out else ""
    yield shlex.join(["attending", "evaluate", str(out), *test]) + why
    if not several:
        new = [f"new{ending}", *how.words("text", "id"), "--out", "found", "--format", "brat"]
        yield shlex.join(["attending", "predict", str(out), *new])

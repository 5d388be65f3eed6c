"""More labelled rows beside the training file, such as those that people corrected in the inbox."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attending.cli.columns import Columns
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.records import Document, LabelSet

Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="FILE",
        help="More labelled rows to train on, such as those of [bold]corrections export[/]. A text "
        "that FILE has too keeps the label given here; one that is held out, by itself or with its "
        "group, or a development row, stays out of training. May be repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class MoreRows:
    """A file of more rows: its name, the fingerprint of its documents, how many are trained on."""

    file: str
    fingerprint: str
    documents: int


def add_rows(
    train: "Corpus",
    files: Sequence[str],
    columns: Columns,
    labels: "LabelSet",
    unknown: Literal["error", "skip"],
    kept_out: Sequence["Document"],
    whole_groups: bool,
) -> tuple["Corpus", tuple[MoreRows, ...]]:
    """Return the training rows with those of more files behind them.

    Training must not see the texts of ``kept_out``, and with ``whole_groups`` no row of their
    groups. Of rows with the same text, the last file's count: a person looked at them after the
    others. Notes tell how many were left out, replaced or have no label.

    Raises:
        DataError: If a file can't be read or brings nothing.
        LabelError: If a row's label isn't in the set.
    """
    from attending.data.folding import text_key
    from attending.data.labels import require_known
    from attending.data.wording import plural

    is_out = shares_with(kept_out, whole_groups)
    used: list[MoreRows] = []
    brought: list[set[int]] = []
    for file in files:
        found = require_known(_read(file, columns), labels, unknown)
        labelled = [d for d in found.documents if d.labels is not None]
        more = [d for d in labelled if not is_out(d)]
        if not more:
            raise DataError(
                "brings no row to train on",
                where=file,
                found=f"{len(found):,} documents, {len(labelled):,} with a label",
                step="Leave --also out.",
            )
        newer = {text_key(d.text) for d in more}
        old = [d for d in train.documents if text_key(d.text) not in newer]
        counts = (
            (len(found) - len(labelled), "without a label: left out"),
            (
                len(labelled) - len(more),
                "with a text or group that is kept out of training: left out",
            ),
            (len(train) - len(old), "of the rows before them have the same text: replaced"),
        )
        notes = [f"{file}: {plural(len(more), 'row')} more to train on", *found.notes]
        notes += [f"{file}: {number:,} {what}" for number, what in counts if number]
        train = replace(
            train,
            rows=(*old, *more, *train.problems, *found.problems),
            notes=(*train.notes, *notes),
        )
        used.append(MoreRows(Path(file).name, found.fingerprint, len(more)))
        brought.append({id(d) for d in more})
    # A later file may have replaced rows of an earlier one.
    left = {id(d) for d in train.documents}
    return train, tuple(
        replace(more, documents=len(own & left)) for more, own in zip(used, brought, strict=True)
    )


def shares_with(
    documents: Iterable["Document"], whole_groups: bool
) -> Callable[["Document"], bool]:
    """Return what says of a document whether its text, or with groups its group, is among others.

    Texts are the same as in ``check``: without regard to case and spacing.
    """
    from attending.data.folding import text_key

    rows = list(documents)
    texts = {text_key(d.text) for d in rows}
    groups = {d.group for d in rows if d.group is not None} if whole_groups else set()
    return lambda d: text_key(d.text) in texts or d.group in groups


def _read(file: str, columns: Columns) -> "Corpus":
    """Read a file by the columns that were named, or by the usual ones where it has others."""
    cells = {k: getattr(columns, k) for k in ("label_separator", "empty_labels", "encoding")}
    try:
        return replace(columns, where=None, input_format=None).load(file)
    except DataError as error:
        named = [columns.text, columns.label, columns.id, columns.group, columns.date]
        if not any(named):
            raise
        try:
            return Columns(**cells).load(file)
        except DataError:
            raise error from None

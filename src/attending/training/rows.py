"""Which rows train and which choose the checkpoint; a development row never trains."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attending.data.folding import text_key
from attending.data.splits import Split, missing_labels, split
from attending.data.wording import plural
from attending.errors import TrainingError
from attending.recipe import Recipe, Task
from attending.records import Document, LabelSet

FEWEST_TO_CARVE = 10
_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Rows:
    """Training and development rows, all labelled, and what to know of their choice.

    ``transfer`` are rows without labels, which a student learns from its teacher's answers to; the
    last ``copies`` of them are changed copies of training rows.
    """

    train: tuple[Document, ...]
    development: tuple[Document, ...]
    notes: tuple[str, ...] = ()
    transfer: tuple[Document, ...] = ()
    copies: int = 0


def choose_rows(
    recipe: Recipe,
    train: Sequence[Document],
    labels: LabelSet,
    development: Sequence[Document] | None,
    seed: int,
) -> Rows:
    """Sort out what trains and what is development.

    Without ``development``, a share of the training rows (``training.development``) is carved
    off, stratified by label, one text on one side; an empty sequence means that there is none.
    Unlabelled rows are left out and counted in a note.

    Raises:
        TrainingError: If no row has a label, all have the same, or for a single-label recipe a
            row has none or several.
        LabelError: If a label is not in the set.
    """
    rows, notes = _labelled(train, labels, "training row", recipe.task)
    if not any(d.labels for d in rows):
        raise TrainingError(
            "no row has a label", found=plural(len(train), "row"), step="Name the label column."
        )
    if len({d.labels for d in rows}) < 2:
        raise TrainingError(
            f'all {len(rows)} rows have the label "{", ".join(rows[0].labels or ())}"',
            allowed="at least two labels",
            step="Nothing can be learned from one label; check the label column.",
        )
    if development is None:
        carved = carve(recipe, rows, seed)
        return Rows(carved.train, carved.development, (*notes, *carved.notes))
    held, more = _labelled(development, labels, "development row", recipe.task)
    return Rows(rows, held, (*notes, *more))


def label_counts(rows: Sequence[Document], labels: LabelSet) -> dict[str, int]:
    """Return how many rows each label of the set has, in the set's order."""
    counts = dict.fromkeys(labels.ids, 0)
    for d in rows:
        for label in d.labels or ():
            counts[label] += 1
    return counts


def with_label(rows: Sequence[Document]) -> int:
    """Return how many rows have a label."""
    return sum(bool(d.labels) for d in rows)


def task_of(documents: Iterable[Document]) -> Task:
    """Say whether documents have one label each (unlabelled ones aside), or any number."""
    return (
        "multi"
        if any(d.labels is not None and len(d.labels) != 1 for d in documents)
        else ("single")
    )


def listens(recipe: Recipe) -> bool:
    """Say whether a network listens to what words say of its labels."""
    words = recipe.get("lexical")
    return words is not None and words.weight > 0


def left_out(facts: Mapping[str, Any], recipe: Recipe) -> str | None:
    """Say how many labels of the development rows are not on their shortlists."""
    kept, count = facts.get("shortlist", (0, 0))
    if not count:
        return None
    others = "words alone score the others" if listens(recipe) else "no other can be given"
    return (
        f"the shortlists hold {kept:,} of {count:,} labels of the development rows "
        f"({kept / count:.1%}); {others}"
    )


def without_examples(counts: Mapping[str, int], labels: LabelSet) -> str | None:
    """Return a note on labels that no training row has, or ``None``."""
    unseen = [i for i in labels.ids if not counts.get(i)]
    if not unseen:
        return None
    bare = [i for i in unseen if not labels[i].description]
    note = f"{plural(len(unseen), 'label')} of {len(labels)} without a training row (zero-shot)"
    return note if not bare else f"{note}, {len(bare)} of them without a description"


def _labelled(
    documents: Sequence[Document], labels: LabelSet, kind: str, task: Task
) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    rows = tuple(d for d in documents if d.labels is not None)
    several = [d for d in rows if len(d.labels or ()) != 1] if task == "single" else []
    if several:
        raise TrainingError(
            f"{plural(len(several), kind)} with no label or several; this recipe takes one a row",
            where=str(several[0].source or f'row "{several[0].id}"'),
        )
    for d in rows:
        for label in d.labels or ():
            labels.position(label)
    left_out = len(documents) - len(rows)
    return rows, ((f"{plural(left_out, kind)} without a label: left out",) if left_out else ())


def _share(recipe: Recipe) -> float:
    training = recipe.get("training")
    return _SHARE if training is None else float(training.development)


def carve(recipe: Recipe, rows: tuple[Document, ...], seed: int) -> Rows:
    """Carve a recipe's share of development rows off, stratified, one text on one side."""
    share = _share(recipe)
    if not share:
        return Rows(rows, ())
    texts = [text_key(d.text) for d in rows]
    distinct = len(set(texts))
    if distinct < FEWEST_TO_CARVE:
        few = f"{plural(distinct, 'distinct text')} {'is' if distinct == 1 else 'are'} too few"
        return Rows(rows, (), (f"{few} to carve a development split from",))
    carved = split(rows, test=max(share, 1 / distinct), seed=seed, keep_together="text")
    held = _without_only_examples(rows, texts, set(carved.test))
    made = Split(tuple(i for i in range(len(rows)) if i not in held), tuple(sorted(held)))
    of_draw = missing_labels(rows, carved)  # of a test part, and before rows were put back
    notes = [n for n in carved.notes if n not in of_draw]
    notes += missing_labels(rows, made, "development")
    train, development = (tuple(rows[i] for i in part) for part in (made.train, made.test))
    return Rows(train, development, tuple(notes))


def _without_only_examples(
    rows: Sequence[Document], texts: Sequence[bytes], held: set[int]
) -> set[int]:
    """Give texts back to training until every label has an example there."""
    while True:
        known = {x for i, d in enumerate(rows) if i not in held for x in d.labels or ()}
        back = {texts[i] for i in held if not known.issuperset(rows[i].labels or ())}
        if not back:
            return held
        held = {i for i in held if texts[i] not in back}

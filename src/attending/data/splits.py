"""Splits and folds: by label, by group, by date or at random, safe for rare labels.

scikit-learn does the drawing, so a stratified split with a seed is the one that users of its
``train_test_split`` know; where documents have several labels, iterative stratification does.
Positions count a sequence of documents from 0.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from attending.data.folding import text_key
from attending.data.stratify import deal_by_labels, rare_for_folds, require_parts, several_labels
from attending.data.units import By, KeepTogether, number_units, require, without_group
from attending.data.wording import plural, shown_label, some
from attending.errors import DataError, nearest
from attending.records import Document

_PARTS = 20
SEED = 2020
"""The seed of the published triage split."""


@dataclass(frozen=True, slots=True)
class Split:
    """Positions of training and test documents, and what a person should know of them."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    notes: tuple[str, ...] = ()


def split(
    documents: Sequence[Document],
    *,
    by: By = "label",
    test: float = 0.2,
    seed: int = SEED,
    groups: Collection[str] | None = None,
    keep_together: KeepTogether | None = None,
) -> Split:
    """Split documents into two parts.

    Args:
        documents: What to split.
        by: ``label`` keeps the share of every label (exactly scikit-learn's stratified
            ``train_test_split``; labels with one example stay in training). Where documents have
            several labels, iterative stratification does that, and the parts' sizes are met
            nearly. ``group`` puts whole groups on one side; ``date`` trains on the oldest and
            tests on the newest; ``random``.
        test: Share of the documents (``group``: of the groups) in the test part.
        seed: Seed of the draw; unused by ``date`` and with named groups.
        groups: With ``by="group"``, the groups that form the test part.
        keep_together: Put documents of the same text (``"text"``, compared without case and
            spacing) or the same group on one side. Without it, texts on both sides are counted
            in a note.

    Raises:
        DataError: If there are fewer than two documents, no label, group or date to split by, a
            named group isn't there, or one side would be empty.
    """
    require(len(documents) >= 2, "a split needs at least 2 documents", f"{len(documents)}")
    require(0 < test < 1, "the test share must lie between 0 and 1", str(test))
    if groups is not None and by != "group":
        raise DataError('named groups need by="group"', found=f'by="{by}"')
    if by == "label" and several_labels(documents):
        made = _by_labels(documents, test, seed, keep_together)
    elif by == "label":
        made = _by_label(documents, test, seed, keep_together)
    elif by == "group":
        made = _by_group(documents, test, seed, groups, keep_together)
    elif by == "date":
        made = _by_date(documents, test)
    elif by == "random":
        made = _at_random(documents, test, seed, keep_together)
    else:
        raise DataError(f'there is no split by "{by}"', allowed="label, group, date, random")
    require(bool(made.train and made.test), "one side of the split is empty", _sizes(made))
    shared = _shared_text([text_key(d.text) for d in documents], made.train, made.test)
    return Split(made.train, made.test, (*made.notes, *shared))


def folds(
    documents: Sequence[Document],
    k: int,
    *,
    by: By = "label",
    seed: int = SEED,
    strict: bool = False,
    keep_together: KeepTogether | None = None,
) -> tuple[Split, ...]:
    """Deal documents into ``k`` folds; each document is in exactly one test part.

    Args:
        documents: What to deal.
        k: Number of folds, at least 2.
        by: ``label`` keeps every label's share in each fold as far as its examples go, ``group``
            keeps groups whole, ``random``.
        seed: Seed of the draw.
        strict: Refuse labels with fewer examples than folds instead of noting them.
        keep_together: As in ``split``.

    Raises:
        DataError: If there are fewer documents (or groups) than folds, or nothing to deal by.
    """
    require(k >= 2, "there must be at least 2 folds", str(k))
    require(len(documents) >= k, f"{k} folds need at least {k} documents", f"{len(documents)}")
    require(by in ("label", "group", "random"), f'there are no folds by "{by}"', None)
    used, notes = list(range(len(documents))), list[str]()
    strata = [""] * len(documents)
    several = by == "label" and several_labels(documents)
    if by == "label":
        used, notes = _labelled(documents)
        strata = [_stratum(d) for d in documents]
        kinds = [documents[i].labels or () if several else (strata[i],) for i in used]
        notes += rare_for_folds(kinds, k, strict)
    units, unit_notes = number_units(documents, by, keep_together)
    keys = [text_key(d.text) for d in documents]
    made = []
    if several:
        sides = _deal_labels([documents[i] for i in used], [units[i] for i in used], k, seed)
    else:
        sides = _deal([strata[i] for i in used], [units[i] for i in used], k, seed)
    for dealt in sides:
        train, test = (tuple(used[i] for i in side) for side in dealt)
        shared = _shared_text(keys, train, test)
        made.append(Split(train, test, (*notes, *unit_notes, *shared)))
    return tuple(made)


def _deal(
    strata: Sequence[str], units: Sequence[int], k: int, seed: int
) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    import warnings

    from sklearn import model_selection as sk

    rows = list(range(len(strata)))
    grouped = len(set(units)) < len(units)
    stratified = max(Counter(strata).values()) >= k and len(set(strata)) > 1
    if grouped and len(set(units)) < k:
        raise DataError(
            f"{k} folds need at least {k} groups", found=plural(len(set(units)), "group")
        )
    kind: Any
    if grouped:
        kind = sk.StratifiedGroupKFold if stratified else sk.GroupKFold
    else:
        kind = sk.StratifiedKFold if stratified else sk.KFold
    with warnings.catch_warnings():
        # scikit-learn warns of rare labels without naming them; the notes do.
        warnings.simplefilter("ignore", UserWarning)
        dealt = list(
            kind(n_splits=k, shuffle=True, random_state=seed).split(
                rows, strata, units if grouped else None
            )
        )
    return [(train.tolist(), test.tolist()) for train, test in dealt]


def _deal_labels(
    documents: Sequence[Document], units: Sequence[int], k: int, seed: int
) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    require_parts(units, k)
    parts = deal_by_labels([d.labels or () for d in documents], units, [1 / k] * k, seed)
    for fold in range(k):
        train = [i for i, part in enumerate(parts) if part != fold]
        yield train, [i for i, part in enumerate(parts) if part == fold]


def _by_labels(
    documents: Sequence[Document], test: float, seed: int, together: KeepTogether | None
) -> Split:
    """Deal documents with several labels into equal parts, of which some become the test part.

    Parts of unequal size would give the small one too many: what is left of a rare label after
    the large part had its share goes there, and most labels are rare.
    """
    used, notes = _labelled(documents)
    units, unit_notes = number_units(documents, "label", together)
    mine = [units[i] for i in used]
    require_parts(mine, 2)
    most = min(_PARTS, len(set(mine)))
    share = Fraction(test).limit_denominator(most)
    share = min(max(share, Fraction(1, most)), Fraction(most - 1, most))
    k = share.denominator
    parts = deal_by_labels([documents[i].labels or () for i in used], mine, [1 / k] * k, seed)
    dealt = list(zip(used, parts, strict=True))
    made = Split(
        tuple(i for i, part in dealt if part >= share.numerator),
        tuple(i for i, part in dealt if part < share.numerator),
    )
    return Split(made.train, made.test, (*notes, *unit_notes, *missing_labels(documents, made)))


def _by_label(
    documents: Sequence[Document], test: float, seed: int, together: KeepTogether | None
) -> Split:
    used, notes = _labelled(documents)
    strata = {i: _stratum(documents[i]) for i in used}
    if together:
        units, unit_notes = number_units(documents, "label", together)
        made = _grouped_share(used, [strata[i] for i in used], [units[i] for i in used], test, seed)
        return Split(made.train, made.test, (*notes, *unit_notes, *missing_labels(documents, made)))
    counts = Counter(strata.values())
    single = [i for i in used if counts[strata[i]] == 1]
    if single:
        names = some([_shown(strata[i]) for i in single])
        notes.append(
            f"{plural(len(single), 'label')} with 1 example can only be in training: {names}"
        )
    rest = [i for i in used if counts[strata[i]] > 1]
    made = _stratified(rest, strata, test, seed, notes)
    made = Split((*made.train, *single), made.test, tuple(notes))
    return Split(made.train, made.test, (*made.notes, *missing_labels(documents, made)))


def _stratified(
    rows: list[int], strata: dict[int, str], test: float, seed: int, notes: list[str]
) -> Split:
    """Draw with scikit-learn; where a part is too small to hold every label, unstratified."""
    from sklearn.model_selection import train_test_split

    kinds = len({strata[i] for i in rows})
    n_test = math.ceil(test * len(rows))
    if not rows:
        return Split((), ())
    stratify: list[str] | None = [strata[i] for i in rows]
    if n_test < kinds or len(rows) - n_test < kinds:
        stratify = None
        notes.append(
            f"split at random: {plural(len(rows), 'document')} are too few to keep the share of "
            f"{plural(kinds, 'label')}"
        )
    train, tested = train_test_split(
        rows, test_size=test, random_state=seed, stratify=stratify, shuffle=True
    )
    return Split(tuple(train), tuple(tested))


def _by_group(
    documents: Sequence[Document],
    test: float,
    seed: int,
    groups: Collection[str] | None,
    together: KeepTogether | None,
) -> Split:
    from sklearn.model_selection import GroupShuffleSplit

    if groups is not None:
        return _named_groups(documents, groups)
    units, notes = number_units(documents, "group", together)
    require(len(set(units)) > 1, "a split by group needs at least 2 groups", "1 group")
    drawn = GroupShuffleSplit(n_splits=1, test_size=test, random_state=seed)
    train, tested = next(drawn.split(units, groups=units))
    held = {documents[i].group for i in tested} - {None}
    notes.append(f"test holds {plural(len(held), 'group')}, {len(tested):,} documents")
    return Split(tuple(train.tolist()), tuple(tested.tolist()), tuple(notes))


def _named_groups(documents: Sequence[Document], groups: Collection[str]) -> Split:
    if isinstance(groups, str):
        groups = (groups,)
    known = sorted({d.group for d in documents if d.group is not None})
    for group in groups:
        if group not in known:
            raise DataError(
                f'no document has the group "{group}"',
                found=plural(len(known), "group"),
                step=nearest(group, known).strip() or "Name a group that occurs.",
            )
    tested = tuple(i for i, d in enumerate(documents) if d.group in groups)
    train = tuple(i for i, d in enumerate(documents) if d.group not in groups)
    return Split(train, tested, tuple(without_group(documents, "are in training")))


def _by_date(documents: Sequence[Document], test: float) -> Split:
    """Cut at an instant: documents of the same instant are never on both sides."""
    dated = [(_instant(d.when), i) for i, d in enumerate(documents) if d.when is not None]
    require(bool(dated), "no document has a date", None, "Name the column of the date with --date.")
    dated.sort()
    notes = []
    if len(dated) < len(documents):
        missing = plural(len(documents) - len(dated), "document")
        notes.append(f"{missing} without a date: in neither part")
    naive = sum(1 for d in documents if d.when is not None and d.when.tzinfo is None)
    if naive:
        notes.append(f"{plural(naive, 'date')} without a time zone: read as UTC")
    wanted = len(dated) - math.ceil(test * len(dated))
    cuts = [i for i in range(1, len(dated)) if dated[i][0] > dated[i - 1][0]]
    require(bool(cuts), "all documents have the same date", None)
    cut = min(cuts, key=lambda i: (abs(i - wanted), i))
    notes.append(
        f"trained up to {dated[cut - 1][0].isoformat()}, tested from {dated[cut][0].isoformat()}"
    )
    return Split(tuple(i for _, i in dated[:cut]), tuple(i for _, i in dated[cut:]), tuple(notes))


def _instant(when: datetime) -> datetime:
    """Return a date in UTC; one that falls off the calendar there becomes its first or last."""
    if when.tzinfo is None:
        return when.replace(tzinfo=UTC)
    try:
        return when.astimezone(UTC)
    except OverflowError:
        end = datetime.min if when.year == datetime.min.year else datetime.max
        return end.replace(tzinfo=UTC)


def _at_random(
    documents: Sequence[Document], test: float, seed: int, together: KeepTogether | None
) -> Split:
    from sklearn.model_selection import train_test_split

    rows = list(range(len(documents)))
    if together:
        units, notes = number_units(documents, "random", together)
        made = _grouped_share(rows, [""] * len(rows), units, test, seed)
        return Split(made.train, made.test, tuple(notes))
    train, tested = train_test_split(rows, test_size=test, random_state=seed)
    return Split(tuple(train), tuple(tested))


def _grouped_share(
    rows: Sequence[int], strata: Sequence[str], units: Sequence[int], test: float, seed: int
) -> Split:
    """Hold out whole units of about the wanted share: one of round(1 / share) folds."""
    k = max(2, round(1 / test))
    train, tested = next(iter(_deal(strata, units, k, seed)))
    return Split(tuple(rows[i] for i in train), tuple(rows[i] for i in tested))


def _labelled(documents: Sequence[Document]) -> tuple[list[int], list[str]]:
    used = [i for i, d in enumerate(documents) if d.labels is not None]
    require(
        bool(used), "no document has a label", None, "Name the column of the label with --label."
    )
    missing = len(documents) - len(used)
    notes = [f"{plural(missing, 'unlabelled document')}: in neither part"] if missing else []
    return used, notes


def _stratum(document: Document) -> str:
    return "\x1f".join(sorted(document.labels or ()))


def _shown(stratum: str) -> str:
    return " with ".join(shown_label(label) for label in stratum.split("\x1f"))


def missing_labels(documents: Sequence[Document], made: Split, name: str = "test") -> list[str]:
    """Return notes on labels that are in one of both parts alone; ``name`` is the second's."""

    def present(part: Sequence[int]) -> set[str]:
        return {label for i in part for label in documents[i].labels or ()}

    mine, theirs = present(made.train), present(made.test)
    return [
        f"no {part} example of {some([shown_label(x) for x in sorted(labels)])}"
        for part, labels in ((name, mine - theirs), ("training", theirs - mine))
        if labels
    ]


def _shared_text(keys: Sequence[bytes], train: Sequence[int], test: Sequence[int]) -> list[str]:
    known = {keys[i] for i in train}
    shared = sum(1 for i in test if keys[i] in known)
    if not shared:
        return []
    return [
        f"{shared:,} of {plural(len(test), 'test document')} have a text that is in training "
        'too (keep_together="text" puts them on one side)'
    ]


def _sizes(made: Split) -> str:
    return f"{len(made.train)} training and {len(made.test)} test documents"

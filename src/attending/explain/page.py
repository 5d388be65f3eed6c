"""One page that shows messages with the words that drove a model: for people, without scripts.

The page is a single file that loads nothing. It holds the messages' text on purpose and says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attending.explain.evidence import WordScores, check_pairs, explained_labels
from attending.explain.excerpts import excerpts
from attending.explain.markup import LEVELS, excerpted, plain, visible
from attending.explain.wording import comparison, label_name, percent, truth, verdict
from attending.models.store import versions
from attending.outputs import new_file, require_new
from attending.records import Document, Evidence, LabelSet, Prediction, Row, Unreadable

_MOST_BARS = 12
_WHOLE = 60_000
"""Code points of a message that is shown whole: some twenty pages."""
_WHOLE_OF_SEVERAL = 4_000
"""The same where a message is shown once a label; of a longer one, passages with evidence."""
_SAME = 0.98
"""Cosine from which two labels' words are called the same."""
_PROBLEMS = {
    "empty_text": "Not read: there is no text in it",
    "too_long": "Not read: the text is too long",
    "failed": "Not read",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A label's probability, as a number and as it is written."""

    name: str
    probability: float
    written: str
    predicted: bool
    true: bool


@dataclass(frozen=True, slots=True)
class View:
    """The message shaded for one label: its name in the switch, its heading without one."""

    name: str
    heading: str
    text: Markup
    quotes: tuple[Markup, ...]
    against: bool
    shown: bool


@dataclass(frozen=True, slots=True)
class Message:
    """What the page says of one document."""

    id: str
    verdict: str
    truth: str | None
    agrees: bool | None
    compared: str | None
    problem: str | None
    reading: str
    truncated: bool
    bars: tuple[Bar, ...]
    more_bars: int
    views: tuple[View, ...]
    alike: bool
    text: Markup | None
    whole: Markup | None


def write_page(
    path: Path | str,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words_by_label: Sequence[WordScores],
    labels: LabelSet,
    *,
    title: str,
    method: str,
    caution: str,
    force: bool = False,
) -> None:
    """Write a self-contained HTML page of explained messages.

    Each message shows its label, all probabilities (the highest twelve of many), the truth where
    it is known, how much of it was read, and per label the text with words shaded by score and
    evidence spans underlined. Of a long message with several labels the passages around the
    evidence are shown, and the message once beside them. Labels are switched without scripts.
    Hidden characters are shown by their code; the text itself stays as it is.

    Args:
        path: The page to write.
        documents: The documents in the order to show.
        predictions: Their predictions with evidence, in the same order.
        words_by_label: Their words with scores per label, see ``explained_words``.
        labels: The labels' names and meanings.
        title: The page's heading.
        method: Name of the explanation method.
        caution: What the method can't say, see ``caution``.
        force: Whether a file of that name is replaced.

    Raises:
        DataError: If documents, predictions and words don't belong together.
        OutputError: If the file exists or can't be written.
    """
    path = Path(path)
    require_new(path, force=force)
    check_pairs(documents, predictions, words_by_label)
    messages = [
        _message(row, prediction, words, labels)
        for row, prediction, words in zip(documents, predictions, words_by_label, strict=True)
    ]
    environment = Environment(
        loader=PackageLoader("attending.explain"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    explained = {label for words in words_by_label for label in words}
    page = environment.get_template("explain.html.j2").render(
        title=title,
        method=method,
        caution=caution,
        messages=messages,
        labels=[x for x in labels if x.id in explained and x.description],
        levels=range(1, LEVELS + 1),
        against=any(view.against for message in messages for view in message.views),
        judged=sum(message.agrees is not None for message in messages),
        right=sum(message.agrees is True for message in messages),
        several=_found_of_known(documents, predictions),
        unread=sum(message.problem is not None for message in messages),
        version=versions().get("attending", ""),
    )
    with new_file(path, force=force) as file:
        file.write(page.encode("utf-8", "replace"))


def _message(row: Row, prediction: Prediction, words: WordScores, labels: LabelSet) -> Message:
    document = row if isinstance(row, Document) else None
    known = document.labels if document else None
    ok = prediction.status == "ok"
    read = prediction.read
    reading = f"Read {read.tokens:,} of {read.of:,} tokens"
    reading += f" in {read.windows:,} windows." if read.windows > 1 else "."
    problem = None if ok else not_read(row, prediction)
    bars, more = _bars(prediction, known or (), labels)
    views = _views(document, prediction, words, labels) if document and ok else ()
    return Message(
        id=row.id,
        verdict=verdict(prediction, labels),
        truth=truth(document, labels) if document else None,
        agrees=set(known) == set(prediction.labels) if ok and known is not None else None,
        compared=comparison(known, prediction.labels) if ok and known is not None else None,
        problem=problem,
        reading=reading,
        truncated=ok and read.truncated,
        bars=bars,
        more_bars=more,
        views=views,
        alike=len(views) > 1 and _alike([list(scored) for scored in words.values()]),
        text=plain(document.text, _WHOLE) if document and not views else None,
        whole=plain(document.text, _WHOLE)
        if document and views and len(document.text) > _shown_whole(len(views))
        else None,
    )


def _alike(scored: Sequence[Sequence[Evidence]]) -> bool:
    """Say whether several labels' scores of the same words hardly differ but in size."""
    first, *others = [[word.score for word in words] for words in scored]
    return bool(others) and all(_cosine(first, x) >= _SAME for x in others)


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    if len(a) != len(b):
        return 0.0
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / size if size else 0.0


def _found_of_known(
    documents: Sequence[Row], predictions: Sequence[Prediction]
) -> tuple[int, int, int] | None:
    """Return labels found, known and given, where a document has or gets other than one."""
    pairs = [
        (set(row.labels), set(prediction.labels))
        for row, prediction in zip(documents, predictions, strict=True)
        if isinstance(row, Document) and row.labels is not None and prediction.status == "ok"
    ]
    if all(len(known) <= 1 and len(given) <= 1 for known, given in pairs):
        return None
    found = sum(len(known & given) for known, given in pairs)
    return found, sum(len(known) for known, _ in pairs), sum(len(given) for _, given in pairs)


def _shown_whole(views: int) -> int:
    return _WHOLE if views == 1 else _WHOLE_OF_SEVERAL


def not_read(row: Row, prediction: Prediction) -> str:
    """Say why a row was not read: its prediction's status is not ``ok``."""
    reason = row.reason if isinstance(row, Unreadable) else prediction.reason
    detail = f": {reason.rstrip('.')}" if reason and prediction.status == "failed" else ""
    return f"{_PROBLEMS[prediction.status]}{detail}."


def _bars(
    prediction: Prediction, known: Sequence[str], labels: LabelSet
) -> tuple[tuple[Bar, ...], int]:
    """Return the bars, and how many labels are not shown.

    They are in the order of the labels; where not all have one, the highest comes first.
    """
    scores = prediction.scores
    order = list(scores)
    if len(labels) > _MOST_BARS:
        order.sort(key=lambda label: -scores[label])
    shown = set(sorted(scores, key=lambda label: -scores[label])[:_MOST_BARS])
    shown |= {label for label in (*prediction.labels, *known) if label in scores}
    bars = tuple(
        Bar(
            name=label_name(labels, label),
            probability=min(1.0, max(0.0, scores[label])),
            written=percent(scores[label]),
            predicted=label in prediction.labels,
            true=label in known,
        )
        for label in order
        if label in shown
    )
    return bars, len(labels) - len(bars) if bars else 0


def _views(
    document: Document, prediction: Prediction, words: WordScores, labels: LabelSet
) -> tuple[View, ...]:
    by_label = {label: list(words.get(label, ())) for label in words}
    for span in prediction.evidence:
        by_label.setdefault(span.label, [])
    wanted = next((x for x in explained_labels(prediction) if x in by_label), None)
    first = wanted if wanted in by_label else next(iter(by_label), None)
    unread = _unread_from(by_label.values()) if prediction.read.truncated else None
    whole = _shown_whole(len(by_label))
    several = len(prediction.labels) > 1 or len(document.labels or ()) > 1
    views = []
    for label, scored in by_label.items():
        spans = [e for e in prediction.evidence if e.label == label]
        parts = excerpts(document.text, spans, whole=whole)
        quotes = tuple(visible(document.text[e.start : e.end]) for e in spans)
        name = "all labels together" if label is None else label_name(labels, label)
        verb = "stand out, for" if label is None else "speak for"
        aside = _aside(label, prediction, document.labels) if several else ""
        sure = prediction.scores.get(label) if label is not None else None
        views.append(
            View(
                name=name if sure is None else f"{name} {percent(sure)}{aside}",
                heading=f"Words that {verb} {name}",
                text=excerpted(document.text, scored, spans, unread, parts),
                quotes=quotes,
                against=any(word.score < 0 for word in scored),
                shown=label == first,
            )
        )
    return tuple(views)


def _aside(label: str | None, prediction: Prediction, known: Sequence[str] | None) -> str:
    """Say whether a label was missed, or given without being known, where anything is known."""
    if known is None or label is None:
        return ""
    if label in known:
        return "" if label in prediction.labels else ", missed"
    return ", not a known label" if label in prediction.labels else ""


def _unread_from(scored: Iterable[Sequence[Evidence]]) -> int | None:
    """Return where the last word with a score ends; what was not read lies after it."""
    return max((w.end for words in scored for w in words if w.score), default=None)

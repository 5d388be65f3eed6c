"""One page that shows messages with the words that drove a model: for people, without scripts.

The page is a single file that loads nothing. It holds the messages' text on purpose and says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attending.explain.evidence import WordScores, check_pairs, explained_labels
from attending.explain.markup import LEVELS, plain, shaded, visible
from attending.explain.wording import label_name, percent, truth, verdict
from attending.models.store import versions
from attending.outputs import new_file, require_new
from attending.records import Document, Evidence, LabelSet, Prediction, Row, Unreadable

_MOST_BARS = 12
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
    problem: str | None
    reading: str
    truncated: bool
    bars: tuple[Bar, ...]
    more_bars: int
    views: tuple[View, ...]
    text: Markup | None


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
    evidence spans underlined. Labels are switched without scripts. Hidden characters are shown by
    their code; the text itself stays as it is.

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
    problem = None
    if not ok:
        reason = row.reason if isinstance(row, Unreadable) else prediction.reason
        detail = f": {reason.rstrip('.')}" if reason and prediction.status == "failed" else ""
        problem = f"{_PROBLEMS[prediction.status]}{detail}."
    bars, more = _bars(prediction, known or (), labels)
    views = _views(document, prediction, words, labels) if document and ok else ()
    return Message(
        id=row.id,
        verdict=verdict(prediction, labels),
        truth=truth(document, labels) if document else None,
        agrees=set(known) == set(prediction.labels) if ok and known is not None else None,
        problem=problem,
        reading=reading,
        truncated=ok and read.truncated,
        bars=bars,
        more_bars=more,
        views=views,
        text=plain(document.text) if document and not views else None,
    )


def _bars(
    prediction: Prediction, known: Sequence[str], labels: LabelSet
) -> tuple[tuple[Bar, ...], int]:
    """Return the bars in the order of the labels, and how many labels are not shown."""
    scores = prediction.scores
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
        for label in scores
        if label in shown
    )
    return bars, len(scores) - len(bars)


def _views(
    document: Document, prediction: Prediction, words: WordScores, labels: LabelSet
) -> tuple[View, ...]:
    by_label = {label: list(words.get(label, ())) for label in words}
    for span in prediction.evidence:
        by_label.setdefault(span.label, [])
    wanted = next((x for x in explained_labels(prediction) if x in by_label), None)
    first = wanted if wanted in by_label else next(iter(by_label), None)
    unread = _unread_from(by_label.values()) if prediction.read.truncated else None
    views = []
    for label, scored in by_label.items():
        spans = [e for e in prediction.evidence if e.label == label]
        quotes = tuple(visible(document.text[e.start : e.end]) for e in spans)
        name = "all labels together" if label is None else label_name(labels, label)
        verb = "stand out, for" if label is None else "speak for"
        views.append(
            View(
                name=name,
                heading=f"Words that {verb} {name}",
                text=shaded(document.text, scored, spans, unread),
                quotes=quotes,
                against=any(word.score < 0 for word in scored),
                shown=label == first,
            )
        )
    return tuple(views)


def _unread_from(scored: Iterable[Sequence[Evidence]]) -> int | None:
    """Return where the last word with a score ends; what was not read lies after it."""
    return max((w.end for words in scored for w in words if w.score), default=None)

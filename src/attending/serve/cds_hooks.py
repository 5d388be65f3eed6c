"""CDS Hooks: what a record system is told of the service, and the cards that it shows.

Pure functions: an HTTP service answers ``GET /cds-services`` with ``cds_services`` and
``POST /cds-services/attending`` with ``cards`` of what it predicts for ``prefetched``.
Source: CDS Hooks 2.0, https://cds-hooks.hl7.org/2.0/.
"""

import json
import re
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from attending.data.corpora import Corpus
from attending.data.fhir.bounds import DEFAULT, Bounds, require_bytes, too_deep
from attending.data.fhir.corpus import read_fhir
from attending.data.files import decode
from attending.data.wording import plural
from attending.errors import DataError
from attending.records import Document, LabelSet, Prediction, Row
from attending.serve.fhir.evidence import label_system
from attending.serve.identity import identity
from attending.serve.maker import Maker
from attending.serve.placing import IN_WORDS, Place, attributes_of, place, told
from attending.serve.priorities import PRIORITIES, Priorities, Priority, rank

SERVICE = "attending"
"""Id of the service, and the last part of its URL."""
MESSAGES = "messages"
"""Key under which the record system sends messages along."""

Indicator = Literal["info", "warning", "critical"]

_INDICATORS: dict[Priority, Indicator] = {
    "routine": "info",
    "urgent": "warning",
    "asap": "warning",
    "stat": "critical",
}
_SUMMARY = 140
_QUOTES, _QUOTE = 3, 80
_REASONS = 20
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attending:card")
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~])")
_BREAKS = re.compile(r"\s+")
_CAUTION = (
    "Suggested by a model from the words of the message; read the message itself. "
    "Not a medical device."
)


def cds_services(maker: Maker, labels: LabelSet, *, count: int = 50) -> dict[str, Any]:
    """Return the answer to discovery: one service, asked when a patient's record is opened.

    Args:
        maker: The model by name and version.
        labels: Its labels.
        count: How many of the newest messages the record system is asked to send along.
    """
    query = f"Communication?subject=Patient/{{{{context.patientId}}}}&_sort=-sent&_count={count}"
    return {
        "services": [
            {
                "hook": "patient-view",
                "id": SERVICE,
                "title": "Messages to read first",
                "description": f"Sorts a patient's messages by {labels.name} and shows what should "
                f"not wait. Model: {maker}. Not a medical device.",
                "prefetch": {MESSAGES: query},
                "usageRequirements": "Needs Communication in the prefetch; nothing is fetched.",
            }
        ]
    }


def prefetched(body: bytes, bounds: Bounds = DEFAULT) -> Corpus:
    """Return the messages that a record system sent along with its call.

    Args:
        body: The call, in JSON.
        bounds: What it may hold at most.

    Raises:
        DataError: If the call is no JSON, brings no messages, or goes beyond the bounds. An HTTP
            service answers 412 where ``found`` is "no prefetch", else 400.
    """
    text = decode(require_bytes(body, "call", bounds), "call", "utf-8")
    if too_deep(text, bounds.depth):
        raise DataError("the call is nested too deeply", allowed=f"{bounds.depth} levels")
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("the call is no JSON") from None
    sent = call.get("prefetch") if isinstance(call, dict) else None
    bundle = sent.get(MESSAGES) if isinstance(sent, dict) else None
    if not isinstance(bundle, dict):
        raise DataError(f'the call brings no "{MESSAGES}"', found="no prefetch", allowed="a Bundle")
    return read_fhir(json.dumps(bundle).encode(), name=MESSAGES, bounds=bounds)


def cards(
    rows: Sequence[Row],
    predictions: Sequence[Prediction],
    *,
    labels: LabelSet,
    maker: Maker,
    priorities: Priorities,
    most: int = 5,
) -> dict[str, Any]:
    """Return the cards of messages that should not wait: highest priority first, then the oldest.

    Messages of the lowest priority get no card. Where there are more than ``most``, one more card
    says how many, with the indicator of the highest among them. The summary holds no words of the
    message; the detail quotes the evidence, as plain text. A reader who overrides a card can say
    which label it should have been: the reason's code is the label's id, and the card's ``uuid`` is
    the same whenever the same model says it of the same message (``card_id``).

    Args:
        rows: What was read.
        predictions: One for each row, in order, with evidence where that is to be shown.
        labels: The model's labels.
        maker: The model by name and version.
        priorities: Label -> priority.
        most: How many messages get a card.

    Raises:
        LabelError: If a prediction has a label that the map doesn't know.
    """
    placed = [(r, p, place(r, p, priorities)) for r, p in zip(rows, predictions, strict=True)]
    waiting = [x for x in placed if x[2].priority != PRIORITIES[0]]
    waiting.sort(key=lambda x: (-rank(x[2].priority), _age(x[0])))
    shown = [_card(*x, labels, maker) for x in waiting[:most]]
    left = waiting[most:]
    if left:
        shown.append(
            {
                "uuid": card_id(maker, "more"),
                "summary": f"{plural(len(left), 'more message')} that should not wait",
                "indicator": _INDICATORS[left[0][2].priority],
                "source": _source(maker),
            }
        )
    return {"cards": shown}


def card_id(maker: Maker, message: str) -> str:
    """Return the ``uuid`` of the card on a message, which feedback names.

    Args:
        maker: The model.
        message: The message's identity (``identity``).
    """
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join((maker.name, maker.version, message))))


def _age(row: Row) -> tuple[bool, str]:
    """Sort by when a message was sent; one of unknown age comes first, since it may be old."""
    utc = attributes_of(row).get("sent_utc")
    when = row.when.isoformat() if isinstance(row, Document) and row.when else ""
    known = utc if isinstance(utc, str) else when
    return bool(known), known


def _card(
    row: Row, prediction: Prediction, where: Place, labels: LabelSet, maker: Maker
) -> dict[str, Any]:
    what = labels[where.label].name if where.label else IN_WORDS[where.reading]
    sent = attributes_of(row).get("sent")
    score = prediction.scores.get(where.label) if where.label else None
    summary = f"{what}{f' ({score:.0%})' if score is not None else ''}"
    summary += f": message of {sent}" if sent else f": message {row.id}"
    return {
        "uuid": card_id(maker, identity(row)),
        "summary": summary if len(summary) <= _SUMMARY else summary[: _SUMMARY - 1] + "…",
        "detail": _detail(row, prediction, where),
        "indicator": _INDICATORS[where.priority],
        "source": _source(maker),
        "overrideReasons": [
            {"system": label_system(labels), "code": x.id, "display": f"Should be: {x.name}"}
            for x in labels.labels[:_REASONS]
            if x.id != where.label
        ],
    }


def _source(maker: Maker) -> dict[str, str]:
    return {"label": f"Attending, model {maker}"}


def _detail(row: Row, prediction: Prediction, where: Place) -> str:
    lines = [] if where.reading == "read" else [f"{told(where.reading, row, prediction)}."]
    if isinstance(row, Document) and where.label is not None:
        wanted = [e for e in prediction.evidence if e.label in (where.label, None)]
        best = sorted(wanted, key=lambda e: -e.score)[:_QUOTES]
        lines += [f"- “{_plain(row.text[e.start : e.end])}”" for e in best if e.score > 0]
        lines += ["", _CAUTION]
    return "\n".join(lines).strip()


def _plain(words: str) -> str:
    """Return words so that Markdown shows them as they are, on one line."""
    folded = _BREAKS.sub(" ", words).strip()
    cut = folded if len(folded) <= _QUOTE else folded[: _QUOTE - 1] + "…"
    return _MARKUP.sub(r"\\\1", cut)

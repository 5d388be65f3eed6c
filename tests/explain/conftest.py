"""A model small enough to work out by hand, and documents for it."""

import math
import re
from types import SimpleNamespace

import pytest

from attending.models.base import TokenScores
from attending.records import Coverage, Document, Label, LabelSet, Prediction, Unreadable, is_blank

WEIGHTS = {"chest": 2.0, "pain": 1.5, "bleeding": 3.0, "thanks": -2.0, "refill": -1.0}
LABELS = LabelSet((Label("routine", "Routine", "Can wait."), Label("urgent", "Urgent")), "urgency")
PIECE = 3


class KeywordModel:
    """P(urgent) is the logistic of the sum of its words' weights; pieces are three letters long."""

    labels = LABELS
    recipe = SimpleNamespace(name="keywords")
    methods = ("weights", "attention")

    def __init__(self) -> None:
        self.asked: list[int] = []

    def predict(self, rows, *, progress=None):
        self.asked.append(len(rows))
        return [self._predict(row) for row in rows]

    def _predict(self, row):
        if isinstance(row, Unreadable):
            return Prediction(row.id, "failed", reason=row.reason)
        if is_blank(row.text):
            return Prediction(row.id, "empty_text", reason="empty_text")
        words = re.findall(r"\w+", row.text.lower())
        urgent = 1 / (1 + math.exp(-sum(WEIGHTS.get(word, 0.0) for word in words)))
        label = "urgent" if urgent >= 0.5 else "routine"
        read = Coverage(len(words), len(words), 1)
        return Prediction(
            row.id, "ok", (label,), {"routine": 1 - urgent, "urgent": urgent}, read=read
        )

    def token_scores(self, documents, *, method=None, labels=None):
        return [self._token_scores(d.text, method or self.methods[0], labels) for d in documents]

    def _token_scores(self, text, method, labels):
        pieces, scores = [], []
        for match in re.finditer(r"\w+|[^\w\s]", text):
            starts = range(match.start(), match.end(), PIECE)
            weight = WEIGHTS.get(match.group().lower(), 0.1 if match.group() == "," else 0.0)
            for start in starts:
                pieces.append((start, min(start + PIECE, match.end())))
                scores.append(weight / len(starts))
        if method == "attention":
            return TokenScores(tuple(pieces), {None: tuple(abs(s) for s in scores)})
        signs = {"routine": -1.0, "urgent": 1.0}
        ids = LABELS.ids if labels is None else labels
        return TokenScores(tuple(pieces), {i: tuple(signs[i] * s for s in scores) for i in ids})


@pytest.fixture
def model():
    return KeywordModel()


@pytest.fixture
def label_set():
    return LABELS


@pytest.fixture
def rows():
    return [
        Document("a", "Thanks for the refill.", ("routine",)),
        Document("b", "   ", ("urgent",)),
        Unreadable("row-3", "the text is not UTF-8"),
        Document("c", "Chest, and the pain is back. Bleeding too, thanks", ("urgent",)),
    ]

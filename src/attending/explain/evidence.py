"""From scores of tokens to words, and from words to the few spans that a reader looks at."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from attending.errors import DataError, LabelError, ModelError, nearest
from attending.explain.words import PieceShares, is_stop_word, word_spans
from attending.models.base import Model, TokenScores, require_method
from attending.records import Document, Evidence, LabelSet, Prediction, Row

WordScores = Mapping[str | None, Sequence[Evidence]]
"""One document's words with their scores, per label id; ``None`` is for no label in particular."""

_BREAK = re.compile(r"[()\[\]{}.!?;\u2026\u3002\uff01\uff1f\n\r\u2028\u2029]")
_DOCUMENTS_AT_A_TIME = 256
_LABELS_AT_A_TIME = 20
_CHARACTERS_AT_A_TIME = 40_000_000  # of a document, times its labels: scores of some 6 M words


def explained_labels(prediction: Prediction) -> tuple[str, ...]:
    """Return the labels that a prediction is explained for: its own, else the likeliest one."""
    if prediction.labels or not prediction.scores:
        return prediction.labels
    return (max(prediction.scores, key=lambda label: prediction.scores[label]),)


def leading_words(prediction: Prediction, words: WordScores) -> Sequence[Evidence]:
    """Return the words scored for what was predicted, else for no label, else none."""
    for label in (*explained_labels(prediction)[:1], None):
        if label in words:
            return words[label]
    return ()


def word_evidence(
    document: Document, token_scores: TokenScores, label: str | None, method: str
) -> list[Evidence]:
    """Return every word of a document with its score for a label, in text order.

    A word's score is the sum over its pieces; a word that no token touched has 0.0. Special tokens
    and punctuation have no entry. Offsets count code points in ``document.text`` as it is.

    Raises:
        LabelError: If there are no scores for the label.
        ModelError: If a score is NaN or infinite.
    """
    return _WordsOf(document, token_scores.offsets).scored(token_scores, label, method)


class _WordsOf:
    """One document's words and the tokens in them, for scores of several labels."""

    def __init__(self, document: Document, offsets: Sequence[tuple[int, int]]) -> None:
        self.document, self.offsets = document, offsets
        self.words = word_spans(document.text)
        self.shares = PieceShares(self.words, offsets)

    def scored(self, tokens: TokenScores, label: str | None, method: str) -> list[Evidence]:
        """Return every word with its score for a label, see ``word_evidence``."""
        where = f"document {self.document.id}"
        if label not in tokens.scores:
            known = [known for known in tokens.scores if known is not None]
            raise LabelError(
                f"there are no token scores for the label {label!r}",
                where=where,
                allowed=f"{len(known)} labels" + (" and None" if None in tokens.scores else ""),
                step=nearest(label or "", known).strip() or None,
            )
        if not all(map(math.isfinite, tokens.scores[label])):
            raise ModelError("its token scores are not finite", where=where)
        scores = self.shares.join(tokens.scores[label])
        return [Evidence(*w, s, label, method) for w, s in zip(self.words, scores, strict=True)]


def evidence_spans(
    document: Document,
    words: Sequence[Evidence],
    *,
    top_share: float = 0.2,
    max_spans: int = 3,
    min_score: float = 0.1,
    bridge: int = 2,
) -> list[Evidence]:
    """Merge a document's strongest words into a few whole-word spans, in text order.

    Args:
        document: The document the words belong to.
        words: Every word with its score, as ``word_evidence`` gives them.
        top_share: The largest share of the words that counts as strong; always at least one word.
        max_spans: How many spans are kept, those of the highest score.
        min_score: A strong word has at least this share of the strongest word's score. Words with
            no score, or a score against the label, are never strong.
        bridge: How many stop words may lie between two strong words of one span. Punctuation is
            bridged with them; a bracket and the end of a sentence or line are not.

    A span of stop words alone says nothing to a reader and is left out where there is any other;
    the words themselves keep their scores.

    Returns:
        Spans from the first to the last strong word; the score is the sum over the words inside.
    """
    best = max((w.score for w in words), default=0.0)
    if not best > 0 or max_spans < 1:
        return []
    count = max(1, math.ceil(top_share * len(words)))
    floor = max(min_score * best, math.ulp(0.0))
    strong = sorted(_by_strength(words, floor)[:count])
    runs: list[list[int]] = []
    for i in strong:
        if runs and _bridged(document.text, words, runs[-1][-1], i, bridge):
            runs[-1].append(i)
        else:
            runs.append([i])
    inside = [words[run[0] : run[-1] + 1] for run in runs]
    spans = [_span(w) for w in inside if not _only_stop_words(document.text, w)]
    spans = spans or [_span(w) for w in inside]
    return [spans[i] for i in sorted(_by_strength(spans)[:max_spans])]


def shading(words: Sequence[Evidence]) -> list[float]:
    """Return how strongly to shade each word, from -1 (against the label) to 1.

    The strongest word has 1 or -1, a score of 0 has 0. Where no score is below zero, as with
    attention, which always lies a little on every word, a word has 0 up to the median one.
    """
    scores = [word.score for word in words]
    floor = 0.0
    if scores and min(scores) >= 0:
        middle = sorted(scores)[(len(scores) - 1) // 2]
        floor = middle if middle < max(scores) else 0.0
    span = max((abs(score) for score in scores), default=0.0) - floor
    if not span > 0:
        return [0.0] * len(scores)
    return [math.copysign(max(0.0, abs(score) - floor) / span, score) for score in scores]


def explained_words(
    model: Model,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    *,
    method: str | None = None,
    labels: Literal["predicted", "known", "all"] | Sequence[str] = "predicted",
) -> list[dict[str | None, list[Evidence]]]:
    """Return, per document, every word with its score for each label that is explained.

    Documents whose status is not ``ok`` get an empty mapping. ``method`` is one of
    ``model.methods`` (the first by default). ``labels`` are those each document was predicted to
    have (the likeliest where it has none), these and its own, all of them, or the ids given. Where
    a method can't tell labels apart, the one entry is for the label ``None``.

    Raises:
        DataError: If documents and predictions don't belong together.
        ModelError: If the method is not one of the model's, or gives NaN.
        LabelError: If a label is not in the model's label set.
    """
    found: list[dict[str | None, list[Evidence]]] = [{} for _ in documents]
    for i, label, words in _each(model, documents, predictions, method, labels):
        found[i][label] = words
    return found


def _each(
    model: Model,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    method: str | None,
    labels: Literal["predicted", "known", "all"] | Sequence[str],
) -> Iterator[tuple[int, str | None, list[Evidence]]]:
    """Yield the place of a document, a label, and every word scored for it; never all at once."""
    check_pairs(documents, predictions)
    method = require_method(method, model.methods, model.recipe.name)
    fixed: Sequence[str] | None = model.labels.ids if labels == "all" else None
    if not isinstance(labels, str):
        fixed = labels
    for label in fixed or ():
        model.labels.position(label)
    overall: set[int] = set()
    words: _WordsOf | None = None
    for rows in _chunks(documents, predictions):
        wanted = {
            i: fixed or _own(documents[i], predictions[i], model.labels, labels == "known")
            for i in rows
        }
        for some, asked in _alike(rows, wanted, documents):
            chunk = [row for i in some if isinstance(row := documents[i], Document)]
            ordered = sorted(asked, key=model.labels.position)
            scored = model.token_scores(chunk, method=method, labels=ordered)
            for i, document, scores in zip(some, chunk, scored, strict=True):
                keys: list[str | None] = [k for k in wanted[i] if k in asked and k in scores.scores]
                if None in scores.scores and i not in overall and (labels == "all" or not keys):
                    keys.insert(0, None)
                    overall.add(i)
                if (
                    words is None
                    or words.document is not document
                    or words.offsets != scores.offsets
                ):
                    words = _WordsOf(document, scores.offsets)
                for key in keys:
                    yield i, key, words.scored(scores, key, method)


def _alike(
    rows: Sequence[int], wanted: Mapping[int, Sequence[str]], documents: Sequence[Row]
) -> Iterator[tuple[list[int], set[str]]]:
    """Group rows so that no document is scored for many labels that only others have.

    With each group come the labels to score. A document so long that its scores for all labels
    would fill memory comes several times, each time with some of them.
    """
    group: list[int] = []
    asked: set[str] = set()
    for i in rows:
        own, length = wanted[i], _length(documents[i])
        if length * len(own) > _CHARACTERS_AT_A_TIME:
            size = max(1, _CHARACTERS_AT_A_TIME // length)
            yield from (([i], set(own[k : k + size])) for k in range(0, len(own), size))
            continue
        together = asked | set(own)
        if group and len(together) > max(_LABELS_AT_A_TIME, len(own)):
            yield group, asked
            group, together = [], set(own)
        group.append(i)
        asked = together
    if group:
        yield group, asked


def _length(row: Row) -> int:
    return len(row.text) if isinstance(row, Document) else 0


def attach_spans(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words: Sequence[WordScores],
) -> list[Prediction]:
    """Return the predictions with the evidence spans of their words; see ``evidence_spans``.

    Raises:
        DataError: If documents, predictions and words don't belong together.
    """
    check_pairs(documents, predictions, words)
    spans = [
        [s for scored in by_label.values() for s in evidence_spans(row, scored)]
        if isinstance(row, Document)
        else []
        for row, by_label in zip(documents, words, strict=True)
    ]
    return _with_spans(predictions, spans)


def explain(
    model: Model,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    *,
    method: str | None = None,
    labels: Literal["predicted", "known", "all"] | Sequence[str] = "predicted",
) -> list[Prediction]:
    """Return the predictions with evidence spans: which words spoke for which label.

    Only predictions of status ``ok`` get evidence. See ``explained_words`` for the arguments and
    errors, ``evidence_spans`` for how spans are made; what ``wording.caution`` says belongs beside.
    """
    found: list[list[Evidence]] = [[] for _ in documents]
    for i, _, words in _each(model, documents, predictions, method, labels):
        row = documents[i]
        assert isinstance(row, Document)
        found[i] += evidence_spans(row, words)
    return _with_spans(predictions, found)


def _with_spans(
    predictions: Sequence[Prediction], spans: Sequence[Sequence[Evidence]]
) -> list[Prediction]:
    pairs = zip(predictions, spans, strict=True)
    return [prediction.with_evidence(found) if found else prediction for prediction, found in pairs]


def check_pairs(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words: Sequence[WordScores] | None = None,
) -> None:
    """Make sure that documents, predictions and words are of one length and in one order.

    Raises:
        DataError: If they are not.
    """
    lengths = [len(documents), len(predictions)] + ([len(words)] if words is not None else [])
    if len(set(lengths)) > 1:
        raise DataError(
            "documents, predictions and words must belong together, one of each a document",
            found=" and ".join(str(n) for n in lengths),
        )
    for i, (row, prediction) in enumerate(zip(documents, predictions, strict=True)):
        if row.id != prediction.id:
            raise DataError(
                "documents and predictions are not in the same order",
                where=f"position {i + 1}",
                found=f'document "{row.id}" with the prediction of "{prediction.id}"',
                step="Pass the predictions in the order of the documents.",
            )


def _own(row: Row, prediction: Prediction, labels: LabelSet, known: bool) -> tuple[str, ...]:
    """Return the labels that a document is explained for: those given, and its own if wanted."""
    more = row.labels or () if known and isinstance(row, Document) else ()
    return tuple(
        dict.fromkeys((*explained_labels(prediction), *(x for x in more if x in labels.ids)))
    )


def _by_strength(items: Sequence[Evidence], floor: float = -math.inf) -> list[int]:
    """Return the places of items with at least some score, the strongest first."""
    places = (i for i, item in enumerate(items) if item.score >= floor)
    return sorted(places, key=lambda i: -items[i].score)


def _bridged(text: str, words: Sequence[Evidence], left: int, right: int, bridge: int) -> bool:
    between = words[left + 1 : right]
    if len(between) > bridge:
        return False
    if not _only_stop_words(text, between):
        return False
    edges = zip(words[left:right], words[left + 1 : right + 1], strict=True)
    return not any(_BREAK.search(text[a.end : b.start]) for a, b in edges)


def _only_stop_words(text: str, words: Sequence[Evidence]) -> bool:
    return all(is_stop_word(text[w.start : w.end]) for w in words)


def _span(words: Sequence[Evidence]) -> Evidence:
    return replace(words[0], end=words[-1].end, score=math.fsum(w.score for w in words))


def _chunks(documents: Sequence[Row], predictions: Sequence[Prediction]) -> Iterator[list[int]]:
    ok = [
        i
        for i, (row, prediction) in enumerate(zip(documents, predictions, strict=True))
        if prediction.status == "ok" and isinstance(row, Document)
    ]
    for start in range(0, len(ok), _DOCUMENTS_AT_A_TIME):
        yield ok[start : start + _DOCUMENTS_AT_A_TIME]

"""Pictures as in the LESA paper: shaded messages (its Figure 4) and a t-SNE map (its Figure 5).

Source: Si et al. 2020, section 4.8. Only fonts that come with matplotlib are used, so a picture
looks the same on every machine; signs that they lack are drawn as a box.
"""

import textwrap
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from attending.errors import DataError
from attending.evaluation.wording import short
from attending.explain.canvas import PALE_INK, Face, Page, ink_on, png, shade
from attending.explain.evidence import WordScores, check_pairs, leading_words
from attending.explain.layout import Block, lay_out
from attending.explain.panels import Passage, passages
from attending.explain.wording import caution, label_name, percent, truth, verdict
from attending.outputs import new_file, require_new
from attending.records import Document, Evidence, LabelSet, Prediction, Row

_WIDTH, _MARGIN, _SIZE, _LINE = 648.0, 24.0, 10.5, 18.0
_HEAD, _GAP = 26.0, 20.0
_FACE_HEIGHT = 14.5
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C7A00")
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">", "p")
_MOST_LABELS, _LONGEST = 20, 40
_MOST_PANELS = 6
_MOST_POINTS = 3000
_FEWEST_POINTS = 5
_MAP_CAPTION = (
    "t-SNE keeps near neighbours near. Distances between groups, their sizes and their density "
    "mean nothing, and another seed or perplexity gives another picture. Overlap here is not "
    "proof that the model can't tell labels apart, nor is a gap proof that it can."
)


def examples_per_label(
    documents: Sequence[Row], predictions: Sequence[Prediction], *, most_words: int = 120
) -> list[int]:
    """Return positions of one document a true label: the middle one by confidence, not the best.

    It is taken from a label's rightly predicted documents of at most ``most_words`` words, where
    there are any. Labels come in the order of the predictions' scores, which is the label set's;
    labels that no document has are left out.
    """
    check_pairs(documents, predictions)
    groups: dict[str, list[tuple[tuple[bool, bool], float, int]]] = {}
    order: dict[str, None] = {}
    for i, (row, prediction) in enumerate(zip(documents, predictions, strict=True)):
        if not isinstance(row, Document) or row.label is None or prediction.status != "ok":
            continue
        order.update(dict.fromkeys(prediction.scores))
        flaws = (row.label not in prediction.labels, len(row.text.split()) > most_words)
        confidence = max(prediction.scores.values(), default=0.0)
        groups.setdefault(row.label, []).append((flaws, confidence, i))
    chosen = []
    for label in order:
        if group := sorted(groups.get(label, [])):
            best = [entry for entry in group if entry[0] == group[0][0]]
            chosen.append(best[len(best) // 2][2])
    return chosen


def examples_of_labels(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    *,
    most: int = 4,
    most_words: int = 300,
) -> list[int]:
    """Return positions of a few documents that show as many labels as they can.

    For each label, the most often given first, the middle document by its score is taken among
    those that have it rightly (or where no labels are known: have it), those of at most
    ``most_words`` words and with several labels first, unless a document taken before has it too.
    """
    check_pairs(documents, predictions)
    groups: dict[str, list[tuple[tuple[bool, bool], float, int]]] = {}
    for i, (row, prediction) in enumerate(zip(documents, predictions, strict=True)):
        if not isinstance(row, Document) or prediction.status != "ok":
            continue
        flaws = (len(row.text.split()) > most_words, len(prediction.labels) < 2)
        for label in prediction.labels:
            if row.labels is None or label in row.labels:
                groups.setdefault(label, []).append((flaws, prediction.scores[label], i))
    chosen: list[int] = []
    for label in sorted(groups, key=lambda x: (-len(groups[x]), x)):
        if len(chosen) == most:
            break
        if not any(label in predictions[i].labels for i in chosen):
            best = [entry for entry in sorted(groups[label]) if entry[0] == min(groups[label])[0]]
            chosen.append(best[len(best) // 2][2])
    return chosen


def attention_png(
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    words: Sequence[WordScores],
    labels: LabelSet,
    path: Path | str,
    *,
    max_lines: int = 30,
    force: bool = False,
) -> None:
    """Draw messages with their words shaded, as in Figure 4 of the LESA paper and 1 of LAME's.

    A message with several labels has a panel for each of them, up to six. Of a long one the
    passages around the strongest words are drawn. A word is as dark as its score is large beside
    the strongest word of its message (see ``shading``); scores against the label are not shaded.
    The picture holds the messages' text: handle it as patient data. ``examples_per_label`` picks
    one document a label, ``examples_of_labels`` a few with several labels.

    Args:
        documents: The documents to draw, a few.
        predictions: Their predictions; those not ``ok`` are drawn without shading.
        words: Their words with scores, see ``explained_words``; the predicted labels' are drawn.
        labels: The labels' names.
        path: The PNG to write.
        max_lines: Lines drawn of a message; the words left out are counted.
        force: Whether a file of that name is replaced.

    Raises:
        DataError: If there is no document or the three don't belong together.
        OutputError: If the file exists or can't be written.
    """
    path = Path(path)
    require_new(path, force=force)
    check_pairs(documents, predictions, words)
    drawn = [
        panel
        for row, prediction, by_label in zip(documents, predictions, words, strict=True)
        if isinstance(row, Document)
        for panel in _panels(row, prediction, by_label, labels)
    ]
    if not drawn:
        raise DataError("there is no document to draw", found=f"{len(documents)} rows")
    face, bold, small = Face(_SIZE), Face(_SIZE, "bold"), Face(8.0)
    inner = _WIDTH - 2 * _MARGIN
    laid = [passages(panel.document, panel.words, inner, face, max_lines) for panel in drawn]
    tops = [_MARGIN]
    for panel, parts in zip(drawn, laid, strict=True):
        heads = _HEAD * ((panel.heading is not None) + (panel.label is not None))
        tops.append(tops[-1] + heads + _LINE * sum(part.lines for part in parts) + _GAP)
    methods = {word.method for panel in drawn for word in panel.words}
    note = "\n".join(f"{method}: {caution(method)}" for method in sorted(methods))
    foot = lay_out(note, [], inner, small, max_lines)
    page = Page(_WIDTH, tops[-1] + 34 + 12 * foot.lines + _MARGIN / 2)
    for top, panel, parts in zip(tops, drawn, laid, strict=False):
        for title, style in ((panel.heading, bold), (panel.label, face)):
            if title is not None:
                page.text(_MARGIN, top + 12, style.cut(title, inner), style)
                top += _HEAD
        _draw(page, top, parts, face)
    _legend(page, tops[-1], foot, small)
    with new_file(path, force=force) as file:
        file.write(page.png())


def tsne_png(
    vectors: ArrayLike,
    labels_of_points: Sequence[str | None],
    label_set: LabelSet,
    path: Path | str,
    seed: int = 0,
    *,
    force: bool = False,
) -> None:
    """Draw a t-SNE map of document vectors by label, as in Figure 5 of the LESA paper.

    vectors (N, H), as ``Model.pooled`` gives them; labels_of_points: N label ids, ``None`` where
    unknown. Starts from the first two principal components; perplexity 30, or a third of the
    other points where these are few. Of more than 3,000 points a random 3,000 are drawn. The 20
    most frequent labels have a colour and a shape each, the others share a grey dot.

    Raises:
        DataError: If there are fewer than five points, a vector is not finite, or the numbers of
            vectors and labels differ.
        LabelError: If a label is not in the label set.
        OutputError: If the file exists or can't be written.
    """
    path = Path(path)
    require_new(path, force=force)
    points = np.asarray(vectors, dtype=np.float64)
    _check_points(points, len(labels_of_points))
    for label in {label for label in labels_of_points if label is not None}:
        label_set.position(label)
    chosen = np.arange(len(points))
    if len(points) > _MOST_POINTS:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(len(points), _MOST_POINTS, replace=False))
    labels = [labels_of_points[i] for i in chosen.tolist()]
    perplexity = min(30.0, (len(chosen) - 1) / 3)
    places = _embed(points[chosen], perplexity, seed)
    count = f"{len(chosen):,}" + (f" of {len(points):,}" if len(chosen) < len(points) else "")
    caption = f"{count} documents, perplexity {perplexity:.3g}, seed {seed}. {_MAP_CAPTION}"
    with new_file(path, force=force) as file:
        file.write(png(_map(places, labels, label_set, caption)))


@dataclass(frozen=True, slots=True)
class _Panel:
    """A message shaded once: its heading where it is the message's first, and for which label."""

    document: Document
    words: Sequence[Evidence]
    heading: str | None
    label: str | None


def _panels(
    row: Document, prediction: Prediction, by_label: WordScores, labels: LabelSet
) -> list[_Panel]:
    """Return a message's panels: one, or one a label where it was given several."""
    heading = _heading(row, prediction, labels)
    given = [x for x in prediction.labels if x in by_label]
    if len(given) < 2 and len(prediction.labels) < 2 and len(row.labels or ()) < 2:
        return [_Panel(row, leading_words(prediction, by_label), heading, None)]
    panels: list[_Panel] = []
    known = truth(row, labels)
    first = row.id if known is None else f"{row.id}  \u00b7  true: {known}"
    for label in given[:_MOST_PANELS]:
        sure = percent(prediction.scores[label])
        right = "" if row.labels is None or label in row.labels else ", not a known label"
        said = f"{label_name(labels, label)}, {sure}{right}:"
        panels.append(_Panel(row, by_label[label], None if panels else first, said))
    rest = len(given) - len(panels)
    if rest > 0:
        last = panels[-1]
        panels[-1] = replace(last, label=f"{last.label} (and {rest} more labels, not drawn)")
    return panels or [_Panel(row, leading_words(prediction, by_label), heading, None)]


def _heading(document: Document, prediction: Prediction, labels: LabelSet) -> str:
    said, known = verdict(prediction, labels), truth(document, labels)
    said = said if prediction.status != "ok" else f"predicted: {said}"
    return said if known is None else f"true: {known}  \u00b7  {said}"


def _draw(page: Page, top: float, parts: Sequence[Passage], face: Face) -> None:
    for passage in parts:
        if passage.note is not None:
            page.text(_MARGIN, top + 11, passage.note, face, PALE_INK)
            top += _LINE
        for part in passage.block.parts if passage.block else ():
            y = top + part.line * _LINE
            colour = shade(part.strength)
            if part.strength > 0:
                page.box(_MARGIN + part.x, y, part.width, _FACE_HEIGHT, colour)
            page.text(_MARGIN + part.x, y + 11, part.text, face, ink_on(colour))
        top += _LINE * (passage.block.lines if passage.block else 0)


def _legend(page: Page, top: float, note: Block, face: Face) -> None:
    label = "no weight, or no more than most words"
    x = _MARGIN + face.width(label) + 6
    page.text(_MARGIN, top + 10, label, face, PALE_INK)
    for i in range(60):
        page.box(x + 2 * i, top + 1, 2.2, 11, shade(i / 59))
    page.text(x + 128, top + 10, "strongest word of the message", face, PALE_INK)
    for part in note.parts:
        page.text(_MARGIN + part.x, top + 32 + 12 * part.line, part.text, face, PALE_INK)


def _check_points(points: NDArray[np.float64], labels: int) -> None:
    if points.ndim != 2 or len(points) != labels:
        raise DataError(
            "one vector and one label a point are needed",
            found=f"vectors of shape {points.shape} and {labels} labels",
        )
    if len(points) < _FEWEST_POINTS:
        raise DataError(
            "too few points for a map", found=str(len(points)), allowed=f"{_FEWEST_POINTS} or more"
        )
    if not np.isfinite(points).all():
        bad = int((~np.isfinite(points).all(axis=1)).sum())
        raise DataError("vectors must be finite", found=f"{bad} with NaN or infinity")


def _embed(points: NDArray[np.float64], perplexity: float, seed: int) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    init = "pca" if points.shape[1] >= 2 and np.ptp(points, axis=0).any() else "random"
    model = TSNE(2, perplexity=perplexity, init=init, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(model.fit_transform(points), dtype=np.float64)


def _map(
    places: NDArray[np.float64], labels: Sequence[str | None], label_set: LabelSet, caption: str
) -> Figure:
    counts = Counter(label for label in labels if label is not None)
    common = [label for label, _ in counts.most_common(_MOST_LABELS)]
    wide, high = np.ptp(places, axis=0)
    height = 1.2 + 5.6 * min(1.1, max(0.5, high / max(wide, 1e-9)))
    figure = Figure(figsize=(7.5, height), dpi=150, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for label in sorted(common, key=label_set.position):
        i = label_set.position(label)
        name = short(label_name(label_set, label), _LONGEST)
        here = places[[x == label for x in labels]]
        layer = 3 + common.index(label)
        colour, shape = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
        _scatter(axes, here, f"{name} ({counts[label]:,})", colour, shape, layer)
    others = places[[x is not None and x not in common for x in labels]]
    if len(others):
        name = f"{len(counts) - len(common)} other labels ({len(others):,})"
        _scatter(axes, others, name, "#8a8a8a", ".", 2)
    if len(none := places[[x is None for x in labels]]):
        _scatter(axes, none, f"no label ({len(none):,})", "#8a8a8a", "d", 1)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.set_title(f"Documents by {label_set.name}", fontsize=11, loc="left", parse_math=False)
    # Given by hand, since names that begin with "_" are left out else.
    drawn = [c for c in axes.collections if c.get_label()]
    names = [str(c.get_label()) for c in drawn]
    legend = figure.legend(drawn, names, loc="outside right upper", fontsize=9, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.supxlabel("\n".join(textwrap.wrap(caption, 105)), fontsize=8, ha="left", x=0.01)
    return figure


def _scatter(
    axes: Axes, places: NDArray[np.float64], name: str, colour: str, shape: str, layer: int
) -> None:
    axes.scatter(
        places[:, 0],
        places[:, 1],
        s=26,
        c=colour,
        marker=shape,
        label=name,
        alpha=0.85,
        zorder=layer,
        linewidths=0.4,
        edgecolors="white",
    )

import warnings

import numpy as np
import pytest
from matplotlib.image import imread

from attending.errors import DataError, LabelError, OutputError
from attending.explain import pictures
from attending.explain.evidence import explained_words
from attending.explain.pictures import attention_png, examples_per_label, tsne_png
from attending.records import Coverage, Document, LabelSet, Prediction


def drawn(path, model, rows, labels, **options):
    predictions = model.predict(rows)
    words = explained_words(model, rows, predictions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attention_png(rows, predictions, words, labels, path, **options)
    return imread(path)[:, :, :3]


def blue(image):
    """Count the pixels that are clearly bluer than they are red."""
    return int((image[:, :, 2] - image[:, :, 0] > 0.3).sum())


def test_strong_words_are_dark_and_words_against_are_not(tmp_path, model, label_set):
    strong = drawn(tmp_path / "1.png", model, [Document("a", "bleeding " * 3)], label_set)
    none = drawn(tmp_path / "2.png", model, [Document("a", "nothing at all")], label_set)
    both = drawn(tmp_path / "3.png", model, [Document("a", "bleeding refill thanks")], label_set)
    legend = blue(none)
    assert legend > 0
    assert blue(strong) - legend == pytest.approx(3 * (blue(both) - legend), rel=0.1)


def test_more_messages_and_longer_ones_make_a_taller_picture(tmp_path, model, label_set):
    one = [Document("a", "chest pain")]
    heights = [
        drawn(tmp_path / f"{i}.png", model, rows, label_set, max_lines=6).shape[0]
        for i, rows in enumerate([one, one * 2, [Document("b", "pain " * 60)]])
    ]
    assert heights[1] > heights[0] and heights[2] > heights[0]
    huge = drawn(tmp_path / "h.png", model, [Document("b", "pain " * 9000)], label_set, max_lines=6)
    assert heights[2] < huge.shape[0] < 2 * heights[2]


def test_odd_messages_are_drawn_without_a_warning(tmp_path, model, label_set, rows):
    odd = [
        *rows,
        Document(
            "emoji", "👩\u200d⚕️ pain 😀👍🏽 $5 and $6 \\frac{1}{2} _x^2 % # \ud800 \x00 \u202e!"
        ),
        Document("wide", "x" * 900 + " 頭が痛い" * 40),
        Document("rtl", "لا أستطيع التنفس pain 3 שלום", None),
    ]
    image = drawn(tmp_path / "odd.png", model, odd, label_set)
    edge = np.concatenate([image[:, :20], image[:, -20:]], axis=1)
    assert (edge == 1).all(), "something runs over the margin"


def test_equal_input_gives_equal_bytes(tmp_path, model, label_set, rows):
    for name in ("1.png", "2.png"):
        drawn(tmp_path / name, model, rows, label_set)
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()


def test_nothing_to_draw_is_an_error(tmp_path, model, label_set, rows):
    with pytest.raises(DataError, match="no document"):
        drawn(tmp_path / "x.png", model, rows[2:3], label_set)
    assert not list(tmp_path.iterdir())


def test_no_picture_is_overwritten_unasked(tmp_path, model, label_set, rows):
    path = tmp_path / "x.png"
    path.write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists"):
        drawn(path, model, rows, label_set)
    with pytest.raises(OutputError, match="exists"):
        tsne_png(np.eye(6), ["routine"] * 6, label_set, path)
    assert path.read_bytes() == b"mine"
    drawn(path, model, rows, label_set, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_examples_are_the_middle_ones_not_the_best():
    def predicted(label, confidence):
        other = {"a": "b", "b": "a"}[label]
        scores = {label: confidence, other: 1 - confidence}
        return Prediction("x", "ok", (label,), dict(sorted(scores.items())), read=Coverage(1, 1, 1))

    truths = ["a", "a", "a", "a", "b", "b", "c", None]
    guesses = [("a", 0.9), ("a", 0.7), ("a", 0.6), ("b", 0.8), ("a", 0.9), ("a", 0.8), ("a", 0.9)]
    documents = [Document("x", "text", None if t is None else (t,)) for t in truths]
    predictions = [*(predicted(*guess) for guess in guesses), predicted("a", 0.9)]
    chosen = examples_per_label(documents, predictions)
    assert chosen == [1, 4], (
        "the middle right one of a; none of b is right, so the middle wrong one"
    )
    long = [
        Document("x", "text " * (200 if i == 1 else 1), d.labels) for i, d in enumerate(documents)
    ]
    assert examples_per_label(long, predictions)[0] == 0


@pytest.mark.parametrize("count", [5, 7, 40])
def test_small_sets_have_a_map_too(tmp_path, label_set, count):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(count, 8))
    labels = [["urgent", "routine", None][i % 3] for i in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tsne_png(points, labels, label_set, tmp_path / "a.png", seed=1)
        tsne_png(points, labels, label_set, tmp_path / "b.png", seed=1)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("points", [np.zeros((6, 3)), np.ones((6, 1)), np.arange(6.0)[:, None]])
def test_points_without_two_dimensions_have_a_map(tmp_path, label_set, points):
    tsne_png(points, ["urgent"] * 6, label_set, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_many_labels_fit_beside_the_map(tmp_path):
    labels = LabelSet.from_ids([f"code ${i} with a rather long official name" for i in range(40)])
    points = np.random.default_rng(0).normal(size=(80, 4))
    tsne_png(points, [labels.ids[i % 40] for i in range(80)], labels, tmp_path / "a.png")
    image = imread(tmp_path / "a.png")[:, :, :3]
    assert (image[:, -3:] == 1).all(), "the legend runs over the edge"


def test_every_label_has_its_name_beside_the_map():
    """Also those without a blank to cut at, and those that begin as private names do."""
    ids = ["bleeding_in_the_head_without_mention_of_trauma", "_other", "ok",
           "bleeding_in_the_head_with_mention_of_trauma_x"]  # fmt: skip
    places = np.random.default_rng(0).normal(size=(8, 2))
    figure = pictures._map(places, [ids[i % 4] for i in range(8)], LabelSet.from_ids(ids), "")
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == 4 and "_other (2)" in names and "ok (2)" in names
    assert all(name.startswith(("bleeding_in_the_head_with", "_other", "ok")) for name in names)


@pytest.mark.parametrize(
    ("points", "labels", "error", "message"),
    [
        (np.ones((4, 2)), ["urgent"] * 4, DataError, "too few points"),
        (np.ones((6, 2)), ["urgent"] * 5, DataError, "5 labels"),
        (np.ones(6), ["urgent"] * 6, DataError, "shape"),
        (np.full((6, 2), np.nan), ["urgent"] * 6, DataError, "6 with NaN"),
        (np.ones((6, 2)), ["urgnt"] * 6, LabelError, "urgnt"),
    ],
)
def test_bad_points_are_refused(tmp_path, label_set, points, labels, error, message):
    with pytest.raises(error, match=message):
        tsne_png(points, labels, label_set, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())

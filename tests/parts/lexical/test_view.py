"""The lexical view: what is found, where and how surely; training rows don't see themselves."""

import math
from itertools import pairwise

import numpy as np
import pytest

from attending.errors import TrainingError
from attending.parts.lexical import LexicalView
from attending.parts.lexical.folds import assign_folds
from attending.parts.lexical.words import read_words
from attending.records import Document, Label, LabelSet, Span
from attending.specs import LexicalFeatures

LABELS = LabelSet(
    (
        Label("8500", "", "carcinoma ductal infiltrante"),
        Label("8140", "", "adenocarcinoma"),
        Label("9999", "", "tumor maligno de células gigantes"),
    )
)


def document(name, text, **spans):
    found = [
        Span(text.index(s), text.index(s) + len(s), label)
        for label, surfaces in spans.items()
        for s in surfaces
    ]
    ids = tuple(s.removeprefix("c") for s in spans)
    return Document(name, text, ids, tuple(Span(x.start, x.end, x.label[1:]) for x in found))


ROWS = (
    document("a", "Biopsia: CDI de mama izquierda.", c8500=["CDI"]),
    document("b", "Informe de C.D.I. bilateral", c8500=["C.D.I."]),
    document("c", "Se confirma adenocarcinoma de colon", c8140=["adenocarcinoma"]),
    document("d", "CDI y adenocarcinoma", c8500=["CDI"], c8140=["adenocarcinoma"]),
    document("e", "El CDI se descartó", c8140=[]),
    Document("f", "Sin hallazgos", ()),
)
PLAIN = LexicalFeatures(mined=0)


@pytest.fixture(scope="module")
def view():
    return LexicalView.fit(PLAIN, ROWS, LABELS)


def cells(view, text):
    dense = view.features([Document("x", text)]).dense()[0]
    return {
        i: dict(zip(view.names, row, strict=True)) for i, row in zip(LABELS.ids, dense, strict=True)
    }


@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("hubo un cdi previo", "cdi"),
        ("hubo un CDI, previo", "CDI"),
        ("😀 áé CDI", "CDI"),
        ("ADENOCARCINÓMA", "ADENOCARCINÓMA"),
        ("a CDI\u0301?", None),
        ("carcinoma\r\n ductal  infiltrante", "carcinoma\r\n ductal  infiltrante"),
    ],
)
def test_surfaces_are_found_without_case_accents_and_spacing_at_true_offsets(view, text, surface):
    found = view.spans(Document("x", text), LABELS.ids)
    for e in found:
        assert 0 <= e.start < e.end <= len(text) and e.score > 0 and e.label in LABELS.ids
    if surface is not None:
        assert surface in [text[e.start : e.end] for e in found]


def test_words_inside_words_are_no_match(view):
    assert view.spans(Document("x", "CDIs precdi"), ["8500"]) == []


def test_a_strength_is_a_smoothed_log_odds(view):
    """CDI stands in a, d and e; a and d have the label."""
    strong = cells(view, "CDI")["8500"]["annotated"]
    # C.D.I. is another group of words. The rate leaves one right document of each cell out.
    right = 2
    cells_right = (2 - 1) + (1 - 1) + (2 - 1)
    cells_seen = (3 - 1) + (1 - 1) + (2 - 1)
    rate = (1 + cells_right) / (2 + cells_seen)
    share = (right + rate) / (3 + 1)
    assert strong == pytest.approx(math.log(share / (1 - share)) + 6, abs=1e-5)
    assert cells(view, "nada")["8500"]["annotated"] == 0


def test_a_label_that_no_row_has_is_found_by_its_description(view):
    found = cells(view, "Tumor maligno de celulas gigantes")["9999"]
    assert found["label_text"] > 0 and found["overlap_full"] == 1 and found["examples"] == 0


def test_training_rows_are_scored_by_views_that_did_not_see_them():
    own = Document("own", "palabra rara zzqx", ("8500",), (Span(13, 17, "8500"),))
    rows = (*ROWS, own)
    mine = LexicalView.fit(PLAIN, rows, LABELS)
    at = mine.names.index("annotated")
    assert mine.features([own]).dense()[0][0, at] > 0
    crossed = mine.features_training(rows).dense()
    assert crossed.shape == (len(rows), len(LABELS), len(mine.names))
    assert crossed[-1][0, at] == 0
    with pytest.raises(TrainingError, match="need labelled documents"):
        mine.features_training([Document("u", "x", None)])


def test_equal_texts_and_groups_stay_in_one_fold_whatever_the_order():
    rows = [Document(f"d{i}", f"text {i}", ()) for i in range(9)]
    rows += [Document("copy", "TEXT  3", ()), Document("g1", "one", (), group="p")]
    rows += [Document("g2", "two", (), group="p")]
    fold = assign_folds(rows, 3)
    assert fold[3] == fold[9] and fold[10] == fold[11] and set(fold) == {0, 1, 2}
    order = np.random.default_rng(0).permutation(len(rows)).tolist()
    assert assign_folds([rows[i] for i in order], 3) == [fold[i] for i in order]


def test_a_view_is_saved_and_read_without_change(view, tmp_path):
    view.save(tmp_path)
    again = LexicalView.load(tmp_path, PLAIN, LABELS)
    texts = [
        Document("x", t) for t in ("CDI y adenocarcinoma", "tumor de células gigantes", "nada")
    ]
    assert np.array_equal(view.features(texts).dense(), again.features(texts).dense())
    assert [view.spans(t, LABELS.ids) for t in texts] == [again.spans(t, LABELS.ids) for t in texts]
    assert not list(tmp_path.glob("*.pkl")) and read_words("CDI").folded == ("cdi",)


def test_sources_can_be_switched_off_one_by_one():
    bare = LexicalFeatures(mined=0, annotated=False, overlap=False)
    view = LexicalView.fit(bare, ROWS, LABELS)
    assert view.names == ("label_text", "label_text_words", "examples")
    assert not cells(view, "CDI")["8500"]["label_text"]


def test_blanks_around_a_label_s_text_change_nothing():
    """Endings are cut off from the end of what is there."""

    def groups(texts):
        labels = LabelSet(tuple(Label(f"c{i}", description=t) for i, t in enumerate(texts)))
        view = LexicalView.fit(PLAIN, [Document("x", "fever", ("c0",))], labels)
        return [sorted(cells_of) for cells_of in _surfaces(view, labels)]

    plain = ["Fever NOS", "Hepatitis A NOS", "Asthma, NOS", "Cough, NOS", "Pain, NOS"]
    assert groups([f" {t} " for t in plain]) == groups(plain)


def _surfaces(view, labels):
    for text in ("fever", "hepatitis a", "asthma", "cough", "pain", "asthma n"):
        found = view.spans(Document("x", text), labels.ids)
        yield [(e.label, e.start, e.end) for e in found]


def test_places_of_a_long_text_are_found_in_time(view):
    """Twenty thousand mentions: compared one by one they would take minutes."""
    found = view.spans(Document("x", "CDI y " * 20_000), ["8500"])
    assert len(found) == 20_000
    assert all(a.end <= b.start for a, b in pairwise(found))

import numpy as np
import pytest

from attending.parts.lexical.overlap import fit_overlap
from attending.parts.lexical.related import fit_related
from attending.parts.lexical.surfaces import fit_surfaces
from attending.parts.lexical.view import LexicalView
from attending.parts.lexical.words import read_words
from attending.records import Document, Label, LabelSet
from attending.specs import LexicalFeatures

COLON, LUNG, PAIN = "Malignant neoplasm of colon", "Malignant neoplasm of lung", "Pain"
LABELS = LabelSet(
    (
        Label("C18", description=COLON),
        Label("C34", description=LUNG),
        Label("C61", description="Malignant neoplasm of prostate"),
        Label("R52", description=PAIN),
    )
)


def documents() -> list[Document]:
    rows = [("carcinoma of the colon", "C18"), ("carcinoma in the lung", "C34")] * 6
    rows += [("she says that pain went away", "R52"), ("it was in the night: pain", "R52")] * 6
    return [Document(f"d{i}", f"{text}. {i}", (label,)) for i, (text, label) in enumerate(rows)]


@pytest.fixture(scope="module")
def view() -> LexicalView:
    return LexicalView.fit(LexicalFeatures(), documents(), LABELS)


def chance(view: LexicalView, word: str, said: str) -> float:
    related, overlap = view.related, view.overlap
    assert related is not None and overlap is not None
    column = overlap.column(said)
    if word not in related.stems:
        return 0.0
    return float(related.chances[related.stems.index(word), column])


def test_what_one_word_explains_is_no_credit_to_another(view):
    assert chance(view, "carcin", "malign") > 0.6
    assert chance(view, "colon", "malign") < 0.3
    assert chance(view, "pain", "malign") == 0


def test_a_label_without_a_document_is_found_by_words_that_stand_for_its_own(view):
    text = Document("x", "Known for years. A carcinoma of the prostate.", None)
    features = view.features([text])
    prostate = LABELS.position("C61")
    assert features.matrix("related")[0, prostate] > features.matrix("overlap")[0, prostate] + 0.2
    assert features.matrix("related")[0, LABELS.position("R52")] == 0
    shown = {text.text[e.start : e.end] for e in view.spans(text, ["C61"])}
    assert shown == {"carcinoma", "prostate"}


def test_words_of_different_sentences_make_no_hit(view):
    text = Document("x", "A carcinoma was found. The prostate is small.", None)
    assert view.features([text]).matrix("related")[0, LABELS.position("C61")] == 0


def test_it_can_be_left_out_and_is_kept_on_disk(view, tmp_path):
    bare = LexicalView.fit(LexicalFeatures(related=False), documents(), LABELS)
    assert bare.related is None and "related" not in bare.names
    view.save(tmp_path)
    again = LexicalView.load(tmp_path, view.spec, LABELS)
    assert again.related is not None and again.related.stems == view.related.stems
    texts = [Document("x", "carcinoma of the prostate", None)]
    assert np.array_equal(again.features(texts).dense(), view.features(texts).dense())


def test_nothing_to_learn_from_leaves_the_labels_own_words():
    overlap = fit_overlap([(0, ["pain"])], [], size=6)
    related = fit_related([], [], overlap)
    hits = related.find(read_words("much pain"), overlap)
    assert [(h.label, round(h.coverage, 2)) for h in hits] == [(0, 0.98)]
    assert related.find(read_words("nothing"), overlap) == []


def test_a_surface_at_the_end_of_a_text_ends_there():
    owners = {("chest", "pain", "now"): [0], ("chest", "pain"): [1]}
    surfaces = fit_surfaces(owners, [], [], smoothing=1.0, overlapping=True, from_documents=False)
    found = list(surfaces.find(read_words("much chest pain")))
    assert [(m.surface, m.first, m.stop) for m in found] == [(1, 1, 3)]


def test_a_word_counts_once_a_sentence_and_its_place_is_none(view):
    """Chances were learned from whether a document holds a word, not how often."""

    def found(text):
        return view.features([Document("x", text, None)]).matrix("related").toarray()

    once = found("carcinoma of the colon")
    assert once.max() > 0
    assert np.array_equal(found("carcinoma of the colon, carcinoma and carcinoma"), once)
    assert np.allclose(found("colon: the carcinoma of it"), found("carcinoma of it: the colon"))

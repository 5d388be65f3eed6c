import subprocess
import sys

import pytest
from sklearn.base import clone

import attending
from attending import Tagger
from attending.data.spans.brat import write_brat
from attending.data.spans.corpus import SpanCorpus
from attending.errors import DataError, ModelError
from attending.records import Document, Unreadable

QUICK = {
    "training.epochs": 40,
    "training.batch_size": 4,
    "training.learning_rate": 5e-3,
    "training.precision": "float32",
}


@pytest.fixture(scope="module")
def tagger(tiny_encoder, annotated):
    return Tagger("atl-ner", encoder=str(tiny_encoder), settings=QUICK, seed=1).fit(
        annotated, development=[]
    )


def test_fit_and_predict(tagger, annotated):
    assert tagger.classes_ == ("Drug", "Finding") and tagger.metrics_ == {}
    found = tagger.predict([d.text for d in annotated])
    said = [{(s.start, s.end, s.label) for s in spans} for spans in found]
    assert said == [{(s.start, s.end, s.label) for s in d.spans} for d in annotated]
    assert tagger.score(annotated) == 1.0
    assert any("not calibrated" in note for note in tagger.notes_)


def test_every_text_has_an_answer_or_a_reason(tagger):
    texts = ["took insulin", "", None, Unreadable("x", "why"), Document("d", "fever")]
    found = tagger.predict(texts)
    assert [spans is None for spans in found] == [False, True, True, True, False]
    assert [p.status for p in tagger.predictions(texts)] == [
        "ok", "empty_text", "failed", "failed", "ok",
    ]  # fmt: skip


def test_saved_and_loaded_without_a_socket(tagger, annotated, tmp_path):
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.predict([d.text for d in annotated]) == tagger.predict([d.text for d in annotated])
    assert again.classes_ == tagger.classes_
    with pytest.raises(ModelError, match="tags spans"):
        attending.Classifier.load(tmp_path / "m")


def test_paths_and_corpora_are_read(tagger, annotated, tmp_path):
    write_brat(annotated, tmp_path / "brat")
    assert tagger.score(tmp_path / "brat") == 1.0
    assert tagger.score(SpanCorpus(annotated)) == 1.0
    with pytest.raises(DataError):
        tagger.score(tmp_path / "nothing")


def test_scikit_learn_s_manners(tagger):
    again = clone(tagger)
    assert again.get_params() == tagger.get_params() and not hasattr(again, "model_")
    with pytest.raises(ModelError, match="not fitted"):
        again.predict(["pain"])


def test_the_name_is_loaded_lazily():
    code = (
        "import sys, attending; assert 'Tagger' in dir(attending); "
        "assert 'torch' not in sys.modules; attending.Tagger"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

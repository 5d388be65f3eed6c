"""Formats are told apart; types become a label set."""

import gzip
import json

import pytest

from attending.data.corpora import Corpus
from attending.data.spans.corpus import SpanCorpus
from attending.data.spans.formats import detect, load_spans, write_spans
from attending.data.spans.types import infer_types
from attending.errors import DataError, LabelError
from attending.records import Document, Span

TAGGED = "No\tO\nfever\tB-Sign_symptom\n\n"
ROW = {"id": "a", "text": "No fever", "spans": [{"start": 3, "end": 8, "label": "Sign_symptom"}]}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x.conll", TAGGED, "conll"),
        ("x.tsv", TAGGED, "conll"),
        ("x.tsv.gz", gzip.compress(TAGGED.encode(), mtime=0), "conll"),
        ("x.txt", "-DOCSTART- -X- O\n\nNo DT O\n", "conll"),
        ("x.tsv", "text\tlabel\nNo fever\turgent\n", None),
        ("x.csv", "text,label\n", None),
        ("x.jsonl", json.dumps(ROW), "jsonl"),
        ("x.jsonl", json.dumps({**ROW, "label": "urgent"}), None),
        ("x.jsonl", json.dumps({"text": "a", "label": [[0, 1, "X"]]}), "jsonl"),
        ("x.jsonl", json.dumps({"text": "a", "labels": ["b"]}), None),
        ("x.json", "[]", "jsonl"),
        ("x.ann", "", "brat"),
        ("x.parquet", b"PAR1", None),
    ],
)
def test_by_name_and_content(tmp_path, name, content, kind):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    assert detect(tmp_path / name) == kind
    if kind is None:
        with pytest.raises(DataError, match="can't be told"):
            load_spans(tmp_path / name)


def test_a_folder_is_brat(tmp_path):
    assert detect(tmp_path) is None
    (tmp_path / "a.txt").write_text("x")
    assert detect(tmp_path) == "brat"
    assert detect(tmp_path / "missing") is None
    with pytest.raises(DataError, match="no such file"):
        load_spans(tmp_path / "missing")


@pytest.mark.parametrize("format", ["brat", "conll", "jsonl", "doccano", "label-studio"])
def test_every_format_is_written_and_loaded(tmp_path, format):
    document = Document("a", "No fever", spans=(Span(3, 8, "Sign_symptom"),))
    out = tmp_path / {"conll": "x.conll", "brat": "folder"}.get(format, "x.json")
    assert write_spans([document], out, format).spans == 1
    for named in (format, "auto"):
        corpus = load_spans(out, named)
        assert isinstance(corpus, SpanCorpus)
        assert isinstance(corpus, Corpus)
        (again,) = corpus
        assert (again.id, again.text, again.labels) == ("a", "No fever", None)
        assert [(s.start, s.end, s.label) for s in again.spans] == [(3, 8, "Sign_symptom")]
        assert corpus.type_counts == {"Sign_symptom": 1}


def test_options_are_checked(tmp_path):
    (tmp_path / "x.conll").write_text(TAGGED)
    with pytest.raises(DataError, match="offsets can't count"):
        load_spans(tmp_path / "x.conll", offsets="bytes")
    with pytest.raises(DataError, match="no format of spans"):
        load_spans(tmp_path / "x.conll", "pubtator")


def test_the_fingerprint_knows_spans(tmp_path):
    document = Document("a", "No fever", spans=(Span(3, 8, "Sign"),))
    corpus = SpanCorpus((document,))
    other = SpanCorpus((Document("a", "No fever", spans=(Span(3, 8, "Mass"),)),))
    assert corpus.fingerprint != other.fingerprint
    same = SpanCorpus((Document("a", "No fever", spans=(Span(3, 8, "Sign", id="T1"),)),), "b")
    assert corpus.fingerprint == same.fingerprint
    assert isinstance(corpus.subset([0]), SpanCorpus)


def test_types_are_sorted_and_have_names():
    spans = (Span(0, 1, "Sign_symptom"), Span(1, 2, "Mass"), Span(0, 2, "Mass"))
    types = infer_types([Document("a", "ab", spans=spans)])
    assert types.ids == ("Mass", "Sign_symptom")
    assert types["Sign_symptom"].name == "Sign symptom"
    with pytest.raises(LabelError, match="no document has an annotated span"):
        infer_types([Document("a", "ab")])

"""CoNLL: words, sentences, documents, tags in any column; the same bytes back."""

import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.spans.conll import read_conll
from attending.data.spans.conll_writer import write_conll
from attending.data.spans.formats import load_spans
from attending.errors import DataError
from attending.records import Document, Prediction, Span

from .conftest import documents, entities


@pytest.fixture
def file(tmp_path):
    def write(content: str, name: str = "x.conll"):
        (tmp_path / name).write_bytes(content.encode())
        return tmp_path / name

    return write


def words_of(document):
    return [document.text[a:b] for a, b in document.attributes["tokens"]]


def test_the_case_of_document_markers(case, tmp_path):
    values = json.loads((case("D15") / "expected.json").read_text())["values"]
    path = case("D15") / "docs.conll"
    corpus = read_conll(path)
    assert len(corpus) == values["n_docs"]
    sentences = [d.attributes["sentences"] for d in corpus]
    assert [len(s) for s in sentences] == values["sentences_per_doc"]
    tokens = [words_of(d)[a:b] for d, own in zip(corpus, sentences, strict=True) for a, b in own]
    assert tokens == values["tokens"]
    assert sum(len(d.spans) for d in corpus) == values["n_entities"]
    assert not any("DOCSTART" in d.text for d in corpus)
    write_conll(corpus.documents, tmp_path / "out.conll")
    assert (tmp_path / "out.conll").read_bytes() == path.read_bytes()


def test_an_i_without_b_is_told_with_its_sentence(file):
    path = file("a\tO\n\nfine\tB-MED\nx\tO\n\nold\tI-MED\nwine\tI-MED\n")
    corpus = read_conll(path)
    (fault,) = corpus.faults
    assert str(fault) == (
        'x.conll line 6: the tag "I-MED" in sentence 3 breaks iob2: read as an entity by the rule '
        "conlleval"
    )
    assert fault.severity == "warning"
    assert corpus.type_counts == {"MED": 2}
    assert read_conll(path, rule="strict").type_counts == {"MED": 1}
    assert read_conll(path, scheme="iob1").type_counts == {"MED": 2}


@pytest.mark.parametrize(
    ("content", "column", "entities"),
    [
        ("No DT O\nfever NN B-X\n\n", -1, [(3, 8, "X")]),
        ("O\tNo\tDT\nB-X\tfever\tNN\n\n", 0, [(3, 8, "X")]),
        ("No O DT\r\nfever I-X NN\r\nhigh I-X NN\r\n", 1, [(3, 13, "X")]),
        ("new york\tB-X\n1\u00a01/2\tI-X\n", -1, [(0, 14, "X")]),
        ("#\tB-X\n# a comment\nof\tO\n", -1, [(0, 1, "X")]),
        ("a\u2028b\tB-X\n\x85\x0b.\tO\n", -1, [(0, 3, "X")]),
    ],
)
def test_tabs_or_blanks_tags_anywhere_and_the_same_bytes_back(
    file, content, column, entities, tmp_path
):
    corpus = read_conll(file(content), column=column)
    (document,) = corpus
    assert [(s.start, s.end, s.label) for s in document.spans] == entities
    write_conll(corpus.documents, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content.encode()


def test_what_a_document_is(file):
    content = "\n# newdoc id = n7\na\tO\n\nb\tO\n\n###MEDLINE:123\nc\tO\n\n-DOCSTART- (d 9)\nd\tO\n"
    path = file(content)
    assert [(d.id, d.text) for d in read_conll(path)] == [
        ("n7", "a\nb"), ("123", "c"), ("d 9", "d"),
    ]  # fmt: skip
    assert [d.text for d in read_conll(path, documents="sentences")] == ["a", "b", "c", "d"]
    (whole,) = read_conll(path, documents="file")
    assert whole.text == "a\nb\nc\nd"
    assert [d.id for d in read_conll(file("a\tO\n\n\nb\tO\n"))] == ["x-1", "x-2"]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (1, ["a b", "c", "d e f", "g"]),
        (3, ["a b\nc", "d e f", "g"]),
        (4, ["a b\nc", "d e f\ng"]),
        (99, ["a b\nc", "d e f\ng"]),
    ],
)
def test_sentences_in_a_row_are_a_document_up_to_so_many_words(file, words, texts):
    path = file("a\tO\nb\tO\n\nc\tO\n\n-DOCSTART-\nd\tO\ne\tO\nf\tO\n\ng\tO\n")
    assert [d.text for d in read_conll(path, documents=words)] == texts


@pytest.mark.parametrize("division", ["pages", 0, -3, True, "12"])
def test_an_unknown_division_is_refused(file, division):
    with pytest.raises(DataError, match="no way to divide") as error:
        load_spans(file("a\tO\n"), documents=division)
    assert "or a number of words from 1" in str(error.value)


def test_problems_by_line(file):
    content = "a\tO\nlonely\n\tO\nb\tX\tO\nc\tB-X\nd\t\n"
    with pytest.raises(
        DataError, match=r"4 problems: x\.conll line 2: 1 column where other lines"
    ) as e:
        read_conll(file(content))
    assert "lonely" not in str(e.value)
    corpus = read_conll(file(content), strict=False)
    assert [f.source.line for f in corpus.errors] == [2, 3, 4, 6]
    assert [words_of(d) for d in corpus] == [["a", "lonely", "b", "c", "d"]]
    assert corpus.type_counts == {"X": 1}


def test_words_alone(file, tmp_path):
    path = file("No\nfever\n\nrash\n")
    corpus = read_conll(path)
    assert [d.text for d in corpus] == ["No fever", "rash"]
    assert corpus.notes == ("x.conll: one column, read as words without tags",)
    predictions = [
        Prediction("x-1", "ok", spans=(Span(3, 8, "Sign"),)),
        Prediction("x-2", "ok", spans=()),
    ]
    write_conll(corpus.documents, tmp_path / "out", predictions=predictions)
    assert (tmp_path / "out").read_text() == "No\tO\nfever\tB-Sign\n\nrash\tO\n"


def test_predictions_take_the_tags_place_or_a_column_of_their_own(file, tmp_path):
    content = "-DOCSTART- -X- O\r\n\r\nNo NN O\r\nfever NN I-X\r\nhere NN I-X\r\n"
    (document,) = read_conll(file(content))
    prediction = Prediction(document.id, "ok", spans=(Span(3, 8, "Y"),))
    write_conll([document], tmp_path / "a", predictions=[prediction])
    assert (tmp_path / "a").read_bytes().decode() == content.replace("I-X", "I-Y", 1).replace(
        "I-X", "O"
    )
    write_conll([document], tmp_path / "b", predictions=[prediction], append=True, scheme="bioes")
    assert (
        "No NN O O\r\nfever NN I-X S-Y\r\nhere NN I-X O\r\n"
        in (tmp_path / "b").read_bytes().decode()
    )


def test_bare_tags_and_gzip(tmp_path):
    content = b"BRCA1\tB\ngene\tI\n.\tO\n"
    path = tmp_path / "g.tsv.gz"
    path.write_bytes(gzip.compress(content))
    corpus = read_conll(path)
    assert corpus.type_counts == {"entity": 1}
    (document,) = corpus
    write_conll([replace(document, spans=(Span(0, 5, "entity"),))], tmp_path / "o.tsv.gz")
    assert gzip.decompress((tmp_path / "o.tsv.gz").read_bytes()) == b"BRCA1\tB\ngene\tO\n.\tO\n"


def test_a_wrong_column_is_told(file):
    path = file("No\tDT\tO\nfever\tNN\tB-X\n")
    assert "is it the right column?" in read_conll(path, column=1).notes[0]
    with pytest.raises(DataError, match="there is no column 3 of tags"):
        read_conll(path, column=3)
    with pytest.raises(DataError, match='there is no scheme "iob3"'):
        read_conll(path, scheme="iob3")
    with pytest.raises(DataError, match="holds no word"):
        read_conll(file("\n\n"))


def test_any_document_becomes_words_and_tags(tmp_path):
    text = "Left lower lobe pneumonia.\nNo fever"
    spans = (Span(0, 15, "Anatomy", id="T1"), Span(0, 25, "Problem", id="T2"), Span(30, 35, "Sign"))
    written = write_conll([Document("n 1", text, spans=spans)], tmp_path / "out.conll")
    assert (tmp_path / "out.conll").read_text() == (
        "-DOCSTART- (n 1)\tO\n\nLeft\tB-Problem\nlower\tI-Problem\nlobe\tI-Problem\n"
        "pneumonia\tI-Problem\n.\tO\n\nNo\tO\nfever\tB-Sign\n\n"
    )
    assert written.spans == 2
    assert written.notes == (
        "1 span (n 1 T1) left out: one tag a word holds no nested or overlapping spans",
    )
    (again,) = read_conll(tmp_path / "out.conll")
    assert again.id == "n 1"
    assert [len(range(*s)) for s in again.attributes["sentences"]] == [5, 2]


word = st.text("ab#-é😀\u0301\u00a0\u2028\u200b.", min_size=1, max_size=4).filter(str.strip)
tag = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
line_end = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw):
    tabs, end = draw(st.booleans()), draw(line_end)
    separator = "\t" if tabs else draw(st.sampled_from([" ", "  "]))
    body = [draw(st.sampled_from(["", "\ufeff"]))]
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            body.append(f"-DOCSTART- -X- O{end}" + end * draw(st.integers(0, 1)))
        for _ in range(draw(st.integers(1, 4))):
            body.append(separator.join([draw(word), "NN", draw(tag)]) + end)
        body.append(end * draw(st.integers(1, 2)))
    return "".join(body).removesuffix(draw(st.sampled_from(["", end])))


@given(files(), st.sampled_from(["auto", "sentences", "file", 2]))
def test_any_file_comes_back_the_same(tmp_path_factory, content, division):
    folder = tmp_path_factory.mktemp("conll")
    (folder / "x.conll").write_bytes(content.encode())
    corpus = read_conll(folder / "x.conll", documents=division)
    for document in corpus:
        tokens = document.attributes["tokens"]
        starts, ends = {a for a, _ in tokens}, {b for _, b in tokens}
        assert all(s.start in starts and s.end in ends for s in document.spans)
    write_conll(corpus.documents, folder / "out")
    assert (folder / "out").read_bytes() == content.encode()
    if not any(f.severity == "warning" and "breaks" in f.what for f in corpus.faults):
        # Tags written anew are the same tags, so the rest of each line is kept to the byte too.
        predictions = [Prediction(d.id, "ok", spans=d.spans) for d in corpus]
        write_conll(corpus.documents, folder / "new", predictions=predictions)
        assert (folder / "new").read_bytes() == content.encode()


@given(documents(blank_edges=True))
def test_tags_of_any_document_are_those_of_its_flat_spans(tmp_path_factory, document):
    folder = tmp_path_factory.mktemp("conll")
    written = write_conll([document], folder / "x.conll")
    (again,) = read_conll(folder / "x.conll")
    assert len(again.spans) >= written.spans
    visible = [c for c in document.text if not c.isspace()]
    assert [c for c in again.text if not c.isspace()] == visible
    assert {label for label, _ in entities(again)} <= {label for label, _ in entities(document)}


OWN = {"lines": "Pain O\n", "columns": 2, "tabs": False, "word": 0, "tag": 1, "scheme": "iob2",
       "rule": "conlleval", "bare": False}  # fmt: skip


@pytest.mark.parametrize(
    "attributes",
    [
        {"conll": "y", "brat": "x"},
        {"conll": {"lines": "Pain O\n"}},
        {"conll": {**OWN, "lines": None}},
        {"conll": {**OWN, "word": "0"}},
        {"conll": {**OWN, "scheme": "none"}},
        {"conll": {**OWN, "rule": []}},
        {"tokens": 2, "sentences": 1},
        {"tokens": ["Pain", "here"], "sentences": [[0, 2]]},
        {"tokens": [[0, 4], [5, 90]]},
        {"tokens": [[0, 4], [5, 9]], "sentences": [[0, 1], [2, 3]]},
        {"tokens": [[0, 4], [5, 9]], "sentences": [[1, 2]]},
        {"tokens": [[0, 4], [5, 9]], "sentences": "x"},
        {"sentences": [[0, 2]]},
    ],
)
def test_columns_that_have_our_attributes_names_are_only_columns(tmp_path, attributes):
    document = Document("1", "Pain here", spans=(Span(0, 4, "S"),), attributes=attributes)
    write_conll([document], tmp_path / "out.conll")
    assert (tmp_path / "out.conll").read_text() == "-DOCSTART- (1)\tO\n\nPain\tB-S\nhere\tO\n\n"


def test_tokens_and_sentences_of_a_source_are_written_as_they_are(tmp_path):
    attributes = {"tokens": [[0, 9], [10, 14]], "sentences": [[0, 1], [1, 2]]}
    document = Document("1", "non-small cell", attributes=attributes)
    write_conll([document], tmp_path / "out.conll")
    wanted = "-DOCSTART- (1)\tO\n\nnon-small\tO\n\ncell\tO\n\n"
    assert (tmp_path / "out.conll").read_text() == wanted


def test_a_type_with_a_blank_can_be_read_back(tmp_path):
    (tmp_path / "x.conll").write_text("-DOCSTART- O\n\nPain O\nhere O\n")
    (document,) = read_conll(tmp_path / "x.conll")
    named = replace(document, spans=(Span(0, 4, "Sign  symptom"),))
    written = write_conll([named], tmp_path / "y.conll")
    assert written.notes == (
        '1 type written without white space, as CoNLL needs it: "Sign  symptom"',
    )
    (again,) = read_conll(tmp_path / "y.conll")
    assert again.spans == (Span(0, 4, "Sign_symptom"),)
    # Tabs part the columns of a file of ours, so a blank stays and a tab doesn't.
    made = Document("1", "Pain here", spans=(Span(0, 4, "Sign symptom"), Span(5, 9, "a\tb")))
    assert "a\tb" in write_conll([made], tmp_path / "z.conll").notes[0]
    labels = [s.label for s in read_conll(tmp_path / "z.conll").documents[0].spans]
    assert labels == ["Sign symptom", "a_b"]


@pytest.mark.parametrize(
    ("content", "division"),
    [
        ("a O\n \nb B-X\n", "sentences"),
        ("a\tO\n\t\nb\tB-X\n \t\nc\tO", "sentences"),
        ("a O\r\n \r\nb B-X\r\n", "sentences"),
        ("# newdoc id = 1\na O\n# newdoc id = 2\nb B-X\n", "auto"),
        ("###MEDLINE:1\na O\n###MEDLINE:2\nb B-X\n", "auto"),
        ("--DOCSTART-- O\na O\n--DOCSTART-- O\nb B-X\n", "auto"),
        ("a O\n# newdoc\n\nb B-X\n", "markers"),
        ("a O\n\n# newdoc\nb B-X", "sentences"),
        ("a O\n\n# newdoc\nb B-X", 9),
        ("a O\n\n# c\n\nb B-X\nc I-X\n\n\n", 2),
    ],
)
def test_whatever_parts_documents_comes_back_the_same(tmp_path, content, division):
    (tmp_path / "x.conll").write_bytes(content.encode())
    corpus = read_conll(tmp_path / "x.conll", documents=division)
    assert len(corpus) > 1
    write_conll(corpus.documents, tmp_path / "y.conll")
    assert (tmp_path / "y.conll").read_bytes() == content.encode()


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a O\rb B-X\r\rc O\r", 1), (b"a O\r\nb\rc O\r\n", 2), (b"a O\r\nb O\r", 2)],
)
def test_a_lone_carriage_return_is_refused(tmp_path, content, line):
    (tmp_path / "x.conll").write_bytes(content)
    with pytest.raises(DataError, match=rf"x\.conll line {line}: a carriage return stands without"):
        read_conll(tmp_path / "x.conll", strict=False)


def test_a_tab_in_a_comment_does_not_part_columns(tmp_path):
    (tmp_path / "x.conll").write_text("# text =\tPain here\nPain B-S\nhere O\n")
    (document,) = read_conll(tmp_path / "x.conll")
    assert (document.text, document.spans) == ("Pain here", (Span(0, 4, "S"),))
    (tmp_path / "y.conll").write_text("#\tB-S\n#\tO\n")
    (document,) = read_conll(tmp_path / "y.conll")
    assert (document.text, document.spans) == ("# #", (Span(0, 1, "S"),))

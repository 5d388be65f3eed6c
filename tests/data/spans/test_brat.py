"""BRAT: lossless, true offsets, problems by file and line."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.spans.brat import read_brat, write_brat
from attending.data.spans.flat import flatten
from attending.data.spans.offsets import Counting, Ruler
from attending.errors import DataError, OutputError
from attending.records import Document, Prediction, Span

from .conftest import documents, entities, same_files

TEXT = "A man with fever\nand\u2009chest pain of the left and right knee.\n"
ANN = """\
T1\tSex 2 5\tman
T2\tSign 11 16\tfever
E1\tSign:T2 
A1\tPOLARITY E1 NEG
#1\tAnnotatorNotes E1\tsaid\tby his wife
T3\tSite 39 43;54 58\tleft knee
T4\tSite 48 58\tright knee
T5\tSign 21 31\tchest pain
R1\tMODIFY Arg1:T3 Arg2:T5\t
N1\tReference T5 UMLS:C0008031\tChest Pain
*\tEquiv T4 T3
"""  # fmt: skip


def test_the_discontinuous_case(case, tmp_path):
    values = json.loads((case("D13") / "expected.json").read_text())["values"]
    corpus = read_brat(case("D13") / "doc.txt")
    (document,) = corpus
    assert len(document.spans) == 2
    for span in document.spans:
        wanted = values[span.id]
        assert span.label == wanted["type"]
        assert [list(p) for p in span.pieces] == wanted["fragments"]
        assert " ".join(document.text[a:b] for a, b in span.pieces) == wanted["surface"]
    write_brat(corpus.documents, tmp_path / "out")
    for ending in ("txt", "ann"):
        original = (case("D13") / f"doc.{ending}").read_bytes()
        assert (tmp_path / "out" / f"doc.{ending}").read_bytes() == original


def test_the_nested_case(case):
    values = json.loads((case("D14") / "expected.json").read_text())["values"]
    (document,) = read_brat(case("D14") / "doc.ann")
    assert len(document.spans) == values["n_gold"]
    for span in document.spans:
        assert [span.start, span.end] == values[span.id]["span"]
        assert document.text[span.start : span.end] == values[span.id]["surface"]


@pytest.mark.parametrize("form", ["nfc", "nfd"])
def test_the_accents_case(case, brat, form):
    values = json.loads((case("D16") / "expected.json").read_text())["values"]
    text = (case("D16") / f"{form}.txt").read_bytes().decode()
    assert len(text) == values[f"len_{form}"]
    lines = [
        f"T{n}\tSign {a} {b}\t{word}"
        for n, (word, (a, b)) in enumerate(values[form].items(), start=1)
    ]
    (document,) = read_brat(brat(doc=(text, "\n".join(lines))))
    assert document.text == text
    found = {text[s.start : s.end]: [s.start, s.end] for s in document.spans}
    assert found == values[form]


def test_everything_passes_through(brat, tmp_path):
    folder = brat(one=(TEXT, ANN))
    corpus = read_brat(folder)
    (document,) = corpus
    assert [(s.id, s.label, s.pieces) for s in document.spans] == [
        ("T1", "Sex", ((2, 5),)),
        ("T2", "Sign", ((11, 16),)),
        ("T5", "Sign", ((21, 31),)),
        ("T3", "Site", ((39, 43), (54, 58))),
        ("T4", "Site", ((48, 58),)),
    ]
    assert not corpus.faults
    assert corpus.type_counts == {"Sex": 1, "Sign": 2, "Site": 2}
    write_brat(corpus.documents, tmp_path / "out")
    assert same_files(folder, tmp_path / "out")


def test_bytes_come_back_whatever_they_are(brat, tmp_path):
    crlf, mark = TEXT.replace("\n", "\r\n"), "\ufeff"
    folder = brat(
        crlf=(crlf, "T1\tSex 2 5\tman\r\nT2\tSign 11 16\tfever\r\n"),
        mark=(mark + TEXT, "T1\tSex 2 5\tman"),
        both=(mark + crlf, mark + "T1\tSex 2 5\tman\r\n\r\n"),
        empty=(TEXT, ""),
        bare=(TEXT, None),
        blank=("", ""),
    )
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "below" / "deeper" / "x.y.txt").write_text(TEXT)
    (folder / "below" / "deeper" / "x.y.ann").write_text(ANN)
    corpus = read_brat(folder)
    assert [d.id for d in corpus] == [
        "bare", "below/deeper/x.y", "blank", "both", "crlf", "empty", "mark",
    ]  # fmt: skip
    assert {d.text for d in corpus} == {TEXT, crlf, ""}
    assert [(str(f.source), f.severity) for f in corpus.faults] == [("bare.txt line 1", "warning")]
    write_brat(corpus.documents, tmp_path / "out")
    assert same_files(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("counting", "said"),
    [
        (Counting("utf-16"), "UTF-16 units"),
        (Counting(crlf_as_one=True), "code points, each CR LF as one"),
        (Counting("utf-16", crlf_as_one=True), "UTF-16 units, each CR LF as one"),
        (Counting("utf-8"), "UTF-8 bytes"),
        (Counting(lead=1), "code points, the byte-order mark too"),
    ],
)
def test_other_tools_offsets_are_found_out_and_come_back(brat, tmp_path, counting, said):
    text = "ok 😀\r\nno fever\r\nbut rash\r\n"
    ruler = Ruler(text, counting)
    lines = []
    for number, word in enumerate(("fever", "rash"), start=1):
        start = text.index(word)
        a, b = ruler.outward(start), ruler.outward(start + len(word))
        lines.append(f"T{number}\tSign {a} {b}\t{word}\n")
    folder = brat(doc=("\ufeff" * counting.lead + text, "".join(lines)))
    corpus = read_brat(folder)
    assert [corpus.documents[0].text[s.start : s.end] for s in corpus.documents[0].spans] == [
        "fever", "rash",
    ]  # fmt: skip
    assert corpus.notes == (f"1 document has offsets that count {said}; they became code points",)
    write_brat(corpus.documents, tmp_path / "out")
    assert same_files(folder, tmp_path / "out")
    (moved,) = [replace(d, spans=(*d.spans, Span(0, 2, "Word"))) for d in corpus]
    write_brat([moved], tmp_path / "more")
    (again,) = read_brat(tmp_path / "more")
    assert entities(again) == entities(moved)


def test_a_declared_unit_is_taken_at_its_word(brat):
    folder = brat(doc=("😀 fever here", "T1\tSign 3 8\tfever\n"))
    assert read_brat(folder, counting=Counting("utf-16")).documents[0].spans[0].start == 2
    with pytest.raises(DataError, match="does not mark the words"):
        read_brat(folder, counting=Counting())


def test_all_problems_come_at_once_by_file_and_line(brat):
    bad = (
        "T1\tSign 11 16\trash\nT2\tSign x y\tman\nnonsense\nT3\tSign 5 999\tman\nR1\tM Arg1:T9\t\n"
    )
    folder = brat(good=(TEXT, ANN), bad=(TEXT, bad + "T3\tSex 2 5\tman\n"), lost=(b"caf\xe9", ""))
    (folder / "alone.ann").write_text("")
    with pytest.raises(DataError) as caught:
        read_brat(folder)
    line = str(caught.value)
    assert line.startswith("7 problems in 3 files: ")
    for place in ("alone.ann line 1: ", "bad.ann line 1: T1 ", "bad.ann line 2: T2 ",
                  "bad.ann line 3: ", "bad.ann line 4: T3 ", "bad.ann line 6: ",
                  "lost.txt line 1: byte 3"):  # fmt: skip
        assert place in line, place
    assert "\n" not in line
    assert "fever" not in line
    corpus = read_brat(folder, strict=False)
    assert len(corpus.errors) == 7
    assert [d.id for d in corpus] == ["bad", "good"]
    assert [p.id for p in corpus.problems] == ["alone", "lost"]
    assert corpus.documents[0].spans == ()
    assert "refers to T9" in next(f for f in corpus.faults if f.severity == "warning").what


def test_one_error_names_so_many_problems(brat):
    ann = "".join(f"T{n}\tSign 5 999\tx\n" for n in range(1, 31))
    with pytest.raises(DataError, match=r"30 problems: .*T20 .*; and 10 more\. ") as caught:
        read_brat(brat(doc=(TEXT, ann)))
    assert "T21" not in str(caught.value)


def test_what_could_not_be_read_is_still_written_back(brat, tmp_path):
    folder = brat(doc=(TEXT, "nonsense\nT1\tSex 2 5\tman\nT2\tSign 5 999\tx\n"))
    corpus = read_brat(folder, strict=False)
    write_brat(corpus.documents, tmp_path / "out")
    assert same_files(folder, tmp_path / "out")


def test_changed_spans_change_their_lines_alone(brat, tmp_path):
    (document,) = read_brat(brat(one=(TEXT, ANN)))
    spans = [replace(s, label="Person") if s.id == "T1" else s for s in document.spans]
    spans = [s for s in spans if s.id != "T2"]
    spans.append(Span(36, 47, "Phrase"))
    written = write_brat([replace(document, spans=tuple(spans))], tmp_path / "out")
    lines = ANN.splitlines()
    expected = ["T1\tPerson 2 5\tman", *lines[5:], f"T6\tPhrase 36 47\t{TEXT[36:47]}", ""]
    assert (tmp_path / "out" / "one.ann").read_text() == "\n".join(expected)
    assert written.notes == (
        "3 lines of .ann left out: they spoke of spans that are not there now",
    )
    assert not (tmp_path / "out" / "annotation.conf").exists()


def test_predictions_stand_alone(brat, tmp_path):
    (document,) = read_brat(brat(one=(TEXT, ANN)))
    spans = (Span(11, 16, "Sign", score=0.5), Span(39, 58, "Site", ((39, 43), (54, 58))))
    prediction = Prediction("one", "ok", spans=spans)
    write_brat([document], tmp_path / "out", predictions=[prediction], scores=True)
    assert (tmp_path / "out" / "one.txt").read_bytes().decode() == TEXT
    assert (tmp_path / "out" / "one.ann").read_text() == (
        "T1\tSign 11 16\tfever\n#1\tAnnotatorNotes T1\tscore 0.5000\n"
        "T2\tSite 39 43;54 58\tleft knee\n"
    )
    assert "[entities]\nSign\nSite\n" in (tmp_path / "out" / "annotation.conf").read_text()
    (again,) = read_brat(tmp_path / "out")
    assert entities(again) == sorted((s.label, s.pieces) for s in spans)


def test_nothing_is_overwritten_or_written_elsewhere(tmp_path):
    out = tmp_path / "out"
    write_brat([Document("../up/../../x", "a"), Document("/etc/y", "b"), Document("a:b", "c")], out)
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*.txt")) == [
        "a_b.txt", "etc/y.txt", "up/x.txt",
    ]  # fmt: skip
    with pytest.raises(OutputError, match="holds files already"):
        write_brat([Document("x", "a")], out)
    write_brat([Document("x", "a")], out, force=True)
    with pytest.raises(OutputError, match="two documents would be written"):
        write_brat([Document("x", "a"), Document("X", "b")], tmp_path / "twice")
    with pytest.raises(DataError, match="lies outside its text"):
        write_brat([Document("x", "a", spans=(Span(0, 2, "y"),))], tmp_path / "off")
    with pytest.raises(DataError, match="don't belong together"):
        write_brat([Document("x", "a")], tmp_path / "off", predictions=[])


def test_types_without_white_space(tmp_path):
    written = write_brat([Document("x", "a b", spans=(Span(0, 1, "Lab value"),))], tmp_path / "out")
    assert written.notes == ('1 type written without white space, as BRAT needs it: "Lab value"',)
    assert read_brat(tmp_path / "out").type_counts == {"Lab_value": 1}


@given(documents(blank_edges=True), st.booleans())
def test_any_spans_of_any_text_come_back(tmp_path_factory, document, twice):
    folder = tmp_path_factory.mktemp("brat")
    write_brat([document], folder / "out")
    assert (folder / "out" / "d1.txt").read_bytes() == document.text.encode()
    corpus = read_brat(folder / "out", counting=Counting())
    assert not corpus.faults
    (again,) = corpus
    assert again.text == document.text
    assert entities(again) == entities(document)
    write_brat([again], folder / "again")
    for name in ("d1.txt", "d1.ann"):
        assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_there_must_be_something(tmp_path):
    with pytest.raises(DataError, match="there are no BRAT documents"):
        read_brat(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read_brat(tmp_path / "nothing")
    (tmp_path / "x.csv").write_text("a")
    with pytest.raises(DataError, match="not a BRAT file"):
        read_brat(tmp_path / "x.csv")


@pytest.mark.parametrize(
    "column", ["x", 2, [1], {}, {"ann": 5}, {"ann": None, "counting": {"unit": "miles"}},
               {"ann": None, "counting": {"other": 1}}, {"ann": None, "counting": "x"}]
)  # fmt: skip
def test_a_column_called_brat_is_only_a_column(tmp_path, column):
    document = Document("1", "Pain here", spans=(Span(0, 4, "S"),), attributes={"brat": column})
    write_brat([document], tmp_path / "out")
    assert (tmp_path / "out" / "1.ann").read_text() == "T1\tS 0 4\tPain\n"
    assert (tmp_path / "out" / "annotation.conf").exists()


def test_all_pieces_of_a_span_are_written_the_first_with_its_id(brat, tmp_path):
    text = "pain in left arm and right leg"
    ann = "T1\tSym 0 4;13 16\tpain arm\nT2\tLoc 21 30\tright leg\nA1\tNeg T1\n"
    (document,) = read_brat(brat(a=(text, ann)))
    pieces = replace(document, spans=flatten(document.spans).kept)
    written = write_brat([pieces], tmp_path / "out")
    assert written.spans == 3
    assert (tmp_path / "out" / "a.ann").read_text() == (
        "T1\tSym 0 4\tpain\nT2\tLoc 21 30\tright leg\nA1\tNeg T1\nT3\tSym 13 16\tarm\n"
    )

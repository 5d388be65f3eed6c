"""A stream gives the rows that the readers give, in bounded memory."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.data.readers import read_table
from attending.data.separated import write_separated
from attending.data.streams import LazyLines, open_rows, stream_rows
from attending.errors import DataError
from attending.records import Document, Unreadable

PIECES = ["a", '"', ",", "\n", "\r\n", "\t", '""', "x", "é", "\n\n", ";"]
LINES = ['{"id":1,"text":"a"}', "{bad", "", "[1]", '{"text":"é","x":2.50}', " "]


def whole(path):
    try:
        table = read_table(path)
        return table.columns, table.rows
    except DataError:
        return None


def streamed(path):
    try:
        stream = open_rows(path)
        return stream.columns, tuple(stream.rows)
    except DataError:
        return None


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(["csv", "tsv"]))
def test_separated_rows_are_those_of_the_reader(tmp_path_factory, pieces, kind):
    path = tmp_path_factory.mktemp("s") / f"t.{kind}"
    path.write_bytes(
        ("id,text\n" if kind == "csv" else "id\ttext\n").encode() + "".join(pieces).encode()
    )
    assert streamed(path) == whole(path)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=9), min_size=1, max_size=4))
def test_cells_with_tabs_and_line_breaks_come_back_the_same(tmp_path_factory, kind, texts):
    path = tmp_path_factory.mktemp("s") / f"t.{kind}"
    rows = [(str(i), "".join(pieces), "x") for i, pieces in enumerate(texts)]
    with path.open("wb") as file:
        separator = "\t" if kind == "tsv" else ","
        write_separated([("id", "text", "label"), *rows], file, separator)
    _, found = whole(path)
    assert [(row.problem, tuple((row.cells or {}).values())) for row in found] == [
        (None, cells) for cells in rows
    ]
    assert streamed(path) == whole(path)


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_json_lines_are_those_of_the_reader(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("s") / "t.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert streamed(path) == whole(path)


def test_packed_marked_and_other_encodings(tmp_path):
    body = "﻿id;text\n1;né\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(body.encode()))
    (tmp_path / "b.csv").write_text(body.removeprefix("﻿"), encoding="cp1252")
    (tmp_path / "c.csv").write_text(body.removeprefix("﻿"), encoding="utf-16")
    for name, encoding in (("a.csv.gz", "utf-8"), ("b.csv", "cp1252"), ("c.csv", "utf-16")):
        stream = open_rows(tmp_path / name, encoding)
        assert stream.columns == ("id", "text")
        assert [row.cells for row in stream.rows] == [{"id": "1", "text": "né"}]
    with pytest.raises(DataError, match="UTF-16"):
        open_rows(tmp_path / "c.csv")


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"id": [1, 2], "text": ["a", None]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert streamed(tmp_path / "t.parquet") == whole(tmp_path / "t.parquet")


def test_a_byte_that_can_not_be_read_is_placed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,text\n" + b"1,ok\n" * 3000 + b"2,caf\xe9\n")
    with pytest.raises(DataError, match=r"t\.csv after line \d+: .*0xe9.*cp1252"):
        list(open_rows(path).rows)


@pytest.mark.parametrize(
    ("encoding", "why"),
    [
        ("utf-16", "can't be read as utf-16: UTF-16 stream does not start with BOM"),
        ("hex", 'there is no encoding called "hex"'),
        ("nothing", 'there is no encoding called "nothing"'),
        ("undefined", "can't be read as undefined"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_encodings_that_can_not_be_are_one_line(tmp_path, encoding, why, name):
    (tmp_path / name).write_bytes("id,text\n1,né\n".encode("utf-16-le"))
    with pytest.raises(DataError, match=why):
        list(open_rows(tmp_path / name, encoding).rows)


def odd_columns():
    pyarrow = pytest.importorskip("pyarrow")
    broken = pyarrow.array([b"ok", b"\xff\xfe"])
    late = 253402300800000000 + 10**15
    return {
        "bad": pyarrow.Array.from_buffers(pyarrow.string(), 2, broken.buffers()),
        "late": pyarrow.array([1, late], pyarrow.timestamp("us")),
    }


@pytest.mark.parametrize("column", ["bad", "late"])
def test_parquet_values_that_python_has_not_name_their_column(tmp_path, column):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"id": ["1", "2"], "text": ["a", "b"], column: odd_columns()[column]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = rf't\.parquet rows 1 to 2: the column "{column}" holds a value that can\'t be read'
    with pytest.raises(DataError, match=found):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=found):
        list(open_rows(tmp_path / "t.parquet").rows)


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("t.csv", b"", "empty"),
        ("t.jsonl", b"\n\n", "empty"),
        ("t.jsonl", b"[1]\n", "no line of the first"),
        ("t.csv.gz", b"id,text", "not a whole gzip archive"),
        ("t.xlsx", b"", "can't be told"),
        ("t.parquet", b"PAR", "not a readable Parquet"),
    ],
)
def test_what_is_no_table(tmp_path, name, body, why):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(DataError, match=why):
        list(open_rows(tmp_path / name).rows)
    with pytest.raises(DataError, match="no such file"):
        open_rows(tmp_path / "lost.csv")


def test_documents_have_text_and_id_alone_and_their_row_number(tmp_path):
    rows = [{"id": f"d{i}", "text": "words", "ward": "AB"[i % 2], "label": "x"} for i in range(6)]
    rows[3]["text"] = 7
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = list(stream_rows(tmp_path / "t.jsonl", {}, {"ward": "B"}))
    assert [number for number, _ in found] == [2, 4, 6]
    first, bad = found[0][1], found[1][1]
    assert isinstance(first, Document) and (first.id, first.attributes) == ("d1", {})
    assert first.labels is None and first.source.line == 2
    assert isinstance(bad, Unreadable) and bad.reason == "the text is a number, not text"


def test_lines_are_read_as_needed_and_forgotten():
    drawn = []

    def source():
        for i in range(50_000):
            drawn.append(i)
            yield f"{i}\n"

    lines = LazyLines(source())
    assert len(lines) == 1 and lines[0] == "0\n" and len(drawn) == 1
    assert len(lines) == 2
    held = 0
    for i in range(50_000):
        assert i < len(lines) and lines[i] == f"{i}\n"
        lines.forget(i)
        held = max(held, len(lines._held))
    assert len(lines) == 50_000 and held < 10_000


def test_an_open_quotation_mark_takes_no_more_than_it_may(tmp_path, monkeypatch):
    monkeypatch.setattr("attending.data.streams.LONGEST_RECORD", 200)
    path = tmp_path / "t.csv"
    path.write_text('id,text\n1,"open\n' + "".join(f"{i},words\n" for i in range(2, 500)))
    stream = open_rows(path)
    rows = list(stream.rows)
    assert rows[0].cells is None and "never closed" in rows[0].problem
    assert [row.cells["id"] for row in rows[1:]] == [str(i) for i in range(2, 500)]

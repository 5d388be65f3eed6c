"""No JSON, however odd, brings the reader down or puts a text into an error."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.fhir.bounds import Bounds, entry_lines, too_deep
from attending.data.fhir.corpus import read_fhir
from attending.data.fhir.sniff import is_fhir
from attending.errors import DataError
from attending.records import Document

MARKER = "ZXQ-MARKER-7731"
BOUNDS = Bounds(bytes=100_000, resources=50, depth=20, payloads=5, attachment=200, text=500)
KEYS = st.sampled_from(
    ["resourceType", "entry", "resource", "fullUrl", "id", "status", "payload", "contentString",
     "contentAttachment", "contentReference", "contentCodeableConcept", "contentType", "data",
     "url", "reference", "text", "coding", "display", "code", "sent", "subject", "sender",
     "category", "topic", "contained", "content", "attachment", "identifier", "value", "x"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8),
    st.sampled_from(["Bundle", "Communication", "DocumentReference", "Binary", "text/plain",
                     "text/html", "YWJj", "#x", "Patient/1", "completed", MARKER, MARKER + " x"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=25,
)


@given(VALUES, st.sampled_from(["Bundle", "Communication", "DocumentReference"]))
@settings(max_examples=150)
def test_odd_resources(value, kind):
    resource = {**value, "resourceType": kind} if isinstance(value, dict) else value
    wrapped = {"resourceType": "Bundle", "entry": [{"resource": resource}, value]}
    for thing in (resource, wrapped):
        try:
            corpus = read_fhir(json.dumps(thing).encode(), bounds=BOUNDS)
        except DataError as error:
            assert "\n" not in str(error)
            assert MARKER not in str(error)
            continue
        assert MARKER not in " ".join(corpus.notes)
        for row in corpus.rows:
            if not isinstance(row, Document):
                assert MARKER + " x" not in repr(row)
                assert "\n" not in row.reason


@given(st.binary(max_size=200))
def test_any_bytes(data):
    is_fhir(data)
    try:
        read_fhir(data, bounds=BOUNDS)
    except DataError as error:
        assert "\n" not in str(error)


@given(VALUES)
def test_depth_is_counted_without_parsing(value):
    def depth(x):
        inner = x.values() if isinstance(x, dict) else x if isinstance(x, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = json.dumps(value)
    assert not too_deep(text, depth(value))
    assert depth(value) == 0 or too_deep(text, depth(value) - 1)


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_lines_of_entries(values, indent):
    entries = [{"resource": value} for value in values]
    text = json.dumps({"a": [{"entry": [{}]}], "entry": entries}, indent=indent)
    lines = entry_lines(text)
    assert len(lines) == len(entries)
    assert lines == sorted(lines)
    rows = text.split("\n")
    assert all("{" in rows[line - 1] for line in lines)

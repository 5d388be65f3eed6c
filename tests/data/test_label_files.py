"""Label files and how documents' labels are held against them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attending.data.corpora import Corpus, load_corpus
from attending.data.labels import infer_labels, load_labels, require_known, write_labels
from attending.errors import LabelError, OutputError
from attending.records import Document, Label, LabelSet, Source

WORDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0|"), max_size=15)
ITEMS = st.lists(WORDS.map(str.strip).filter(bool), max_size=3).map(tuple)
IDS = st.lists(WORDS.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True)


@st.composite
def label_sets(draw, flat=False):
    ids = draw(IDS)
    labels = tuple(
        Label(
            id=i,
            name=draw(WORDS.filter(bool)) if not flat else i,
            description=draw(WORDS),
            keywords=draw(ITEMS),
            synonyms=draw(ITEMS),
            parent=draw(st.none() | st.sampled_from(ids[:n])) if n else None,
        )
        for n, i in enumerate(ids)
    )
    name = "label" if flat else draw(WORDS)
    cut = draw(st.integers(0, len(ids) - 1))
    ordered = not flat and draw(st.booleans())
    return LabelSet(labels[cut:], name=name, ordered=ordered, broader=labels[:cut])


@pytest.mark.parametrize("ending", ["toml", "jsonl"])
@settings(max_examples=40, deadline=None)
@given(labels=label_sets())
def test_round_trip(tmp_path_factory, ending, labels):
    path = tmp_path_factory.mktemp("labels") / f"x.{ending}"
    write_labels(labels, path)
    assert load_labels(path) == labels
    assert load_labels(path).hash == labels.hash


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@settings(max_examples=40, deadline=None)
@given(labels=label_sets(flat=True))
def test_round_trip_of_tables(tmp_path_factory, ending, labels):
    path = tmp_path_factory.mktemp("labels") / f"x.{ending}"
    write_labels(labels, path)
    assert load_labels(path).labels == labels.labels
    assert load_labels(path).broader == labels.broader


def test_bundled_labels_keep_their_order():
    labels = load_labels("portal")
    assert labels.ids == ("non-urgent", "medium", "urgent")
    assert labels.ordered
    assert labels.name == "urgency"
    assert "chest pain" in labels["urgent"].keywords


def test_codes_stay_characters(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("code,description\n0389,a\n250.00,b\n3E0,c\n")
    assert load_labels(path).ids == ("0389", "250.00", "3E0")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.toml", "[[label]]\nid = 1\n", 'label 1: id must be text.*id = "1"'),
        ("x.toml", "[[label]]\nid = 'a'\nkeyword = ['b']\n", 'Did you mean "keywords"'),
        ("x.toml", "[[label]]\nid = 'a'\nkeywords = 'b'\n", "keywords must be a list"),
        ("x.toml", "[[label]]\nname = 'a'\n", "the label has no id"),
        ("x.toml", "[[labels]]\nid = 'a'\n", 'Did you mean "label"'),
        ("x.toml", "ordered = 'yes'\n[[label]]\nid = 'a'\n", "ordered must be true or false"),
        ("x.toml", "[[label]\n", "broken TOML"),
        ("x.toml", "name = 'x'\n", "holds no labels"),
        ("x.csv", "id,name\na,A\nb,B\na,C\n", "line 4.*occurs twice.*line 2"),
        ("x.csv", "id,parent\na,\nbee,\nc,be\n", 'line 4: the parent "be".*Did you mean "bee"'),
        ("x.csv", "id,name\na,b,c\n", "line 2.*3 cells, expected 2"),
        ("x.csv", "id,name\n ,b\n", "line 2.*blank"),
        ("x.jsonl", '{"id": "a"}\n{"id": 7}\n', "line 2: id must be text"),
        ("x.txt", "a\n", "allowed: .toml, .csv"),
    ],
)
def test_wrong_files_say_where_and_what(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(LabelError, match=message) as caught:
        load_labels(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_a_label_error(tmp_path):
    with pytest.raises(LabelError, match="no such file"):
        load_labels(tmp_path / "labels.toml")


def test_keywords_with_a_bar_do_not_fit_csv(tmp_path):
    labels = LabelSet((Label("a", keywords=("x|y",)),))
    with pytest.raises(LabelError, match="separates them in CSV"):
        write_labels(labels, tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_label_files_are_not_overwritten(tmp_path):
    write_labels(LabelSet.from_ids(["a"]), tmp_path / "x.toml")
    with pytest.raises(OutputError, match="--force"):
        write_labels(LabelSet.from_ids(["b"]), tmp_path / "x.toml")
    assert load_labels(tmp_path / "x.toml").ids == ("a",)


def corpus_with(*labels: tuple[str, ...]) -> Corpus:
    return Corpus(
        tuple(Document(str(i), "t", x, source=Source("c.csv", i + 2)) for i, x in enumerate(labels))
    )


def test_an_unknown_label_names_line_label_and_nearest():
    labels = LabelSet.from_ids(["8000/3", "8000/6"])
    corpus = corpus_with(("8000/3",), ("8000/66",), ("8000/66",))
    with pytest.raises(LabelError) as caught:
        require_known(corpus, labels)
    assert str(caught.value) == (
        'c.csv line 3: label "8000/66" is not in the label set (2 labels; nearest "8000/6"), as in '
        "1 more row. Add it to the label file or pass --unknown-labels skip."
    )


def test_unknown_labels_can_be_skipped_and_are_counted():
    labels = LabelSet.from_ids(["a", "b"])
    kept = require_known(corpus_with(("a",), ("x",), ("b", "x"), ()), labels, unknown="skip")
    assert [d.labels for d in kept] == [("a",), ("b",), ()]
    assert "1 left out, 1 kept" in kept.notes[-1]
    assert require_known(kept, labels) is kept


def test_a_text_taken_for_a_label_is_not_shown():
    with pytest.raises(LabelError) as caught:
        require_known(corpus_with(("chest pain " * 20,)), LabelSet.from_ids(["a"]))
    assert "chest" not in str(caught.value)


def test_inferred_labels_are_sorted():
    assert infer_labels(corpus_with(("b",), ("é",), ("B",), ("a",))).ids == ("B", "a", "b", "é")


def test_predicting_never_refits_the_labels(case):
    train = infer_labels(load_corpus(case("D05") / "train.csv"))
    test = load_corpus(case("D05") / "test.csv")
    assert require_known(test, train) is test
    assert [train.position(d.label) for d in test] == [3, 2]

"""``labels build`` and what ``labels show`` and ``check`` say of large label sets."""

import pytest

from attending.data.labels import load_labels

TABLE = "code\tname\n8140/3\tAdenocarcinoma\n8500/3\tDuct carcinoma\n"
ROWS = "text,codes\na,8140/3;8500/33\nb,8140/31;9999/3\nc,\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / "codes.tsv").write_text(TABLE)
    (tmp_path / "m.csv").write_text(ROWS)
    return tmp_path


def build(run, *more):
    return run("labels", "build", "icdo3", "--table", "codes.tsv", "--only", "m.csv",
               "--label-separator", ";", *more)  # fmt: skip


def test_build_for_a_file(run, here):
    done = build(run)
    assert done.code == 0
    assert "labels.jsonl: 4" in done.out
    assert "1 listed, 2 put together, 1 without" in done.out
    assert 'warning: 1 code without a description: "9999/3"' in done.err
    labels = load_labels(here / "labels.jsonl")
    assert labels["8500/33"].description == "Duct carcinoma - grade III, poorly differentiated"
    assert [x.id for x in labels.ancestors("8500/33")] == ["8500/3", "8500"]
    assert build(run).code == 2
    assert build(run, "--force", "--no-parents", "--name", "mine").code == 0
    assert load_labels(here / "labels.jsonl").name == "mine"
    assert not load_labels(here / "labels.jsonl").broader


@pytest.mark.parametrize("name", ["x.toml", "x.csv"])
def test_other_kinds_of_file(run, here, name):
    assert build(run, "--out", name).code == 0
    assert load_labels(here / name)["8140/31"].parent == "8140/3"


def test_bad_input(run, here):
    assert "built from a table of yours" in run("labels", "build", "icd9").error
    assert 'no column is called "kode"' in build(run, "--code", "kode").error
    done = run("labels", "build", "icdo3", "--table", "codes.tsv", "--only", "m.csv", "--label", "")
    assert "no document has a code" in done.error
    assert not (here / "labels.jsonl").exists()


def test_show_counts_and_shortens(run, here):
    build(run)
    done = run("labels", "show", "labels.jsonl", "--most", "2")
    assert "icdo3: 4 labels, in no order" in done.out
    assert "3 descriptions, 4 with a parent, 4 broader ones above, 3 levels" in done.out
    assert "and 2 more labels (--most 0 shows all)" in done.out
    assert "8500/33" not in done.out
    assert "warning: 1 label of the label set has no description" in done.err
    assert "8500/33" in run("labels", "show", "labels.jsonl", "--most", "0").out


def test_the_tree_of_a_label(run, here):
    build(run)
    done = run("labels", "show", "labels.jsonl", "--tree", "8500/3")
    assert done.out.splitlines() == [
        "8500",
        "  8500/3  Duct carcinoma  <",
        "    8500/33  Duct carcinoma - grade III, poorly differentiated",
    ]
    assert "not in the label set" in run("labels", "show", "labels.jsonl", "--tree", "zz").error


def test_show_for_machines(run, here):
    build(run)
    body = run("labels", "show", "labels.jsonl", "--data", "m.csv", "--label-separator", ";",
               "--json").json  # fmt: skip
    assert body["counts"] == {
        "labels": 4, "described": 3, "with_keywords": 0, "with_synonyms": 0, "with_parents": 4,
        "broader": 4, "depth": 3,
    }  # fmt: skip
    assert [x["rows"] for x in body["labels"]] == [1, 1, 1, 1]
    assert body["unknown"] == {}


def test_many_strangers_are_one_line(run, here):
    build(run)
    rows = "".join(f"t{i},x{i}\n" for i in range(60))
    (here / "n.csv").write_text("text,codes\n" + rows)
    done = run("labels", "show", "labels.jsonl", "--data", "n.csv")
    assert "60 labels not in the label set" in done.err


def test_check_of_several_labels_and_of_parts(run, here):
    rows = [f"text {i},{'a;b' if i % 2 else 'a'},{'train' if i < 8 else 'test'}" for i in range(12)]
    (here / "p.csv").write_text("\n".join(["text,codes,part", *rows, "last,c,test"]) + "\n")
    done = run("check", "p.csv", "--label-separator", ";", "--parts", "part")
    assert done.code == 0
    assert "train: 8 documents, 2 labels" in done.out
    assert "test: 5 documents, 3 labels" in done.out
    assert "labels a document: mean 1.50" in done.out
    assert "warning  1 label of test has no example in train" in done.out
    assert 'no document has an attribute "set"' in run("check", "p.csv", "--parts", "set").error


def test_conversion_to_and_from_other_forms(run, here):
    done = run("data", "convert", "m.csv", "x.txt", "--label-separator", ";",
               "--output-format", "libmultilabel", "--where", "codes=8140/3;8500/33")  # fmt: skip
    assert done.code == 0
    assert (here / "x.txt").read_text() == "row-1\t8140/3 8500/33\ta\n"
    done = run("data", "convert", "x.txt", "y.csv", "--input-format", "libmultilabel",
               "--write-separator", "|")  # fmt: skip
    assert done.code == 0
    assert (here / "y.csv").read_text() == "id,text,labels\nrow-1,a,8140/3|8500/33\n"


def test_line_breaks_that_are_lost_are_told(run, here):
    (here / "b.csv").write_text('text,label\n"one\ntwo",x\n')
    done = run("data", "convert", "b.csv", "b.txt", "--output-format", "libmultilabel")
    assert "1 text had line breaks, which became blanks; offsets stay" in done.err


def test_a_split_of_several_labels_is_written_as_it_was_read(run, here):
    rows = [f"text {i},{'a;b' if i % 2 else 'a'}" for i in range(20)]
    (here / "p.csv").write_text("\n".join(["text,codes", *rows]) + "\n")
    done = run("data", "split", "p.csv", "--out", "parts", "--label-separator", ";")
    assert done.code == 0
    assert "4 documents (a: 4, b: 2)" in done.out
    assert "a;b" in (here / "parts" / "test.csv").read_text()

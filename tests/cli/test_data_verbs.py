"""``data`` and ``labels``: the bundled corpus, conversion, splits, label files."""

import pytest

from attending.data.corpora import load_corpus
from attending.data.labels import load_labels


def same(one, other, *, attributes=True):
    for a, b in zip(one.documents, other.documents, strict=True):
        assert (a.id, a.text, a.labels, a.spans, a.group) == (
            b.id,
            b.text,
            b.labels,
            b.spans,
            b.group,
        )
        if attributes:
            assert dict(a.attributes) == dict(b.attributes)


@pytest.mark.parametrize("name", ["portal.jsonl", "p.csv", "p.tsv.gz"])
def test_the_bundled_corpus(run, tmp_path, name):
    done = run("data", "portal", "--out", name)
    assert done.code == 0
    labels = load_labels(tmp_path / f"{name.partition('.')[0]}-labels.toml")
    assert labels == load_labels("portal")
    written = load_corpus(tmp_path / name)
    same(written, load_corpus("portal"), attributes=False)
    assert written.columns["group"] == "writer"
    assert run("data", "portal", "--out", name).code == 2
    assert run("data", "portal", "--out", name, "--force").code == 0


def test_conversion_keeps_columns_and_counts_what_it_drops(run, tmp_path):
    rows = ["nr,body,kind,site", "1,chest pain,a,north", "2,odd,row", "3,thanks,b,south"]
    (tmp_path / "in.csv").write_bytes("\r\n".join(rows).encode("cp1252"))
    names = ["--text", "body", "--label", "kind", "--id", "nr"]
    done = run("data", "convert", "in.csv", "out.jsonl", "--encoding", "cp1252", *names)
    assert done.code == 0
    assert "in.csv line 3: 3 cells, expected 4" in done.err
    assert "1 unreadable row left out" in done.err
    corpus = load_corpus(tmp_path / "out.jsonl", text="body", label="kind", id="nr")
    assert [(d.id, d.text, d.label, d.attributes["site"]) for d in corpus] == [
        ("1", "chest pain", "a", "north"),
        ("3", "thanks", "b", "south"),
    ]


def test_there_and_back(run, files, tmp_path):
    assert run("data", "convert", files / "messages.csv", "a.jsonl.gz").code == 0
    assert run("data", "convert", "a.jsonl.gz", "b.csv").code == 0
    same(load_corpus(files / "messages.csv"), load_corpus(tmp_path / "b.csv"))


def test_a_split_by_label(run, files, tmp_path):
    done = run("data", "split", files / "messages.csv", "--out", "parts", "--test", "0.25")
    assert done.code == 0
    train, test = (load_corpus(tmp_path / "parts" / f"{x}.csv") for x in ("train", "test"))
    assert (len(train), len(test)) == (36, 12)
    assert test.label_counts == {"medium": 5, "non-urgent": 5, "urgent": 2}
    assert {d.id for d in train}.isdisjoint(d.id for d in test)
    assert "parts/test.csv: 12 documents" in done.out


def test_a_split_by_named_groups(run, files, tmp_path):
    done = run("data", "split", files / "messages.csv", "--out", "parts", "--groups", "w1, w2")
    assert done.code == 0
    assert {d.group for d in load_corpus(tmp_path / "parts" / "test.csv")} == {"w1", "w2"}


def test_texts_on_both_sides_are_told_and_can_be_kept_together(run, tmp_path):
    rows = [f"{i},the same message {i % 10},{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "m.csv").write_text("\n".join(["id,text,label", *rows]) + "\n")
    assert "--keep-together text" in run("data", "split", "m.csv", "--out", "a").err
    done = run("data", "split", "m.csv", "--out", "b", "--keep-together", "text")
    train, test = ({d.text for d in load_corpus(tmp_path / "b" / f"{x}.csv")} for x in
                   ("train", "test"))  # fmt: skip
    assert done.code == 0
    assert train.isdisjoint(test)


def test_the_bundled_corpus_can_be_split(run, tmp_path):
    assert run("data", "split", "portal", "--out", "parts", "--by", "group").code == 0
    train, test = (load_corpus(tmp_path / "parts" / f"{x}.jsonl") for x in ("train", "test"))
    assert {d.group for d in train}.isdisjoint(d.group for d in test)


def test_labels_are_shown_in_order(run, files, linear):
    done = run("labels", "show", files / "labels.toml")
    assert done.code == 0
    assert "urgency: 3 labels, from least to most" in done.out
    order = [done.out.index(f"\n{x} ") for x in ("non-urgent", "medium", "urgent")]
    assert order == sorted(order)
    assert "chest pain" in done.out
    assert run("labels", "show", linear).out == done.out


def test_labels_are_counted(run, files, tmp_path):
    (tmp_path / "m.csv").write_text("text,label\na,urgent\nb,urgent\nc,routine\n")
    done = run("labels", "show", files / "labels.toml", "--data", "m.csv", "--json")
    assert {row["id"]: row["rows"] for row in done.json["labels"]} == {
        "non-urgent": 0, "medium": 0, "urgent": 2,
    }  # fmt: skip
    assert done.json["unknown"] == {"routine": 1}
    done = run("labels", "show", files / "labels.toml", "--data", "m.csv")
    assert 'label "routine" (1 row) is not in the label set' in done.err

"""``check``: what is found, what is printed, and the exit code."""

import shutil

import pytest


def test_a_clean_file(run, files):
    done = run("check", files / "messages.csv", "--labels", files / "labels.toml")
    assert done.code == 0
    assert "messages: 48 documents, 3 labels" in done.out
    assert "length in words" in done.out


def test_tokens_of_an_encoder(run, files, tiny_encoder):
    done = run("check", files / "messages.csv", "--encoder", tiny_encoder, "--max-tokens", "20")
    assert done.code == 0
    assert "at 18 tokens:" in done.out
    assert "[long-texts]" in done.out


def test_the_encoder_sets_the_limit(run, files, make_tiny):
    for family in ("bert", "roberta"):
        done = run("check", files / "messages.csv", "--encoder", make_tiny(family))
        assert "at 62 tokens:" in done.out


def test_errors_have_their_own_exit_code(run, files, tmp_path):
    shutil.copy(files / "messages.csv", tmp_path / "test.csv")
    done = run("check", files / "messages.csv", "test.csv")
    assert done.code == 1
    assert "error    48 of 48 documents of test (100.0%) have a text" in done.out
    assert "error: " not in done.err


def test_train_is_the_training_side_wherever_it_stands(run, files, tmp_path):
    for name in ("test.csv", "train.csv"):
        shutil.copy(files / "messages.csv", tmp_path / name)
    done = run("check", "test.csv", "train.csv")
    assert done.out.startswith("train: 48 documents")


def test_files_of_the_same_stem_are_told_apart(run, files, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(files / "messages.csv", tmp_path / name / "m.csv")
    done = run("check", "a/m.csv", "b/m.csv")
    assert "a/m.csv: 48 documents" in done.out
    assert "b/m.csv: 48 documents" in done.out


def test_for_machines(run, files, tmp_path):
    shutil.copy(files / "messages.csv", tmp_path / "test.csv")
    done = run("check", files / "messages.csv", "test.csv", "--json")
    assert done.code == 1
    body = done.json
    assert body["ok"] is False
    assert [c["name"] for c in body["corpora"]] == ["messages", "test"]
    leak = next(f for f in body["findings"] if f["code"] == "leak-text")
    assert len(leak["where"]) == 48


def test_the_bundled_corpus_with_its_labels(run):
    done = run("check", "portal")
    assert done.code == 0
    order = [done.out.index(f"\n  {label}") for label in ("non-urgent", "medium", "urgent")]
    assert order == sorted(order)


@pytest.mark.parametrize("number", [1, 20])
def test_how_many_places_are_shown(run, tmp_path, number):
    rows = [f"r{i},same text {i // 2} and more of it,a" for i in range(40)]
    (tmp_path / "m.csv").write_text("\n".join(["id,text,label", *rows, "z,other,b"]) + "\n")
    done = run("check", "m.csv", "--places", number)
    assert ("19 more" in done.out) == (number == 1)


def test_rows_that_are_in_no_part_are_told(run, tmp_path):
    rows = ["1,aa,x,train", '2,"broken,y,train', "3,cc,y,test", "4,dd,y, ", "5,ee,x,"]
    (tmp_path / "m.csv").write_text("\n".join(["id,text,label,split", *rows]) + "\n")
    done = run("check", "m.csv", "--parts", "split")
    assert done.out.startswith("train: 1 document, 1 label\n")
    assert "warning  1 row of 5 in m can't be read (a quotation mark is opened" in done.out
    assert '2 documents of 4 in m have no value in "split": in no part' in done.out
    assert "m.csv lines 5, 6" in done.out
    found = {
        f["code"]: f for f in run("check", "m.csv", "--parts", "split", "--json").json["findings"]
    }
    assert found["unreadable-rows"]["counts"]["rows"] == 1
    assert found["rows-without-part"]["counts"] == {"documents": 2}
    assert [g[0]["line"] for g in found["rows-without-part"]["where"]] == [5, 6]

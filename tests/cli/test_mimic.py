"""``data mimic3``: invented files of PhysioNet's columns become a corpus that trains."""

import pytest

from attending.data.corpora import load_corpus
from attending.data.labels import load_labels

NOTES = (
    "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT"
)


@pytest.fixture
def tables(tmp_path):
    folder = tmp_path / "mimic-iii"
    folder.mkdir()
    rows = [
        f"{i},{i},{100 + i},2100-01-0{i},,,Discharge summary,Report,,,Summary {i}."
        for i in range(1, 5)
    ]
    (folder / "NOTEEVENTS.csv").write_text("\n".join([NOTES, *rows]))
    codes = [f"{i},{i},{100 + i},1,{'4019' if i < 4 else '0389'}" for i in range(1, 5)]
    header = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE"
    (folder / "DIAGNOSES_ICD.csv").write_text("\n".join([header, *codes]))
    (folder / "PROCEDURES_ICD.csv").write_text(header)
    for name in ("D_ICD_DIAGNOSES", "D_ICD_PROCEDURES"):
        (folder / f"{name}.csv").write_text(
            "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n1,4019,htn,Unspecified hypertension\n"
        )
    lists = tmp_path / "lists"
    lists.mkdir()
    for part, ids in (("train", "101\n102"), ("dev", "103"), ("test", "104\n999")):
        (lists / f"{part}_full_hadm_ids.csv").write_text(ids)
    return folder


def test_a_published_split(run, tables, tmp_path):
    done = run("data", "mimic3", "--path", "mimic-iii", "--splits", "lists", "--out", "out")
    assert done.code == 0, done.err
    assert "without a document: 1 (999)" in done.err + done.out
    train = load_corpus(tmp_path / "out" / "train.jsonl.gz")
    assert [d.id for d in train.documents] == ["101", "102"]
    assert train.documents[0].labels == ("401.9",) and train.documents[0].group == "1"
    labels = load_labels(tmp_path / "out" / "labels.jsonl")
    assert labels["401.9"].description == "Unspecified hypertension"
    assert labels.ids == ("038.9", "401.9")
    again = run("data", "mimic3", "--path", "mimic-iii", "--splits", "lists", "--out", "out")
    assert again.code == 2 and "exists already" in again.err


def test_the_most_frequent_codes(run, tables, tmp_path):
    done = run("data", "mimic3", "--path", "mimic-iii", "--top", "1", "--out", "out")
    assert done.code == 0 and "none of the 1 codes, left out: 1" in done.err + done.out
    assert load_labels(tmp_path / "out" / "labels.jsonl").ids == ("401.9",)


def test_a_folder_of_something_else(run, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run("data", "mimic4", "--path", "empty")
    assert done.code == 2 and 'no table "discharge"' in done.err and "--path" in done.err

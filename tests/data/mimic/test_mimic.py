"""Invented files of exactly PhysioNet's columns; nothing here is of a patient."""

import csv
import gzip
import io

import pytest

from attending.data.mimic.codes import dotted
from attending.data.mimic.releases import read_mimic3, read_mimic4
from attending.data.mimic.splits import most_frequent, part, read_splits
from attending.errors import DataError

NOTES3 = (
    "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT"
)


def write(path, header, rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header.split(","))
    writer.writerows(rows)
    data = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def mimic3(tmp_path):
    summary = "Discharge summary"
    write(
        tmp_path / "NOTEEVENTS.csv.gz",
        NOTES3,
        [
            [9, 1, 100, "2100-01-09", "", "", summary, "Addendum", "", "", "Later: afebrile."],
            [3, 1, 100, "2100-01-05", "", "", summary, "Report", "", "", 'Fever,\n"chills".'],
            [4, 1, 100, "2100-01-05", "", "", "Nursing", "Report", "", "", "Slept well."],
            [5, 2, 200, "2100-02-01", "", "", summary, "Report", "", "1", "Wrong patient."],
            [6, 2, 200, "2100-02-02", "", "", summary, "Report", "", "", "Chest pain."],
            [7, 2, 200, "2100-02-02", "", "", summary, "Report", "", "", "Chest pain."],
            [8, 3, "", "2100-02-02", "", "", summary, "Report", "", "", "Outpatient."],
            [10, 4, 400, "2100-03-01", "", "", summary, "Report", "", "", "Not coded."],
        ],
    )
    header = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE"
    write(
        tmp_path / "DIAGNOSES_ICD.csv",
        header,
        [
            [1, 1, 100, 2, "0389"],
            [2, 1, 100, 1, "4019"],
            [3, 1, 100, 3, "E8798"],
            [4, 2, 200, 1, "4019"],
            [5, 2, 200, 2, ""],
            [6, 5, 500, 1, "0030"],
        ],
    )
    write(tmp_path / "PROCEDURES_ICD.csv", header, [[1, 1, 100, 1, "0389"], [2, 1, 100, 1, "0389"]])
    titles = "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE"
    write(
        tmp_path / "D_ICD_DIAGNOSES.csv",
        titles,
        [[1, "0389", "x", "Unspecified septicemia"], [2, "4019", "x", "Unspecified hypertension"]],
    )
    write(tmp_path / "D_ICD_PROCEDURES.csv", titles, [[1, "0389", "x", "Other spinal operation"]])
    return tmp_path


@pytest.fixture
def mimic4(tmp_path):
    write(
        tmp_path / "note" / "discharge.csv.gz",
        "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text",
        [
            ["1-DS-1", 1, 100, "DS", 1, "2180-01-01 00:00:00", "", "Heart failure."],
            ["2-DS-1", 2, 200, "DS", 1, "2180-01-01 00:00:00", "", "Old code."],
        ],
    )
    write(
        tmp_path / "hosp" / "diagnoses_icd.csv.gz",
        "subject_id,hadm_id,seq_num,icd_code,icd_version",
        [[1, 100, 10, "E119", 10], [1, 100, 2, "I509", 10], [2, 200, 1, "4280", 9]],
    )
    write(
        tmp_path / "hosp" / "procedures_icd.csv.gz",
        "subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version",
        [[1, 100, 1, "2180-01-01", "4A023N7", 10]],
    )
    titles = "icd_code,icd_version,long_title"
    write(
        tmp_path / "hosp" / "d_icd_diagnoses.csv.gz",
        titles,
        [["I509", 10, "Heart failure, unspecified"], ["4280", 9, "Congestive heart failure"]],
    )
    write(tmp_path / "hosp" / "d_icd_procedures.csv.gz", titles, [["4A023N7", 10, "Measurement"]])
    return tmp_path


@pytest.mark.parametrize(
    ("code", "version", "procedure", "wanted"),
    [
        ("4019", 9, False, "401.9"),
        ("0030", 9, False, "003.0"),
        ("030", 9, False, "030"),
        ("E8798", 9, False, "E879.8"),
        ("E119", 10, False, "E11.9"),
        ("V5861", 9, False, "V58.61"),
        ("0389", 9, True, "03.89"),
        ("38.93", 9, True, "38.93"),
        ("4A023N7", 10, True, "4A023N7"),
        ("", 9, False, ""),
    ],
)
def test_dots(code, version, procedure, wanted):
    assert dotted(code, version, procedure) == wanted


def test_mimic3(mimic3):
    found = read_mimic3(mimic3)
    first, second = found.documents
    assert (first.id, first.group) == ("100", "1")
    assert first.text == 'Fever,\n"chills".\n\nLater: afebrile.'
    assert first.labels == ("401.9", "038.9", "E879.8", "03.89")
    assert second.text == "Chest pain." and second.labels == ("401.9",)
    assert found.labels["038.9"].description == "Unspecified septicemia"
    assert found.labels["03.89"].description == "Other spinal operation"
    assert set(found.notes) == {
        "summaries marked as errors, left out: 1",
        "repeats of a summary of the same admission, left out: 1",
        "summaries without an admission, left out: 1",
        "admissions with several summaries (addenda), joined by time: 1",
        "rows without a code, left out: 1",
        "admissions with a summary and no code, left out: 1",
        "admissions with a code and no summary, left out: 1",
        "codes without a title: 1",
    }


def test_only_procedures(mimic3):
    assert read_mimic3(mimic3, "procedures").labels.ids == ("03.89",)


def test_mimic4_by_revision(mimic4):
    found = read_mimic4(mimic4)
    assert [d.labels for d in found.documents] == [("I50.9", "E11.9", "4A023N7")]
    assert any("other ICD revision than 10, left out: 1" in n for n in found.notes)
    assert read_mimic4(mimic4, version=9).documents[0].labels == ("428.0",)
    assert read_mimic4(mimic4 / "hosp", notes=mimic4 / "note").labels == found.labels
    with pytest.raises(DataError, match="no such ICD revision"):
        read_mimic4(mimic4, version=11)


def test_a_table_that_is_missing(mimic3):
    (mimic3 / "DIAGNOSES_ICD.csv").unlink()
    with pytest.raises(DataError, match='no table "diagnoses_icd"'):
        read_mimic3(mimic3)


def test_a_column_that_is_missing(mimic3):
    write(mimic3 / "DIAGNOSES_ICD.csv", "ROW_ID,HADM_ID,SEQ_NUM,CODE", [[1, 100, 1, "4019"]])
    with pytest.raises(DataError, match=r'no column "icd9_code".*"hadm_id"'):
        read_mimic3(mimic3)


def test_a_file_that_is_cut_off(mimic3):
    whole = (mimic3 / "NOTEEVENTS.csv.gz").read_bytes()
    (mimic3 / "NOTEEVENTS.csv.gz").write_bytes(whole[:-20])
    with pytest.raises(DataError, match="cut off"):
        read_mimic3(mimic3)
    (mimic3 / "DIAGNOSES_ICD.csv").write_text("HADM_ID,SEQ_NUM,ICD9_CODE\n100,1\n")
    (mimic3 / "NOTEEVENTS.csv.gz").write_bytes(whole)
    with pytest.raises(DataError, match="line 2: a row has another number of cells"):
        read_mimic3(mimic3)


def test_nothing_in_common(mimic3):
    write(mimic3 / "DIAGNOSES_ICD.csv", "HADM_ID,SEQ_NUM,ICD9_CODE", [[900, 1, "4019"]])
    with pytest.raises(DataError, match=r"no admission has both.*3 with a summary, 1 with a code"):
        read_mimic3(mimic3, "diagnoses")


def test_lists_of_published_splits(mimic3, tmp_path):
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "train_full_hadm_ids.csv").write_text("100\n777\n")
    (lists / "dev_full_hadm_ids.csv").write_text("")
    (lists / "test_full_hadm_ids.csv").write_text("200\n")
    (lists / "train_50_hadm_ids.csv").write_text("100\n")
    with pytest.raises(DataError, match=r"one list of ids for train.*--set"):
        read_splits(lists)
    splits = read_splits(lists, "full")
    found = part(read_mimic3(mimic3).documents, splits)
    assert {k: [d.id for d in v] for k, v in found.parts.items()} == {
        "train": ["100"],
        "test": ["200"],
    }
    assert found.parts["train"][0].attributes["split"] == "train"
    assert found.notes == ("ids of the lists without a document: 1 (777)",)
    (lists / "test_full_hadm_ids.csv").write_text("100\n")
    with pytest.raises(DataError, match=r"1 admissions are in two parts.*found 100"):
        read_splits(lists, "full")
    (lists / "test_full_hadm_ids.csv").write_text("hadm_id\nabc\n")
    with pytest.raises(DataError, match="line 2: is no id"):
        read_splits(lists, "full")


def test_a_table_of_a_split(mimic3, tmp_path):
    table = tmp_path / "clean.csv"
    table.write_text("_id,split\n100.0,train\n200,val\n")
    assert read_splits(table) == {"100": "train", "200": "dev"}
    with pytest.raises(DataError, match="no admission of the lists"):
        part(read_mimic3(mimic3).documents, {"1": "train"})
    table.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="column of ids and one called split"):
        read_splits(table)


def test_most_frequent_codes(mimic3):
    documents = read_mimic3(mimic3).documents
    kept, out = most_frequent(documents, documents, 1)
    assert [d.labels for d in kept] == [("401.9",), ("401.9",)] and out == 0
    kept, out = most_frequent(documents, documents[:1], 1)
    assert [d.labels for d in kept] == [("03.89",)] and out == 1


@pytest.mark.parametrize(
    ("table", "found", "put", "column"),
    [
        ("NOTEEVENTS.csv.gz", "6,2,200", ",2,200", "row_id"),
        ("NOTEEVENTS.csv.gz", "6,2,200", "6,2,x", "hadm_id"),
        ("DIAGNOSES_ICD.csv", "4,2,200,1", "4,2,x,1", "hadm_id"),
        ("DIAGNOSES_ICD.csv", "4,2,200,1", "4,2,200,a", "seq_num"),
    ],
)
def test_a_cell_that_is_no_number_is_placed(mimic3, table, found, put, column):
    path = mimic3 / table
    packed = path.suffix == ".gz"
    text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
    assert found in text
    line = text[: text.index(found)].count("\n") + 1
    data = text.replace(found, put).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(DataError, match=rf'{table} line {line}: .* column "{column}" \(found'):
        read_mimic3(mimic3)


@pytest.mark.parametrize(
    ("table", "found", "put", "column"),
    [
        ("note/discharge.csv.gz", "DS,1,2180", "DS,,2180", "note_seq"),
        ("hosp/diagnoses_icd.csv.gz", "E119,10", "E119,", "icd_version"),
        ("hosp/d_icd_diagnoses.csv.gz", "I509,10", "I509,ten", "icd_version"),
    ],
)
def test_a_cell_of_mimic4_that_is_no_number_is_placed(mimic4, table, found, put, column):
    text = gzip.decompress((mimic4 / table).read_bytes()).decode()
    assert found in text
    (mimic4 / table).write_bytes(gzip.compress(text.replace(found, put, 1).encode()))
    with pytest.raises(DataError, match=rf'line 2: .* column "{column}" \(found'):
        read_mimic4(mimic4)


def test_numbers_that_are_written_as_decimals_are_read(mimic3):
    path = mimic3 / "DIAGNOSES_ICD.csv"
    path.write_text(
        path.read_text().replace("100,2,0389", "100.0,2.0,0389").replace(",1,4019", ",,4019")
    )
    (first, _) = read_mimic3(mimic3).documents
    assert first.labels[:2] == ("038.9", "E879.8")

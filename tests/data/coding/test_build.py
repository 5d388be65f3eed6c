"""Label sets from code systems: what is listed, put together, inherited, missing."""

import sys

import pytest

from attending.data.coding.build import build_label_set
from attending.data.corpora import Corpus
from attending.data.labels import load_labels, write_labels
from attending.errors import DataError, LabelError, MissingExtra
from attending.records import Document

ICDO = """codigo\tdescriptor completo\tdescriptor corto\t\t
8140/0\tAdenoma, SAI\tAdenoma\t\t
8140/3\tAdenocarcinoma, SAI\tAdenoCa\t\t
8140/31\tAdenocarcinoma, SAI - grado I, bien diferenciado\tAdenoCa - G1\t\t
8140/32\t\t\t\t
8500/3\tCarcinoma ductal, SAI\tCa ductal\t\t
"""
ICD9 = """@\tRoot
001-139.99\tINFECTIOUS DISEASES
030-041.99\tOTHER BACTERIAL DISEASES
038\tSepticemia
038.9\tUnspecified septicemia
250\tDiabetes mellitus
250.0\tDiabetes without complication
38\tIncision of vessels
38.9\tPuncture of vessel
35-39.99\tOPERATIONS ON THE HEART
E880\tFall on stairs
E880.0\tFall on escalator
"""
ICD10 = """code,parent,description,inclusion_terms
N44,N40-N53,Noninflammatory disorders of testis,
N44.8,N44,Other disorders of testis,Atrophy | Cyst
S72.00,,Fracture of neck of femur,
"""


def table(tmp_path, content, name="codes.tsv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def described(made):
    return {x.id: x.description for x in made.labels}


def corpus(*codes):
    return Corpus((Document("1", "text", tuple(codes)),))


def test_grades_and_behaviours_are_put_together(tmp_path):
    codes = ("8140/31", "8140/32", "8500/33", "8500/6", "8500/62", "8140/3/H", "9999/3", "word")
    path = table(tmp_path, ICDO)
    made = build_label_set("icdo3", table=path, only=corpus(*codes), language="es")
    assert described(made) == {
        "8140/31": "Adenocarcinoma, SAI - grado I, bien diferenciado",
        "8140/32": "Adenocarcinoma, SAI - grado II, moderadamente diferenciado",
        "8500/33": "Carcinoma ductal, SAI - grado III, pobremente diferenciado",
        "8500/6": "Carcinoma ductal, SAI, metastásico",
        "8500/62": "Carcinoma ductal, SAI, metastásico - grado II, moderadamente diferenciado",
        "8140/3/H": "Adenocarcinoma, SAI, con más detalle de la histología",
        "9999/3": "",
        "word": "",
    }
    assert (made.listed, made.composed, made.missing) == (1, 5, ("9999/3", "word"))
    assert made.notes == (
        '2 codes without a description: "9999/3", "word". A model reads their bare ids: add rows '
        "to the table, or write descriptions into the label file",
    )


def test_phrases_in_english(tmp_path):
    path = table(tmp_path, "Code\tStruct\tLabel\n8500/3\ttitle\tDuct carcinoma\n"
                 "8500/3\tsub\tDuctal cancer\n", "m.txt")  # fmt: skip
    made = build_label_set(
        "icdo3", table=path, description="Label", only=["8500/34", "8500/2", "8500/3"]
    )
    assert described(made) == {
        "8500/2": "Duct carcinoma, in situ",
        "8500/3": "Duct carcinoma",
        "8500/34": "Duct carcinoma - grade IV, undifferentiated, anaplastic",
    }
    assert made.labels["8500/3"].synonyms == ("Ductal cancer",)


def test_morphology_parents_lead_to_the_histology(tmp_path):
    made = build_label_set("icdo3", table=table(tmp_path, ICDO), only=["8140/31/H", "8140/3"])
    chain = [x.id for x in made.labels.ancestors("8140/31/H")]
    assert chain == ["8140/31", "8140/3", "8140"]
    assert [x.id for x in made.labels.broader] == ["8140", "8140/31"]
    assert made.labels.ids == ("8140/3", "8140/31/H")


def test_synonyms_of_a_column(tmp_path):
    made = build_label_set(
        "icdo3", table=table(tmp_path, ICDO), synonyms="descriptor corto", only=["8140/3"]
    )
    assert made.labels["8140/3"].synonyms == ("AdenoCa",)


def test_icd9_by_prefix_and_range(tmp_path):
    path = table(tmp_path, ICD9)
    made = build_label_set("icd9", table=path, header=False)
    assert made.labels.ids == (
        "038", "038.9", "250", "250.0", "38", "38.9", "E880", "E880.0",
    )  # fmt: skip
    assert [x.id for x in made.labels.ancestors("038.9")] == ["038", "030-041.99", "001-139.99"]
    assert [x.id for x in made.labels.ancestors("38.9")] == ["38", "35-39.99"]
    assert [x.id for x in made.labels.ancestors("E880.0")] == ["E880"]
    assert [x.id for x in made.labels.broader] == ["001-139.99", "030-041.99", "35-39.99"]
    text = made.labels.text_of("038.9", parents=2)
    assert text == "OTHER BACTERIAL DISEASES: Unspecified septicemia"


def test_icd9_codes_without_dots_are_diagnoses_and_unknown_ones_inherit(tmp_path):
    made = build_label_set(
        "icd9", table=table(tmp_path, ICD9), header=False, only=["0389", "25002", "E8800", "77"]
    )
    assert described(made) == {
        "0389": "Unspecified septicemia",
        "25002": "Diabetes without complication",
        "77": "",
        "E8800": "Fall on escalator",
    }
    assert (made.listed, made.inherited, made.missing) == (2, 1, ("77",))


def test_icd10cm_by_a_table(tmp_path):
    path = table(tmp_path, ICD10, "codes.csv")
    made = build_label_set(
        "icd10cm", table=path, parent="parent", synonyms="inclusion_terms",
        only=["n44.8", "s72.001a", "N449", "zz"],
    )  # fmt: skip
    assert described(made) == {
        "N449": "Noninflammatory disorders of testis",
        "n44.8": "Other disorders of testis",
        "s72.001a": "Fracture of neck of femur",
        "zz": "",
    }
    assert made.labels["n44.8"].synonyms == ("Atrophy", "Cyst")
    assert [x.id for x in made.labels.ancestors("n44.8")] == ["N44", "N40-N53"]
    # A range that the table doesn't list has no text, and its own code lends it none.
    assert made.labels.text_of("n44.8", parents=3) == (
        "Noninflammatory disorders of testis: Other disorders of testis"
    )
    assert 'as "N449" in "N44.9"; ids stay as they are' in made.notes[0]


def test_icd10cm_of_the_package(tmp_path):
    pytest.importorskip("simple_icd_10_cm")
    made = build_label_set("icd10cm", only=["n44.8", "R52", "S72.001A", "n44.8zz"])
    labels = made.labels
    assert labels["n44.8"].description == "Other noninflammatory disorders of the testis"
    assert "Pain NOS" in labels["R52"].synonyms
    assert labels["S72.001A"].description.endswith("initial encounter for closed fracture")
    assert made.inherited == 1
    assert [x.id for x in labels.ancestors("n44.8")] == ["N44", "N40-N53", "14"]
    assert labels.ancestors("n44.8")[2].description == "Diseases of the genitourinary system"
    path = tmp_path / "x.jsonl"
    write_labels(labels, path)
    assert load_labels(path) == labels


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "simple_icd_10_cm", None)
    with pytest.raises(MissingExtra, match=r"attending\[icd\]"):
        build_label_set("icd10cm")


def test_any_table_keeps_its_order_and_has_the_parents_of_its_column(tmp_path):
    path = table(tmp_path, "id,title,up\nb,Bee,a\na,Ay,\nc,Sea,zz\n", "t.csv")
    made = build_label_set("table", table=path, parent="up", name="letters")
    assert [(x.id, x.parent) for x in made.labels] == [("b", "a"), ("a", None), ("c", "zz")]
    assert [x.id for x in made.labels.broader] == ["zz"]
    assert made.labels.name == "letters"
    assert not build_label_set("table", table=path, parent="up", parents=False).labels.broader


@pytest.mark.parametrize(
    ("source", "content", "more", "message"),
    [
        ("icd9", None, {}, "icd9 labels are built from a table of yours.*--table"),
        ("icd11", None, {}, "no source of labels.*icd10cm, icd9, icdo3, table"),
        ("table", "a,b\n1,2\n", {}, "no column looks like the code.*--no-header"),
        ("table", "code,b\n1,2\n", {}, "no column looks like the description.*--description"),
        ("table", "code,text\n1,2\n", {"parent": "up"}, 'no column is called "up"'),
        ("table", "code,text\n,2\n", {}, 'no row has a code in the column "code"'),
        ("table", "code,text,up\na,A,b\nb,B,a\n", {"parent": "up"}, "lead back to it"),
        ("table", "code,text\na,A\n", {"only": []}, "there are no codes to describe"),
    ],
)
def test_bad_input(tmp_path, source, content, more, message):
    path = None if content is None else table(tmp_path, content, "t.csv")
    with pytest.raises((LabelError, DataError), match=message):
        build_label_set(source, table=path, **more)


def test_rows_that_can_not_be_read_are_listed_by_line(tmp_path):
    content = "code,description\n401.9,Hypertension, essential\n250.0,Diabetes\n1,2,3\n"
    made = build_label_set("table", table=table(tmp_path, content, "t.csv"))
    assert described(made) == {"250.0": "Diabetes"}
    assert made.notes == (
        "t.csv: 2 rows left out, whose codes are not there (lines 2, 4; first: 3 cells, "
        "expected 2)",
    )
    path = table(tmp_path, "code,description\na,b,c\n", "u.csv")
    with pytest.raises(DataError, match=r"no row has a code.*found 1 row left out.*\(line 2;"):
        build_label_set("table", table=path)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("\ufeff401.9,Hypertension\n250.0,Sugar\n", {"401.9": "Hypertension", "250.0": "Sugar"}),
        ('\n401.9,"Hypertension, essential"\n250.0,Diabetes\n',
         {"401.9": "Hypertension, essential", "250.0": "Diabetes"}),
        ('"a, b",x\nC,d\n', {"a, b": "x", "C": "d"}),
        ('a,"x\ny"\nb,z\n', {"a": "x\ny", "b": "z"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_table_without_a_header(tmp_path, content, wanted, encoding):
    if encoding == "utf-16":
        content = content.removeprefix("\ufeff")
    (tmp_path / "t.csv").write_text(content, encoding=encoding)
    made = build_label_set("table", table=tmp_path / "t.csv", header=False, encoding=encoding)
    assert described(made) == wanted
    assert not made.notes


def test_lines_of_a_table_without_a_header_are_counted_from_one(tmp_path):
    path = table(tmp_path, "a,x\nb,y,z\nc,w\n", "t.csv")
    made = build_label_set("table", table=path, header=False)
    assert made.labels.ids == ("a", "c")
    assert "(line 2; first: 3 cells, expected 2)" in made.notes[0]
    with pytest.raises(DataError, match="the file is empty"):
        build_label_set("table", table=table(tmp_path, "\n", "u.csv"), header=False)
    open_mark = table(tmp_path, 'a\t"x\nb\ty\n', "v.txt")
    assert described(build_label_set("table", table=open_mark, header=False)) == {
        "a": '"x', "b": "y",
    }  # fmt: skip


def test_an_icd9_diagnosis_never_gets_a_procedure_s_text(tmp_path):
    """Procedures have two digits before the dot: 20 is above no 209.36, and 25 above no 250."""
    rows = "code,description\n20,Operations on ear\n25,Operations on tongue\n401,Hypertension\n"
    made = build_label_set(
        "icd9", table=table(tmp_path, rows, "i.csv"), only=["209.36", "25000", "401.1", "20.5"]
    )
    assert described(made) == {
        "209.36": "", "25000": "", "401.1": "Hypertension", "20.5": "Operations on ear",
    }  # fmt: skip


def test_an_icd9_code_looks_past_a_broader_one_without_text(tmp_path):
    rows = 'code,description\n250,Diabetes\n250.0,""\n'
    made = build_label_set("icd9", table=table(tmp_path, rows, "i.csv"), only=["250.01"])
    assert described(made) == {"250.01": "Diabetes"}


def test_icd9_codes_of_a_table_without_dots_are_told(tmp_path):
    rows = "code,description\n25000,Diabetes\n2500,Diabetes\n042,HIV\n4019,Hypertension\n"
    made = build_label_set("icd9", table=table(tmp_path, rows, "i.csv"))
    assert made.labels.ids == ("042",)
    assert any("3 codes of the table without a dot, such as" in note for note in made.notes)

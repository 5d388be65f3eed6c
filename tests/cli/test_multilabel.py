"""Any number of labels a document, from a CSV to a report, by commands alone."""

import json

import pytest

ROWS = (
    ("chest pain and shortness of breath", "pain;breath"),
    ("severe headache and chest pain", "pain"),
    ("shortness of breath after a walk", "breath"),
    ("please refill metformin tablet", "refill"),
    ("feeling well, thank you", "[]"),
    ("please refill the tablet, i have chest pain", "refill;pain"),
    ("thank the nurse for the visit", "[]"),
    ("breath is short and please refill the tablet", "breath;refill"),
    ("my headache is worse, pain in the chest", "pain"),
    ("refill my prescription please", "refill"),
    ("no breath at night", "breath"),
    ("thanks, all is well now", "[]"),
)


@pytest.fixture
def files(tmp_path):
    lines = ["id,text,labels", *(f'm{i},"{t}","{c}"' for i, (t, c) in enumerate(ROWS))]
    data, labels = tmp_path / "letters.csv", tmp_path / "labels.toml"
    data.write_text("\n".join(lines), encoding="utf-8")
    entries = [("pain", "chest pain or headache"), ("breath", "short of breath"), ("refill", "")]
    labels.write_text(
        'name = "finding"\n'
        + "".join(f'[[label]]\nid = "{i}"\ndescription = "{d}"\n' for i, d in entries),
        encoding="utf-8",
    )
    return data, labels, tmp_path / "model"


def test_from_letters_to_a_report(run, files, tiny_encoder):
    data, labels, model = files
    cells = ["--label-separator", ";"]
    small = ["label_attention.heads=4", "label_attention.ffn=64", "training.epochs=2"]
    sets = [x for setting in small for x in ("--set", setting)]
    made = run(
        "train", data, "--labels", labels, "--recipe", "lame", "--encoder", tiny_encoder,
        "--dev", data, "--no-check", "--out", model, *cells, *sets,
    )  # fmt: skip
    assert made.code == 0, made.err
    decision = json.loads((model / "decision.json").read_text(encoding="utf-8"))
    assert decision["kind"] == "threshold" and 0 <= decision["threshold"] <= 1
    assert "Labels with a probability of at least" in (model / "README.md").read_text("utf-8")

    scored = run("evaluate", model, data, "--resamples", "50", "--json", *cells)
    assert scored.code == 0, scored.err
    body = json.loads(scored.out)
    assert body["task"] == "multi-label" and "micro_f1" in body["metrics"]
    assert (model / "evaluation-letters" / "report.html").is_file()

    out = model.parent / "p.jsonl"
    told = run("predict", model, data, "--out", out, "--evidence")
    assert told.code == 0, told.err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [r["id"] for r in rows] == [f"m{i}" for i in range(len(ROWS))]
    assert all(set(r["scores"]) == {"pain", "breath", "refill"} for r in rows)
    for r, (text, _) in zip(rows, ROWS, strict=True):
        for e in r["evidence"]:
            assert e["label"] in r["labels"] or not r["labels"]  # then the likeliest
            assert text[e["start"] : e["end"]].strip()


def test_a_single_label_recipe_says_what_it_needs(run, files):
    data, labels, model = files
    made = run(
        "train", data, "--labels", labels, "--recipe", "lesa-bert", "--no-check", "--out", model,
        "--label-separator", ";",
    )  # fmt: skip
    assert made.code == 2
    assert 'recipe "lesa-bert" gives one label a document' in made.err

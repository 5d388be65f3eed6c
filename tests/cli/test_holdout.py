"""One file, two commands: what was held out of training is what is evaluated."""

import json
import re

import pytest

from attending.cli.origin import Holdout, Origin, hold_out
from attending.data.corpora import load_corpus
from attending.errors import ModelError
from attending.models.store import load_model
from attending.recipe import Recipe


def documents(done):
    return done.json["documents"]["documents"]


def test_evaluate_takes_what_was_held_out(run, files, linear):
    done = run("evaluate", linear, files / "messages.csv", "--out", "r", "--json")
    assert done.code == 0
    assert documents(done) == 12
    assert "on the 12 documents that were held out" in done.json["caution"]
    facts = load_model(linear).facts
    assert facts["training_rows"] + facts["development_rows"] == 36


def test_no_document_is_on_both_sides(files, linear):
    corpus = load_corpus(files / "messages.csv")
    origin = Origin.read(linear)
    train, held = hold_out(corpus, "label", 0.25, 2020, None)
    assert held == origin.holdout
    ids = {corpus.documents[i].id for i in held.positions}
    assert ids.isdisjoint(d.id for d in train)
    assert len(ids) + len(train) == len(corpus) == origin.documents


def test_the_same_documents_in_another_kind_of_file(run, files, linear):
    assert run("data", "convert", files / "messages.csv", "same.jsonl").code == 0
    done = run("evaluate", linear, "same.jsonl", "--out", "r", "--only-holdout", "--json")
    assert documents(done) == 12


def test_conditions_choose_among_what_was_held_out(run, files, linear):
    counts = []
    for writer in ("w0", "w1", "w2", "w3"):
        done = run("evaluate", linear, files / "messages.csv", "--where", f"writer={writer}",
                   "--out", writer, "--json")  # fmt: skip
        counts.append(documents(done) if done.code == 0 else 0)
    assert sum(counts) == 12
    assert all(0 < count < 12 for count in counts)


def test_other_columns_do_not_hide_that_it_is_the_same_file(run, files, linear):
    done = run("evaluate", linear, files / "messages.csv", "--id", "writer", "--out", "r",
               "--json")  # fmt: skip
    assert documents(done) == 12


def test_all_rows_only_with_a_warning(run, files, linear):
    done = run("evaluate", linear, files / "messages.csv", "--all-rows", "--out", "r")
    assert "warning: this is the file that the model was trained on" in done.err
    assert "say nothing about new messages" in (files / done.out.split()[-1]).name or done.out


def test_a_model_without_a_holdout_on_its_own_file(run, files):
    train = ["train", files / "messages.csv", "--recipe", "frequency", "--out", "m"]
    assert run(*train).code == 0
    done = run("evaluate", "m", files / "messages.csv", "--json")
    assert "warning: this is the file that the model was trained on" in done.err
    assert "say nothing about new messages" in done.json["caution"]
    done = run("evaluate", "m", files / "messages.csv", "--only-holdout", "--out", "r2")
    assert done.code == 2
    assert "no held-out documents" in done.error


def test_other_rows_of_the_same_file_are_new_to_it(run, files):
    """A column says which rows are for training, as corpora with a split have it."""
    train = ["train", files / "messages.csv", "--recipe", "frequency", "--out", "m"]
    assert run(*train, "--where", "writer=w0").code == 0
    done = run("evaluate", "m", files / "messages.csv", "--where", "writer=w1", "--json")
    assert "trained" not in done.err and done.json["caution"] is None
    own = run("evaluate", "m", files / "messages.csv", "--where", "writer=w0", "--out", "own")
    assert "warning: this is the file that the model was trained on" in own.err
    every = run("evaluate", "m", files / "messages.csv", "--out", "all", "--json")
    own_count = documents(run("evaluate", "m", files / "messages.csv", "--where", "writer=w0",
                              "--out", "again", "--json"))  # fmt: skip
    said = f"{own_count} of these {documents(every)} documents trained the model"
    assert said in every.err and said in every.json["caution"]


def test_rows_that_training_left_out_are_not_counted_as_trained_on(run, files):
    where = ("--where", "writer=w0")
    train = ["train", files / "messages.csv", "--recipe", "frequency", "--holdout", "0.2"]
    assert run(*train, *where, "--out", "m").code == 0
    narrow = run("evaluate", "m", files / "messages.csv", *where, "--out", "narrow", "--json")
    broad = run("evaluate", "m", files / "messages.csv", "--out", "broad", "--json")
    assert documents(narrow) == documents(broad)
    learned = re.search(r"; the other (\d+) trained the model", narrow.err)[1]
    assert re.search(rf"; {learned} of the other \d+ trained the model", broad.err)


def test_a_file_that_was_changed(run, files, linear, tmp_path):
    lines = (files / "messages.csv").read_text().splitlines()
    (tmp_path / "messages.csv").write_text("\n".join(lines[:-1]) + "\n")
    done = run("evaluate", linear, "messages.csv", "--only-holdout", "--out", "r")
    assert done.code == 2
    assert "found 47 documents; in training 48" in done.error
    done = run("evaluate", linear, "messages.csv", "--out", "r", "--json")
    assert documents(done) == 47
    assert done.json["caution"] is None


def test_whole_groups(run, files):
    words = ["train", files / "messages.csv", "--recipe", "frequency", "--no-check"]
    done = run(*words, "--holdout-groups", "w1,w3", "--out", "m", "--json")
    assert done.json["held_out"] == 24
    done = run("evaluate", "m", files / "messages.csv", "--json")
    assert documents(done) == 24
    assert "the groups w1, w3" in done.err
    done = run(*words, "--holdout", "0.25", "--split-by", "group", "--out", "m2", "--json")
    assert done.json["held_out"] == 12


def test_a_text_that_occurs_twice_stays_on_one_side(messages, tmp_path):
    from attending.data.corpora import Corpus

    corpus = Corpus((*messages, *messages[:20]))
    train, held = hold_out(corpus, "label", 0.3, 2020, None)
    texts = {d.text for d in train}
    assert texts.isdisjoint(corpus.documents[i].text for i in held.positions)


def test_groups_that_are_on_both_sides_are_told(run, files):
    words = ["train", files / "messages.csv", "--recipe", "frequency", "--no-check"]
    assert "--split-by group" in run(*words, "--holdout", "0.25", "--out", "a").err
    by_group = run(*words, "--holdout", "0.25", "--split-by", "group", "--out", "b")
    assert "--split-by group" not in by_group.err


def test_the_file_of_origin_holds_no_id_and_no_text(linear, messages):
    body = (linear / "data.json").read_text()
    assert json.loads(body)["documents"] == 48
    for d in messages:
        assert d.id not in body
        assert d.text not in body


def test_an_origin_comes_back_the_same(tmp_path):
    holdout = Holdout("group", 0.5, 7, ("á",), (3, 1), ("a note",))
    for origin in (
        Origin("a.csv", "f", 9, {"text": "t"}, {"year": "2023"}, holdout, "d"),
        Origin("a.csv", "f", 9, {"text": "t"}),
    ):
        origin.write(tmp_path)
        assert Origin.read(tmp_path) == origin
    assert Origin.read(tmp_path / "none") is None


@pytest.mark.parametrize("body", ["{", "[]", "{}", '{"format": 2}', '{"format": 1, "holdout": {}}'])
def test_a_broken_origin_is_one_line(tmp_path, body):
    (tmp_path / "data.json").write_text(body)
    with pytest.raises(ModelError, match=r"data\.json"):
        Origin.read(tmp_path)


def test_more_rows_beside_the_file(run, files, tmp_path):
    """What people corrected is trained on; what is held out stays out; the newer label counts."""
    corpus = load_corpus(files / "messages.csv")
    train = ["train", files / "messages.csv", "--labels", files / "labels.toml",
             "--recipe", "tfidf-logistic", "--holdout", "0.25", "--no-check"]  # fmt: skip
    assert run(*train, "--out", "m").code == 0
    held = {corpus.documents[i].id for i in Origin.read(tmp_path / "m").holdout.positions}
    (known,) = [d for d in corpus if d.id not in held][:1]
    other = next(label for label in ("urgent", "medium") if label != known.label)
    rows = [{"id": d.id, "text": d.text, "label": d.label} for d in corpus if d.id in held]
    rows += [{"id": known.id, "text": known.text, "label": other}, {"id": "n", "text": "numb arm"}]
    rows += [{"id": "u", "text": "my lips are blue", "label": "urgent"}]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run(*train, "--also", "more.jsonl", "--out", "m2", "--json")
    assert done.code == 0, done.err
    assert "more.jsonl: 2 rows more to train on" in done.err
    assert "more.jsonl: 1 without a label: left out" in done.err
    assert (
        f"more.jsonl: {len(held)} with a text or group that is kept out of training: left out"
        in done.err
    )
    assert "more.jsonl: 1 of the rows before them have the same text: replaced" in done.err
    before, after = (load_model(tmp_path / m).facts for m in ("m", "m2"))
    assert sum(after[k] - before[k] for k in ("training_rows", "development_rows")) == 1
    assert Origin.read(tmp_path / "m2").holdout == Origin.read(tmp_path / "m").holdout
    done = run("evaluate", "m2", "more.jsonl", "--out", "r", "--json")
    assert "say nothing about new messages" in done.json["caution"]


def test_more_rows_that_bring_nothing(run, files, tmp_path):
    (tmp_path / "more.jsonl").write_text('{"id": "n", "text": "numb arm"}')
    train = ["train", files / "messages.csv", "--recipe", "frequency", "--out", "m"]
    done = run(*train, "--also", "more.jsonl")
    assert done.code == 2
    assert "brings no row to train on" in done.error
    (tmp_path / "more.jsonl").write_text('{"id": "n", "text": "numb arm", "label": "later"}')
    done = run(*train, "--also", "more.jsonl")
    assert done.code == 2
    assert 'label "later" is not in the label set' in done.error
    done = run("train", files / "messages.csv", "--recipe", "atl-ner", "--out", "m",
               "--also", "more.jsonl")  # fmt: skip
    assert "--also is for recipes that give documents labels" in done.error


def test_more_rows_of_a_group_that_is_held_out_whole(run, files, tmp_path):
    rows = [
        {"id": f"n{i}", "text": f"numb arm {i}", "label": "urgent", "writer": f"w{i}"}
        for i in range(4)
    ]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run("train", files / "messages.csv", "--recipe", "frequency", "--group", "writer",
               "--holdout-groups", "w1,w3", "--also", "more.jsonl", "--out", "m", "--no-check",
               "--json")  # fmt: skip
    assert done.code == 0, done.err
    assert [m.documents for m in Origin.read(tmp_path / "m").also] == [2]
    assert "more.jsonl: 2 with a text or group that is kept out of training" in done.err


def test_overlapping_files_of_more_rows_are_counted_once(run, files, tmp_path):
    """What a later file replaced is no longer an earlier one's."""
    row = {"id": "n1", "text": "numb arm", "label": "urgent"}
    other = {"id": "n2", "text": "blue lips", "label": "urgent"}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, (row, other))))
    (tmp_path / "b.jsonl").write_text(json.dumps(row))
    done = run("train", files / "messages.csv", "--recipe", "frequency", "--also", "a.jsonl",
               "--also", "b.jsonl", "--out", "m", "--no-check")  # fmt: skip
    assert done.code == 0, done.err
    assert [m.documents for m in Origin.read(tmp_path / "m").also] == [1, 1]
    assert "48 of 48 documents to train on" in done.err


def test_what_is_held_out_chooses_nothing(run, files, tmp_path):
    """A development file of the very rows that are held out would make them too good."""
    corpus = load_corpus(files / "messages.csv")
    train = ["train", files / "messages.csv", "--recipe", "tfidf-logistic", "--holdout", "0.25"]
    assert run(*train, "--out", "m").code == 0
    held = Origin.read(tmp_path / "m").holdout.positions
    rows = [{"id": f"x{i}", "text": corpus.documents[i].text.upper(),
             "label": corpus.documents[i].label} for i in held]  # fmt: skip
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run(*train, "--dev", "dev.jsonl", "--out", "n")
    assert (
        done.code == 2 and "12 development rows of a text or group that is held out" in done.error
    )
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--holdout", "0"), "--holdout must be a share"),
        (("--holdout", "1"), "--holdout must be a share"),
        (("--holdout-groups", ""), "--holdout-groups names no group"),
        (("--holdout-groups", " , "), "--holdout-groups names no group"),
        (("--holdout-groups", "w1", "--split-by", "date"), "exclude each other"),
    ],
)
def test_wishes_that_can_not_be_meant(run, files, tmp_path, words, said):
    done = run("train", files / "messages.csv", "--recipe", "frequency", "--out", "m", *words)
    assert done.code == 2 and said in done.error
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("option", ["--seed", "--split-seed"])
def test_a_seed_is_no_negative_number(run, files, option):
    done = run("train", files / "messages.csv", "--recipe", "frequency", "--out", "m",
               "--holdout", "0.25", option, "-1")  # fmt: skip
    assert done.code == 2 and "unexpected" not in done.err


def test_a_model_s_recipe_trains_the_same_again(run, files, tiny_encoder, tmp_path):
    """Nothing that was settled is settled anew: not the bundled encoder's, nor another task's."""
    done = run("train", files / "messages.csv", "--recipe", "lame", "--encoder", tiny_encoder,
               "--set", "label_attention.heads=2",
               "--set", "training.epochs=1", "--set", "training.learning_rate=0.00002",
               "--out", "m", "--no-check")  # fmt: skip
    assert done.code == 0, done.err
    written = Recipe.load(tmp_path / "m" / "recipe.toml")
    assert not written.bundled and not written.other
    for settled in (written.with_encoder(None), written.with_encoder(None).for_task("single")):
        assert settled["training"] == written["training"] and settled["loss"] == written["loss"]
    assert written["training"].epochs == 1 and written["training"].learning_rate == 0.00002

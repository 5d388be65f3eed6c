"""``evaluate``: the table, the report, and rows that have no truth or no answer."""

import json

import pytest

from attending.evaluation.report import FILES


def test_the_table_and_the_report(run, files, linear, tmp_path):
    done = run("evaluate", linear, files / "messages.csv", "--all-rows", "--out", "r")
    assert done.code == 0
    for part in ("Macro-F1", "Accuracy", "Recall of urgent", "Precision of urgent", "95% interval",
                 "Of 48 labelled documents", "r/report.html"):  # fmt: skip
        assert part in done.out
    assert {p.name for p in (tmp_path / "r").iterdir()} == set(FILES.values())
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["context"]["File"] == "messages.csv"
    assert metrics["context"]["Recipe"] == "tfidf-logistic"


def test_for_machines_it_is_what_the_report_holds(run, files, linear, tmp_path):
    done = run("evaluate", linear, files / "messages.csv", "--all-rows", "--out", "r", "--json")
    body = json.loads((tmp_path / "r" / "metrics.json").read_text())
    for key in ("metrics", "per_label", "confusion", "intervals"):
        assert done.json[key] == body[key]


def test_the_report_lies_in_the_model_folder(run, files, linear, copied):
    model = copied(linear)
    assert run("evaluate", model, files / "messages.csv").code == 0
    assert (model / "evaluation-messages" / "report.html").is_file()
    again = run("evaluate", model, files / "messages.csv")
    assert again.code == 2
    assert "the report exists already" in again.error
    assert run("evaluate", model, files / "messages.csv", "--force").code == 0


def test_rows_without_truth_or_answer(run, files, linear, tmp_path):
    rows = [
        "id,text,label",
        "a,chest pain,urgent",
        "b,  ,medium",
        "c,a refill,",
        "d,two,cells,more",
    ]
    (tmp_path / "odd.csv").write_text("\n".join(rows) + "\n")
    done = run("evaluate", linear, "odd.csv", "--json", "--out", "r")
    assert done.code == 0
    counts = done.json["documents"]
    assert (counts["documents"], counts["labelled"]) == (4, 2)
    assert (counts["unlabelled"], counts["unreadable_rows"], counts["empty_text"]) == (1, 1, 1)
    assert "1 row can't be read:" in done.err
    assert "odd.csv line 5: 4 cells, expected 3" in done.err


def test_a_label_that_the_model_does_not_know(run, files, linear, tmp_path):
    rows = ["id,text,label", "a,chest pain,urgent", "b,a refill,routine", "c,thanks,medium"]
    (tmp_path / "odd.csv").write_text("\n".join(rows) + "\n")
    done = run("evaluate", linear, "odd.csv", "--out", "r")
    assert done.code == 2
    assert "odd.csv line 3" in done.error
    assert '"routine"' in done.error
    done = run("evaluate", linear, "odd.csv", "--unknown-labels", "skip", "--out", "r", "--json")
    assert done.json["documents"]["documents"] == 2
    left = "1 document with a label that is not in the label set"
    assert left in done.err and left in done.json["left_out"][0]
    assert left in (tmp_path / "r" / "summary.md").read_text()
    assert left in (tmp_path / "r" / "report.html").read_text()


def test_a_file_without_labels(run, files, linear):
    done = run("evaluate", linear, files / "new.csv", "--out", "r")
    assert done.code == 2
    assert "no document has a label" in done.error


def test_many_labels_are_not_all_listed(run, tmp_path):
    rows = [f"t{i}-{j},word{i} word,c{i:03}" for i in range(60) for j in range(2)]
    (tmp_path / "many.csv").write_text("\n".join(["id,text,label", *rows]) + "\n")
    done = run("train", "many.csv", "--recipe", "frequency", "--out", "m", "--no-check")
    assert done.code == 0
    assert "c011: 2 and 48 more" in done.err
    done = run("evaluate", "m", "many.csv")
    assert "and 30 more labels in the report" in done.out
    assert len(done.out.splitlines()) < 60


class TestSeveralSeeds:
    @pytest.fixture
    def models(self, run, files, tmp_path):
        done = self.train(run, files, 2)
        assert done.code == 0
        return tmp_path / "ms"

    def train(self, run, files, number, *words):
        return run("train", files / "messages.csv", "--recipe", "tfidf-svm", "--holdout", "0.25",
                   "--seeds", number, "--out", "ms", *words)  # fmt: skip

    def test_mean_and_spread(self, run, files, models):
        body = json.loads((models / "seeds.json").read_text())
        assert body["seeds"] == [0, 1]
        values = [body["development"][s]["accuracy"] for s in ("0", "1")]
        spread = body["spread"]["accuracy"]
        assert spread["mean"] == pytest.approx(sum(values) / 2)
        assert spread["sd"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)

    def test_a_finished_seed_is_not_trained_again(self, run, files, models):
        before = (models / "seed-0" / "attending.json").read_bytes()
        done = self.train(run, files, 3)
        assert done.code == 0
        assert done.err.count("is trained already") == 2
        assert (models / "seed-0" / "attending.json").read_bytes() == before
        assert {p.name for p in models.iterdir()} == {"seed-0", "seed-1", "seed-2", "seeds.json"}

    def test_fewer_seeds_than_there_are_leave_the_summary_of_all(self, run, files, models):
        for first, words, whole in (("1", (), [0, 1, 2]), ("1", ("--force",), [1, 2])):
            done = self.train(run, files, 2, "--seed", first, *words)
            assert done.code == 0
            assert json.loads((models / "seeds.json").read_text())["seeds"] == whole

    def test_a_seed_of_another_run_is_not_taken_for_this_one(self, run, files, models):
        done = self.train(run, files, 2, "--set", "estimator.alpha=1e-3")
        assert done.code == 2
        assert "seed-0" in done.error
        assert "--force" in done.error

    def test_models_of_one_folder_differ_by_their_seeds_alone(self, run, files, models):
        """Another recipe with seeds of its own would be averaged with them."""
        for words in (("--set", "estimator.alpha=1e-3"), ("--split-seed", "1")):
            done = self.train(run, files, 2, "--seed", "5", *words)
            assert done.code == 2 and "another recipe, encoder, label set or file" in done.error
        assert {p.name for p in models.iterdir()} == {"seed-0", "seed-1", "seeds.json"}

    def test_force_replaces_all(self, run, files, models):
        self.train(run, files, 3)
        done = self.train(run, files, 2, "--force", "--set", "estimator.alpha=1e-3")
        assert done.code == 0
        assert {p.name for p in models.iterdir()} == {"seed-0", "seed-1", "seeds.json"}

    def test_all_are_evaluated(self, run, files, models):
        done = run("evaluate", models, files / "messages.csv")
        assert done.code == 0
        rows = [line.split()[0] for line in done.out.splitlines() if line]
        assert rows[2:6] == ["seed-0", "seed-1", "mean", "sd"]
        assert (models / "seed-1" / "evaluation-messages" / "report.html").is_file()
        done = run("evaluate", models, files / "messages.csv", "--out", "r", "--json")
        assert set(done.json["models"]) == {"seed-0", "seed-1"}
        assert done.json["spread"]["macro_f1"]["n"] == 2


def test_the_report_says_what_a_network_answered_in(run, files, neural, tmp_path):
    words = ("evaluate", neural, files / "messages.csv", "--all-rows", "--json")
    plain = run(*words, "--out", "a").json
    quick = run(*words, "--out", "b", "--precision", "bfloat16").json
    assert quick["caution"].endswith("Evaluated with --precision bfloat16.")
    assert "--precision" not in (plain["caution"] or "")
    assert "--precision bfloat16" in (tmp_path / "b" / "report.html").read_text()

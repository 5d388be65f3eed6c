"""How networks come along by epoch: read from the logs of finished cells, shown in the report."""

import json

import pytest

from attending.study.epochs import by_epoch, read_scores
from attending.study.names import Figure
from attending.study.plan import Cell
from attending.study.report import write_results
from attending.study.results import collect
from attending.study.run import run_study
from attending.training.fit import LOG

MACRO = Figure("macro_f1")
SLOW = {"training": {"epochs": 3, "batch_size": 16, "precision": "float32"}}


@pytest.fixture
def networks(home, tiny_system):
    """Return a finished study with a network of three epochs and a recipe without any."""
    made = home(
        systems=[{"name": "tfidf-logistic"}, tiny_system("bert", settings=SLOW)],
        metrics=["accuracy", "macro_f1"],
    )
    run_study(made)
    return made


def test_figures_of_each_epoch_are_means_over_seeds(networks):
    found = by_epoch(networks, "mail", None, [Figure("ece"), MACRO])
    assert found.figure == MACRO, "the log has no calibration error"
    (bert,) = found.systems
    assert bert.system == "bert" and [epoch for epoch, _ in bert.points] == [1, 2, 3]
    logs = [read_scores(networks.cell(Cell("mail", "bert", s)).path / LOG) for s in (0, 1)]
    for epoch, spread in bert.points:
        assert spread.mean == pytest.approx(sum(log[epoch]["macro_f1"] for log in logs) / 2)
        assert spread.n == 2


def test_epochs_that_one_run_lacks_are_left_out(networks):
    log = networks.cell(Cell("mail", "bert", 1)).path / LOG
    lines = log.read_text().splitlines()
    kept = [x for x in lines if not (json.loads(x)["kind"] == "epoch" and '"epoch": 3.0' in x)]
    assert len(kept) == len(lines) - 1
    log.write_text("\n".join(kept))
    (bert,) = by_epoch(networks, "mail", None, [MACRO]).systems
    assert [epoch for epoch, _ in bert.points] == [1, 2]


def test_the_report_shows_them(networks):
    results = collect(networks)
    assert results.epochs[0].figure == Figure("accuracy")
    paths = write_results(networks.path, results)
    page, table = paths["page"].read_text(), paths["markdown"].read_text()
    assert 'aria-label="Learning curves by epochs"' in page and "epoch 3" in page
    assert "## mail: accuracy on development rows by epoch" in table.replace("Accuracy", "accuracy")
    (head,) = [line for line in table.splitlines() if line.startswith("| System | 1 | 2 | 3 |")]
    body = json.loads(paths["json"].read_text())
    (shown,) = body["epochs"]
    assert shown["systems"]["bert"][2]["epoch"] == 3 and head


def test_without_two_epochs_nothing_is_shown(home, tiny_system):
    made = home(systems=[tiny_system("bert")], seeds=[0])
    assert by_epoch(made, "mail", None, [MACRO]) is None
    run_study(made)
    assert by_epoch(made, "mail", None, [MACRO]) is None and collect(made).epochs == ()


ODD = ["", "{", "[]", '{"kind": "epoch"}', '{"kind": "epoch", "epoch": 1, "metrics": [1]}']


@pytest.mark.parametrize("line", ODD)
def test_a_damaged_log_gives_what_can_be_read(tmp_path, line):
    good = '{"kind": "epoch", "epoch": 2.0, "metrics": {"macro_f1": 0.5, "log_loss": Infinity}}'
    (tmp_path / LOG).write_text(f"{line}\n{good}\n")
    assert read_scores(tmp_path / LOG) == {2.0: {"macro_f1": 0.5}}
    assert read_scores(tmp_path / "none") == {}


def test_an_epoch_that_was_repeated_counts_once(tmp_path):
    rows = [(1.0, 0.1), (2.0, 0.2), (2.0, 0.3)]
    lines = [json.dumps({"kind": "epoch", "epoch": e, "metrics": {"map": v}}) for e, v in rows]
    (tmp_path / LOG).write_text("\n".join(lines))
    assert read_scores(tmp_path / LOG) == {1.0: {"map": 0.1}, 2.0: {"map": 0.3}}


@pytest.mark.parametrize(
    ("sizes", "largest"), [(["all", 20], None), ([30, 12], 30), ([12, 30], 30)]
)
def test_the_largest_size_is_the_main_one(home, sizes, largest):
    assert home(sizes=sizes).study.largest == largest

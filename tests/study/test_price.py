"""What a study will cost, and from what that is known."""

from dataclasses import replace

import pytest

from attending.study.plan import Cell
from attending.study.price import Clock, measure, price_study
from attending.study.run import run_study


def test_a_measured_step_of_a_network(home, tiny_system):
    made = home(systems=[tiny_system("bert"), {"name": "frequency"}])
    told = []
    neural, linear = price_study(made, told.append)
    assert neural.cells == 2 and neural.made == 0 and neural.basis.startswith("a measured step of")
    assert linear.basis == "a fit on 36 rows" and told == ["bert on mail", "frequency on mail"]
    assert linear.seconds > 0 and 0 < neural.seconds < 60


def test_twice_the_epochs_cost_more(home, tiny_system):
    one = home(systems=[tiny_system("bert")])
    cell = Cell("mail", "bert", 0)
    measured = measure(one.study, cell)
    rows, scored = 36, 2 * 0.1 * 36 + 12
    wanted = measured.begin + rows * measured.train_row + scored * measured.score_row
    assert measured.epochs == 1 and measured.seconds(one.study, cell) == pytest.approx(wanted)


def test_steps_at_least_cost_what_they_read(home, tiny_system):
    settings = {**tiny_system("bert")["settings"], "training.min_steps": 40}
    one = home(systems=[{**tiny_system("bert"), "settings": settings}])
    cell = Cell("mail", "bert", 0)
    measured = measure(one.study, cell)
    batch = one.study.recipe(cell)["training"].batch_size
    read, scored = 40 * batch, 2 * 0.1 * 36 + 12
    wanted = measured.begin + read * measured.train_row + scored * measured.score_row
    assert read > 36 and measured.seconds(one.study, cell) == pytest.approx(wanted)


def test_finished_cells_say_it_better(home):
    made = home()
    cells = made.study.cells()
    assert Clock(made).left(cells) == (None, 4)
    run_study(made)
    prices = price_study(made, pytest.fail)
    assert {p.basis for p in prices} == {"finished"} and sum(p.seconds for p in prices) == 0
    (made.cell(cells[0]).path / "cell.json").unlink()
    first, second = price_study(made, pytest.fail)
    assert (first.made, first.basis) == (1, "1 finished cell") and second.made == 2


def test_time_goes_with_the_rows():
    class Home:
        pass

    clock = Clock.__new__(Clock)
    clock._seconds = {("c", "s"): [(10.0, 100), (14.0, 100)]}
    clock.home = Home()
    clock.home.study = None
    assert clock.seconds(Cell("c", "s", 0, 100)) == 12.0
    assert clock.seconds(Cell("c", "s", 0, 50)) == pytest.approx(6.0)
    assert clock.seconds(Cell("c", "other", 0, 50)) is None
    assert clock.left([Cell("c", "s", 0, 50), Cell("c", "other", 0, 50)]) == (pytest.approx(6.0), 1)


@pytest.mark.slow
def test_a_student_is_measured_with_a_teacher(home, tiny_system):
    student = tiny_system(
        "distil-lesa-bert-6",
        name="student",
        teacher="lesa-bert",
        settings={"encoder": {"layers": 1}},
    )
    made = home(systems=[student, tiny_system("lesa-bert")], seeds=[0])
    assert all(price.seconds is not None for price in price_study(made))
    cell = Cell("mail", "student", 0)
    measured = measure(made.study, cell)
    assert (
        measured.answer_row > 0
        and measure(made.study, Cell("mail", "lesa-bert", 0)).answer_row == 0
    )
    without = replace(measured, answer_row=0.0)
    asked = measured.seconds(made.study, cell) - without.seconds(made.study, cell)
    assert asked == pytest.approx(36 * measured.answer_row)

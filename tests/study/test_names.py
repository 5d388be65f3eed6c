"""Figures and claims as people write them."""

import pytest

from attending.errors import StudyError
from attending.study.names import Figure, fault_of, is_tested, parse_claim, parse_figure

LABELS = ("low", "high")


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("macro_f1", Figure("macro_f1")),
        ("Macro-F1", Figure("macro_f1")),
        ("recall of very high", Figure("recall", "very high")),
        ("p_at_8", Figure("p_at_8")),
        ("R_at_15 of unseen labels", Figure("r_at_15", group="unseen")),
    ],
)
def test_figures_are_read(text, figure):
    assert parse_figure(text) == figure


def test_a_figure_says_what_it_is():
    assert parse_figure("recall of high").title == "Recall, high"
    assert parse_figure("p_at_8").cut == 8
    unseen = parse_figure("r_at_15 of unseen labels")
    assert unseen.title == "R@15, unseen labels" and str(unseen) == "r_at_15 of unseen labels"
    assert "no training document" in unseen.definition("multi")
    assert "8" in parse_figure("p_at_8").definition("multi")
    assert parse_figure("log_loss").better_low and not parse_figure("macro_f1").better_low


@pytest.mark.parametrize(
    ("text", "task", "fault"),
    [
        ("macro_f1", "single", None),
        ("ece", "single", None),
        ("recall of high", "multi", None),
        ("map", "multi", None),
        ("ndcg_at_5", "multi", None),
        ("map", "single", "unknown metric"),
        ("macro_f2", "single", 'Did you mean "macro_f1"'),
        ("recall", "single", "needs a label"),
        ("recall of hihg", "single", 'Did you mean "high"'),
        ("macro_f1 of high", "single", "no figure of one label"),
        ("p_at_0", "multi", "unknown metric"),
        ("r_at_15 of unseen labels", "multi", None),
        ("micro_f1 of tail labels", "multi", None),
        ("micro_f1 of tail labels", "single", "any number of them"),
        ("map of unseen labels", "multi", '"map of unseen labels" is no figure'),
    ],
)
def test_what_is_wrong_with_a_figure(text, task, fault):
    found = fault_of(parse_figure(text), task, LABELS)
    assert found is None if fault is None else fault in found


@pytest.mark.parametrize(
    ("text", "task", "tested"),
    [
        ("macro_f1", "single", True),
        ("ece", "single", False),
        ("mcc", "single", False),
        ("recall of high", "single", True),
        ("roc_auc of high", "single", False),
        ("map", "multi", True),
        ("p_at_8", "multi", True),
        ("brier", "multi", False),
        ("r_at_15 of unseen labels", "multi", True),
        ("micro_f1 of tail labels", "multi", True),
        ("micro_f1 of tail labels", "single", False),
        ("map of unseen labels", "multi", False),
    ],
)
def test_which_figures_can_be_tested(text, task, tested):
    assert is_tested(parse_figure(text), task) is tested


def test_claims_are_read():
    made = parse_claim("lesa-bert > bert on recall of high")
    assert (made.a, made.b, made.figure, made.margin) == (
        "lesa-bert", "bert", Figure("recall", "high"), 0.0
    )  # fmt: skip
    near = parse_claim("small one > large - one - 0.01 on macro_f1")
    assert (near.a, near.b, near.margin) == ("small one", "large - one", 0.01)
    with pytest.raises(StudyError, match="can't be read"):
        parse_claim("lesa-bert beats bert")

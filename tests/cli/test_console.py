"""What is printed: wrapped on a terminal, whole elsewhere, never able to steer a terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attending.cli.console import Screen, last_line, visible
from attending.cli.highlights import highlighted, marked
from attending.cli.progress import Progress, TrainingProgress, duration
from attending.cli.tables import facts, table
from attending.records import Evidence
from attending.training.progress import Event


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that gives a screen on a terminal of a width, and what it shows."""

    def make(width, colour=False):
        monkeypatch.setenv("FORCE_COLOR" if colour else "NO_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        screen = Screen()
        for console in (screen.out, screen.err):
            console._force_terminal = console.is_interactive = True
            console.width = width
            console.file = io.StringIO()
            console._color_system = console._detect_color_system()
        return screen

    return make


def shown(console):
    return console.file.getvalue()


@given(st.text())
def test_nothing_that_steers_a_terminal_is_printed(text):
    shown = visible(text)
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert "\x1b" not in shown
    assert visible(shown) == shown


def test_labels_with_escapes_and_brackets_are_printed_as_they_are(capsys):
    Screen().show(
        "[bold]a[/] \x1b[31mred",
        table(
            ["[x]"],
            [
                [
                    "[/y]",
                ]
            ],
        ),
    )
    out = capsys.readouterr().out
    assert out == "[bold]a[/] \\x1b[31mred\n[x]\n[/y]\n"


def test_lines_stay_whole_where_no_one_reads(capsys):
    line = "word " * 100
    Screen().show(line.strip())
    assert capsys.readouterr().out == line.strip() + "\n"


@pytest.mark.parametrize(
    ("line", "indent"),
    [("word " * 30, ""), ("  " + "word " * 30, "  "), ("warning  " + "word " * 30, " " * 9)],
)
def test_lines_are_wrapped_under_their_first_word(terminal, line, indent):
    screen = terminal(60)
    screen.show(line.rstrip())
    lines = shown(screen.out).splitlines()
    assert len(lines) > 2
    assert all(len(x) <= 60 for x in lines)
    assert all(x.startswith(indent + "word") for x in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(line.split())


def test_a_warning_is_wrapped_under_its_words(terminal):
    screen = terminal(60)
    screen.tell("warning", "word " * 30)
    lines = shown(screen.err).splitlines()
    assert lines[0].startswith("warning: word")
    assert all(x.startswith(" " * 9 + "word") for x in lines[1:])


def test_commands_are_never_broken(terminal):
    screen = terminal(40)
    screen.commands("  attending " + "word " * 30)
    assert shown(screen.out).count("\n") == 1


def test_an_error_is_one_line(capsys):
    last_line("a\nb  c " + "word " * 60)
    err = capsys.readouterr().err
    assert err.startswith("error: a b c word")
    assert err.count("\n") == 1


def test_json_goes_to_standard_output_and_all_else_beside(capsys):
    screen = Screen(machine=True)
    screen.show("for people")
    screen.data({"é": 1})
    captured = capsys.readouterr()
    assert captured.out == '{\n  "é": 1\n}\n'
    assert captured.err == "for people\n"


def test_tables_end_without_blanks(capsys):
    Screen().show(table(["name", "n"], [["a", "1"], ["long", "1,000"]]), facts([("k", "value")]))
    assert capsys.readouterr().out == (
        "name      n\na         1\nlong  1,000\nk            value\n"
    )


def evidence(*spans):
    return [Evidence(start, end, 1.0, "urgent", "m") for start, end in spans]


def test_evidence_in_brackets(capsys):
    text = "no chest pain, but [odd] words"
    made = marked(text, evidence((3, 13), (15, 18), (8, 13)), coloured=False)
    assert made.plain == "no [chest pain], [but] [odd] words"
    screen = Screen()
    screen.show(*highlighted(screen, text, evidence((3, 13))))
    assert capsys.readouterr().out == "  no [chest pain], but [odd] words\n"


def test_evidence_in_colour(terminal):
    screen = terminal(80, colour=True)
    screen.show(*highlighted(screen, "no chest pain", evidence((3, 13))))
    assert "\x1b[" in shown(screen.out)
    assert "[chest pain]" not in shown(screen.out)


@given(
    st.text(max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4)
)
def test_marking_loses_nothing(text, spans):
    found = evidence(*((a, b) for a, b in spans if a < b <= len(text)))
    assert marked(text, found, coloured=True).plain == visible(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "under 1 s"), (8.4, "8 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("attending.cli.progress.time", clock)
    return clock


def test_plain_lines_now_and_then(clock, capsys):
    with Progress(Screen(), "predicting") as progress:
        for done in range(1, 101):
            clock.now = done
            progress(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 10
    assert lines[0] == "predicting: 10 of 100 documents, 10%, 1 min 30 s left"


def test_short_jobs_say_nothing(clock, capsys):
    with Progress(Screen(), "predicting") as progress:
        for done in range(1, 5):
            clock.now = done
            progress(done, 4)
    assert capsys.readouterr().err == ""


def test_slow_jobs_are_heard_of(clock, capsys):
    with Progress(Screen(), "predicting") as progress:
        for done in range(1, 5):
            clock.now = done * 20
            progress(done, 10_000)
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_a_bar_on_a_terminal_is_gone_at_the_end(terminal):
    screen = terminal(80)
    with Progress(screen, "predicting") as progress:
        progress(1, 3)
        progress._bar.refresh()
        progress(3, 3)
    assert "predicting" in shown(screen.err)
    assert "\x1b[2K" in shown(screen.err)


def test_training_tells_epochs(capsys):
    progress = TrainingProgress(Screen(), 2)
    progress.listen(Event("start", 3, 10))
    progress.listen(
        Event("epoch", 5, 10, epoch=1.0, metrics={"macro_f1": 0.5, "accuracy": 0.75, "log_loss": 1})
    )
    assert capsys.readouterr().err.splitlines() == [
        "Going on after step 3 of 10.",
        "epoch 1 of 2: macro-F1 0.500, accuracy 75.0%, log loss 1.000 on development rows",
    ]

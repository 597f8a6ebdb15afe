"""What people see while they wait: on a terminal, and elsewhere."""

import io
from dataclasses import dataclass

import pytest
from rich.console import Console

from fedroam.cli.watching import Board, duration, sparkline
from fedroam.runs import Progress


@dataclass
class Clock:
    """Real seconds, as told."""

    now_s: float = 0.0


def board_of(names, width=120, terminal=True):
    """A board, its clock, and what it has printed."""
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, force_terminal=terminal, width=width, color_system=None)
    return Board("paper", names, console, lambda: clock.now_s), clock, file


def shown(board):
    """What stands on the screen."""
    with board.console.capture() as capture:
        board.console.print(board)
    return capture.get()


def test_one_run_shows_clock_round_accuracy_length_straggler_and_what_remains():
    """All that one wants to know of a run that is going on."""
    board, clock, _ = board_of({"dagsa": 1})
    assert "paper · dagsa" in shown(board)
    for i in range(1, 51):
        clock.now_s = 0.2 * i
        accuracy = 0.5 + 0.01 * (i // 10) if i >= 10 else None
        board.show("dagsa", Progress(i, 0.4 * i, i / 200, accuracy, 0.41, 7 if i % 3 else 9))
    text = shown(board)

    for part in ("25%", "round 50", "20.0 s simulated", "this round 0.410 s (mean 0.400 s)"):
        assert part in text
    assert "accuracy 55.00%" in text
    assert "straggler user 7; most often 7 (34×), 9 (16×)" in text
    assert "0:30 left" in text.replace("0:31", "0:30")


def test_many_runs_are_a_row_for_each_policy_and_a_sum():
    """Policies with their latest run, and how much of all has been played."""
    board, clock, _ = board_of({"dagsa": 2, "random": 2})
    clock.now_s = 10.0
    board.show("dagsa", Progress(100, 40.0, 1.0, 0.9, 0.4, 3), seed=0)
    board.show("dagsa", Progress(50, 20.0, 0.5, 0.8, 0.4, 3), seed=1)
    lines = shown(board).splitlines()

    assert lines[1].split()[0] == "dagsa"
    assert "75%" in lines[1]
    figures = "50 20.0 s 0.400 s 80.0% user 3 (1×) seed 1"
    assert lines[1].split()[-len(figures.split()) :] == figures.split()
    assert lines[2].split()[0] == "random"
    assert lines[-1].startswith("paper: 38%")


def test_runs_played_before_count_but_not_towards_the_pace():
    """A comparison that goes on knows what remains, at the pace since the first word of a run."""
    board, clock, _ = board_of({"dagsa": 2})
    board.skip("dagsa", 0)
    clock.now_s = 100.0  # compiling
    board.show("dagsa", Progress(1, 1.0, 0.01), seed=1)
    assert board.left_s is None
    clock.now_s = 110.0
    board.show("dagsa", Progress(50, 50.0, 0.5), seed=1)

    assert board.share == pytest.approx(0.75)
    assert board.left_s == pytest.approx(10.0 * 0.50 / 0.49)


def test_without_a_terminal_there_is_a_line_every_so_often():
    """None within half a minute, then every minute; plain text."""
    board, clock, file = board_of({"dagsa": 1, "random": 1}, terminal=False)
    for i in range(1, 801):
        clock.now_s = 0.2 * i
        board.show("dagsa", Progress(i, 0.4 * i, i / 1000, 0.5, 0.4, 7))
        if i == 140:
            assert file.getvalue() == ""
    lines = file.getvalue().splitlines()

    assert len(lines) == 3
    assert lines[0] == (
        "paper: 8%; dagsa, round 150, 60.0 s simulated, mean round 0.400 s; accuracy 50.0%; "
        "most often last: user 7 (150×); about 6:10 left"
    )
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80])
def test_narrow_terminals_and_long_names_do_not_break_it(width):
    """Every line fits; nothing is raised; markup in names is text."""
    board, _, _ = board_of({"[bold]" + "x" * 90: 1, "b": 1}, width)
    board.show("b", Progress(5, 2.0, 0.5, 0.1, 0.4, 2))

    assert all(len(line) <= width for line in shown(board).splitlines())


@pytest.mark.parametrize(
    ("width", "name", "told"),
    [
        (120, "dagsa", ["━", "most often last", "user 3 (1×)", "80.0%", "dagsa"]),
        (80, "speed_m_s=50,turn_every=never", ["20.0 s", "80.0%", "speed_m_s=50,turn"]),
        (
            100,
            "speed_m_s=50,turn_every=never",
            ["20.0 s", "80.0%", "speed_m_s=50,turn_every=never"],
        ),
    ],
)
def test_names_come_first_and_figures_stay_whole(width, name, told):
    """Where names are long, the bar and who is last give way; no figure is cut."""
    board, _, _ = board_of({name: 2, "b": 2}, width)
    board.show(name, Progress(50, 20.0, 0.5, 0.8, 0.4, 3), seed=1)
    text = shown(board)

    assert all(part in text for part in told)
    assert text.count("…") == (width == 80)


def test_small_pieces():
    """Durations and sparklines."""
    assert [duration(s) for s in (0, 61, 3723)] == ["0:00", "1:01", "1:02:03"]
    assert sparkline([]) == ""
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([0.3]) == "▁"


def test_the_size_of_the_user_table_is_said_beforehand(fedroam, tmp_path):
    """Where it is worth a word; what is said is about what is written."""
    (tmp_path / "many.toml").write_text(
        "world = { users = 2000, stations = 20 }\npolicy = 'random'"
    )
    done = fedroam("run", "many.toml", "--set", "rounds=160", "--json")
    (said,) = [line for line in done.err.splitlines() if line.startswith("will write about ")]
    written = (tmp_path / "runs/many/users.parquet").stat().st_size

    assert 0.7 < int(said.split()[3]) * 1e6 / written < 1.4
    done = fedroam("run", "many.toml", "--set", "rounds=160", "--set", "detail=false", "-o", "b")
    assert "will write" not in done.err
    assert not (tmp_path / "b/users.parquet").exists()

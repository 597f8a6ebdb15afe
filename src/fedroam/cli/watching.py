"""
Live progress of what is played: a few lines that renew themselves on a terminal, on stderr.

Elsewhere a plain line every so often, and none at all for what is over soon.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fedroam.cli.screen import stderr
from fedroam.runs import Progress

FIRST_LINE_S, NEXT_LINES_S = 30.0, 60.0
"""Without a terminal: when the first line is written, and how long until the next."""

FIGURES = {
    "round": 6,
    "simulated": 10,
    "mean round": 10,
    "accuracy": 8,
    "most often last": 16,
    "seed": 7,
}
"""What the table of many tells of each, and how wide it may become."""

BAR = 16

BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass
class _Row:
    """What is known of one name: its runs, by seed, and the last that was heard."""

    n_runs: int
    shares: dict[int, float] = field(default_factory=dict)
    last: Progress | None = None
    seed: int = 0
    curve: deque[float] = field(default_factory=lambda: deque(maxlen=24))
    ends: dict[int, Counter[int]] = field(default_factory=dict)  # by seed: who was last

    @property
    def done(self) -> float:
        return sum(self.shares.values())

    @property
    def stragglers(self) -> Counter[int]:
        """Under the present seed: under another the same number is another user."""
        return self.ends.setdefault(self.seed, Counter())

    @property
    def most_often_last(self) -> str:
        """The user on which the others have waited most often."""
        return "".join(f"user {u} ({n}×)" for u, n in self.stragglers.most_common(1))

    def figures(self) -> dict[str, str | Text]:
        """What is told of the last run that was heard of, by heading; nothing before."""
        if self.last is None:
            return {}
        last, mean_s = self.last, self.last.now_s / max(1, self.last.round)
        seed = f"seed {self.seed}" if self.n_runs > 1 else ""
        return {
            "round": str(last.round),
            "simulated": f"{last.now_s:.1f} s",
            "mean round": f"{mean_s:.3f} s",
            "accuracy": "" if last.accuracy is None else f"{last.accuracy:.1%}",
            "most often last": self.most_often_last,
            "seed": Text(seed, style="dim"),
        }


class Board:
    """What has been heard of each name; ``show`` is cheap, drawing happens a few times a second."""

    def __init__(
        self,
        title: str,
        names: Mapping[str, int],
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.console, self.clock = title, console, clock
        self.rows = {name: _Row(n_runs) for name, n_runs in names.items()}
        self.began_s = self.told_s = clock()
        self.began_at: float | None = None  # the share when the first was heard, and
        self.heard_s = self.began_s  # when that was: compiling and loading are no pace

    def skip(self, name: str, seed: int = 0) -> None:
        """Note that this run had been played before."""
        self.rows[name].shares[seed] = 1.0

    def show(self, name: str, progress: Progress, seed: int = 0) -> None:
        """Note how far the run of ``name`` under ``seed`` is."""
        row = self.rows[name]
        row.shares[seed], row.seed = progress.share, seed
        if self.began_at is None:
            self.began_at, self.heard_s = self.share, self.clock()
        if progress.straggler >= 0:
            row.stragglers[progress.straggler] += 1
        accuracy, before = progress.accuracy, row.last.accuracy if row.last else None
        if accuracy is not None and accuracy != before:
            row.curve.append(accuracy)
        row.last = progress
        if not self.console.is_terminal:
            self._line()

    @property
    def share(self) -> float:
        """Of everything that is to be played."""
        return sum(row.done for row in self.rows.values()) / self._n_runs

    @property
    def left_s(self) -> float | None:
        """Real seconds that remain, at the pace so far; None where that is not known yet."""
        gained = self.share - (self.began_at or 0.0)
        spent_s = self.clock() - self.heard_s
        return spent_s * (1 - self.share) / gained if gained > 0 and spent_s > 1 else None

    def __rich__(self) -> RenderableType:
        """The present lines: details of one name, a table of many."""
        if len(self.rows) == 1:
            ((name, row),) = self.rows.items()
            return self._one(name, row)
        return self._many()

    @property
    def _n_runs(self) -> int:
        return max(1, sum(row.n_runs for row in self.rows.values()))

    def _one(self, name: str, row: _Row) -> RenderableType:
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(_named(self.title, name), style="bold"),
            ProgressBar(total=1.0, completed=row.done / row.n_runs, width=30),
            f"{row.done / row.n_runs:.0%}",
            Text(self._left(), style="dim"),
        )
        if row.last is None:
            return head
        last = row.last
        parts = [f"round {last.round}", f"{last.now_s:.1f} s simulated"]
        if last.length_s is not None:
            mean_s = last.now_s / max(1, last.round)
            parts.append(f"this round {last.length_s:.3f} s (mean {mean_s:.3f} s)")
        lines, parts = [_line_of(parts)], []
        if last.accuracy is not None:
            parts.append(f"accuracy {last.accuracy:.2%} {sparkline(row.curve)}")
        if last.straggler >= 0:
            often = ", ".join(f"{u} ({n}×)" for u, n in row.stragglers.most_common(3))
            parts.append(f"straggler user {last.straggler}; most often {often}")
        if parts:
            lines.append(_line_of(parts))
        return Group(head, *lines)

    def _many(self) -> RenderableType:
        """A row for each name. Names come first: where they are long, others give way."""
        learns, longest = any(row.curve for row in self.rows.values()), max(map(len, self.rows))
        widths = {"%": 4} | {k: w for k, w in FIGURES.items() if learns or k != "accuracy"}
        room = self.console.width - sum(w + 2 for w in widths.values())
        tells_last, has_bar = room >= longest, room >= longest + BAR + 2
        room += 0 if tells_last else widths.pop("most often last") + 2
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("policy", no_wrap=True, max_width=max(6, room))
        for heading in [*(["bar"] if has_bar else []), *widths]:
            is_number = heading in ("round", "simulated", "mean round", "accuracy")
            text = "" if heading in ("bar", "%", "seed") else heading
            table.add_column(text, justify="right" if is_number else "left", no_wrap=True)
        for name, row in self.rows.items():
            share, figures = row.done / row.n_runs, row.figures()
            cells: list[RenderableType] = [Text(name, overflow="ellipsis")]
            if has_bar:
                cells.append(ProgressBar(total=1.0, completed=share, width=BAR))
            cells.append(f"{share:.0%}")
            table.add_row(*cells, *(figures.get(k, "") for k in widths if k != "%"))
        total = Text(f"{_named(self.title, 'all')}: {self.share:.0%}", style="bold")
        return Group(table, Text.assemble(total, "  ", (self._left(), "dim")))

    def _left(self) -> str:
        left_s = self.left_s
        return "" if left_s is None else f"{duration(left_s)} left"

    def _line(self) -> None:
        """Without a terminal: where things stand, if it is time to say so."""
        now_s = self.clock()
        wait_s = FIRST_LINE_S if self.told_s == self.began_s else NEXT_LINES_S
        if now_s - self.told_s < wait_s:
            return
        self.told_s = now_s
        name, row = max(self.rows.items(), key=lambda item: 0 < item[1].done < item[1].n_runs)
        last = row.last
        parts = [f"{self.title}: {self.share:.0%}"]
        if last is not None:
            many = f"{name}, " if len(self.rows) > 1 else ""
            mean_s = last.now_s / max(1, last.round)
            parts.append(
                f"{many}round {last.round}, {last.now_s:.1f} s simulated, mean round {mean_s:.3f} s"
            )
            if last.accuracy is not None:
                parts.append(f"accuracy {last.accuracy:.1%}")
            if row.stragglers:
                parts.append(f"most often last: {row.most_often_last}")
        if left := self._left():
            parts.append(f"about {left}")
        self.console.print("; ".join(parts), highlight=False, markup=False, soft_wrap=True)


@contextmanager
def watching(title: str, names: Mapping[str, int]) -> Iterator[Board]:
    """
    A board on stderr for the runs to come: how many of each name.

    Whatever ends the block, the board is gone before anything else is said.
    """
    board = Board(title, names, stderr)
    if not stderr.is_terminal:
        yield board
        return
    with Live(board, console=stderr, refresh_per_second=6, transient=True):
        yield board


def sparkline(values: deque[float]) -> str:
    """The values as small blocks, the lowest of all to the highest."""
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BLOCKS[min(7, int(8 * (value - low) / span))] for value in values)


def duration(seconds: float) -> str:
    """``0:12`` or ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _named(title: str, name: str) -> str:
    return title if name in ("all", title) else f"{title} · {name}"


def _line_of(parts: list[str]) -> Text:
    return Text("  " + " · ".join(parts), style="dim", overflow="ellipsis", no_wrap=True)

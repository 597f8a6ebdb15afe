"""What people see while they wait, and the tables they get. Progress goes to stderr."""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

stderr = Console(stderr=True)
stdout = Console(width=None if sys.stdout.isatty() else 110)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars on a terminal; nothing elsewhere."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[note]}", style="dim"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(
        *columns, console=stderr, disable=not stderr.is_terminal, refresh_per_second=8
    ) as bars:
        yield bars


def say(text: str) -> None:
    """A line for people, on stderr."""
    stderr.print(text, highlight=False, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout; what is not a number there is null."""
    sys.stdout.write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout; numbers to the right."""
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        is_number = i > 0 and any(row[i][:1].isdigit() for row in rows)
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=i == 0 or is_number,  # text gives way first, and is never cut off
            overflow="fold",
        )
    for row in rows:
        table.add_row(*row)
    stdout.print(table)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

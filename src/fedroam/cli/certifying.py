"""``fedroam certify``."""

from pathlib import Path

from fedroam.cli.running import print_summary
from fedroam.cli.screen import print_json, progress_bars
from fedroam.errors import ConfigError, nearest
from fedroam.runs import certify_run
from fedroam.scheduling.certified.certify import LEVELS


def certify_command(run: Path, level: str, *, as_json: bool) -> None:
    """Bound every round, and say how far from the bounds the run was."""
    if level not in LEVELS:
        raise ConfigError(f"level: no {level!r}; {nearest(level, LEVELS)}")
    with progress_bars() as bars:
        task = bars.add_task("certify", total=1.0, note="")

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done / total, note=f"round {done} of {total}")

        found = certify_run(run, level, show)
    if as_json:
        print_json({"folder": str(run), **found})
    else:
        print_summary(f"{run}", found)

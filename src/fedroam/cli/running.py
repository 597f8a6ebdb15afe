"""``fedroam run``."""

import signal
from pathlib import Path
from typing import Any

import typer

from fedroam.cli.engines import Where
from fedroam.cli.screen import print_json, print_table, say
from fedroam.cli.watching import watching
from fedroam.runs import RunFolder, Settings, play, read_settings
from fedroam.runs.sizes import expected_bytes

WORTH_A_WORD = 100_000
"""Bytes; a table of fewer is nothing to anyone."""


def run_command(
    config: Path,
    assignments: tuple[str, ...],
    out: Path | None,
    workers: int,
    where: Where,
    *,
    as_json: bool,
) -> None:
    """Play the run and say what came out."""
    settings = read_settings(config, assignments)
    folder = out or default_folder(config)
    was_complete = RunFolder(folder).is_complete
    stop_like_ctrl_c()
    if not was_complete:
        say_size(settings)
    try:
        with where as elsewhere, watching(settings.name, {settings.policy.name: 1}) as board:
            name, start = settings.policy.name, elsewhere.start
            summary = play(settings, folder, lambda p: board.show(name, p), workers, start=start)
    except KeyboardInterrupt:
        say(f"fedroam: stopped; all rounds played are in {folder}; the same command goes on")
        raise typer.Exit(130) from None
    if was_complete:
        say(f"{folder} already holds this run, complete; here is its summary")
    if refused := summary.get("refused_updates"):
        say(f"{refused} updates held nan or infinity and were not averaged (lower the lr?)")
    if as_json:
        print_json({"folder": str(folder), **summary})
    else:
        print_summary(f"{settings.name}: {folder}", summary)


def say_size(settings: Settings, n_runs: int = 1) -> None:
    """Say beforehand how much the user table will take, where that is worth a word."""
    expected = expected_bytes(settings)
    n_bytes = n_runs * expected.n_bytes
    if n_bytes >= WORTH_A_WORD:
        each = f" per {expected.rounds} rounds" if not expected.is_total else ""
        size = f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e6:.1f} MB"
        say(
            f"will write about {size}{each}, a row for every user and round"
            " (--set detail=false: without)"
        )


def default_folder(config: Path) -> Path:
    """``runs/NAME``; a run that is repeated from its own folder gets a new one beside it."""
    if config.name == "config.toml" and (config.parent / "versions.json").exists():
        return config.parent.with_name(config.parent.resolve().name + "-again")
    return Path("runs") / config.stem


def stop_like_ctrl_c() -> None:
    """Let a polite kill (SIGTERM) leave a run as resumable as Ctrl-C does."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def print_summary(title: str, summary: dict[str, Any]) -> None:
    """The figures of one run, a line each."""
    rows = [(_heading(key), show(value)) for key, value in summary.items()]
    print_table(title, ("", "value"), rows)


def _heading(key: str) -> str:
    """``time_to_90_s`` are the seconds to 90 per cent."""
    if key.startswith("time_to_"):
        return f"s to {key.removeprefix('time_to_').removesuffix('_s')} %"
    return key.replace("_", " ")


def show(value: Any) -> str:
    """A figure with as many digits as people read; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

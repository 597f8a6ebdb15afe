"""``fedroam run``."""

import signal
from pathlib import Path
from typing import Any

import typer

from fedroam.cli.screen import print_json, print_table, progress_bars, say
from fedroam.errors import FedroamError
from fedroam.runs import Progress, RunFolder, play, read_settings


def run_command(
    config: Path, assignments: tuple[str, ...], out: Path | None, workers: int, *, as_json: bool
) -> None:
    """Play the run and say what came out."""
    settings = read_settings(config, assignments)
    folder = out or default_folder(config)
    was_complete = RunFolder(folder).is_complete
    stop_like_ctrl_c()
    with progress_bars() as bars:
        task = bars.add_task(settings.policy.name, total=1.0, note="")

        def show(progress: Progress) -> None:
            note = f"round {progress.round}, {progress.now_s:.1f} s simulated"
            if progress.accuracy is not None:
                note += f", accuracy {progress.accuracy:.2%}"
            bars.update(task, completed=progress.share, note=note)

        try:
            summary = play(settings, folder, show, workers)
        except KeyboardInterrupt:
            bars.stop()
            say(f"fedroam: stopped; all rounds played are in {folder}; the same command goes on")
            raise typer.Exit(130) from None
        except FedroamError:
            bars.stop()
            raise
    if was_complete:
        say(f"{folder} already holds this run, complete; here is its summary")
    if as_json:
        print_json({"folder": str(folder), **summary})
    else:
        print_summary(f"{settings.name}: {folder}", summary)


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
    rows = [(key.replace("_", " "), show(value)) for key, value in summary.items()]
    print_table(title, ("", "value"), rows)


def show(value: Any) -> str:
    """A figure with as many digits as people read."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""``fedroam view`` and ``fedroam report``."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

from fedroam.cli.screen import print_json, progress_bars, say
from fedroam.comparison.folder import NOTE
from fedroam.errors import ConfigError
from fedroam.pages import Replay, read_replay, view_page
from fedroam.runs.settings import read_table


def view_command(
    runs: list[Path],
    out: Path | None,
    rounds: str | None,
    *,
    live: bool,
    opens: bool,
    as_json: bool,
) -> None:
    """Write the page and show it, or serve it while the run goes on."""
    if live:
        if len(runs) != 1 or out or rounds:
            raise ConfigError("--live follows one run, and writes no page: view --live RUN")
        follow_run(runs[0], opens=opens)
        return
    path, n_bytes = write_view(runs, out, rounds)
    if as_json:
        print_json({"page": str(path), "bytes": n_bytes, "runs": [str(run) for run in runs]})
    else:
        print(path)
        say(f"{n_bytes / 1e6:.1f} MB, self-contained: open it in any browser")
    if opens:
        show_in_browser(path.resolve().as_uri())


def report_command(folder: Path, out: Path | None, *, opens: bool, as_json: bool) -> None:
    """Write the report and show it."""
    path, n_bytes = write_report(folder, out)
    if as_json:
        print_json({"page": str(path), "bytes": n_bytes})
    else:
        print(path)
        say(f"{n_bytes / 1e6:.1f} MB, self-contained: open it in any browser")
    if opens:
        show_in_browser(path.resolve().as_uri())


def write_report(folder: Path, out: Path | None = None) -> tuple[Path, int]:
    """Where the report is, and its size."""
    from fedroam.pages.report import report_page

    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    path = _file(out or folder / "report.html")
    with progress_bars() as bars:
        bars.add_task("report", total=None, note=f"reading {folder}")
        return path, report_page(folder, path)


def write_view(
    folders: list[Path], out: Path | None = None, rounds: str | None = None
) -> tuple[Path, int]:
    """Where the page is, and its size; a comparison stands for its policies' first runs."""
    runs = [run for folder in folders for run in runs_in(folder)]
    path = _file(out or (folders[0] if len(folders) == 1 else Path()).joinpath("view.html"))
    replays = []
    with progress_bars() as bars:
        task = bars.add_task("page", total=len(runs), note="")
        for run in runs:
            bars.update(task, note=f"reading {run}")
            replays.append(cut(read_replay(run), rounds, run))
            bars.advance(task)
        bars.update(task, note=f"writing {path}")
        return path, view_page(told_apart(replays, runs), path)


def _file(path: Path) -> Path:
    if path.is_dir():
        raise ConfigError(f"{path} is a folder, expected a file to write the page to")
    return path


def runs_in(folder: Path) -> list[Path]:
    """The run itself, or a comparison's first run of each policy, in the comparison's order."""
    note = folder / NOTE
    if not note.exists() or (folder / "config.toml").exists():
        return [folder]
    first: dict[str, Path] = {}
    for config in folder.glob("*/seed-*/config.toml"):
        label = config.parent.parent.name
        first[label] = min(config.parent, first.get(label, config.parent), key=_seed_of)
    if not first:
        raise ConfigError(f"{folder} is a comparison of which no run has begun")
    order = _labels_in(read_table(note))
    return [
        first[label]
        for label in sorted(first, key=lambda x: (order.index(x) if x in order else len(order), x))
    ]


def _seed_of(run: Path) -> int:
    number = run.name.removeprefix("seed-")
    return int(number) if number.isdecimal() else 0


def _labels_in(table: dict[str, Any]) -> list[str]:
    """What the policies are called, read without loading them: they may be somebody's code."""
    compare = table.get("compare", {})
    policies = compare.get("policies", []) if isinstance(compare, dict) else []
    names = [str(p.get("name") if isinstance(p, dict) else p) for p in policies]
    return [str(x) for x in compare.get("labels", [])] or [n.rpartition(":")[2] for n in names]


def cut(replay: Replay, rounds: str | None, run: Path) -> Replay:
    """The rounds asked for, ``FIRST:END``; all of them where none were."""
    if rounds is None:
        return replay
    first, colon, end = rounds.partition(":")
    try:
        low, high = int(first or 0), int(end or replay.n_rounds)
    except ValueError:
        low, high = 0, -1
    high = min(high, replay.n_rounds)
    if not colon or not 0 <= low < high:
        raise ConfigError(
            f"rounds is {rounds!r}, expected FIRST:END within 0:{replay.n_rounds} ({run})"
        )
    return replay.between(low, high)


def told_apart(replays: list[Replay], runs: list[Path]) -> list[Replay]:
    """The same with labels that differ: by the seed, or else by the folder."""
    for more in ((lambda r, p: f"seed {r.about['seed']}"), (lambda r, p: str(p))):
        labels = [replay.about["label"] for replay in replays]
        replays = [
            replay
            if labels.count(label) == 1
            else Replay(
                {**replay.about, "label": f"{label} ({more(replay, run)})"},
                replay.arrays,
                replay.first,
            )
            for replay, label, run in zip(replays, labels, runs, strict=True)
        ]
    return replays


def follow_run(run: Path, *, opens: bool) -> None:
    """Serve the run's page until Ctrl-C."""
    from fedroam.pages.live import LiveServer

    with LiveServer(run) as server:
        print(server.url, flush=True)
        say(f"following {run}; Ctrl-C stops looking, the run goes on")
        if opens:
            show_in_browser(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("stopped looking")


def show_in_browser(url: str) -> None:
    """Open it, where there is somebody to see it."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stderr.isatty() and has_screen:
        webbrowser.open(url)

"""Measure contestants turn by turn, print one table, keep one JSON file. Standard library only."""

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE / "out"
KEPT = HERE.parent / "docs" / "results" / "benchmarks"


@dataclass(frozen=True)
class Row:
    """One contestant's times."""

    what: str
    contestant: str
    median_ms: float
    best_ms: float
    n: int
    target: str = ""
    note: str = ""


def row(
    what: str, contestant: str, times_s: Sequence[float], target: str = "", note: str = ""
) -> Row:
    median_ms, best_ms = 1e3 * statistics.median(times_s), 1e3 * min(times_s)
    return Row(what, contestant, median_ms, best_ms, len(times_s), target, note)


def alternate(
    contestants: Mapping[str, Callable[[], Sequence[float]]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each contestant; all play in every repeat, so that they share the bad moments."""
    times_s: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, play in contestants.items():
            times_s[name] += play()
    return times_s


def machine() -> dict[str, object]:
    """What the figures depend on; the load tells whether others were computing too."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
    return {
        "cores": os.cpu_count(),
        "cpu": models[0] if models else platform.processor(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def report(
    name: str,
    rows: Sequence[Row],
    *,
    before: Mapping[str, object],
    extra: Mapping[str, object] | None = None,
    is_kept: bool = True,
) -> None:
    """Print the table, with every contestant as a multiple of the first of its kind; keep it."""
    first: dict[str, float] = {}
    print(f"\n{name}")
    print(
        f"{'what':38} {'contestant':30} {'median':>11} {'best':>11} {'n':>5} {'ratio':>8}  target"
    )
    for r in rows:
        base = first.setdefault(r.what, r.median_ms)
        print(
            f"{r.what:38} {r.contestant:30} {r.median_ms:8.3f} ms {r.best_ms:8.3f} ms {r.n:5d} "
            f"{r.median_ms / base:7.1f}x  {r.target}{'  ' + r.note if r.note else ''}"
        )
    found = {"rows": [asdict(r) for r in rows], **(extra or {})}
    _write(name, found, before=before, is_kept=is_kept)


def report_table(
    name: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    before: Mapping[str, object],
    extra: Mapping[str, object],
    is_kept: bool = True,
) -> None:
    """The same for what is told in words rather than in times: cells as they shall be read."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for cells in (header, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)))
    table = {"header": header, "rows": rows}
    _write(name, {"table": table, **extra}, before=before, is_kept=is_kept)


def _write(
    name: str, found: Mapping[str, object], *, before: Mapping[str, object], is_kept: bool
) -> None:
    result = {
        "benchmark": name,
        "command": " ".join(
            ["python", *(os.path.relpath(a) if i == 0 else a for i, a in enumerate(sys.argv))]
        ),
        "machine": machine() | {"load_1min_before": before["load_1min"]},
        "versions": versions(
            ("fedroam", "numpy", "scipy", "numba", "highspy", "pyarrow", "torch", "flwr")
        ),
        **found,
    }
    text = json.dumps(result, indent=2, default=float) + "\n"
    for folder in (OUT, KEPT) if is_kept else (OUT,):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(text)

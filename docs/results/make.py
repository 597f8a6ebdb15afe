"""
Make everything in docs/results that follows from the committed tables, and the tables of
docs/results.md.

    python docs/results/make.py
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fedroam.comparison import SweepTables, Tables, differences, mean_interval, paired
from fedroam.comparison.differences import Difference
from fedroam.comparison.statistics import Interval
from fedroam.comparison.sweep_tables import title_of
from fedroam.comparison.tables import mark_of, time_name
from fedroam.files import write_text
from fedroam.plots.draw_sweep import highest_mark
from fedroam.reproduction import derive
from fedroam.reproduction.results import (
    folders_in,
    is_sweep,
    read_results,
    read_sweep_results,
    versions_of,
)

HERE = Path(__file__).parent
PAGE = HERE.parent / "results.md"
BLOCK = re.compile(r"<!-- made: (?P<call>[\w /-]+) -->\n.*?<!-- end -->", re.S)

SETS = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST", "cifar10": "CIFAR-10"}
PAPERS = {
    "random": "RS",
    "uniform": "UB",
    "fedcs-low": "CS-Low",
    "fedcs-high": "CS-High",
    "all": "SA",
}
BUDGET_S = {"mnist": 10.0, "fashion-mnist": 10.0, "cifar10": 20.0}
"""The time budgets in which accuracies are compared: half of the quick runs."""

NOTHING = "*not computed yet*"


def main(into: Path = HERE, page: Path = PAGE) -> None:
    """Differences and figures beside every table, then the page."""
    for folder in folders_in(HERE):
        derive(folder, into / folder.relative_to(HERE))
    write_text(page, filled(PAGE.read_text()))


def filled(text: str) -> str:
    """The page with each block written anew; ``<!-- made: NAME WORDS -->`` names its function."""

    def block(found: re.Match[str]) -> str:
        name, *words = found["call"].split()
        return f"<!-- made: {found['call']} -->\n{BLOCKS[name](*words)}\n<!-- end -->"

    return BLOCK.sub(block, text)


def comparison_of(profile: str, study: str, dataset: str) -> Tables | None:
    """A comparison's tables, if it has been computed."""
    folder = HERE / profile / study / dataset
    return read_results(folder)[1] if folder.exists() else None


def sweep_of(profile: str, study: str, dataset: str) -> SweepTables | None:
    """A sweep's tables, if it has been computed."""
    folder = HERE / profile / study / dataset
    return read_sweep_results(folder)[1] if folder.exists() else None


def one(profile: str, study: str, dataset: str) -> str:
    """All policies of one comparison, a row each."""
    tables = comparison_of(profile, study, dataset)
    if tables is None:
        return NOTHING
    budget, mark = time_name(BUDGET_S[dataset]), common_mark(tables)
    against = {d.label: d for d in differences(tables, "dagsa") if d.measure == mark}
    header = (
        "policy",
        "round, s",
        "users",
        f"accuracy after {BUDGET_S[dataset]:g} s",
        f"s to {mark_of(mark):g} %",
        "later than dagsa, s",
        "gap to the bound",
        "rounds that break rho1",
    )
    rows = [
        (
            shown(label),
            spread(tables.values(label, "mean_round_s"), 3),
            number(tables.values(label, "users_per_round").mean(), 3),
            percent(tables.values(label, budget)),
            reached(tables, label, mark),
            told(against[label]) if label in against else "",
            f"{100 * tables.values(label, 'mean_gap').mean():.0f} %",
            share(tables, label, "rounds_missing_rho1"),
        )
        for label in tables.labels
    ]
    return markdown(header, rows)


def lengths(profile: str, study: str, dataset: str) -> str:
    """All policies of a comparison without learning, a row each."""
    tables = comparison_of(profile, study, dataset)
    if tables is None:
        return NOTHING
    header = ("policy", "round, s", "users", "users a second", "rounds that break rho1")
    rows = [
        (
            shown(label),
            spread(tables.values(label, "mean_round_s"), 3),
            number(tables.values(label, "users_per_round").mean(), 3),
            spread(tables.values(label, "users_per_s"), 1),
            share(tables, label, "rounds_missing_rho1"),
        )
        for label in tables.labels
    ]
    return markdown(header, rows)


CLAIMS = [("dagsa", n) for n in ("random", "uniform", "all", "fedcs-low", "fedcs-high")]
CLAIMS += [("random", "uniform"), ("dagsa", "certified")]


def claims(profile: str, study: str) -> str:
    """By how many points one policy is more accurate within the same time, on every data set."""
    found = {d: t for d in SETS if (t := comparison_of(profile, study, d)) is not None}
    if not found:
        return NOTHING
    header = ("points ahead", *(f"{SETS[d]}, after {BUDGET_S[d]:g} s" for d in found))
    rows = [
        (
            f"{shown(one)} of {shown(other)}",
            *(points_ahead(t, one, other, d) for d, t in found.items()),
        )
        for one, other in CLAIMS
    ]
    return markdown(header, rows)


def points_ahead(tables: Tables, one: str, other: str, dataset: str) -> str:
    """One policy's lead over another in points, in bold where its interval has one sign."""
    if not {one, other} <= set(tables.labels):
        return ""
    budget = time_name(BUDGET_S[dataset])
    return interval(paired(tables.values(one, budget), tables.values(other, budget)), 100, 1)


def bands(profile: str, dataset: str) -> str:
    """What unequal bands change, policy by policy, paired by seed."""
    equal, unequal = (comparison_of(profile, study, dataset) for study in ("fig1", "fig2"))
    if equal is None or unequal is None:
        return NOTHING
    budget = time_name(BUDGET_S[dataset])
    header = ("policy", "rounds longer, s", f"more accurate after {BUDGET_S[dataset]:g} s, points")
    rows = [
        (
            shown(label),
            change(unequal, equal, label, "mean_round_s", 1, 3),
            change(unequal, equal, label, budget, 100, 1),
        )
        for label in equal.labels
        if label in unequal.labels
    ]
    return markdown(header, rows)


def change(one: Tables, other: Tables, label: str, measure: str, scale: float, digits: int) -> str:
    """One policy's change of a measure between two comparisons under the same seeds."""
    return interval(paired(one.values(label, measure), other.values(label, measure)), scale, digits)


def swept(profile: str, study: str, dataset: str) -> str:
    """A sweep: what each policy does at each point, and what a point changes for DAGSA."""
    tables = sweep_of(profile, study, dataset)
    if tables is None:
        return NOTHING
    mark = highest_mark(tables) if tables.has_learnt else ""
    labels = tables.labels
    header = (
        "",
        *(f"{shown(label)}: round, s" for label in labels),
        "required a round (dagsa)",
        *([f"{shown(label)}: s to {mark_of(mark):g} %" for label in labels] if mark else []),
    )
    rows = [
        (
            title_of(point),
            *(cell(at, n, lambda t, n: spread(t.values(n, "mean_round_s"), 3)) for n in labels),
            cell(at, "dagsa", lambda t, n: number(t.values(n, "forced_per_round").mean(), 2)),
            *([cell(at, n, lambda t, n: reached(t, n, mark)) for n in labels] if mark else []),
        )
        for point, at in zip(tables.points, tables.tables, strict=True)
    ]
    return markdown(header, rows)


def speeds(profile: str, dataset: str) -> str:
    """How much sooner than by standing still a policy learns at each speed, in both readings."""
    tables = sweep_of(profile, "fig3", dataset)
    if tables is None:
        return NOTHING
    budget = time_name(BUDGET_S[dataset])
    header = (
        "policy",
        "directions",
        "m/s",
        "round, s",
        "required a round",
        f"accuracy after {BUDGET_S[dataset]:g} s",
        "points more than at 0 m/s",
    )
    rows = []
    for label in tables.labels:
        for turn in ("round", "never"):
            there = {
                point["mobility.speed_m_s"]: at
                for point, at in zip(tables.points, tables.tables, strict=True)
                if point["mobility.turn_every"] == turn and label in at.labels
            }
            rows += [
                (
                    shown(label),
                    {"round": "drawn every round", "never": "straight, reflected"}[turn],
                    f"{speed:g}",
                    spread(at.values(label, "mean_round_s"), 3),
                    number(at.values(label, "forced_per_round").mean(), 2),
                    percent(at.values(label, budget)),
                    change(at, there[0.0], label, budget, 100, 1) if speed else "",
                )
                for speed, at in there.items()
            ]
    return markdown(header, rows)


def computed() -> str:
    """What has been computed, with how many seeds, for how long, and with what."""
    header = ("profile", "study", "data", "policies", "seeds", "simulated, s", "rounds", "versions")
    rows = []
    for folder in folders_in(HERE):
        profile, study, dataset = folder.relative_to(HERE).parts
        parts = (
            read_sweep_results(folder)[1].tables if is_sweep(folder) else (read_results(folder)[1],)
        )
        labels = list(dict.fromkeys(label for t in parts for label in t.labels))
        seeds = min(t.values(label, "seed").size for t in parts for label in t.labels)
        rounds = sum(t.values(label, "rounds").sum() for t in parts for label in t.labels)
        versions = versions_of(folder)
        kept = ", ".join(f"{n} {versions[n]}" for n in ("numpy", "numba") if n in versions)
        rows.append(
            (
                profile,
                f"[{study}](results/{profile}/{study}/{dataset})",
                SETS.get(dataset, dataset),
                str(len(labels)),
                str(seeds),
                f"{min(t.horizon_s for t in parts):.3g}",
                f"{rounds:.0f}",
                kept,
            )
        )
    return markdown(header, rows) if rows else NOTHING


def figure(profile: str, study: str, dataset: str, name: str) -> str:
    """A figure beside the tables, if they are there."""
    file = Path("results") / profile / study / dataset / f"{name}.svg"
    if not (HERE.parent / file).parent.exists():
        return NOTHING
    says = f"{name} of {study} on {SETS.get(dataset, dataset)}, {profile}"
    return f"![{says}]({file})"


def common_mark(tables: Tables) -> str:
    """The highest accuracy that DAGSA reached under all seeds, or the lowest mark."""
    names = tables.mark_names()
    always = [n for n in names if (tables.values("dagsa", n) <= tables.horizon_s).all()]
    return max(always, key=mark_of) if always else min(names, key=mark_of)


def reached(tables: Tables, label: str, mark: str) -> str:
    """The mean time to an accuracy; how many seeds reached it where not all did."""
    if mark not in tables.comparison.column_names:
        return ""
    times_s = tables.values(label, mark)
    within = times_s <= tables.horizon_s
    if within.all():
        return spread(times_s, 1)
    return f"{int(within.sum())} of {within.size} within {tables.horizon_s:g} s"


def told(d: Difference) -> str:
    """A difference of times, and what it means where some never reached the accuracy."""
    text = interval(Interval(d.difference, d.low, d.high), 1, 1)
    return {"exact": text, "at least": f"at least {text}"}.get(d.reading, f"{text} ({d.reading})")


def share(tables: Tables, label: str, measure: str) -> str:
    """A count of rounds as a share of all of them."""
    return (
        f"{100 * tables.values(label, measure).sum() / tables.values(label, 'rounds').sum():.0f} %"
    )


def cell(tables: Tables, label: str, make: Callable[[Tables, str], str]) -> str:
    """What a policy has at a point, or nothing where it was not played."""
    return make(tables, label) if label in tables.labels else ""


def shown(label: str) -> str:
    """A policy by its name, and by the paper's."""
    return f"`{label}` ({PAPERS[label]})" if label in PAPERS else f"`{label}`"


def number(value: float, digits: int) -> str:
    """A figure with so many digits."""
    return f"{value:.{digits}g}" if np.isfinite(value) else "-"


def spread(values: np.ndarray, digits: int) -> str:
    """Mean and half of its 95 % interval over the seeds."""
    found = mean_interval(values)
    half = f" ± {found.high - found.mean:.{digits}f}" if np.isfinite(found.high) else ""
    return f"{found.mean:.{digits}f}{half}"


def percent(values: np.ndarray) -> str:
    """An accuracy."""
    return f"{spread(100 * values, 1)} %" if np.isfinite(values).all() else "-"


def interval(found: Interval, scale: float, digits: int) -> str:
    """A difference with its interval, in bold where that has one sign."""
    if not np.isfinite(found.mean):
        return "-"
    mean = f"{scale * found.mean:+.{digits}f}"
    if not np.isfinite(found.low):
        return f"{mean} (one seed)"
    text = f"{mean} [{scale * found.low:.{digits}f}, {scale * found.high:.{digits}f}]"
    return f"**{text}**" if found.low * found.high > 0 else text


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BLOCKS: dict[str, Callable[..., str]] = {
    f.__name__: f for f in (one, lengths, claims, bands, swept, speeds, figure, computed)
}

if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

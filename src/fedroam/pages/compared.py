"""The content of a comparison's report: what differs, how surely, and from which runs."""

from pathlib import Path
from typing import Any

import numpy as np

from fedroam.comparison import Tables, differences, mean_interval, read_tables, sentences
from fedroam.comparison.differences import Difference
from fedroam.errors import ConfigError
from fedroam.pages.elements import shown, table, what_was_run
from fedroam.pages.figures import figure
from fedroam.pages.html import escape
from fedroam.plots import figures_of
from fedroam.runs.settings import read_table

MEASURES = {
    "mean_round_s": "mean round, s",
    "p95_round_s": "95 % within, s",
    "mean_gap": "gap",
    "accuracy": "accuracy",
    "best_accuracy": "best accuracy",
    "users_per_round": "users a round",
    "users_per_s": "users a second",
    "min_participation": "least part",
    "jain": "evenness (Jain)",
    "missed_per_round": "missed a round",
}

CAPTIONS = {
    "accuracy": "Test accuracy: mean and range over the seeds",
    "time-to": "Simulated seconds to an accuracy",
    "round-lengths": "How long the rounds are",
    "fairness": "How long against how fair",
    "differences": "Paired differences, with 95 % intervals",
}


def comparison_body(folder: Path) -> tuple[str, str]:
    """Title and content."""
    tables, note = read_tables(folder), _note(folder)
    compare, fairness = _table_in(note, "compare"), _table_in(note, "fairness")
    against, rho1 = str(compare.get("against", "")), float(fairness.get("rho1", 0.1))
    against = against if against in tables.labels else ""
    name = str(note.get("name", folder.resolve().name))
    try:
        found = differences(tables, against)
        n_seeds = tables.values(tables.labels[0], "seed").size
        parts = [
            f"<header><p class=kind>Comparison</p><h1>{escape(name)}</h1><p>"
            f"{len(tables.labels)} policies, {_seeds(n_seeds)} each</p></header>",
            _sentences(found),
            _summary(tables),
            _figures(tables, rho1, against),
            _differences(found),
            _every_run(tables),
        ]
    except (KeyError, ValueError, IndexError) as error:
        raise ConfigError(f"{folder} holds no readable comparison: {error}") from error
    parts.append(
        what_was_run(
            folder, "compare.toml", f"fedroam compare {folder}/compare.toml --out again", {}
        )
    )
    return name, "<main>" + "\n".join(parts) + "</main>"


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


def _note(folder: Path) -> dict[str, Any]:
    file = folder / "compare.toml"
    return read_table(file) if file.exists() else {}


def _table_in(note: dict[str, Any], key: str) -> dict[str, Any]:
    inner = note.get(key, {})
    return inner if isinstance(inner, dict) else {}


def _sentences(found: list[Difference]) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in sentences(found))
    return f"<ul class=sentences>{lines}</ul>" if lines else ""


def _summary(tables: Tables) -> str:
    """A row a measure, a column a policy: means over the seeds, with their intervals."""
    known = tables.comparison.column_names
    names = {key: text for key, text in MEASURES.items() if key in known}
    names |= {key: _at_mark(key) for key in known if key.startswith(("time_to_", "accuracy_at_"))}
    rows = [
        (text, *(_cell(tables.values(label, key), key) for label in tables.labels))
        for key, text in names.items()
    ]
    return f"<h2>Means over the seeds</h2>{table(('', *tables.labels), rows)}"


def _at_mark(key: str) -> str:
    if key.startswith("time_to_"):
        return f"to {key.removeprefix('time_to_').removesuffix('_s')} %, s"
    return f"accuracy at {key.removeprefix('accuracy_at_').removesuffix('_s')} s"


def _cell(values: Any, key: str) -> str:
    known = values[np.isfinite(values)]
    if not known.size:
        return "–"
    mean = mean_interval(known)
    is_share = key.startswith("accuracy") or key in ("mean_gap", "best_accuracy")
    text = f"{mean.mean:.1%}" if is_share else f"{mean.mean:.4g}"
    if np.isfinite(mean.high):
        half = mean.high - mean.mean
        text += f" ± {half:.1%}" if is_share else f" ± {half:.2g}"
    return text if known.size == values.size else f"{text} ({known.size} of {values.size})"


def _figures(tables: Tables, rho1: float, against: str) -> str:
    def drawn(name: str) -> str:
        def draw() -> Any:
            return figures_of(tables, rho1=rho1, against=against)[name]

        return figure(draw, CAPTIONS.get(name, name))

    names = figures_of(tables, rho1=rho1, against=against)
    order = sorted(names, key=lambda n: [*CAPTIONS, n].index(n))
    return f"<section class=figures>{''.join(map(drawn, order))}</section>"


def _differences(found: list[Difference]) -> str:
    if not found:
        return ""
    rows = [
        (
            f"{d.label} – {d.against}",
            d.measure.replace("_", " "),
            shown(d.difference),
            f"{shown(d.low)} to {shown(d.high)}" if np.isfinite(d.low) else "–",
            f"{d.n_same_way} of {d.n_seeds}",
            shown(d.p_flip),
            d.reading,
        )
        for d in found
    ]
    header = ("policies", "measure", "difference", "95 % interval", "seeds", "p", "reading")
    return (
        "<details><summary>All paired differences</summary>"
        "<p>Under one seed all policies meet the same users, stations, compute times and fading: "
        f"differences are taken seed by seed.</p>{table(header, rows)}</details>"
    )


def _every_run(tables: Tables) -> str:
    names = tables.comparison.column_names
    rows = [[shown(row[name]) for name in names] for row in tables.comparison.to_pylist()]
    return f"<details><summary>Every run</summary>{table(names, rows)}</details>"

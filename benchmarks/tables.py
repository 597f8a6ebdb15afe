"""
Write the tables of docs/benchmarks.md anew from the files under docs/results/benchmarks.

    python benchmarks/tables.py
"""

import json
import re

from side_by_side import HERE, KEPT

PAGE = HERE.parent / "docs" / "benchmarks.md"
TABLE = re.compile(r"<!-- table (\w+) -->\n.*?<!-- end -->", re.S)


def main() -> None:
    PAGE.write_text(TABLE.sub(lambda found: rendered(found[1]), PAGE.read_text()))


def rendered(name: str) -> str:
    """One table between its markers."""
    result = json.loads((KEPT / f"{name}.json").read_text())
    first: dict[str, float] = {}
    lines = [
        "| what | who | median | best | ratio | target | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        ratio = row["median_ms"] / first.setdefault(row["what"], row["median_ms"])
        cells = (
            row["what"],
            row["contestant"],
            shown(row["median_ms"]),
            shown(row["best_ms"]),
            f"{ratio:,.1f}",
            row["target"],
            row["note"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    machine = result["machine"]
    load = (
        f"Load (1 min) before and after: {machine['load_1min_before']} and {machine['load_1min']}"
    )
    text = "\n".join([*lines, "", f"{load} on {machine['cores']} cores. `{result['command']}`"])
    return f"<!-- table {name} -->\n{text}\n<!-- end -->"


def shown(ms: float) -> str:
    """Milliseconds, or seconds from a thousand on."""
    if ms >= 1000:
        return f"{ms / 1000:.2f} s"
    return f"{ms:.1f} ms" if ms >= 1 else f"{ms:.3f} ms"


if __name__ == "__main__":
    main()

"""
Write the tables of the documents anew from the files under docs/results/benchmarks.

`<!-- table scale -->` is replaced up to `<!-- end -->`; `<!-- table scale: 1,000 x; 10,000 x -->`
shows only the rows whose first column begins so.

    python benchmarks/tables.py
"""

import json
import re
from typing import Any

from side_by_side import HERE, KEPT

PAGES = [HERE.parent / "docs" / name for name in ("benchmarks.md", "scale.md", "certified.md")]
TABLE = re.compile(r"<!-- table (\w+)(?:: ([^>]*))? -->\n.*?<!-- end -->", re.S)


def main() -> None:
    for page in PAGES:
        page.write_text(TABLE.sub(lambda found: rendered(found[1], found[2]), page.read_text()))


def rendered(name: str, only: str | None = None) -> str:
    """One table between its markers."""
    chosen = tuple(part.strip() for part in (only or "").split(";"))
    result = json.loads((KEPT / f"{name}.json").read_text())
    lines = in_words(result["table"]) if "table" in result else in_times(result["rows"], chosen)
    machine = result["machine"]
    load = (
        f"Load (1 min) before and after: {machine['load_1min_before']} and {machine['load_1min']}"
    )
    text = "\n".join([*lines, "", f"{load} on {machine['cores']} cores. `{result['command']}`"])
    marker = f"{name}: {only}" if only else name
    return f"<!-- table {marker} -->\n{text}\n<!-- end -->"


def in_words(table: dict[str, Any]) -> list[str]:
    """Cells as they are."""
    cells = [table["header"], ["---"] * len(table["header"]), *table["rows"]]
    return [f"| {' | '.join(row)} |" for row in cells]


def in_times(rows: list[dict[str, Any]], chosen: tuple[str, ...]) -> list[str]:
    """Contestants, each as a multiple of the first of its kind."""
    first: dict[str, float] = {}
    lines = [
        "| what | who | median | best | ratio | target | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if not row["what"].startswith(chosen):
            continue
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
    return lines


def shown(ms: float) -> str:
    """Milliseconds, or seconds from a thousand on."""
    if ms >= 1000:
        return f"{ms / 1000:.2f} s"
    return f"{ms:.1f} ms" if ms >= 1 else f"{ms:.3f} ms"


if __name__ == "__main__":
    main()

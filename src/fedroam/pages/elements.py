"""What reports of runs and of comparisons are put together from. All foreign text is escaped."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedroam.pages.html import escape

LARGEST_NOTE = 100_000
"""Characters of a settings file that are shown."""


def tiles(figures: Sequence[tuple[str, str]]) -> str:
    """A few figures, large."""
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures
    )
    return f"<dl class=tiles>{cells}</dl>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways where it is too wide."""
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr><th scope=row>{escape(row[0])}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class=wide tabindex=0 role=region aria-label="Table"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def shown(value: Any) -> str:
    """A figure with as many digits as people read; a dash for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def what_was_run(folder: Path, note: str, command: str, summary: Mapping[str, Any]) -> str:
    """The settings, the versions, and the command that repeats it."""
    parts = ["<h2>What was run, and how to repeat it</h2>", f"<pre>{escape(command)}</pre>"]
    digests = [key for key in ("rounds_sha256", "weights_sha256") if key in summary]
    if digests:
        parts.append(
            "<p>The same settings and versions give the same bits: compare "
            + ", ".join(f"{key} <code>{escape(summary[key])}</code>" for key in digests)
            + ".</p>"
        )
    if versions := _versions(folder):
        parts.append(f"<p>{escape(versions)}</p>")
    text = _text(folder / note)
    if text:
        parts.append(f"<details><summary>{note}</summary><pre>{escape(text)}</pre></details>")
    if (folder / "view.html").exists():
        parts.append('<p><a href="view.html">Watch it</a></p>')
    return "\n".join(parts)


def _versions(folder: Path) -> str:
    """One line, of a comparison that of its first run; nothing where they are not known."""
    files = (folder / "versions.json", *sorted(folder.glob("*/seed-*/versions.json"))[:1])
    try:
        found = json.loads(next(filter(None, map(_text, files)), "{}"))
    except json.JSONDecodeError:
        return ""
    if not isinstance(found, dict):
        return ""
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")[:LARGEST_NOTE]
    except OSError:
        return ""

"""
Pages put together from parts: one file each, no request to anywhere.

The content security policy names the digests of the page's own script and style: no other script
runs, whatever a name in a run's files says, and nothing can be loaded or sent.
"""

import base64
import hashlib
import html
from collections.abc import Sequence
from importlib.resources import files

PARTS = files("fedroam.pages") / "parts"


def part(name: str) -> str:
    """A file of the page's parts."""
    return (PARTS / name).read_text(encoding="utf-8")


def escape(text: object) -> str:
    """Text that is shown as it stands, in elements and in quoted attributes."""
    return html.escape(str(text), quote=True)


def document(
    title: str, body: str, styles: Sequence[str], scripts: Sequence[str] = (), connect: str = "none"
) -> str:
    """A whole page; ``body`` is HTML in which all foreign text is escaped already."""
    style = "\n".join(part(name) for name in styles)
    script = "\n".join(part(name) for name in scripts)
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n' if script else ""
    rules = (
        "default-src 'none'",
        f"style-src {_digest(style)}",
        f"script-src {_digest(script)}" if script else "script-src 'none'",
        "img-src data:",
        f"connect-src '{connect}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    runs = f"<script>{script}</script>\n" if script else ""
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n{body}\n{runs}</body>\n</html>\n"
    )


def _digest(text: str) -> str:
    """A source expression that allows exactly ``text``."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

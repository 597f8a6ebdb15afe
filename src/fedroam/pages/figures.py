"""Figures inside a page: drawn once for light and once for dark, as images that run nothing."""

import base64
import io
from collections.abc import Callable
from typing import Any

from fedroam.pages.html import escape
from fedroam.plots import COLOURS

DARK = ("#4aa8e0", "#f07f2e", "#22c197", "#de96bf", "#9bd4f5", "#f3ba3d", "#f2f2f2", "#9d9d9d")
"""The palette on night, colour by colour that of the figures."""

INK = {"light": "#1c2126", "dark": "#e8eaed"}


def figure(draw: Callable[[], Any], caption: str) -> str:
    """The figure that ``draw`` makes (its axes), with a caption; the reader's system chooses."""
    light, dark = (_uri(draw, mode) for mode in ("light", "dark"))
    return (
        "<figure><picture>"
        f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(caption)}">'
        f"</picture><figcaption>{escape(caption)}</figcaption></figure>"
    )


def _uri(draw: Callable[[], Any], mode: str) -> str:
    import matplotlib as mpl

    ink = INK[mode]
    coloured = (
        "text.color",
        "axes.labelcolor",
        "axes.edgecolor",
        "xtick.color",
        "ytick.color",
        "axes.titlecolor",
    )
    rules: dict[str, Any] = dict.fromkeys(coloured, ink)
    rules |= {"svg.fonttype": "none", "svg.hashsalt": "fedroam", "font.family": "sans-serif"}
    with mpl.rc_context(rules):
        axes, file = draw(), io.StringIO()
        axes.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    if mode == "dark":
        for bright, night in zip(COLOURS, DARK, strict=True):
            text = text.replace(bright.lower(), night)
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"

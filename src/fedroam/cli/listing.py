"""``fedroam list``."""

import inspect
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import ConfigError, nearest
from fedroam.runs.settings import FAMILIES

NAMES = {"policies": "policy", "mobility": "mobility", "radio": "radio"}


def list_command(family: str | None, *, as_json: bool) -> None:
    """Print the registries."""
    if family is not None and family not in NAMES:
        raise ConfigError(f"list: no {family!r}; {nearest(family, NAMES)}")
    found = {name: listing(NAMES[name]) for name in ([family] if family else NAMES)}
    if as_json:
        print_json(found)
        return
    for name, rows in found.items():
        shown = [
            (r["name"], r["what"], ", ".join(f"{k}={v}" for k, v in r["options"].items()))
            for r in rows
        ]
        print_table(name, ("name", "what it is", "options and their defaults"), shown)
    say("your own: give module:Name wherever a name is expected (docs/extend.md)")


def listing(family: str) -> list[dict[str, Any]]:
    """Name, meaning and options of each member of a family."""
    rows = []
    for name, factory in FAMILIES[family].items():
        cls: Any = factory.func if isinstance(factory, partial) else factory
        made = factory()
        options = (
            {f.name: getattr(made, f.name) for f in fields(made)} if is_dataclass(made) else {}
        )
        what = (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")
        rows.append({"name": name, "what": what, "options": options})
    return rows

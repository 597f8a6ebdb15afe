"""``fedroam list``."""

import inspect
from functools import partial
from typing import Any

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import ConfigError, nearest
from fedroam.learning.models import MODELS, Model
from fedroam.runs.settings import FAMILIES, choice

NAMES = {
    "policies": "policy",
    "mobility": "mobility",
    "radio": "radio",
    "datasets": "dataset",
    "partitions": "partition",
    "servers": "server",
    "models": "model",
}


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
    if family == "model":
        return [{"name": n, "what": _layers(model), "options": {}} for n, model in MODELS.items()]
    rows = []
    for name, factory in FAMILIES[family].items():
        cls: Any = factory.func if isinstance(factory, partial) else factory
        options = dict(choice(family, name).options)
        what = (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")
        rows.append({"name": name, "what": what, "options": options})
    return rows


def _layers(model: Model) -> str:
    """The layers of a model, from the images to the classes."""
    return " - ".join(str(layer) for layer in model.layers)

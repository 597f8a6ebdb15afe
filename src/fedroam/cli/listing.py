"""``fedroam list``."""

import inspect
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from fedroam.cli.screen import print_json, print_table, say
from fedroam.errors import ConfigError, nearest
from fedroam.learning import datasets
from fedroam.learning.models import MODELS, Conv, Dense, Layer, Model
from fedroam.learning.trainers import TRAINERS
from fedroam.plugins import resolve
from fedroam.runs.settings import FAMILIES, choice

NAMES = {
    "policies": "policy",
    "mobility": "mobility",
    "radio": "radio",
    "datasets": "dataset",
    "partitions": "partition",
    "servers": "server",
    "models": "model",
    "trainers": "trainer",
}

IMAGES = ((1, 28), (3, 32))
"""Channels and side of MNIST's and CIFAR-10's images: what models are measured by."""

Row = dict[str, Any]


def list_command(family: str | None, *, as_json: bool) -> None:
    """Print the registries."""
    if family is not None and family not in NAMES:
        raise ConfigError(f"list: no {family!r}; {nearest(family, NAMES)}")
    found = {name: listing(NAMES[name]) for name in ([family] if family else NAMES)}
    if as_json:
        print_json(found)
        return
    for name, rows in found.items():
        shown = [(row["name"], _told(row)) for row in rows]
        print_table(name, ("name", "what it is; options and their defaults"), shown)
    say("your own: give module:Name wherever a name is expected (docs/extend.md)")


def listing(family: str) -> list[Row]:
    """Name, meaning and options of each member of a family, installed plug-ins included."""
    match family:
        case "model":
            return [_row(name, _network(model)) for name, model in MODELS.items()]
        case "dataset":
            builtin = [
                _row(d.name, _pictures(d), _options(family, d.name)) for d in datasets.listing()
            ]
        case "trainer":
            builtin = [_row(name, _first_line(make)) for name, make in TRAINERS.items()]
        case _:
            builtin = [
                _row(name, _first_line(make), _options(family, name))
                for name, make in FAMILIES[family].items()
            ]
    return builtin + _installed(family, {row["name"] for row in builtin})


def _row(name: str, what: str, options: dict[str, Any] | None = None) -> Row:
    return {"name": name, "what": what, "options": options or {}}


def _told(row: Row) -> str:
    options = ", ".join(f"{key}={value}" for key, value in row["options"].items())
    return f"{row['what']}\n{options}" if options else row["what"]


def _installed(family: str, builtin: set[str]) -> list[Row]:
    """What other packages bring by entry points; one that cannot be loaded says why."""
    rows = []
    points = {point.name: point for point in entry_points(group=f"fedroam.{family}")}
    for name in sorted(points.keys() - builtin):
        try:
            row = _row(name, _first_line(resolve(family, name, {})), _options(family, name))
        except ConfigError as error:
            row = _row(name, str(error))
        dist = points[name].dist
        row["what"] += f" [from {dist.name if dist else 'another package'}: {points[name].value}]"
        rows.append(row)
    return rows


def _options(family: str, name: str) -> dict[str, Any]:
    """What can be set, with the defaults."""
    return dict(choice(family, name).options) if family in FAMILIES else {}


def _first_line(factory: Callable[..., Any]) -> str:
    """The first sentence of its docstring, without mark-up."""
    made_by: Any = factory.func if isinstance(factory, partial) else factory
    summary = (inspect.getdoc(made_by) or "").partition("\n\n")[0]
    return summary.replace("\n", " ").replace("``", "")


def _pictures(data: datasets.Listed) -> str:
    """A data set in a line."""
    channels, rows, columns = data.image
    return (
        f"{data.title}: {data.n_train:,} to train and {data.n_test:,} to test, "
        f"{channels}x{rows}x{columns}, {data.n_classes} classes"
    )


def _network(model: Model) -> str:
    """The layers of a model from the images to the classes, and how many numbers users send."""
    sizes = " or ".join(
        f"{model(channels, side, 10).n_parameters:,} (images {channels}x{side}x{side})"
        for channels, side in IMAGES
    )
    return f"{', '.join(map(_layer, model.layers))}; parameters: {sizes}"


def _layer(layer: Layer) -> str:
    match layer:
        case Conv():
            return f"conv {layer.size}x{layer.size} to {layer.channels}"
        case Dense():
            return f"dense to {layer.units or 'the classes'}"
        case _:
            return type(layer).__name__.lower()

"""From a name in a file or on the command line to an object; nothing else here uses names."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from fedroam.errors import ConfigError, nearest


def resolve(
    family: str, name: str, builtin: Mapping[str, Callable[..., Any]]
) -> Callable[..., Any]:
    """
    Find ``name`` among the built-ins, then as ``package.module:attribute``, then among the
    entry points of the group ``fedroam.<family>``.

    Modules in the working directory count, so a file of one's own needs no installation.
    """
    if name in builtin:
        return builtin[name]
    module, colon, attribute = name.partition(":")
    if colon:
        return _load(family, name, module, attribute)
    found = entry_points(group=f"fedroam.{family}")
    named = {(point.value, _owner(point)): point for point in found if point.name == name}
    if len(named) > 1:
        owners = " and ".join(sorted(f"{owner} ({value})" for value, owner in named))
        raise ConfigError(f"{family}: {name!r} is claimed by {owners}; give module:Name")
    for point in named.values():
        try:
            return point.load()  # type: ignore[no-any-return]
        except Exception as error:
            raise ConfigError(f"{family}: cannot load {name!r}: {error}") from error
    raise ConfigError(f"{family}: no {name!r}; {nearest(name, {*builtin, *found.names})}")


def _owner(point: EntryPoint) -> str:
    """The distribution that brings an entry point."""
    return point.dist.name if point.dist else "an unnamed distribution"


def _load(family: str, name: str, module: str, attribute: str) -> Callable[..., Any]:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    except Exception as error:  # the user's module may raise anything while it loads
        raise ConfigError(
            f"{family}: cannot load {name!r}: {type(error).__name__}: {error}"
        ) from error

"""
Flower: fedroam's schedules inside real federations (``pip install 'fedroam[flower]'``).

At the server, ``Scheduled(FedAvg(), policy="dagsa")`` in the place of ``FedAvg()``; in the client
app, ``reporting_app()`` in the place of ``ClientApp()``. Flower's own words, client and node, stay
within this folder.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "deadline": ("Deadline",),
    "measured": ("Measured",),
    "record": ("read_rounds", "read_users"),
    "reporting": ("Reporter", "reporting_app"),
    "strategy": ("Scheduled",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (a list, by its only name)


def __getattr__(name: str) -> Any:
    """A client app is started for every message: it loads what it needs and no more."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"{__name__}.{_HOME_OF[name]}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "flwr":
            raise
        from fedroam.errors import ConfigError

        raise ConfigError("Flower is not installed: pip install 'fedroam[flower]'") from error
    return getattr(home, name)

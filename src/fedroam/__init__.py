"""
Federated learning over mobile wireless networks: schedule, simulate, compare.

Everything public stands here; it is loaded when it is first used, so ``import fedroam`` is instant.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "fedroam.errors": (
        "ConfigError",
        "ContractError",
        "FedroamError",
        "InfeasibleError",
    ),
    "fedroam.mobility": ("Mobility", "Motion", "RandomDirection", "RandomWaypoint", "Still"),
    "fedroam.radio": ("LinkDraws", "Radio", "UrbanMacro"),
    "fedroam.scheduling.bandwidth": ("share",),
    "fedroam.scheduling.interchange": ("read_problem", "write_problem"),
    "fedroam.scheduling.judge": ("Verdict", "judge"),
    "fedroam.scheduling.policies.best_station": ("All", "Random", "Uniform"),
    "fedroam.scheduling.certified.bound": ("bound",),
    "fedroam.scheduling.certified.certify": ("certify",),
    "fedroam.scheduling.certified.sweep": ("sweep_selected",),
    "fedroam.scheduling.policies.certified": ("Certified",),
    "fedroam.scheduling.policies.dagsa": ("Dagsa",),
    "fedroam.scheduling.policies.exact": ("Exact",),
    "fedroam.scheduling.policies.fedcs": ("FedCS",),
    "fedroam.scheduling.problem": ("NO_STATION", "Policy", "Problem", "Schedule", "dense"),
    "fedroam.runs": ("play", "read_rounds", "read_settings"),
    "fedroam.simulation": ("Fairness", "Round", "Scenario", "Simulation", "World"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (a list, by its only name)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOME_OF:
        raise AttributeError(f"module 'fedroam' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    # Reading what is installed takes longer than all else that an import of this package does.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fedroam")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0"

"""
All built-in policies: one file each (the trivial ones share one), one line here.

A policy of one's own needs no line: give ``package.module:Name`` wherever a name is expected.
"""

from collections.abc import Callable
from functools import partial

from fedroam.scheduling.policies.best_station import All, Random, Uniform
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.policies.exact import Exact
from fedroam.scheduling.policies.fedcs import FedCS
from fedroam.scheduling.problem import Policy

POLICIES: dict[str, Callable[..., Policy]] = {
    "dagsa": Dagsa,
    "random": Random,
    "uniform": Uniform,
    "fedcs": FedCS,
    "fedcs-low": partial(FedCS, threshold_s=0.6),
    "fedcs-high": partial(FedCS, threshold_s=1.0),
    "all": All,
    "certified": Certified,
    "exact": Exact,
}

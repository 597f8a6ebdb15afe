"""
Schedules with a proof: bounds from prices, near-optimal search, exact solving.

    bound            a length that no lawful schedule beats
    solve_certified  a near-optimal schedule with its gap, at any size
    solve_exact      the shortest schedule, proven, up to some hundred users
    certify          the gap of any schedule
    solve_fair       the same with quotas over time, by virtual queues
    sweep_selected   the round's length for every number of users
"""

from fedroam.scheduling.certified.bound import Bound, bound
from fedroam.scheduling.certified.certify import certify
from fedroam.scheduling.certified.exact import solve_exact
from fedroam.scheduling.certified.queues import queues, solve_fair
from fedroam.scheduling.certified.solution import Outcome, Solution, gap_of
from fedroam.scheduling.certified.solve import solve_certified
from fedroam.scheduling.certified.sweep import Sweep, sweep_selected

__all__ = [
    "Bound",
    "Outcome",
    "Solution",
    "Sweep",
    "bound",
    "certify",
    "gap_of",
    "queues",
    "solve_certified",
    "solve_exact",
    "solve_fair",
    "sweep_selected",
]

"""How far from the shortest a schedule is, whoever made it."""

import numpy as np

from fedroam.errors import ConfigError, nearest
from fedroam.scheduling.certified.bound import bound
from fedroam.scheduling.certified.exact import solve_exact
from fedroam.scheduling.certified.solution import gap_of
from fedroam.scheduling.judge import judge
from fedroam.scheduling.problem import Problem, Schedule

LEVELS = ("prices", "exact")


def certify(
    problem: Problem,
    schedule: Schedule,
    *,
    level: str = "prices",
    time_limit_s: float = 10.0,
) -> tuple[float, float]:
    """
    A length that no lawful schedule beats, and by what part ``schedule`` is longer.

    ``prices``: one dual bound, milliseconds at 50 x 8, a second at a million users; where stations
    serve a handful of users it stays some per cent below the optimum. ``exact``: the optimum itself
    (to 1e-5) wherever it is proven within ``time_limit_s``; for up to some hundred users. The
    gap is negative only for schedules that leave out users that the problem asks for.
    """
    round_s = judge(problem, schedule).round_s
    match level:
        case "prices":
            bound_s = bound(problem).bound_s
        case "exact":
            rng = np.random.default_rng(0)  # steers the search for a start, not the bound
            bound_s = solve_exact(problem, rng, time_limit_s=time_limit_s).bound_s
        case _:
            raise ConfigError(f"level: no {level!r}; {nearest(level, LEVELS)}")
    return bound_s, gap_of(round_s, bound_s)

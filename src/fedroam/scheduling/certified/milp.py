"""The only file that knows the MILP solver: can these users be packed into these stations?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.errors import ConfigError


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """Users ``0..U-1``, each on at most one of its arcs ``[A]``; no station filled beyond 1."""

    user: Ints  # [A]
    station: Ints  # [A]
    part: Floats  # [A] of the station that the arc takes
    must: Bools  # [U] has to be served
    n_stations: int
    n_selected: int


def pack(packing: Packing, time_limit_s: float) -> Ints | None:
    """
    Arcs of a packing, or none (an empty array) where none exists; None where time was up.

    Feasibility tolerance 1e-9: "none exists" holds for stations filled up to about that.
    """
    highs = _solver(time_limit_s)
    highspy = _highspy()
    highs.passModel(_model(packing, highspy))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return np.empty(0, np.int64)
    if highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        return np.flatnonzero(np.asarray(highs.getSolution().col_value) > 0.5)
    return None


def require_solver() -> None:
    """ConfigError with the cure where the solver is not installed."""
    _highspy()


def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise ConfigError(
            "exact solving needs the HiGHS solver: pip install 'fedroam[exact]'"
        ) from error
    return highspy


def _solver(time_limit_s: float) -> Any:
    highs = _highspy().Highs()
    highs.silent()
    for option, value in (
        ("time_limit", max(time_limit_s, 0.01)),
        ("threads", 1),
        ("mip_feasibility_tolerance", 1e-9),
        ("mip_max_improving_sols", 1),
        ("random_seed", 0),
    ):
        highs.setOptionValue(option, value)
    return highs


def _model(packing: Packing, highspy: Any) -> Any:
    """Columns are arcs; rows are the stations, then the users, then the number of users."""
    n_arcs, n_users = packing.user.size, packing.must.size
    everyone = np.full(n_arcs, packing.n_stations + n_users)
    rows = np.stack([packing.station, packing.n_stations + packing.user, everyone], axis=1)
    values = np.stack([packing.part, np.ones(n_arcs), np.ones(n_arcs)], axis=1)
    n_rows = packing.n_stations + n_users + 1
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n_arcs, n_rows
    lp.col_cost_ = np.zeros(n_arcs)  # any packing will do
    lp.col_lower_, lp.col_upper_ = np.zeros(n_arcs), np.ones(n_arcs)
    lp.row_lower_ = np.concatenate(
        [np.full(packing.n_stations, -np.inf), packing.must.astype(float), [packing.n_selected]]
    )
    lp.row_upper_ = np.concatenate([np.ones(packing.n_stations), np.ones(n_users), [np.inf]])
    lp.a_matrix_.start_ = 3 * np.arange(n_arcs + 1)
    lp.a_matrix_.index_ = rows.ravel()
    lp.a_matrix_.value_ = values.ravel()
    lp.integrality_ = [highspy.HighsVarType.kInteger] * n_arcs
    return lp

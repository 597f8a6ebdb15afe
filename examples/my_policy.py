"""A policy of one's own: the users with the best channels, each at its best station.

Try it:   cd examples && fedroam compare paper_timing.toml -p my_policy:BestChannels -p dagsa
"""

from dataclasses import dataclass

import numpy as np

from fedroam import NO_STATION, InfeasibleError, Problem, Schedule, share


@dataclass(frozen=True)
class BestChannels:
    """Required users first, then the best channels, until enough take part."""

    spread: float = 0.0  # 0: always the very best; larger: chance has a say

    def __call__(self, problem: Problem, rng: np.random.Generator) -> Schedule:
        """Everyone gets a score; the highest scores take part."""
        station = np.full(problem.n_users, NO_STATION)
        score = np.full(problem.n_users, -np.inf)
        for user in range(problem.n_users):
            links = slice(problem.indptr[user], problem.indptr[user + 1])
            if problem.station[links].size:
                best = problem.efficiency[links].argmax()
                station[user] = problem.station[links][best]
                score[user] = problem.efficiency[links][best]
        score += self.spread * rng.standard_normal(problem.n_users)
        score[problem.required] = np.inf
        n_chosen = max(problem.min_selected, np.count_nonzero(problem.required))
        chosen = np.argsort(-score, kind="stable")[:n_chosen]
        if n_chosen and score[chosen].min() == -np.inf:
            raise InfeasibleError(f"fewer than {n_chosen} users can reach a station")
        left_out = np.ones(problem.n_users, bool)
        left_out[chosen] = False
        station[left_out] = NO_STATION
        return share(problem, station)

"""
Latency against the worst quota deficit: rho1's hard set and virtual queues, several seeds.

    python benchmarks/fairness.py [--quick]

One world a seed, the same for all. Writes ``fairness.json`` and ``fairness.svg``.
"""

import argparse
from pathlib import Path

import numpy as np
import side_by_side

from fedroam.plots.style import look, new_panels, save_figure
from fedroam.scheduling.policies.certified import Certified
from fedroam.simulation.rounds import Simulation
from fedroam.simulation.scenario import Fairness, Scenario

QUOTAS = (0.1, 0.3)
WEIGHTS = (5.0, 20.0, 60.0, 200.0, 600.0)


def cases(quota: float) -> dict[str, tuple[float, Certified]]:
    """The rho1 with which problems are posed, and the policy that answers them."""
    queues = {
        f"queues, weight {weight:g}": (
            0.0,
            Certified(effort=0.3, fairness="queues", quota=quota, weight=weight),
        )
        for weight in WEIGHTS
    }
    plain = Certified(effort=0.3)
    return {"no fairness": (0.0, plain), "hard set": (quota, plain)} | queues


def play(rho1: float, policy: Certified, quota: float, seed: int, rounds: int) -> tuple[float, ...]:
    """Mean and 95th percentile of the round, and how far the worst user is behind at the end."""
    scenario = Scenario(fairness=Fairness(rho1=rho1))
    simulation = Simulation(scenario, policy, seed=seed, payload_bit=698_880.0)
    length_s = [played.length_s for played in simulation.rounds(rounds=rounds)]
    behind = max(0.0, quota * rounds - float(simulation.times_selected.min()))
    return float(np.mean(length_s)), float(np.quantile(length_s, 0.95)), behind


def plot(figures: list[dict[str, object]], path: Path) -> Path:
    """Each seed a small mark, the mean of the seeds a large one; left and low is better."""
    panels = new_panels(len(QUOTAS), 9.0, 3.8)
    for axes, quota in zip(panels, QUOTAS, strict=True):
        here = [row for row in figures if row["quota"] == quota]
        for i, (kind, chosen) in enumerate(
            (
                ("no fairness", [r for r in here if r["fairness"] == "no fairness"]),
                ("hard set", [r for r in here if r["fairness"] == "hard set"]),
                ("queues", [r for r in here if str(r["fairness"]).startswith("queues")]),
            )
        ):
            points = np.array([row["seeds"] for row in chosen])  # [cases, seeds, 3]
            style = look(i) | ({} if kind == "queues" else {"linestyle": "none"})
            means = points.mean(axis=1)
            axes.plot(1e3 * means[:, 0], means[:, 2], label=kind, **style)
            small = style | {"linestyle": "none", "markersize": 2.5, "alpha": 0.5}
            axes.plot(1e3 * points[..., 0].ravel(), points[..., 2].ravel(), **small)
        axes.set_title(f"quota {quota:g}")
        axes.set_xlabel("mean round, ms")
    panels[0].set_ylabel("selections that the worst user is behind")
    panels[0].legend(frameon=False)
    return save_figure(panels[0], path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    before = side_by_side.machine()
    n_seeds, rounds = (2, 20) if given.quick else (6, 60)
    figures, rows = [], []
    for quota in QUOTAS:
        for name, (rho1, policy) in cases(quota).items():
            seeds = [play(rho1, policy, quota, seed, rounds) for seed in range(n_seeds)]
            figures.append({"quota": quota, "fairness": name, "seeds": seeds})
            mean_s, p95_s, behind = np.array(seeds).T
            rows.append(
                (
                    f"{quota:g}",
                    name,
                    f"{mean_s.mean():.4f} s",
                    f"{p95_s.mean():.4f} s",
                    f"{behind.mean():.1f}",
                    f"{behind.max():g}",
                )
            )
    header = (
        f"quota, {n_seeds} seeds of {rounds} rounds",
        "fairness",
        "mean round",
        "95th percentile",
        "worst user behind by, mean of the seeds",
        "worst seed",
    )
    side_by_side.report_table(
        "fairness",
        header,
        rows,
        before=before,
        extra={"figures": figures},
        is_kept=not given.quick,
    )
    folder = side_by_side.OUT if given.quick else side_by_side.KEPT
    plot(figures, folder / "fairness.svg")


if __name__ == "__main__":
    main()

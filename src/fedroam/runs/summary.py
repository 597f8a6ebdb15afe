"""A run in a few figures."""

from typing import Any

import numpy as np
import pyarrow as pa

from fedroam.arrays import Floats, Ints
from fedroam.runs.tables import sha256_of

MARKS = (0.5, 0.8, 0.9, 0.95)
"""Accuracies whose times are reported."""


def summarise(rounds: pa.Table, times_selected: Ints) -> dict[str, Any]:
    """What ``summary.json`` and ``--json`` say of a run."""
    length_s = rounds["length_s"].to_numpy()
    n_selected = rounds["n_selected"].to_numpy()
    time_s = float(length_s.sum())
    share = times_selected / max(1, len(length_s))
    summary = {
        "rounds": len(length_s),
        "time_s": time_s,
        "mean_round_s": float(length_s.mean()),
        "p95_round_s": float(np.percentile(length_s, 95)),
        "users_per_round": float(n_selected.mean()),
        "users_per_s": float(n_selected.sum() / time_s),
        "min_participation": float(share.min()),
        "jain": jain(share),
        "forced_per_round": float(rounds["n_forced"].to_numpy().mean()),
        "missed_per_round": float(rounds["n_missed"].to_numpy().mean()),
        "rounds_missing_rho1": int(np.count_nonzero(rounds["n_missed"].to_numpy())),
        "rounds_missing_rho2": int(np.count_nonzero(rounds["n_lacking"].to_numpy())),
        "policy_wall_ms": float(1e3 * np.median(rounds["policy_wall_s"].to_numpy())),
    }
    return summary | gaps(rounds) | _learning(rounds) | {"rounds_sha256": sha256_of(rounds)}


def gaps(rounds: pa.Table) -> dict[str, Any]:
    """How far the rounds are from what is proven, where that was asked for."""
    gap = rounds["gap"].drop_null().to_numpy()
    if not gap.size:
        return {}
    return {
        "certified_rounds": gap.size,
        "mean_bound_s": float(rounds["bound_s"].drop_null().to_numpy().mean()),
        "mean_gap": float(gap.mean()),
        "worst_gap": float(gap.max()),
    }


def _learning(rounds: pa.Table) -> dict[str, Any]:
    accuracy = rounds["accuracy"].drop_null().to_numpy()
    if not accuracy.size:
        return {}
    end_s = np.cumsum(rounds["length_s"].to_numpy())[rounds["accuracy"].is_valid().to_numpy()]
    return {
        **{mark_name(mark): time_to(mark, end_s, accuracy) for mark in MARKS},
        "accuracy": float(accuracy[-1]),
        "best_accuracy": float(accuracy.max()),
        "loss": float(rounds["loss"].drop_null().to_numpy()[-1]),
        "refused_updates": int(rounds["n_refused"].drop_null().to_numpy().sum()),
    }


def mark_name(mark: float) -> str:
    """``time_to_90_s`` for 0.9."""
    return f"time_to_{100 * mark:g}_s"


def time_to(mark: float, end_s: Floats, accuracy: Floats) -> float | None:
    """Simulated seconds until the curve first reaches ``mark``; None where it does not."""
    reached = np.flatnonzero(accuracy >= mark)
    return float(end_s[reached[0]]) if reached.size else None


def jain(share: Floats) -> float:
    """Jain's fairness index: 1 where all are equal, 1/U where one has everything."""
    total = float(share.sum())
    return total * total / (share.size * float(share @ share)) if total else 1.0

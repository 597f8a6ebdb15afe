"""Paired differences in words: what a person wants to read below a table."""

from collections.abc import Sequence

import numpy as np

from fedroam.comparison.differences import Difference
from fedroam.comparison.tables import mark_of


def sentences(found: Sequence[Difference]) -> list[str]:
    """
    One sentence for each policy: how much sooner it learns, or how much shorter its rounds are.

    The accuracy is the highest that the policy compared against reached under every seed, or,
    where there is none, the highest that anybody reached.
    """
    labels = dict.fromkeys(d.label for d in found)
    measure = headline(found)
    chosen = {d.label: d for d in found if d.measure == measure}
    return [sentence(chosen[label]) for label in labels if label in chosen]


def headline(found: Sequence[Difference]) -> str:
    """The measure that the sentences are about."""
    times = [d for d in found if d.n_reached is not None]
    always = [d.measure for d in times if d.n_reached_against == d.n_seeds]
    sometimes = [d.measure for d in times if d.reading != "not reached"]
    for measures in (always, sometimes):
        if measures:
            return max(measures, key=mark_of)
    return "mean_round_s"


def sentence(d: Difference) -> str:
    """One difference in words."""
    if d.n_reached is not None:
        return _of_time(d)
    if d.measure.startswith("accuracy_at_"):
        time = d.measure.removeprefix("accuracy_at_").removesuffix("_s")
        if np.isnan(d.difference):
            return f"the accuracy of {d.label} or {d.against} after {time} s is not known"
        more = "more" if d.difference >= 0 else "less"
        return (
            f"after {time} s {d.label} is {_size(d, 100)} points {more} accurate "
            f"{_interval(d, 100)} than {d.against}, {_count(d)}"
        )
    if d.measure == "mean_round_s":
        shorter = "shorter" if d.difference <= 0 else "longer"
        return (
            f"rounds of {d.label} are {_size(d)} s {shorter} {_interval(d)} than those of "
            f"{d.against}, {_count(d)}"
        )
    more = "more" if d.difference >= 0 else "less"
    return f"{d.measure} of {d.label} is {_size(d)} {more} {_interval(d)} than of {d.against}"


def _of_time(d: Difference) -> str:
    mark = f"{mark_of(d.measure):g} %"
    if d.reading == "not reached":
        return f"neither {d.label} nor {d.against} reaches {mark} within {d.horizon_s:.3g} s"
    sooner = "sooner" if d.difference <= 0 else "later"
    least = "at least " if d.reading == "at least" else ""
    text = f"{d.label} reaches {mark} {least}{_size(d)} s {sooner} {_interval(d)} than {d.against}"
    text += f", {_count(d)}"
    if d.reading != "exact":
        reached = f"{d.label} reaches it in {d.n_reached}, {d.against} in {d.n_reached_against}"
        text += f" ({reached}; the others count with {d.horizon_s:.3g} s)"
    return text


def _count(d: Difference) -> str:
    return f"{d.n_same_way} of {d.n_seeds} seeds"


def _size(d: Difference, scale: float = 1.0) -> str:
    return f"{abs(d.difference) * scale:.3g}"


def _interval(d: Difference, scale: float = 1.0) -> str:
    """The interval, turned round with the sign of the difference."""
    if not np.isfinite(d.low):
        return "[one seed: no interval]" if d.n_seeds == 1 else "[no interval]"
    turned = -1 if d.difference < 0 or _falls_at_zero(d) else 1
    low, high = sorted((turned * d.low * scale, turned * d.high * scale))
    return f"[{low + 0.0:.2g}, {high + 0.0:.2g}]"


def _falls_at_zero(d: Difference) -> bool:
    """A difference of nought is told as sooner or shorter."""
    return d.difference == 0 and d.better == "lower"

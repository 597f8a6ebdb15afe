"""Paired differences, censored times and sentences, on tables with known answers."""

import numpy as np
import pytest

from comparison.synthetic import tables
from fedroam.comparison import differences, differences_table, sentences
from fedroam.errors import ConfigError

SLOW = [7.0, 6.0, 8.0, 7.5, 6.5]


def of_time(found):
    """The differences in the time to 90 %."""
    return {d.label: d for d in found if d.measure == "time_to_90_s"}


def test_a_difference_is_taken_within_each_seed():
    """Two to four seconds sooner, three on average; the other way round, later by as much."""
    fast = [s - d for s, d in zip(SLOW, (2, 3, 4, 2.5, 3.5), strict=True)]
    found = of_time(differences(tables({"slow": SLOW, "fast": fast})))["fast"]
    turned = of_time(differences(tables({"slow": SLOW, "fast": fast}), "fast"))["slow"]

    assert (found.difference, found.n_same_way, found.reading) == (-3.0, 5, "exact")
    assert found.p_flip == 2 / 32
    assert found.low < -3.0 < found.high < -1.5
    assert (turned.difference, turned.low, turned.high) == (3.0, -found.high, -found.low)
    text = sentences(differences(tables({"slow": SLOW, "fast": fast})))
    assert text == ["fast reaches 90 % 3 s sooner [1.9, 4.1] than slow, 5 of 5 seeds"]


def test_runs_that_never_reach_an_accuracy_count_with_the_horizon():
    """Two of five never get there: 10 s each, the difference is one of restricted times."""
    found = differences(tables({"dagsa": [4.0] * 5, "random": [9.0, None, 8.0, None, 7.0]}))
    d = of_time(found)["random"]

    assert d.mean == pytest.approx((9 + 10 + 8 + 10 + 7) / 5)
    assert d.difference == pytest.approx((5 + 6 + 4 + 6 + 3) / 5)
    assert (d.n_reached, d.n_reached_against, d.reading) == (3, 5, "at least")
    (text,) = sentences(found)
    assert text.startswith("random reaches 90 % at least 4.8 s later [")
    assert text.endswith("(random reaches it in 3, dagsa in 5; the others count with 10 s)")


def test_a_time_beyond_the_horizon_has_not_been_reached_within_it():
    """What other runs are not known for is not compared."""
    d = of_time(differences(tables({"a": [4.0, 4.0], "b": [5.0, 10.2]})))["b"]

    assert (d.n_reached, d.difference) == (1, pytest.approx(3.5))


def test_differences_that_are_censored_on_both_sides_are_restricted():
    """They bound nothing; where nobody got there nothing is said but that."""
    both = differences(tables({"a": [4.0, None], "b": [None, 5.0]}))
    nobody = differences(tables({"a": [None, None], "b": [None, None]}))

    assert of_time(both)["b"].reading == "restricted"
    assert of_time(nobody)["b"].reading == "not reached"
    assert sentences(nobody)[0].startswith("rounds of b are")
    slower = differences(tables({"a": [9.9, 9.9], "b": [None, 1.0]}))  # sooner on average
    assert of_time(slower)["b"].reading == "restricted"


def test_restricted_intervals_hold_the_restricted_truth():
    """Exponential times cut off at 10 s: the mean of min(X, 10) is 5 (1 - e^-2) for mean 5."""
    rng = np.random.default_rng(2)
    truth = 5 * (1 - np.exp(-2)) - 2.0
    covered = []
    for _ in range(300):
        drawn = rng.exponential(5.0, 8)
        times = {"a": [2.0] * 8, "b": [t if t <= 10 else None for t in drawn]}
        d = of_time(differences(tables(times)))["b"]
        covered.append(d.low <= truth <= d.high)

    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)


def test_rounds_are_compared_where_nothing_was_learnt():
    """The sentence is about the rounds' lengths."""
    made = tables({"a": [1.0] * 3, "b": [1.0] * 3}, mean_round_s={"a": 0.5, "b": 0.4})
    kept = [n for n in made.comparison.column_names if "_to_" not in n]
    found = differences(type(made)(made.comparison.select(kept), made.curves, made.lengths))

    assert sentences(found) == [
        "rounds of b are 0.1 s shorter [0.1, 0.1] than those of a, 3 of 3 seeds"
    ]


def test_one_seed_has_no_interval():
    """And the sentence says so; in the table the ends are infinite."""
    found = differences(tables({"a": [3.0], "b": [2.0]}))

    assert sentences(found) == [
        "b reaches 90 % 1 s sooner [one seed: no interval] than a, 1 of 1 seeds"
    ]
    assert differences_table(found)["low"].to_pylist()[0] == -np.inf


def test_against_somebody_who_is_not_there_is_refused():
    """With the nearest name."""
    with pytest.raises(ConfigError, match="against: no 'randm' here; did you mean 'random'"):
        differences(tables({"random": [1.0], "all": [2.0]}), "randm")

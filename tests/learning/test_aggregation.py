"""FedAvg against plain loops, and the server rules against their formulas."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError, ContractError, DivergedError
from fedroam.learning import aggregation
from fedroam.learning.aggregation import (
    SERVERS,
    Adam,
    Average,
    Momentum,
    WeightedMean,
    is_finite,
)


def plain_fedavg(updates: list[tuple[list[float], int]]) -> list[Fraction]:
    """The paper's formula with plain loops and exact numbers: the oracle."""
    total = sum(n for _, n in updates)
    mean = []
    for p in range(len(updates[0][0])):
        value = Fraction(0)
        for weights, n in updates:
            value += n * Fraction(float(weights[p]))
        mean.append(value / total)
    return mean


@st.composite
def rounds(draw):
    """A few updates of a few parameters."""
    n_users, n_parameters = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.normal(0, 10.0 ** rng.integers(-3, 4), (n_users, n_parameters))
    samples = rng.integers(1, 3000, n_users)
    return [(w, int(n)) for w, n in zip(weights.astype(np.float32), samples, strict=True)]


def mean_of(updates) -> np.ndarray:
    """The streaming mean."""
    mean = WeightedMean(len(updates[0][0]))
    assert all(mean.add(weights, n) for weights, n in updates)
    return mean.value()


@pytest.mark.parametrize("few", [0, 1 << 18])
@given(updates=rounds())
@settings(deadline=None)
def test_the_mean_is_that_of_plain_exact_loops(few, updates):
    """To the rounding of float64, relative to the largest term; by the compiled loop too."""
    scale = max(float(np.abs(w).max()) for w, _ in updates)
    with patch.object(aggregation, "_FEW", few):
        found = mean_of(updates)
    for ours, exact in zip(found, plain_fedavg(updates), strict=True):
        assert abs(Fraction(float(ours)) - exact) <= Fraction(scale) * Fraction(1, 2**48)


@given(updates=rounds(), seed=st.integers(0, 99))
@settings(deadline=None)
def test_updates_that_are_not_numbers_never_enter(updates, seed):
    """The mean is that of the others, to the bit."""
    rng = np.random.default_rng(seed)
    mean = WeightedMean(len(updates[0][0]))
    for weights, n in updates:
        bad = weights.copy()
        bad[rng.integers(bad.size)] = rng.choice([np.nan, np.inf, -np.inf])
        assert not mean.add(bad, n)
        assert not mean.add(weights, 0)
        assert mean.add(weights, n)
    np.testing.assert_array_equal(mean.value(), mean_of(updates))


def test_a_round_without_a_fit_update_has_no_mean():
    """So the global model stays what it was."""
    mean = WeightedMean(2)
    assert not mean.add(np.full(2, np.nan, np.float32), 5)
    assert mean.value() is None
    assert mean.finish() is None


@given(updates=rounds())
@settings(deadline=None)
def test_rows_together_give_the_bits_of_one_after_another(updates):
    """
    In the order that is asked for, by the compiled loop as without; the mean may take the memory
    of the sum, once.
    """
    rows = np.stack([weights for weights, _ in updates])[::-1].copy()
    mean = WeightedMean(rows.shape[1])
    with patch.object(aggregation, "_FEW", 0):
        mean.add_rows(rows, np.arange(len(rows))[::-1], np.array([n for _, n in updates]))

    np.testing.assert_array_equal(mean.value(), mean_of(updates))
    np.testing.assert_array_equal(mean.finish(), mean_of(updates))
    with pytest.raises(ContractError):
        mean.add(rows[0], 1)


def test_a_long_vector_is_looked_at_to_its_end():
    """Vectors are looked at in parts."""
    weights = np.zeros(100_003, np.float32)
    assert is_finite(weights)
    weights[-1] = np.inf
    assert not is_finite(weights)


@pytest.mark.parametrize("weights", [np.ones(3, np.float32), np.ones(2)])
def test_an_update_of_another_kind_is_a_broken_contract(weights):
    """Wrong length, wrong precision."""
    with pytest.raises(ContractError, match="expected float32"):
        WeightedMean(2).add(weights, 1)


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_rule_is_pure_and_its_state_is_arrays(name):
    """Equal arguments, equal bits; the arguments stay; a checkpoint can hold the state."""
    rule, rng = SERVERS[name](), np.random.default_rng(0)
    weights, mean = rng.normal(size=5).astype(np.float32), rng.normal(size=5)
    state = rule.start(5)
    before = {key: array.copy() for key, array in state.items()}

    first, next_state = rule.step(weights, mean, state)
    again, _ = rule.step(weights, mean, state)

    np.testing.assert_array_equal(first, again)
    assert first.dtype == np.float32
    assert state.keys() == next_state.keys() == before.keys()
    for key, array in state.items():
        np.testing.assert_array_equal(array, before[key])


@pytest.mark.parametrize("name", SERVERS)
def test_when_nobody_moved_nothing_moves(name):
    """The mean equals the model: a fixed point of every rule from its start."""
    weights = np.arange(4, dtype=np.float32)
    rule = SERVERS[name]()
    moved, _ = rule.step(weights, weights.astype(np.float64), rule.start(4))
    np.testing.assert_array_equal(moved, weights)


def test_momentum_adds_up_and_without_it_is_the_average():
    """Two equal steps of 1: 1, then 0.9 * 1 + 1; with beta 0 it is FedAvg."""
    rule, weights = Momentum(beta=0.9), np.zeros(1, np.float32)
    weights, state = rule.step(weights, np.ones(1), rule.start(1))
    weights, state = rule.step(weights, weights + 1.0, state)
    np.testing.assert_allclose(weights, [1 + 1.9], rtol=1e-6)

    mean = np.array([0.3])
    plain, _ = Momentum(beta=0.0).step(np.zeros(1, np.float32), mean, {"velocity": np.zeros(1)})
    np.testing.assert_array_equal(plain, Average().step(plain, mean, {})[0])


def test_adam_follows_its_formula():
    """One step by hand: d = 2, m = 0.2, v = 0.99e-6 + 0.04."""
    rule = Adam()
    weights, state = rule.step(np.zeros(1, np.float32), np.array([2.0]), rule.start(1))
    second = 0.99 * 1e-6 + 0.01 * 4
    np.testing.assert_allclose(state["second"], [second])
    np.testing.assert_allclose(weights, [0.01 * 0.2 / (second**0.5 + 1e-3)], rtol=1e-6)


def test_a_model_that_leaves_the_numbers_is_reported():
    """Not carried on as infinity."""
    with pytest.raises(DivergedError, match="lower"):
        Momentum(lr=1e300).step(np.zeros(1, np.float32), np.ones(1), {"velocity": np.ones(1)})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Momentum(lr=0.0),
        lambda: Momentum(beta=1.0),
        lambda: Adam(lr=float("nan")),
        lambda: Adam(beta1=-0.1),
        lambda: Adam(beta2=1.0),
        lambda: Adam(tau=0.0),
    ],
)
def test_impossible_parameters_are_refused(make):
    """At construction."""
    with pytest.raises(ConfigError, match="expected"):
        make()

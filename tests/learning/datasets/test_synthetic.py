"""The set that is made on the spot."""

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError
from fedroam.learning.contracts import check_dataset
from fedroam.learning.datasets import Synthetic

sizes = st.builds(
    Synthetic,
    n_train=st.integers(40, 300),
    n_test=st.integers(40, 80),
    side=st.integers(8, 20),
    channels=st.integers(1, 3),
    classes=st.integers(2, 12),
)


@given(recipe=sizes)
@settings(max_examples=20, deadline=None)
def test_any_size_keeps_the_contract_and_is_made_twice_the_same(recipe):
    """Equal parameters, equal bytes."""
    first, again = recipe.load(), recipe.load()
    check_dataset(first)
    for part in ("train_x", "train_y", "test_x", "test_y"):
        np.testing.assert_array_equal(getattr(first, part), getattr(again, part))
    assert np.ptp(np.bincount(first.train_y)) <= 1


def test_its_bytes_are_the_same_everywhere():
    """Integer arithmetic only, so this digest holds on every machine."""
    data = Synthetic(n_train=100, n_test=50).load()
    digest = sha256(b"".join(a.tobytes() for a in (data.train_x, data.train_y, data.test_x)))
    assert digest.hexdigest()[:16] == "ff211ddfba383c28"


def test_it_can_be_learnt_but_not_by_the_simplest_rule():
    """The nearest class mean, a linear rule, gets between a half and nine tenths."""
    data = Synthetic().load()
    x, y = data.train_x.reshape(2000, -1) / 255, data.train_y
    means = np.stack([x[y == label].mean(axis=0) for label in range(10)])
    test = data.test_x.reshape(500, -1) / 255
    nearest = ((test[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert 0.5 < (nearest == data.test_y).mean() < 0.9


@pytest.mark.parametrize(
    ("field", "value"),
    [("n_train", 0), ("n_test", 0), ("side", 3), ("channels", 0), ("classes", 1), ("classes", 300)],
)
def test_impossible_sizes_are_refused(field, value):
    """At construction, with the field and the value."""
    with pytest.raises(ConfigError, match=f"{field} is {value}"):
        Synthetic(**{field: value})

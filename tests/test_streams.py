"""Named random streams: order-free, seed-sensitive, equal in every process."""

import os
import subprocess
import sys
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from fedroam.streams import entropy, stream

names = st.lists(st.one_of(st.integers(0, 99), st.text("abc:/", max_size=3)), max_size=3)


def test_names_and_seeds_have_streams_of_their_own():
    """Every seed, name and number gives other draws."""
    draws = {
        stream(seed, name, n).random()
        for seed, name, n in product(range(5), ("fading", "place", "policy"), range(20))
    }

    assert len(draws) == 5 * 3 * 20


def test_who_draws_first_or_more_changes_nothing_for_others():
    """A stream is made anew from its name each time."""
    alone = stream(0, "fading", 7).random(3).tolist()
    stream(0, "fading", 6).random(1000)
    stream(0, "fading", 7).random(1000)

    assert stream(0, "fading", 7).random(3).tolist() == alone


def test_a_number_and_its_digits_are_different_names():
    """3 is not "3"."""
    assert entropy(0, 3) != entropy(0, "3")
    assert entropy(0, "a", "b") != entropy(0, "b", "a")
    assert entropy(1, "a") != entropy(11, "a")


@given(seed=st.integers(0, 2**64), names=names)
def test_entropy_has_128_bits_and_repeats(seed, names):
    """Any seed and any names."""
    assert 0 <= entropy(seed, *names) < 2**128
    assert entropy(seed, *names) == entropy(seed, *names)


def test_streams_are_the_same_in_another_process():
    """Also with another hash seed, which changes the order of Python's own sets."""
    program = "from fedroam.streams import stream; print(stream(5, 'fading', 3).random(4).tolist())"
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }

    assert said == {str(stream(5, "fading", 3).random(4).tolist())}

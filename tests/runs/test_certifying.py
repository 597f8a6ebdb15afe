"""A run can be certified while it is played or afterwards, with the same bounds."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedroam.errors import ConfigError, StorageError
from fedroam.runs import certify_run, parse, play, read_rounds


def small(**record):
    """Eight rounds of a small world."""
    return parse(
        {
            "stop": {"rounds": 8},
            "world": {"users": 16, "stations": 3},
            "policy": "dagsa",
            "record": record,
        }
    )


@pytest.fixture
def run(tmp_path):
    """A finished run that kept its users."""
    play(small(), tmp_path / "run")
    return tmp_path / "run"


def test_bounds_found_afterwards_are_those_found_while_playing(run, tmp_path):
    """The world walked through again poses the same problems; the digest does not change."""
    digest = play(small(), run)["rounds_sha256"]
    live = play(small(certify="prices"), tmp_path / "live")
    found = certify_run(run)

    assert live["rounds_sha256"] == digest
    for name in ("bound_s", "gap"):
        assert read_rounds(run)[name].equals(read_rounds(tmp_path / "live")[name])
    assert found["mean_gap"] == live["mean_gap"] > 0


def test_stored_problems_give_the_same_bounds(run, tmp_path):
    """A run that kept its problems and not its users is certified from them."""
    play(small(detail=False, problems=True), tmp_path / "kept")
    certify_run(run)
    certify_run(tmp_path / "kept")

    assert read_rounds(run)["bound_s"].equals(read_rounds(tmp_path / "kept")["bound_s"])


def test_no_round_is_shorter_than_its_bound_and_exact_bounds_are_higher(run):
    """Weak duality, and the optimum above it, round by round."""
    certify_run(run, "prices")
    prices = read_rounds(run)
    certify_run(run, "exact")
    exact = read_rounds(run)

    length_s = prices["length_s"].to_numpy()
    assert (prices["bound_s"].to_numpy() <= exact["bound_s"].to_numpy() * (1 + 1e-9)).all()
    assert (exact["bound_s"].to_numpy() <= length_s).all()
    np.testing.assert_allclose(
        exact["gap"].to_numpy(), length_s / exact["bound_s"].to_numpy() - 1, rtol=1e-12
    )


def test_a_run_whose_table_was_changed_is_not_certified(run):
    """A round that comes out longer than it was recorded is named."""
    table = read_rounds(run)
    length_s = table["length_s"].to_numpy().copy()
    length_s[5] *= 1.001
    at = table.column_names.index("length_s")
    pq.write_table(table.set_column(at, "length_s", pa.array(length_s)), run / "rounds.parquet")

    with pytest.raises(StorageError, match="round 5 was"):
        certify_run(run)


def test_what_cannot_be_certified_says_why(tmp_path):
    """No run, an unfinished one, or one that kept nothing to pose its problems from."""
    with pytest.raises(ConfigError, match="no finished run"):
        certify_run(tmp_path / "nothing")
    play(small(detail=False), tmp_path / "bare")
    with pytest.raises(ConfigError, match="kept neither problems nor users"):
        certify_run(tmp_path / "bare")

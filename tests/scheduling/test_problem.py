"""What a problem and a schedule may hold, and what is said where they don't."""

import numpy as np
import pytest
from hypothesis import given

from fedroam.errors import ConfigError
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule, dense
from strategies import problems


def facts(**changes):
    """Three users, two stations, four links; user 2 reaches none."""
    good = {
        "indptr": np.array([0, 2, 4, 4]),
        "station": np.array([0, 1, 0, 1], np.int32),
        "efficiency": np.array([1.0, 2.0, 3.0, 4.0]),
        "compute_s": np.array([0.1, 0.2, 0.0]),
        "capacity_hz": np.array([1e6, 2e6]),
        "payload_bit": np.array([1e5, 2e5, 3e5]),
        "required": np.array([True, False, False]),
        "min_selected": 2,
    }
    return good | changes


BAD = {
    "no users": ({"indptr": [0]}, r"indptr is \[0\], expected one entry a user"),
    "indptr starts late": ({"indptr": [1, 2, 4, 4]}, r"indptr\[0\] is 1, expected 0 at the start"),
    "indptr falls": ({"indptr": [0, 3, 2, 4]}, r"indptr\[2\] is 2, expected .*never falling"),
    "indptr ends early": ({"indptr": [0, 2, 3, 3]}, r"indptr\[3\] is 3, expected .*4 \(the numbe"),
    "indptr ends late": ({"indptr": [0, 2, 4, 9]}, r"indptr\[3\] is 9, expected"),
    "indptr is far out": ({"indptr": [0, 2**40, 4, 4]}, r"indptr\[1\] is 1099511627776, expected"),
    "indptr is negative": ({"indptr": [0, -5, 4, 4]}, r"indptr\[1\] is -5, expected"),
    "indptr is a matrix": ({"indptr": np.zeros((2, 2), int)}, r"indptr has shape \(2, 2\)"),
    "indptr is real": ({"indptr": [0, 2, 4, 4.0]}, "indptr holds float64, expected int64"),
    "station out of range": ({"station": [0, 2, 0, 1]}, r"station\[1\] is 2, expected 0\.\.1"),
    "station negative": ({"station": [-1, 1, 0, 1]}, r"station\[0\] is -1, expected 0\.\.1"),
    "station wraps": (
        {"station": [0, 2**32 + 1, 0, 1]},
        "station holds 4294967297, too large for int32",
    ),
    "station real": ({"station": [0.0, 1.5, 0, 1]}, "station holds float64, expected int32"),
    "links unsorted": (
        {"station": [0, 1, 1, 0]},
        r"station\[3\] is 0, expected ascending stations, each once, within user 1",
    ),
    "links twice": (
        {"station": [1, 1, 0, 1]},
        r"station\[1\] is 1, expected ascending stations, each once, within user 0",
    ),
    "efficiency short": ({"efficiency": [1.0, 2.0]}, r"efficiency has shape \(2,\), expected 4"),
    "efficiency nan": ({"efficiency": [1, np.nan, 1, 1]}, r"efficiency\[1\] is nan, expected a f"),
    "efficiency zero": ({"efficiency": [1, 1, 0.0, 1]}, r"efficiency\[2\] is 0\.0, .*out of reach"),
    "efficiency negative": ({"efficiency": [1, 1, 1, -2.0]}, r"efficiency\[3\] is -2\.0"),
    "efficiency infinite": ({"efficiency": [np.inf, 1, 1, 1]}, r"efficiency\[0\] is inf"),
    "efficiency text": ({"efficiency": list("abcd")}, "efficiency holds <U1, expected float64"),
    "efficiency complex": ({"efficiency": np.ones(4) * 1j}, "efficiency holds complex128"),
    "efficiency bool": ({"efficiency": np.ones(4, bool)}, "efficiency holds bool"),
    "efficiency objects": (
        {"efficiency": np.array([1.0, 2.0, 3.0, None])},
        "efficiency holds object, expected float64",
    ),
    "compute nan": ({"compute_s": [0, np.nan, 0]}, r"compute_s\[1\] is nan, expected .* >= 0"),
    "compute negative": ({"compute_s": [0, 0, -0.1]}, r"compute_s\[2\] is -0\.1"),
    "compute infinite": ({"compute_s": [np.inf, 0, 0]}, r"compute_s\[0\] is inf"),
    "compute long": ({"compute_s": np.zeros(4)}, r"compute_s has shape \(4,\), expected 3"),
    "capacity zero": ({"capacity_hz": [1e6, 0.0]}, r"capacity_hz\[1\] is 0\.0, expected .* > 0"),
    "capacity negative": ({"capacity_hz": [-1.0, 1.0]}, r"capacity_hz\[0\] is -1\.0"),
    "capacity nan": ({"capacity_hz": [np.nan, 1.0]}, r"capacity_hz\[0\] is nan"),
    "no stations": ({"capacity_hz": np.empty(0)}, r"capacity_hz is \[\], expected at least one"),
    "capacity a number": ({"capacity_hz": 1e6}, r"capacity_hz has shape \(\), expected any"),
    "payload zero": ({"payload_bit": 0.0}, r"payload_bit\[0\] is 0\.0, expected .* > 0"),
    "payload nan": ({"payload_bit": [1, 1, np.nan]}, r"payload_bit\[2\] is nan"),
    "payload short": ({"payload_bit": [1.0, 1.0]}, r"payload_bit has shape \(2,\), expected 3"),
    "payload text": ({"payload_bit": "much"}, "payload_bit holds <U4, expected float64"),
    "required numbers": ({"required": [1, 0, 0]}, "required holds int64, expected bool"),
    "required out of reach": (
        {"required": [True, False, True]},
        r"required\[2\] is True, expected false, since no station is within this user's reach",
    ),
    "min_selected too many": ({"min_selected": 4}, r"min_selected is 4, expected 0\.\.3"),
    "min_selected negative": ({"min_selected": -1}, r"min_selected is -1, expected 0\.\.3"),
    "min_selected real": ({"min_selected": 1.5}, "min_selected is 1.5, expected a whole number"),
    "min_selected nan": ({"min_selected": np.nan}, "min_selected is nan, expected a whole number"),
    "round negative": ({"round": -1}, "round is -1, expected >= 0"),
    "times negative": ({"times_selected": [0, -1, 0]}, r"times_selected\[1\] is -1, expected >= 0"),
    "times short": ({"times_selected": [0]}, r"times_selected has shape \(1,\), expected 3"),
    "last_round real": ({"last_round": [0.5, 1, 2]}, "last_round holds float64, expected int64"),
    "last_loss short": ({"last_loss": [0.5, 1]}, r"last_loss has shape \(2,\), expected 3"),
    "last_loss infinite": (
        {"last_loss": [0.5, np.inf, np.nan]},
        r"last_loss\[1\] is inf, expected a finite number, or nan where it is unknown",
    ),
    "last_loss minus infinite": ({"last_loss": [-np.inf, 1.0, 1.0]}, r"last_loss\[0\] is -inf"),
    "samples negative": ({"samples": [1, 1, -3]}, r"samples\[2\] is -3, expected >= 0"),
}


@pytest.mark.parametrize("flaw", BAD)
def test_a_flaw_is_refused_and_named(flaw):
    """The message has the field, the place, the value and what was expected."""
    changes, message = BAD[flaw]

    with pytest.raises(ConfigError, match=message):
        Problem(**facts(**changes))


def test_the_good_facts_are_accepted():
    """The refusals above are due to what was changed in each."""
    problem = Problem(**facts())

    assert (problem.n_users, problem.n_stations, problem.n_links) == (3, 2, 4)


def test_what_is_unknown_of_the_past_is_filled_in():
    """Never selected, no loss, one sample each; one payload stands for all."""
    problem = Problem(**facts(payload_bit=5))

    assert problem.payload_bit.tolist() == [5.0, 5.0, 5.0]
    assert problem.times_selected.tolist() == [0, 0, 0]
    assert problem.last_round.tolist() == [-1, -1, -1]
    assert np.isnan(problem.last_loss).all()
    assert problem.samples.tolist() == [1, 1, 1]


def test_a_problem_without_any_link_can_be_posed():
    """Nobody within reach is a round that a policy has to call infeasible, not a bad record."""
    problem = dense(
        np.zeros((3, 2)),
        compute_s=np.zeros(3),
        capacity_hz=np.ones(2),
        payload_bit=1.0,
        min_selected=1,
    )

    assert problem.n_links == 0


def test_records_are_read_only_and_leave_the_callers_arrays_as_they_were():
    """Writing into a record fails at once; the arrays it was made from stay writeable."""
    mine = facts()
    problem = Problem(**mine)
    station, bandwidth = np.array([0, 1, -1], np.int32), np.array([1.0, 1.0, 0.0])
    schedule = Schedule(station, bandwidth)

    for record in (problem, schedule):
        for name in type(record).__dataclass_fields__:
            value = getattr(record, name)
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[0] = value[0]
            with pytest.raises((AttributeError, TypeError)):
                setattr(record, name, value)
    for array in (*mine.values(), station, bandwidth):
        if isinstance(array, np.ndarray):
            array[0] = array[0]


@given(problem=problems())
def test_dense_has_a_link_wherever_efficiency_is_positive(problem):
    """A matrix and its sparse form hold the same links."""
    matrix = np.zeros((problem.n_users, problem.n_stations))
    user = np.repeat(np.arange(problem.n_users), np.diff(problem.indptr))
    matrix[user, problem.station] = problem.efficiency
    again = dense(
        matrix,
        compute_s=problem.compute_s,
        capacity_hz=problem.capacity_hz,
        payload_bit=problem.payload_bit,
        min_selected=problem.min_selected,
        required=problem.required,
    )

    np.testing.assert_array_equal(again.indptr, problem.indptr)
    np.testing.assert_array_equal(again.station, problem.station)
    np.testing.assert_array_equal(again.efficiency, problem.efficiency)


def test_dense_does_not_take_nan_for_out_of_reach():
    """A nan in the matrix is a mistake, and is told."""
    with pytest.raises(ConfigError, match=r"efficiency\[1\] is nan"):
        dense(
            np.array([[1.0, np.nan]]),
            compute_s=np.zeros(1),
            capacity_hz=np.ones(2),
            payload_bit=1.0,
            min_selected=1,
        )


def test_chosen_lists_who_takes_part():
    """Ascending, without those left out."""
    schedule = Schedule([2, NO_STATION, 0], [1.0, 0.0, 1.0])

    assert schedule.chosen.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("station", "bandwidth", "message"),
    [
        ([0.5, 1], [1.0, 1.0], "station holds float64, expected int32"),
        ([0, 1], [1.0], r"bandwidth_hz has shape \(1,\), expected 2"),
        ([0, 2**31], [1.0, 1.0], "station holds 2147483648, too large for int32"),
        ([[0, 1]], [1.0, 1.0], r"station has shape \(1, 2\), expected any"),
        ([0, 1], ["a", "b"], "bandwidth_hz holds <U1, expected float64"),
    ],
)
def test_a_schedule_of_the_wrong_form_is_refused(station, bandwidth, message):
    """The message has the field and what was expected."""
    with pytest.raises(ConfigError, match=message):
        Schedule(station, bandwidth)

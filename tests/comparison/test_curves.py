"""Curves are read at the right times, and bands are what they say."""

import numpy as np
import pytest

from fedroam.comparison import Curve, band_of, curve_of, mean_interval
from fedroam.plots import plot_accuracy
from fedroam.runs import parse, play, read_rounds

CURVE = Curve(np.array([1.0, 2.5, 4.0]), np.array([0.2, 0.6, 0.5]))


def test_a_curve_holds_its_last_test_until_the_next():
    """Before the first test nothing is known; a test counts from the moment its round ends."""
    found = CURVE.at(np.array([0.5, 1.0, 2.4, 2.5, 9.0]))

    np.testing.assert_array_equal(found, [np.nan, 0.2, 0.2, 0.6, 0.5])


@pytest.mark.parametrize(("mark", "time_s"), [(0.1, 1.0), (0.6, 2.5), (0.55, 2.5), (0.7, np.nan)])
def test_time_to_is_the_first_time_that_the_mark_is_reached(mark, time_s):
    """A later fall does not take it back; a mark that is never reached has no time."""
    np.testing.assert_equal(CURVE.time_to(mark), time_s)


def test_a_band_is_the_mean_and_the_range_where_all_runs_are_known():
    """Two runs, by hand; where one is not known the band is not either."""
    other = Curve(np.array([2.0, 3.0]), np.array([0.4, 0.8]))
    band = band_of([CURVE, other], np.array([1.5, 2.0, 3.0]))

    np.testing.assert_allclose(band.mean, [np.nan, 0.3, 0.7])
    np.testing.assert_allclose(band.low, [np.nan, 0.2, 0.6])
    np.testing.assert_allclose(band.high, [np.nan, 0.4, 0.8])


def test_unknown_values_are_left_out_of_an_interval():
    """A seed that did not reach the mark has no time; with nothing known nothing is claimed."""
    assert mean_interval(np.array([1.0, np.nan, 3.0])).mean == 2.0
    assert np.isnan(mean_interval(np.array([np.nan])).mean)


def test_the_figure_of_a_run_shows_the_accuracies_of_its_round_table(tmp_path):
    """What is drawn equals what is stored: the last point is the run's last accuracy."""
    settings = parse(
        {
            "stop": {"rounds": 3},
            "world": {"users": 10, "stations": 3},
            "learning": {
                "dataset": {"name": "synthetic", "n_train": 400, "n_test": 100},
                "partition": "iid",
                "model": "logistic",
                "local": {"local_epochs": 1},
            },
        }
    )
    summary = play(settings, tmp_path / "run")
    curve = curve_of(read_rounds(tmp_path / "run"))
    band = band_of([curve], np.linspace(0, curve.end_s[-1], 50))
    line = plot_accuracy({"dagsa": band}).lines[0]

    assert curve.accuracy.size == 3
    assert line.get_ydata()[-1] == 100 * summary["accuracy"]
    assert line.get_xdata()[-1] == pytest.approx(summary["time_s"])

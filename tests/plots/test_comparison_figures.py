"""Figures of comparisons show the numbers that they are given, also in grey."""

import itertools

import numpy as np
import pytest

from comparison.synthetic import tables
from fedroam.comparison import differences
from fedroam.comparison.curves import Band
from fedroam.plots import (
    COLOURS,
    draw_comparison,
    figures_of,
    plot_differences,
    plot_fairness,
    plot_swept,
    plot_time_to,
)
from fedroam.plots.accuracy import plot_accuracy
from fedroam.plots.style import DASHES, MARKERS

TIMES = {"dagsa": [4.0, 5.0], "random": [8.0, None], "all": [None, None]}

DEUTAN = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
PROTAN = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])
TRITAN = np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]])
"""Machado, Oliveira and Fernandes (2009), full severity, on linear RGB."""


def linear(colour):
    """A hexadecimal colour as linear RGB."""
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB (D65)."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    "sight", [np.eye(3), DEUTAN, PROTAN, TRITAN], ids=["full", "deutan", "protan", "tritan"]
)
def test_colours_can_be_told_apart_by_the_colour_blind(sight):
    """At least 15 apart in L*a*b* (about 2 is just noticeable), however they are seen."""
    seen = [lab(sight @ linear(colour)) for colour in COLOURS]
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]

    assert min(apart) > 15


def test_curves_can_be_told_apart_without_any_colour():
    """No two of the eight share a marker, and neighbours differ in their dashes."""
    assert len(set(MARKERS)) == len(MARKERS) == len(COLOURS) == len(DASHES)
    assert all(a != b for a, b in itertools.pairwise(DASHES))


def test_differences_are_drawn_where_they_are():
    """Point and interval of each policy; hollow where runs never got there."""
    found = [d for d in differences(tables(TIMES)) if d.measure == "time_to_90_s"]
    lines = plot_differences(found, "seconds").get_lines()
    spans, points = lines[0:4:2], lines[1:4:2]

    for d, span, point in zip(found, spans, points, strict=True):
        assert list(span.get_xdata()) == [d.low, d.high]
        assert list(point.get_xdata()) == [d.difference]
        assert point.get_markerfacecolor() == "white"
    names = [text.get_text() for text in plot_differences(found, "").get_yticklabels()]
    assert names == ["random (reached in 1 of 2)", "all (reached in 0 of 2)"]


def test_times_to_accuracies_are_drawn_where_they_are():
    """The mean with the horizon for who never got there; nothing for who never did at all."""
    times = {k: [np.array([np.nan if t is None else t for t in v])] for k, v in TIMES.items()}
    axes = plot_time_to(times, [0.9], 10.0)
    curves = {line.get_label(): line for line in axes.get_lines()}

    assert curves["dagsa"].get_ydata() == [4.5]
    assert curves["random"].get_ydata() == [9.0]
    assert len(curves["all"].get_ydata()) == 0
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
    assert [list(line.get_ydata()) for line in hollow] == [[9.0]]


def test_fairness_shows_each_seed_and_the_mean():
    """And where the right to take part begins."""
    axes = plot_fairness({"a": np.array([0.4, 0.6])}, {"a": np.array([0.1, 0.3])}, 0.1)
    seeds, mean, line = axes.get_lines()

    np.testing.assert_allclose(seeds.get_xydata(), [[0.4, 0.1], [0.6, 0.3]])
    np.testing.assert_allclose(mean.get_xydata(), [[0.5, 0.2]])
    assert list(line.get_ydata()) == [0.1, 0.1]


def test_a_sweep_is_drawn_over_numbers_or_words():
    """Numbers where they belong; a value that is not known leaves a gap."""
    rows = [np.array([1.0, 3.0]), np.array([np.nan, 1.0]), np.array([4.0, 4.0])]
    curve = plot_swept({"dagsa": rows}, [0, 5, 20], "speed", "s").get_lines()[0]
    words = plot_swept({"dagsa": rows}, ["round", 5.0, "never"], "turn", "s")

    np.testing.assert_array_equal(curve.get_xydata(), [[0, 2.0], [20, 4.0]])
    assert [t.get_text() for t in words.get_xticklabels()] == ["round", "5.0", "never"]


def test_a_comparison_is_drawn_to_files_that_are_the_same_every_time(tmp_path):
    """All figures in all formats; equal tables give equal bytes."""
    made = tables(TIMES)
    one = draw_comparison(made, tmp_path / "one", rho1=0.1)
    two = draw_comparison(made, tmp_path / "two", rho1=0.1, kinds=("svg", "pdf"))

    names = {"accuracy", "time-to", "round-lengths", "fairness", "differences"}
    assert {f.name for f in one} == {f"{n}.{k}" for n in names for k in ("png", "svg", "pdf")}
    for file in two:
        assert file.read_bytes() == (tmp_path / "one" / file.name).read_bytes()


def test_figures_of_one_policy_need_nobody_else():
    """There is nothing to be different from."""
    assert set(figures_of(tables({"dagsa": [4.0]}), rho1=0.0)) == {
        "round-lengths",
        "fairness",
        "accuracy",
        "time-to",
    }


@pytest.mark.parametrize(("highest", "top"), [(0.37, 40), (0.40, 50), (0.965, 100), (1.0, 100)])
def test_low_accuracies_fill_the_figure(highest, top):
    """Up to the next ten per cent, with all of the curves in sight."""
    some = np.array([0.1, 0.5 * highest, highest])
    bands = {"a": Band(np.arange(3.0), some, some, some)}

    assert plot_accuracy(bands).get_ylim() == (0, top)

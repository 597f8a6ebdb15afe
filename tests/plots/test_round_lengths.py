"""The figure of round lengths shows the data, and its file is whole or not there."""

import numpy as np
import pytest

from fedroam.errors import StorageError
from fedroam.plots import plot_round_lengths, save_figure

LENGTHS = {"dagsa": np.array([0.5, 0.3, 0.4, 0.2]), "all": np.array([2.0, 1.0])}


def test_each_policy_is_one_curve_that_ends_at_one():
    """The empirical distribution, labelled with its mean; axes have units."""
    axes = plot_round_lengths(LENGTHS)
    curves = axes.get_lines()

    assert [c.get_label() for c in curves] == ["dagsa (mean 0.350 s)", "all (mean 1.500 s)"]
    np.testing.assert_array_equal(curves[0].get_xdata(), [0.2, 0.3, 0.4, 0.5])
    np.testing.assert_array_equal(curves[0].get_ydata(), [0.25, 0.5, 0.75, 1.0])
    assert "seconds" in axes.get_xlabel()
    assert axes.get_legend() is not None
    looks = {(c.get_color(), str(c.get_linestyle())) for c in curves}
    assert len(looks) == 2


def test_curves_go_on_given_axes():
    """A user's own figure is used, and returned."""
    axes = plot_round_lengths({"a": LENGTHS["all"]})

    assert plot_round_lengths(LENGTHS, ax=axes) is axes
    assert len(axes.get_lines()) == 3


@pytest.mark.parametrize(
    ("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_a_figure_is_written_whole(tmp_path, kind, magic):
    """Into a folder that is made for it, with nothing left beside it."""
    file = save_figure(plot_round_lengths(LENGTHS), tmp_path / "deep" / f"figure.{kind}")

    assert file.read_bytes().startswith(magic)
    assert [p.name for p in file.parent.iterdir()] == [f"figure.{kind}"]


def test_a_figure_that_cannot_be_written_is_told(tmp_path):
    """Below a file there is no folder."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match=r"figure\.png cannot be written"):
        save_figure(plot_round_lengths(LENGTHS), tmp_path / "file" / "figure.png")

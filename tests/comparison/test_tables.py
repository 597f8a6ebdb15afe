"""The tidy tables hold what the runs hold, and survive their own files."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from fedroam.comparison import (
    begin_comparison,
    curve_of,
    differences,
    members_of,
    open_comparison,
    play_all,
    read_tables,
    tables_of,
    write_tables,
)
from fedroam.errors import ConfigError
from fedroam.runs import parse, read_rounds

TABLE = {
    "stop": {"time_s": 3.0},
    "world": {"users": 10, "stations": 3},
    "learning": {
        "dataset": {"name": "synthetic", "n_train": 400, "n_test": 100},
        "partition": "iid",
        "model": "logistic",
        "local": {"local_epochs": 1},
    },
    "compare": {
        "policies": ["dagsa", "random"],
        "seeds": 2,
        "accuracies": [0.3, 0.5, 1.0],
        "times_s": [0.001, 2.0],
    },
}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A small comparison that learns."""
    folder = tmp_path_factory.mktemp("comparison")
    settings = parse(TABLE)
    members = members_of(settings, folder)
    begin_comparison(settings, members, folder)
    comparison = play_all(members)
    return folder, settings, comparison


def test_each_row_is_what_its_run_says(played):
    """Measures from the summary; times and accuracies from the curve, by hand."""
    folder, settings, comparison = played
    tables = tables_of(settings, comparison)
    rows = tables.comparison.to_pylist()

    assert [(r["label"], r["seed"]) for r in rows] == [
        (label, seed) for label in ("dagsa", "random") for seed in (0, 1)
    ]
    assert tables.horizon_s == 3.0
    for row, summary in zip(rows, [s for line in comparison.summaries for s in line], strict=True):
        curve = curve_of(read_rounds(folder / row["label"] / f"seed-{row['seed']}"))
        reached = curve.end_s[curve.accuracy >= 0.5]
        assert row["mean_round_s"] == summary["mean_round_s"]
        assert row["time_to_50_s"] == (reached[0] if reached.size else None)
        assert row["accuracy_at_0.001_s"] is None  # before the first test nothing is known
        assert row["accuracy_at_2_s"] == curve.accuracy[curve.end_s <= 2.0][-1]
    assert "policy_wall_ms" not in tables.comparison.column_names


def test_curves_are_sampled_on_a_common_grid(played):
    """101 times a run; rounds and updates count up; each value is the last test before."""
    folder, settings, comparison = played
    curves = tables_of(settings, comparison).curves.to_pandas()
    one = curves[(curves.label == "random") & (curves.seed == 1)]
    rounds = read_rounds(folder / "random" / "seed-1").to_pandas()
    end_s = rounds.start_s + rounds.length_s

    assert len(curves) == 4 * 101
    assert one.time_s.tolist() == pytest.approx(np.linspace(0, 3, 101).tolist())
    for at in one.itertuples():
        done = end_s <= at.time_s
        assert at.rounds == done.sum()
        assert at.updates == rounds.n_selected[done].sum()
        if done.any():
            assert at.accuracy == pytest.approx(rounds.accuracy[done].iloc[-1], abs=1e-6)
        else:
            assert np.isnan(at.accuracy)


def test_tables_come_back_from_their_files(played, tmp_path):
    """From Parquet they are equal; from CSV alone they say the same."""
    _, settings, comparison = played
    tables = tables_of(settings, comparison)
    write_tables(tables, tmp_path)
    again = read_tables(tmp_path)
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    from_csv = read_tables(tmp_path)

    for name in ("comparison", "curves", "lengths"):
        assert getattr(again, name).equals(getattr(tables, name))
    assert str(differences(from_csv)) == str(differences(tables))
    np.testing.assert_array_equal(from_csv.bands()["random"].mean, tables.bands()["random"].mean)
    np.testing.assert_array_equal(from_csv.lengths_s()["dagsa"], tables.lengths_s()["dagsa"])


def test_a_folder_is_opened_as_far_as_it_has_been_played(played, tmp_path):
    """Policies that lack a seed are not there yet; a folder that holds nothing is refused."""
    folder, settings, comparison = played
    found, opened = open_comparison(folder)

    assert found == settings
    assert opened.summaries == comparison.summaries
    (folder / "random" / "seed-1" / "summary.json").rename(tmp_path / "kept")
    assert open_comparison(folder)[1].labels == ("dagsa",)
    (tmp_path / "kept").rename(folder / "random" / "seed-1" / "summary.json")
    with pytest.raises(ConfigError, match=r"is no comparison's folder, it holds no compare.toml"):
        open_comparison(tmp_path)
    with pytest.raises(ConfigError, match=r"holds no table comparison.parquet or comparison.csv"):
        read_tables(tmp_path)


def test_damaged_tables_are_told(tmp_path):
    """One line, not a traceback."""
    (tmp_path / "comparison.parquet").write_text("not this")
    with pytest.raises(ConfigError, match="holds no readable table comparison"):
        read_tables(tmp_path)


def test_files_hold_the_tables(played, tmp_path):
    """Pandas and anybody else read them."""
    _, settings, comparison = played
    files = write_tables(tables_of(settings, comparison), tmp_path)

    assert sorted(f.name for f in files) == sorted(
        f"{name}.{kind}"
        for name in ("comparison", "curves", "lengths")
        for kind in ("csv", "parquet")
    )
    assert pq.read_table(tmp_path / "curves.parquet").num_rows == 4 * 101

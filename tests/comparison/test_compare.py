"""Comparisons: the same for any number of workers; intervals with known answers."""

from itertools import chain

import numpy as np
import pytest

from fedroam.comparison import (
    mean_interval,
    members_of,
    play_all,
    read_comparison,
    tables_of,
)
from fedroam.errors import ConfigError
from fedroam.runs import parse, read_rounds, read_users

TABLE = {
    "stop": {"rounds": 6},
    "world": {"users": 9, "stations": 3},
    "compare": {"policies": ["dagsa", "fedcs-low"], "seeds": 2},
}


def comparing(**changes):
    """A small comparison with other [compare] settings."""
    return parse(TABLE | {"compare": TABLE["compare"] | changes})


def without_clocks(table):
    """A table's rows but for measured times."""
    return str(table.drop_columns(["policy_wall_s"]).to_pylist())


def test_two_workers_give_the_tables_of_one_bit_for_bit(tmp_path):
    """Members are independent runs, wherever they are played."""
    one, two = (members_of(comparing(), tmp_path / str(n)) for n in (1, 2))
    told = []
    alone = play_all(one, 1, lambda member, progress: told.append((member.label, progress.round)))
    together = play_all(two, 2)

    assert told == [(label, n) for label in alone.labels for _ in range(2) for n in range(1, 7)]
    for mine, theirs in zip(chain(*one), chain(*two), strict=True):
        assert without_clocks(read_rounds(mine.folder)) == without_clocks(
            read_rounds(theirs.folder)
        )
        users, others = read_users(mine.folder), read_users(theirs.folder)
        assert str(users.to_pylist()) == str(others.to_pylist())
    for measure in ("mean_round_s", "jain", "rounds", "missed_per_round"):
        for label in alone.labels:
            np.testing.assert_array_equal(
                alone.values(label, measure), together.values(label, measure)
            )
    digests = [s["rounds_sha256"] for row in alone.summaries for s in row]
    assert digests == [s["rounds_sha256"] for row in together.summaries for s in row]
    assert len(set(digests)) == 4


def test_a_comparison_goes_on_where_it_stopped(tmp_path):
    """Members that have been played are read, the others played; the tidy table has all."""
    members = members_of(comparing(), tmp_path)
    play_all([[members[0][0]]])
    played = []
    comparison = play_all(members, 1, lambda m, p: played.append((m.label, m.settings.seed)))

    assert ("dagsa", 0) not in played
    assert set(played) == {("dagsa", 1), ("fedcs-low", 0), ("fedcs-low", 1)}
    again = read_comparison(members)
    assert again.summaries == comparison.summaries
    rows = tables_of(members[0][0].settings, comparison).comparison.to_pylist()
    assert [(row["label"], row["seed"]) for row in rows] == [
        ("dagsa", 0),
        ("dagsa", 1),
        ("fedcs-low", 0),
        ("fedcs-low", 1),
    ]


def test_a_mistake_in_a_worker_is_raised_here(tmp_path):
    """A folder with another run is refused from a process as it is from this one."""
    members = members_of(comparing(), tmp_path)
    (members[1][0].folder).mkdir(parents=True)
    (members[1][0].folder / "thesis.tex").write_text("precious")

    with pytest.raises(ConfigError, match="exists and is no run folder"):
        play_all(members, 2)
    assert (members[1][0].folder / "thesis.tex").read_text() == "precious"


def test_policies_with_other_options_get_labels_of_their_own(tmp_path):
    """Numbered, or as the settings say; folders follow the labels."""
    policies = ["dagsa", {"name": "dagsa", "threshold": "raise"}, "all"]
    labels = [row[0].label for row in members_of(comparing(policies=policies), tmp_path)]
    assert labels == ["dagsa-1", "dagsa-2", "all"]
    named = comparing(policies=policies, labels=["a/b", "b", "c"])
    members = members_of(named, tmp_path)
    assert members[0][1].folder == tmp_path / "a-b" / "seed-1"
    assert members[0][1].settings.seed == 1
    assert [row[0].label for row in members_of(comparing(policies=[]), tmp_path)] == [
        "dagsa",
        "random",
        "uniform",
        "fedcs-low",
        "fedcs-high",
        "all",
    ]


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["a"], "has 1 entries, expected 2, one a policy"), (["a", "a"], "expected each once")],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, labels, message):
    """One a policy, each once."""
    with pytest.raises(ConfigError, match=message):
        members_of(comparing(labels=labels), tmp_path)


def test_the_interval_of_a_mean_has_students_width():
    """1, 2, 3: mean 2, deviation 1, two degrees of freedom, whose quantile has a closed form."""
    quantile = (2 * 0.975 - 1) * (2 / (4 * 0.975 * 0.025)) ** 0.5
    assert quantile == pytest.approx(4.3027, abs=1e-4)
    interval = mean_interval(np.array([1.0, 2.0, 3.0]))

    assert interval.mean == 2.0
    assert interval.high - 2.0 == pytest.approx(quantile / 3**0.5, rel=1e-12)
    assert 2.0 - interval.low == pytest.approx(interval.high - 2.0)
    assert str(mean_interval(np.array([1.0, 1.0]))) == "1 [1, 1]"


def test_one_value_says_nothing_of_the_spread():
    """The interval is unbounded."""
    interval = mean_interval(np.array([5.0]))

    assert (interval.mean, interval.low, interval.high) == (5.0, -np.inf, np.inf)


def test_intervals_hold_the_truth_in_95_of_100_cases():
    """4000 samples of five normal numbers: within five standard deviations of 95 %."""
    samples = np.random.default_rng(0).normal(3.0, 2.0, (4000, 5))
    intervals = [mean_interval(row) for row in samples]
    share = np.mean([i.low <= 3.0 <= i.high for i in intervals])

    assert share == pytest.approx(0.95, abs=5 * np.sqrt(0.95 * 0.05 / 4000))

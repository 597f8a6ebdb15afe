"""The commands that prove something: bounds in `solve`, `run` and `compare`, `certify`, T(K)."""

import json

import numpy as np
import pytest

from fedroam.scheduling.interchange import write_problem
from strategies import Kind, random_problem

SMALL = "stop.rounds = 4\nworld = { users = 9, stations = 3 }\n"


@pytest.fixture
def config(tmp_path):
    """A small settings file in the working directory."""
    (tmp_path / "small.toml").write_text(SMALL)
    return "small.toml"


@pytest.fixture
def problem_file(tmp_path):
    """A problem of twelve users and three stations, some of them required."""
    problem = random_problem(np.random.default_rng(0), 12, 3, Kind(required=0.2))
    write_problem(problem, tmp_path / "problem.npz")
    return "problem.npz"


def as_json(done):
    """What a command that went well printed."""
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_solve_tells_bound_and_gap_of_every_policy(fedroam, problem_file):
    """The bound is below every lawful schedule; that of `exact` is its own length, to 1e-5."""
    found = {
        policy: as_json(fedroam("solve", problem_file, "--policy", policy, "--json"))
        for policy in ("dagsa", "all", "certified", "exact")
    }

    for answer in found.values():
        assert answer["gap"] == pytest.approx(answer["round_s"] / answer["bound_s"] - 1)
        assert answer["bound_s"] <= found["exact"]["round_s"] <= answer["round_s"] * (1 + 1e-9)
    assert found["exact"]["gap"] <= 1e-5
    assert found["exact"]["outcome"] == "optimal"


def test_solve_can_prove_more_or_nothing(fedroam, problem_file):
    """`--certify exact` gives the optimum as the bound; `no` leaves the bound out."""
    best = as_json(fedroam("solve", problem_file, "--policy", "exact", "--json"))
    more = as_json(fedroam("solve", problem_file, "--certify", "exact", "--json"))
    none = as_json(fedroam("solve", problem_file, "--certify", "no", "--json"))
    wrong = fedroam("solve", problem_file, "--certify", "perhaps")

    assert more["bound_s"] == pytest.approx(best["bound_s"], rel=1e-5)
    assert "bound_s" not in none
    assert wrong.code == 2
    assert wrong.err.count("\n") == 1


def test_sweep_gives_a_round_length_for_every_number_of_users(fedroam, problem_file):
    """From the required users to all of them; lengths and bounds never fall."""
    sweep = as_json(fedroam("solve", problem_file, "--sweep-selected", "--json"))

    assert sweep["n_selected"][-1] == 12
    assert len(sweep["round_s"]) == len(sweep["bound_s"]) == len(sweep["n_selected"])
    for name in ("n_selected", "round_s", "bound_s"):
        assert sweep[name] == sorted(sweep[name])
    assert all(b <= r for b, r in zip(sweep["bound_s"], sweep["round_s"], strict=True))


def test_a_run_is_certified_while_it_is_played_or_afterwards(fedroam, config):
    """Both give the same figures, in the summary and in the command's JSON."""
    live = as_json(fedroam("run", config, "--certify", "prices", "--out", "live", "--json"))
    plain = as_json(fedroam("run", config, "--out", "plain", "--json"))
    later = as_json(fedroam("certify", "plain", "--json"))
    summary = as_json(fedroam("run", config, "--out", "plain", "--json"))

    assert "mean_gap" not in plain
    assert live["rounds_sha256"] == plain["rounds_sha256"]
    for name in ("mean_bound_s", "mean_gap", "worst_gap"):
        assert live[name] == later[name] == summary[name]


def test_a_comparison_shows_gaps_when_asked(fedroam, config):
    """Every policy's mean gap, in the JSON and as a column of the table."""
    words = (config, "-p", "certified", "-p", "random", "--seeds", "2", "--certify", "exact")
    found = as_json(fedroam("compare", *words, "--out", "a", "--json"))
    table = fedroam("compare", *words, "--out", "a")

    gaps = {name: policy["mean_gap"]["mean"] for name, policy in found["policies"].items()}
    assert 0 <= gaps["certified"] < gaps["random"]
    assert "gap" in table.out


def test_bad_input_to_certify_is_one_line_and_exit_2(fedroam, config):
    """No run there, or a level that does not exist."""
    fedroam("run", config, "--out", "run")
    for words in (("nowhere",), ("run", "--level", "sure")):
        done = fedroam("certify", *words)
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert done.out == ""

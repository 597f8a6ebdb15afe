"""The example app under ``flwr run``: in simulation, and on a SuperLink with SuperNodes."""

import os
import signal

import pytest

from adapters.flower_nodes import flower, wait_until
from fedroam import Dagsa, Fairness, Scenario, Simulation, World
from fedroam.adapters.flower import read_rounds, read_users

PAYLOAD_BIT = 8 * sum(128 + 8 * n for n in (16 * 4, 4))
"""Of the app's model as NumPy files: a header and eight bytes a number."""


def is_over(record) -> bool:
    """The record has been joined: the strategy has returned, or raised."""
    return (record / "rounds.parquet").exists()


@pytest.mark.slow
def test_flwr_run_in_simulation_plays_the_rounds_of_the_world(tmp_path):
    """The users and seconds of the same seed, bit for bit."""
    record = tmp_path / "record"
    with flower(tmp_path / "home") as federation:
        federation.start_superlink(simulates=True)
        resources = "num-supernodes=4 client-resources-num-cpus=1"
        federation.run(resources, seed=3, record=str(record))
        wait_until(lambda: is_over(record), 150, "the run is not over")
    rows = read_rounds(record).to_pylist()
    world = Scenario(World(users=4, stations=2), fairness=Fairness(rho2=0.5))
    expected = Simulation(world, Dagsa(), seed=3, payload_bit=PAYLOAD_BIT).rounds(rounds=3)
    for row, played in zip(rows, expected, strict=True):
        assert row["selected"] == row["used"] == played.schedule.chosen.tolist()
        assert row["length_s"] == played.length_s
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]


@pytest.mark.slow
def test_a_supernode_that_is_killed_in_mid_round_costs_one_deadline(tmp_path):
    """On a real SuperLink: the round closes, the run finishes, the record says who was missing."""
    record = tmp_path / "record"
    with flower(tmp_path / "home") as federation:
        federation.start_superlink(simulates=False)
        nodes = federation.start_supernodes(4)
        # All take part, so that the first round measures everybody.
        federation.run(
            seed=3,
            record=str(record),
            world="measured",
            share=1.0,
            deadline_scale=1.5,
            pause=1.0,
        )

        def is_asked_to_train_again() -> bool:
            return federation.log_of("supernode-2").count("Receiving: train message") == 2

        wait_until(is_asked_to_train_again, 150, "there was no second round")
        os.killpg(nodes[2].pid, signal.SIGKILL)
        wait_until(lambda: is_over(record), 200, "the run is not over")
    rows = read_rounds(record).to_pylist()
    assert [row["round"] for row in rows] == [0, 1, 2]
    assert rows[0]["used"] == [0, 1, 2, 3]
    killed = rows[1]
    assert killed["selected"] == [0, 1, 2, 3]
    assert 2 in killed["missing"]
    assert killed["deadline_s"] == max(10.0, 1.5 * killed["predicted_s"])
    assert killed["deadline_s"] <= killed["waited_s"] < killed["deadline_s"] + 10
    assert 2 not in rows[2]["selected"]  # nobody waits for it again
    assert rows[2]["used"]
    missing = [row["name"] for row in read_users(record).to_pylist() if row["outcome"] == "missing"]
    assert "2" in missing

"""Flower: whom the strategy chooses, what it waits for, what it lets into the model."""

import errno
import logging
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import strategy as flowers
from flwr.supercore.task_identity import TaskIdentity
from hypothesis import given
from hypothesis import strategies as st

from adapters.flower_desk import SHAPE, Desk, Node, app_of, update, weights
from fedroam import Dagsa, Fairness, Random, Scenario, Simulation, World
from fedroam.adapters.flower import (
    Deadline,
    Measured,
    Reporter,
    Scheduled,
    read_rounds,
    read_users,
    record,
)
from fedroam.adapters.flower.measured import MeasuredWorld
from fedroam.adapters.flower.planning import Planner
from fedroam.adapters.flower.reporting import Report
from fedroam.adapters.flower.roster import Roster
from fedroam.adapters.flower.simulated import SimulatedWorld
from fedroam.errors import ConfigError, StorageError

FedAvg = flowers.FedAvg
PAYLOAD_BIT = 8 * len(next(iter(weights().values())).data)

logging.getLogger("flwr").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    """Messages bear the number of the run that they are made in."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1, raising=False)


def fedavg(**options) -> FedAvg:
    """Without evaluation, unless it is asked for."""
    return FedAvg(**{"fraction_evaluate": 0.0, "min_available_nodes": 1} | options)


def scenario(users: int, share: float = 0.5, rho1: float = 0.1) -> Scenario:
    """A small simulated world."""
    return Scenario(World(users=users, stations=2), fairness=Fairness(rho1=rho1, rho2=share))


def everybody(users: int) -> Scenario:
    """A simulated world in which all take part in every round."""
    return scenario(users, share=1.0)


def quick(seconds: float = 0.4) -> Deadline:
    """Closes every round of a simulated world after so long."""
    return Deadline(simulated_s=seconds, evaluate_s=60)


def play(nodes, world, folder, *, rounds=3, wrapped=None, policy="dagsa", **options):
    """The record of a run, its result, and the strategy after it."""
    strategy = Scheduled(wrapped or fedavg(), policy, world=world, record=folder, **options)
    desk = nodes if isinstance(nodes, Desk) else Desk(nodes)
    result = strategy.start(desk, weights(), num_rounds=rounds)
    return read_rounds(folder).to_pylist(), result, strategy


def value_of(result) -> float:
    """The model's number."""
    (array,) = result.arrays.to_numpy_ndarrays()
    assert (array == array.flat[0]).all()
    return float(array.flat[0])


class TestSchedules:
    """Who takes part."""

    @pytest.mark.parametrize("seed", [0, 7])
    def test_the_same_users_for_the_same_seed_as_in_a_simulation(self, seed, tmp_path):
        """Whatever the ids of nodes and the order of their answers: bit for bit its rounds."""
        world = scenario(9)
        simulated = Simulation(world, Dagsa(), seed=seed, payload_bit=PAYLOAD_BIT)
        expected = list(simulated.rounds(rounds=4))
        for n in range(2):
            nodes = [Node(user) for user in reversed(range(9))]
            rows, _, _ = play(nodes, world, tmp_path / str(n), rounds=4, seed=seed)
            assert [row["selected"] for row in rows] == [
                played.schedule.chosen.tolist() for played in expected
            ]
            assert [row["length_s"] for row in rows] == [played.length_s for played in expected]
            assert [row["start_s"] for row in rows] == [played.start_s for played in expected]

    def test_another_seed_chooses_others(self, tmp_path):
        """By chance, with the policy that goes by it."""
        found = []
        for seed in (1, 1, 2):
            nodes = [Node(user) for user in range(12)]
            folder = tmp_path / str(len(found))
            rows, _, _ = play(nodes, Measured(), folder, policy=Random(), seed=seed)
            found.append([row["selected"] for row in rows])
        assert found[0] == found[1] != found[2]

    def test_only_those_who_are_chosen_train_and_the_average_is_flowers(self, tmp_path):
        """The model is what FedAvg makes of the chosen users' updates."""
        nodes = [Node(user) for user in range(6)]
        rows, result, _ = play(nodes, scenario(6), tmp_path / "r")
        expected = 0.0
        for row in rows:
            assert row["used"] == row["selected"]
            assert len(row["selected"]) >= 3
            expected += np.mean([user + 1 for user in row["selected"]])
        assert value_of(result) == pytest.approx(expected, rel=1e-12)
        for user, node in enumerate(nodes):
            assert node.trained == [r["round"] + 1 for r in rows if user in r["selected"]]

    def test_times_are_in_the_metrics(self, tmp_path):
        """Simulated seconds, beside the app's own metrics."""
        rows, result, _ = play([Node(user) for user in range(3)], everybody(3), tmp_path / "r")
        for row, metrics in zip(rows, result.train_metrics_clientapp.values(), strict=True):
            assert metrics["loss"] == 0.5
            assert metrics["fedroam.round_s"] == row["length_s"] == row["predicted_s"]
            assert metrics["fedroam.now_s"] == row["start_s"] + row["length_s"]
            assert metrics["fedroam.n_used"] == 3

    def test_nodes_for_whom_a_world_has_no_room_are_left_out(self, tmp_path):
        """Two users, three nodes."""
        nodes = [Node(name) for name in ("1", "5", "0")]
        rows, _, _ = play(nodes, everybody(2), tmp_path / "r")
        assert nodes[1].trained == []
        assert nodes[0].trained == nodes[2].trained == [1, 2, 3]
        assert {row["n_present"] for row in rows} == {2}

    def test_apps_that_do_not_report_take_part(self, tmp_path):
        """They are named after their nodes."""
        app = ClientApp()
        app.train()(lambda message, context: update(message, 2.0))
        rows, result, _ = play([Node(0, app), Node(1, app)], everybody(2), tmp_path / "r")
        assert all(row["used"] == [0, 1] for row in rows)
        assert value_of(result) == 2.0
        names = set(read_users(tmp_path / "r")["name"].to_pylist())
        assert all(name.startswith("node ") for name in names)

    def test_who_is_away_owes_nothing(self):
        """Rho1 forces nobody to make up for rounds in which it could not take part."""
        world = SimulatedWorld(scenario(4, 0.25, rho1=0.5), 0, PAYLOAD_BIT)
        planner = Planner(Random(), world, Fairness(0.5, 0.25), seed=0)
        present = np.array([True, True, True, False])
        for _ in range(10):
            plan = planner.plan(present)
            assert not plan.problem.required[3]
            planner.settle(plan, finish_s={}, waited_s=1.0, loss={}, samples={})
        required = planner.plan(np.ones(4, bool)).problem.required
        assert not required[3]


class TestWaiting:
    """Late and missing nodes, and those that come and go."""

    def test_a_round_closes_at_its_deadline_and_the_late_one_comes_back(self, tmp_path):
        """Missing, away until its update is there, late, and back again."""
        nodes = [Node(0), Node(1), Node(2)]
        desk = Desk(nodes)

        def slow_down(server_round, arrays):
            nodes[2].delay_s = 2.0 if server_round == 1 else 0.0
            if server_round == 3:
                desk.wait_for_late_ones()

        strategy = Scheduled(
            fedavg(), world=everybody(3), deadline=quick(0.3), record=tmp_path / "r"
        )
        strategy.start(desk, weights(), num_rounds=4, evaluate_fn=slow_down)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert [row["missing"] for row in rows] == [[], [2], [], []]
        assert [row["n_present"] for row in rows] == [3, 3, 2, 3]
        assert [row["late"] for row in rows] == [[], [], [], [2]]
        assert rows[3]["used"] == [0, 1, 2]
        assert 0.3 == rows[1]["deadline_s"] <= rows[1]["waited_s"] < 2.0
        assert rows[1]["length_s"] == rows[1]["predicted_s"]  # the world's clock is simulated

    def test_one_that_never_answers_is_waited_for_once(self, tmp_path):
        """And asked who it is after a few rounds, in case it only lost the message."""
        nodes = [Node(0), Node(1)]

        def hush(server_round, arrays):
            nodes[1].is_silent = server_round == 1

        strategy = Scheduled(
            fedavg(), world=everybody(2), deadline=quick(0.3), record=tmp_path / "r"
        )
        desk = Desk(nodes)
        strategy.start(desk, weights(), num_rounds=8, evaluate_fn=hush)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert [row["missing"] for row in rows] == [[], [1], *[[]] * 6]
        assert nodes[1].trained == [1, 2, 5, 6, 7, 8]

    def test_a_node_that_is_started_anew_is_the_same_user(self, tmp_path):
        """By its name: its old id is gone, the new one was never seen."""
        nodes = [Node(0), Node(1)]
        desk = Desk(nodes)

        def restart(server_round, arrays):
            if server_round == 1:
                nodes[1].is_connected = False
            if server_round == 2:
                desk.join(Node(1))

        strategy = Scheduled(fedavg(), world=everybody(2), record=tmp_path / "r")
        strategy.start(desk, weights(), num_rounds=6, evaluate_fn=restart)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert [row["used"] for row in rows[:2]] == [[0, 1], [0]]
        assert rows[-1]["used"] == [0, 1]
        assert rows[-1]["n_present"] == 2

    def test_one_that_is_lost_in_mid_round_is_missing(self, tmp_path):
        """The server says so, long before the deadline."""
        nodes = [Node(0), Node(1, leaves_at=2)]
        rows, _, _ = play(nodes, everybody(2), tmp_path / "r", deadline=quick(60))
        assert [row["missing"] for row in rows] == [[], [1], []]
        assert [row["n_present"] for row in rows] == [2, 2, 1]
        assert rows[1]["waited_s"] < 30

    def test_a_round_without_any_update_leaves_the_model_as_it_was(self, tmp_path):
        """And the run goes on when somebody is there again."""
        nodes = [Node(0), Node(1)]

        def hush(server_round, arrays):
            for node in nodes:
                node.delay_s = 1.5 if server_round == 1 else 0.0

        strategy = Scheduled(
            fedavg(), world=everybody(2), deadline=quick(0.2), record=tmp_path / "r"
        )
        result = strategy.start(Desk(nodes), weights(), num_rounds=3, evaluate_fn=hush)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert rows[1]["missing"] == [0, 1]
        assert rows[1]["used"] == []
        assert rows[2]["used"]
        assert value_of(result) == 1.5 + np.mean([user + 1 for user in rows[2]["used"]])

    def test_the_first_round_waits_for_as_many_as_the_wrapped_strategy_wants(self, tmp_path):
        """The last of them turns up a little later."""
        desk = Desk([Node(0), Node(1)])
        looks, get_node_ids = [], desk.get_node_ids

        def looking():
            looks.append(1)
            if len(looks) == 4:
                desk.join(Node(2))
            return get_node_ids()

        desk.get_node_ids = looking
        rows, _, _ = play(
            desk, everybody(3), tmp_path / "r", wrapped=fedavg(min_available_nodes=3), rounds=1
        )
        assert rows[0]["used"] == [0, 1, 2]

    def test_in_a_loop_of_ones_own(self):
        """The two calls without ``start``: no deadline, the rest as always."""
        desk = Desk([Node(0), Node(1)])
        strategy = Scheduled(fedavg(), world=everybody(2))
        messages = list(strategy.configure_train(1, weights(), ConfigRecord(), desk))
        arrays, metrics = strategy.aggregate_train(1, desk.send_and_receive(messages))
        assert value_of(SimpleNamespace(arrays=arrays)) == 1.5
        assert metrics["fedroam.n_used"] == 2


def replying(**content):
    """An app whose updates have parts exchanged: by a value, or left out (None)."""

    def train(message, context):
        reply = update(message, 1.0)
        for name, value in content.items():
            del reply.content[name]
            if value is not None:
                reply.content[name] = value
        return reply

    return app_of(train)


def bytes_of(array) -> bytes:
    """As Flower sends it."""
    return next(iter(ArrayRecord([array]).values())).data


def forged(data: bytes) -> ArrayRecord:
    """The model's one array by name, type and shape; what is in it is something else."""
    (name,) = weights()
    return ArrayRecord({name: Array("float64", SHAPE, "numpy.ndarray", data)})


BAD = {
    "nan": ({"arrays": weights(np.nan)}, "holds nan"),
    "infinity": ({"arrays": weights(np.inf)}, "holds nan or infinity"),
    "shape": ({"arrays": ArrayRecord([np.zeros((2, 2))])}, "has shape"),
    "bytes": ({"arrays": forged(b"")}, "cannot be read"),
    "other bytes": ({"arrays": forged(b"\x93NUMPY\x01")}, "cannot be read"),
    "shape in truth": ({"arrays": forged(bytes_of(np.zeros(4)))}, "has shape (4,)"),
    "text": ({"arrays": forged(bytes_of(np.full(SHAPE, "a")))}, "expected numbers"),
    "names": ({"arrays": ArrayRecord({})}, "is missing"),
    "no arrays": ({"arrays": None}, "no arrays"),
    "no metrics": ({"metrics": None}, "0 metric records"),
    "no weight": ({"metrics": MetricRecord({"loss": 1.0})}, "num-examples is nan"),
    "weight": ({"metrics": MetricRecord({"num-examples": np.nan})}, "num-examples is nan"),
    "huge": ({"metrics": MetricRecord({"num-examples": 1e30})}, "num-examples is 1e+30"),
    "negative": ({"metrics": MetricRecord({"num-examples": -5})}, "num-examples is -5"),
}


class TestUpdates:
    """What reaches the model."""

    @pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD.keys())
    def test_what_would_spoil_the_model_is_refused_and_counted(self, content, reason, tmp_path):
        """The run goes on with what the others sent."""
        nodes = [Node(0), Node(1, replying(**content)), Node(2)]
        rows, result, _ = play(nodes, everybody(3), tmp_path / "r")
        assert [row["refused"] for row in rows] == [[1]] * 3
        assert [row["used"] for row in rows] == [[0, 2]] * 3
        assert value_of(result) == 6.0
        assert result.train_metrics_clientapp[1]["fedroam.n_refused"] == 1
        told = [u for u in read_users(tmp_path / "r").to_pylist() if u["user"] == 1]
        assert all(u["outcome"] == "refused" and reason in u["reason"] for u in told)

    def test_an_app_that_raises_has_failed(self, tmp_path):
        """With its reason."""

        def broken(message, context):
            raise ValueError("no data\non this disk")

        nodes = [Node(0), Node(1, app_of(broken))]
        rows, result, _ = play(nodes, everybody(2), tmp_path / "r", rounds=2)
        assert [row["failed"] for row in rows] == [[1]] * 2
        assert value_of(result) == 2.0
        assert "no data" in read_users(tmp_path / "r").to_pylist()[1]["reason"]

    def test_reports_do_not_reach_the_wrapped_strategy(self, tmp_path):
        """It gets what it would get without fedroam."""
        kinds = []

        class Watching(FedAvg):
            def aggregate_train(self, server_round, replies):
                replies = list(replies)
                kinds.extend(sorted(reply.content) for reply in replies)
                return super().aggregate_train(server_round, replies)

        wrapped = Watching(fraction_evaluate=0.0)
        play([Node(0), Node(1)], everybody(2), tmp_path / "r", wrapped=wrapped, rounds=1)
        assert kinds == [["arrays", "metrics"]] * 2


WRAPPED = {
    "a part of the nodes": lambda: fedavg(fraction_train=0.3),
    "at least so many nodes": lambda: fedavg(min_train_nodes=5, min_available_nodes=2),
    "FedProx": lambda: flowers.FedProx(fraction_evaluate=0.0, proximal_mu=0.1),
    "FedAvgM": lambda: flowers.FedAvgM(fraction_evaluate=0.0),
    "FedAdam": lambda: flowers.FedAdam(fraction_evaluate=0.0),
    "FedMedian": lambda: flowers.FedMedian(fraction_evaluate=0.0),
    "Krum": lambda: flowers.Krum(fraction_evaluate=0.0),
    "DP": lambda: flowers.DifferentialPrivacyServerSideFixedClipping(
        fedavg(), noise_multiplier=0.1, clipping_norm=1.0, num_sampled_clients=3
    ),
}


class TestWrapping:
    """Any strategy of Flower's."""

    @pytest.mark.parametrize("make", WRAPPED.values(), ids=WRAPPED.keys())
    def test_each_chosen_user_gets_one_message_of_any_strategy(self, make, tmp_path):
        """However many nodes it would have taken by itself."""
        nodes = [Node(user) for user in range(4)]
        rows, result, _ = play(nodes, scenario(4), tmp_path / "r", wrapped=make())
        for user, node in enumerate(nodes):
            assert node.trained == [r["round"] + 1 for r in rows if user in r["selected"]]
        assert all(row["used"] == row["selected"] for row in rows)
        assert np.isfinite(result.arrays.to_numpy_ndarrays()[0]).all()

    def test_contents_of_its_own_for_each_node_are_kept(self):
        """As long as everybody who is chosen gets one; else it is refused, and said why."""

        class Personal(FedAvg):
            def configure_train(self, server_round, arrays, config, grid):
                ids = sorted(grid.get_node_ids())[: self.most]
                for node in ids:
                    content = RecordDict({"arrays": arrays, "config": ConfigRecord({"you": node})})
                    yield Message(content, node, "train")

        desk = Desk([Node(0), Node(1)])
        strategy = Scheduled(Personal(fraction_evaluate=0.0), world=everybody(2))
        strategy.strategy.most = 2
        messages = strategy.configure_train(1, weights(), ConfigRecord(), desk)
        assert len(messages) == 2
        for message in messages:
            assert message.content["config"]["you"] == message.metadata.dst_node_id
        strategy.strategy.most = 1
        strategy.strategy.fraction_train = 0.5

        class TwoKinds(Personal):
            def configure_train(self, server_round, arrays, config, grid):
                first, second, *_ = super().configure_train(server_round, arrays, config, grid)
                return [first, second]

        desk = Desk([Node(user) for user in range(3)])
        strategy = Scheduled(TwoKinds(fraction_evaluate=0.0), world=everybody(3))
        strategy.strategy.most = 3
        with pytest.raises(ConfigError, match="TwoKinds sends different contents"):
            strategy.configure_train(1, weights(), ConfigRecord(), desk)

    def test_evaluation_is_of_present_users_and_follows_the_seed(self, tmp_path):
        """Half of those who are there, the same for the same seed."""
        found = []
        for seed in (1, 1, 2):
            asked = []

            class Watching(FedAvg):
                def aggregate_evaluate(self, server_round, replies):
                    replies = list(replies)
                    asked.append(sorted(r.content["metrics"]["who"] for r in replies))  # noqa: B023
                    return super().aggregate_evaluate(server_round, replies)

            wrapped = Watching(fraction_evaluate=0.5)
            nodes = [Node(user) for user in range(8)]
            folder = tmp_path / str(len(found))
            play(nodes, everybody(8), folder, wrapped=wrapped, seed=seed, rounds=4)
            assert [len(who) for who in asked] == [4] * 4
            found.append(asked)
        assert found[0] == found[1] != found[2]

    def test_a_strategy_that_trains_nobody_is_let_be(self, tmp_path):
        """``fraction_train=0``: evaluation only."""
        nodes = [Node(0), Node(1)]
        wrapped = FedAvg(fraction_train=0.0, fraction_evaluate=1.0)
        rows, result, _ = play(nodes, everybody(2), tmp_path / "r", wrapped=wrapped)
        assert rows == []
        assert result.evaluate_metrics_clientapp[3]["who"] == 0.5
        assert nodes[0].trained == []


class TestMeasuring:
    """The real world, by reports and arrival times."""

    def test_those_who_are_measured_to_be_quick_are_chosen(self, tmp_path):
        """After everybody was measured; predictions and deadlines come from the schedule."""
        nodes = [Node(user, delay_s=0.0 if user < 3 else 0.5) for user in range(6)]
        world = Measured(fairness=Fairness(rho1=0.0, rho2=1.0))
        strategy = Scheduled(
            fedavg(),
            world=world,
            record=tmp_path / "r",
            deadline=Deadline(scale=20.0, floor_s=0.1),
        )

        def then(server_round, arrays):
            if server_round == 2:  # everybody has been measured
                strategy.planner.fairness = Fairness(rho1=0.0, rho2=0.5)

        strategy.start(Desk(nodes), weights(), num_rounds=4, evaluate_fn=then)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert rows[0]["deadline_s"] == np.inf
        for row in rows[1:]:
            assert row["deadline_s"] == max(0.1, 20.0 * row["predicted_s"])
        # As long as it took, or half as long: the slow half gets all of the band by now.
        assert 0.45 < rows[1]["predicted_s"] / rows[0]["waited_s"] < 1.1
        assert rows[2]["selected"] == rows[3]["selected"] == [0, 1, 2]
        assert rows[3]["waited_s"] < rows[1]["waited_s"]

    def test_an_update_that_came_too_late_is_measured_all_the_same(self, tmp_path):
        """Who is slower than the deadline would otherwise never be known to be."""
        nodes = [Node(0), Node(1)]
        desk = Desk(nodes)

        def slow_down(server_round, arrays):
            nodes[1].delay_s = 1.5 if server_round == 0 else 0.0
            if server_round == 2:
                desk.wait_for_late_ones()

        world = Measured(fairness=Fairness(rho2=1.0))
        deadline = Deadline(unmeasured_s=0.3, floor_s=60.0)
        strategy = Scheduled(fedavg(), world=world, deadline=deadline, record=tmp_path / "r")
        strategy.start(desk, weights(), num_rounds=3, evaluate_fn=slow_down)
        rows = read_rounds(tmp_path / "r").to_pylist()
        assert [row["missing"] for row in rows] == [[1], [], []]
        assert rows[2]["late"] == [1]
        assert rows[2]["selected"] == [0, 1]
        assert rows[2]["deadline_s"] == 60.0  # that of users who have been measured

    def test_orders_say_what_each_user_was_given(self, tmp_path):
        """Round, station, bandwidth and deadline."""
        nodes = [Node(0), Node(1)]
        world = Measured(band_hz=(3e6, 1e6), fairness=Fairness(rho2=1.0))
        play(nodes, world, tmp_path / "r", rounds=2)
        users = read_users(tmp_path / "r").to_pylist()
        for user, node in enumerate(nodes):
            rows = [row for row in users if row["user"] == user]
            assert [order["round"] for order in node.orders] == [0, 1]
            for order, row in zip(node.orders, rows, strict=True):
                assert order["station"] == row["station"]
                assert order["bandwidth_hz"] == row["bandwidth_hz"] > 0

    def test_signals_and_places_become_links(self):
        """SNR by Shannon, given efficiencies as they are, places by the radio model."""
        known = Measured(band_hz=(1e6, 1e6), station_m=((0.0, 0.0), (900.0, 0.0)))
        world = MeasuredWorld(known, 0, PAYLOAD_BIT)
        world.hear(0, Report(station=(1,), snr_db=(10.0,)))
        world.hear(1, Report(efficiency=(3.0, 4.0)))
        world.hear(2, Report(x_m=100.0, y_m=0.0))
        links = world.look(0, 4).links
        assert links.indptr.tolist() == [0, 1, 3, 5, 7]
        assert links.station.tolist() == [1, 0, 1, 0, 1, 0, 1]
        assert links.efficiency[:3] == pytest.approx([np.log2(11), 3.0, 4.0])
        assert links.efficiency[3] > 2 * links.efficiency[4] > 0
        assert links.efficiency[5:] == pytest.approx([1.0, 1.0])

    def test_measured_uploads_are_predicted_to_take_as_long_again(self):
        """Seconds, bits and band of the last upload: the same band takes the same time."""
        world = MeasuredWorld(Measured(smoothing=1.0), 0, 4e6)
        world.hear(0, Report(compute_s=2.0, upload_s=2.5, upload_bit=1e6, bandwidth_hz=2e5))
        view = world.look(0, 1)
        assert 1e6 / (2e5 * view.links.efficiency[0]) == pytest.approx(2.5)
        assert view.compute_s[0] == 2.0
        assert world.is_measured(np.array([0]))

    def test_a_crowded_query_does_not_stay_in_the_predictions(self):
        """An empty message does not take longer than an update took without its training."""
        world = MeasuredWorld(Measured(fairness=Fairness(rho2=1.0)), 0, PAYLOAD_BIT)
        planner = Planner(Dagsa(), world, Fairness(rho2=1.0), seed=0)
        world.hear(0, Report(compute_s=1.0), trip_s=50.0)
        plan = planner.plan(np.ones(1, bool))
        assert plan.verdict.round_s > 50
        planner.settle(plan, finish_s={0: 3.0}, waited_s=3.0, loss={}, samples={})
        assert planner.plan(np.ones(1, bool)).verdict.round_s == pytest.approx(3.0, rel=0.01)

    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from([f for f in Report.__dataclass_fields__ if f != "name"]),
                st.one_of(
                    st.floats(),
                    st.integers(),
                    st.booleans(),
                    st.text(max_size=3),
                    st.lists(st.one_of(st.floats(), st.integers(-2, 3)), max_size=4),
                ),
            ),
            max_size=4,
        )
    )
    def test_no_report_breaks_the_next_round(self, said):
        """Whatever a node says, the problem can be posed and solved."""
        known = Measured(band_hz=(1e6, 2e6), station_m=((0.0, 0.0), (900.0, 0.0)))
        world = MeasuredWorld(known, 0, PAYLOAD_BIT)
        planner = Planner(Dagsa(), world, Fairness(), seed=0)
        for report in said:
            world.hear(0, Report.read(report), trip_s=0.1)
            plan = planner.plan(np.ones(2, bool))
            assert 0 < plan.verdict.round_s < np.inf
            finish_s = dict.fromkeys(plan.schedule.chosen.tolist(), 0.5)
            planner.settle(plan, finish_s=finish_s, waited_s=1.0, loss={}, samples={})

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Measured(band_hz=0.0), "band_hz is 0.0"),
            (lambda: Measured(band_hz=(1e6,), station_m=((0, 0), (1, 1))), "station_m has 2"),
            (lambda: Measured(smoothing=np.nan), "smoothing is nan"),
            (lambda: Deadline(scale=0.5), "scale is 0.5"),
            (lambda: Deadline(unmeasured_s=0), "unmeasured_s is 0"),
            (lambda: Deadline(evaluate_s=np.nan), "evaluate_s is nan"),
            (lambda: Scheduled("FedAvg"), "strategy is 'FedAvg'"),
            (lambda: Scheduled(fedavg(), seed=-1), "seed is -1"),
            (lambda: Scheduled(fedavg(), policy="dagza"), "dagsa"),
            (lambda: Scheduled(fedavg(), world="mnist"), "world is 'mnist'"),
        ],
    )
    def test_nonsense_is_refused_at_once(self, make, message):
        """With the value, and what was expected."""
        with pytest.raises(ConfigError, match=message):
            make()


class TestReporting:
    """The client's side."""

    def context(self, **config):
        """Of an app on a node with this configuration."""
        return Context(1, 1, config, RecordDict(), {})

    def test_names(self):
        """``user`` before ``partition-id``, or what a function says; nothing else is stable."""
        both = self.context(**{"user": "anna", "partition-id": 3})
        assert Reporter().report(both)["name"] == "anna"
        assert Reporter().report(self.context(**{"partition-id": 3}))["name"] == "3"
        assert Reporter().report(self.context())["name"] == ""
        named = Reporter(name=lambda context: context.node_config["imei"])
        assert named.report(self.context(imei=49))["name"] == "49"

    def test_measurements_of_numpys_kinds_are_sent(self):
        """Records take plain numbers and lists only."""
        reporter = Reporter(
            lambda context: {"snr_db": np.array([1.0, 2.0]), "x_m": np.float32(3), "y_m": (4.0,)}
        )
        said = reporter.report(self.context())
        assert said["snr_db"] == [1.0, 2.0]
        assert said["x_m"] == 3.0
        assert Report.read(said).y_m == 4.0

    def test_an_update_is_worth_more_than_a_measurement(self, caplog):
        """What ``measure`` raises is logged, and the rest reported."""

        def broken(context):
            raise OSError("no modem")

        assert Reporter(broken).report(self.context(user=1))["name"] == "1"
        assert "no modem" in caplog.text

    def test_legacy_clients_report_too(self, tmp_path):
        """``client_fn`` of Flower's older interface, through the same mod."""
        from flwr.client import NumPyClient

        from fedroam.adapters.flower import reporting_app

        app = reporting_app(lambda context: NumPyClient().to_client())
        message = Message(RecordDict(), 5, "query.fedroam")
        message.metadata.__dict__["_message_id"] = "m"
        reply = app(message, self.context(user=4))
        assert reply.content["fedroam.report"]["name"] == "4"

    def test_a_client_loads_flower_and_nothing_heavy_of_ours(self):
        """Its process is started for every message."""
        program = (
            "import sys; from fedroam.adapters.flower import reporting_app; "
            "print([m for m in ('numba', 'scipy', 'pyarrow', 'ray') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]"


def test_without_flower_the_cure_is_named():
    """The extra is optional."""
    program = (
        "import sys; sys.modules['flwr'] = None\n"
        "import fedroam.adapters.flower as ours\n"
        "from fedroam.errors import ConfigError\n"
        "try:\n    ours.Scheduled\n"
        "except ConfigError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Flower is not installed: pip install 'fedroam[flower]'\n"


class TestRoster:
    """Which node is which user."""

    @given(st.lists(st.one_of(st.integers(0, 30).map(str), st.text(max_size=3)), unique=True))
    def test_users_follow_from_names_alone(self, names):
        """Not from ids, nor from the order of answers; each name is a user of its own."""
        one, other = Roster(), Roster()
        first = one.admit({100 + i: name for i, name in enumerate(names)})
        second = other.admit({900 - i: name for i, name in enumerate(names)})
        by_name = {names[node - 100]: user for node, user in first.items()}
        assert by_name == {names[900 - node]: user for node, user in second.items()}
        assert len(set(by_name.values())) == len(names)
        for name, user in by_name.items():
            if name.isascii() and name.isdecimal() and str(int(name)) == name:
                assert user == int(name)

    def test_the_one_who_speaks_last_is_the_user(self):
        """A program that was started anew takes its own place."""
        roster = Roster()
        roster.admit({11: "0", 12: "1"})
        roster.admit({13: "1"})
        assert roster.node_of == {0: 11, 1: 13}
        assert roster.user_of == {11: 0, 13: 1}


class TestRecord:
    """What is left of a run."""

    def test_another_runs_record_is_not_touched(self, tmp_path):
        """Before anything is sent."""
        play([Node(0)], everybody(1), tmp_path / "r", rounds=1)
        node = Node(0)
        with pytest.raises(ConfigError, match="holds the record of another run"):
            play([node], everybody(1), tmp_path / "r")
        assert node.trained == []

    def test_a_folder_that_cannot_be_one_is_told_before_anything_is_sent(self, tmp_path):
        """One line, which names it."""
        (tmp_path / "r").write_text("mine")
        node = Node(0)
        with pytest.raises(ConfigError, match=r"the folder .*rounds cannot be made"):
            play([node], everybody(1), tmp_path / "r")
        assert node.trained == []
        assert (tmp_path / "r").read_text() == "mine"

    def test_a_full_disk_loses_no_round_that_was_written(self, tmp_path, monkeypatch):
        """The error names the folder; what stood there stands there."""
        written = record.write_table

        def full(table, path):
            if "round" in table.column_names and table["round"][0].as_py() >= 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            written(table, path)

        monkeypatch.setattr(record, "write_table", full)
        with pytest.raises(StorageError, match=r"/r: No space left .* so far are safe"):
            play([Node(0)], everybody(1), tmp_path / "r", rounds=4)
        assert read_rounds(tmp_path / "r")["round"].to_pylist() == [0, 1]
        assert not list((tmp_path / "r").rglob("*.part"))

    def test_rounds_can_be_read_while_the_run_goes_on_and_after_it_broke_off(self, tmp_path):
        """Each is there as soon as it is over; nothing half written is left."""
        counts = []

        def look(server_round, arrays):
            counts.append(read_rounds(tmp_path / "r").num_rows)
            if server_round == 3:
                raise KeyboardInterrupt

        strategy = Scheduled(fedavg(), world=everybody(2), record=tmp_path / "r")
        with pytest.raises(KeyboardInterrupt):
            strategy.start(Desk([Node(0), Node(1)]), weights(), num_rounds=9, evaluate_fn=look)
        assert counts == [0, 1, 2, 3]
        assert sorted(p.name for p in (tmp_path / "r").iterdir()) == [
            "rounds.parquet",
            "users.parquet",
        ]
        assert read_users(tmp_path / "r")["round"].to_pylist() == [0, 0, 1, 1, 2, 2]

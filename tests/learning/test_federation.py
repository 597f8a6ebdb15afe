"""Rounds of federated training: FedAvg by the book, the same for all, and resumable."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fedroam.errors import ConfigError, ContractError, FedroamError
from fedroam.learning.aggregation import SERVERS, Adam, Average, Momentum
from fedroam.learning.checkpoints import load_arrays, save_arrays
from fedroam.learning.datasets import Synthetic
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Dirichlet, Iid
from fedroam.learning.records import LocalTraining
from fedroam.streams import stream
from learning.softmax import Broken, Softmax

SMALL = LearningSettings(
    dataset=Synthetic(n_train=240, n_test=600, side=8, classes=4),
    partition=Dirichlet(1.0, 3),
    trainer=Softmax(),
    local=LocalTraining(local_epochs=2, batch=8, lr=0.1),
)


def federation(workers=0, **changes) -> Federation:
    """Twelve users of the small set."""
    return Federation(replace(SMALL, **changes), users=12, seed=3, workers=workers)


def chosen(round: int) -> np.ndarray:
    """Some users, others in each round, not sorted."""
    return np.random.default_rng(round).permutation(12)[:5]


def play(federation: Federation, rounds) -> list:
    """What the rounds report."""
    return [federation.train(round, chosen(round)) for round in rounds]


def test_rounds_are_plain_loop_fedavg():
    """The paper's ``sum n_i w_i / sum n_i`` over those who took part, with plain loops."""
    data, trainer = SMALL.dataset.load(), Softmax()
    weights = trainer.initial(stream(3, "weights"))
    partition = SMALL.partition(data.train_y, 12, stream(3, "partition"))
    for round in range(3):
        updates = []
        for user in chosen(round):
            rng = stream(3, "batches", round, int(user))
            samples = partition.samples_of(user)
            updates.append(trainer.train(weights, data, samples, SMALL.local, rng))
        total = sum(update.n_samples for update in updates)
        mean = np.zeros(weights.size)
        for p in range(weights.size):
            for update in updates:
                mean[p] += update.n_samples / total * float(update.weights[p])
        weights = mean.astype(np.float32)

    with federation() as ours:
        reports = play(ours, range(3))
        np.testing.assert_allclose(ours.weights, weights, rtol=2e-6, atol=1e-8)
        np.testing.assert_array_equal(reports[2].users, chosen(2))
        np.testing.assert_array_equal(reports[2].samples, partition.counts[chosen(2)])
        np.testing.assert_array_equal(reports[2].loss, [update.loss for update in updates])
        assert reports[2].n_refused == 0


@pytest.mark.parametrize("server", [Average(), Momentum(), Adam()], ids=list(SERVERS))
def test_workers_give_the_same_model_as_none(server):
    """To the last bit, with every server rule."""
    digests = set()
    for workers in (0, 2):
        with federation(workers, server=server) as ours:
            play(ours, range(2))
            digests.add((ours.weights_sha256, ours.evaluate().loss_sum))
    assert len(digests) == 1


@pytest.mark.parametrize("server", [Average(), Momentum(), Adam()], ids=list(SERVERS))
def test_a_resumed_federation_goes_on_to_the_same_bits(tmp_path, server):
    """Through a checkpoint file, after any round."""
    with federation(server=server) as whole:
        play(whole, range(2))
        save_arrays(tmp_path / "a.safetensors", whole.state())
        play(whole, range(2, 5))
    with federation(server=server) as resumed:
        resumed.restore(load_arrays(tmp_path / "a.safetensors")[0])
        play(resumed, range(2, 5))
        assert resumed.weights_sha256 == whole.weights_sha256


def test_a_state_is_a_copy():
    """A later round does not change it, nor does changing it change the model."""
    with federation(server=Momentum()) as ours:
        state = ours.state()
        before = {name: array.copy() for name, array in state.items()}
        ours.restore(state)
        play(ours, range(1))
        for name, array in state.items():
            np.testing.assert_array_equal(array, before[name])
            array[...] = 7
        assert ours.weights.max() < 7
        with pytest.raises(ValueError, match="read-only"):
            ours.weights[0] = 0


def test_training_learns():
    """From chance, a quarter, to three quarters and more in twenty rounds."""
    with federation() as ours:
        before = ours.evaluate().accuracy
        play(ours, range(20))
        after = ours.evaluate()
    assert before < 0.5 < 0.75 < after.accuracy
    assert after.count.sum() == 600


def test_updates_that_are_not_numbers_are_refused_counted_and_reported():
    """The model is the average of the others."""
    with federation(trainer=Broken(kind="nan"), partition=Iid()) as ours:
        report = ours.train(0, np.arange(12))
        assert 0 < report.n_refused < 12
        assert sorted([*report.users, *report.refused]) == list(range(12))
        assert np.isfinite(report.loss).all()
        assert np.isfinite(ours.weights).all()
        before = ours.weights_sha256
        only_bad = ours.train(1, report.refused)
        assert only_bad.users.size == 0
        assert ours.weights_sha256 == before, "nobody sent anything fit"


def test_a_fraction_of_the_data_is_used_for_quick_looks():
    """A random part, the same under a seed, divided and tested."""
    with federation(train_fraction=0.5, test_fraction=0.1) as ours:
        assert ours.samples_per_user.sum() == 120
        assert ours.evaluate().count.sum() == 60
        assert ours.label_histograms.shape == (12, 4)
        assert ours.label_histograms.sum() == 120
        digest = ours.partition.sample.tobytes()
    with federation(train_fraction=0.5) as again:
        assert again.partition.sample.tobytes() == digest
    with pytest.raises(ConfigError, match="train_fraction is 0"):
        LearningSettings(train_fraction=0)
    with pytest.raises(ConfigError, match="test_fraction is nan"):
        LearningSettings(test_fraction=float("nan"))


def test_the_payload_follows_the_parameters():
    """32 bits each."""
    with federation() as ours:
        assert ours.n_parameters == 260
        assert ours.payload_bit == 8320


@pytest.mark.parametrize(
    ("users", "message"),
    [([1, 1], "asked to train twice"), ([12], "user 12 is asked"), ([-1], "user -1 is asked")],
)
def test_impossible_users_are_a_broken_contract(users, message):
    """A policy's mistake must not be averaged."""
    with federation() as ours, pytest.raises(ContractError, match=message):
        ours.train(0, np.array(users))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {"weights": s["weights"]}, "expected"),
        (lambda s: s | {"weights": s["weights"][1:]}, r"'weights' is float32\(259,\)"),
        (lambda s: s | {"weights": s["weights"].astype("f8")}, "is float64"),
    ],
)
def test_a_state_of_something_else_is_refused(change, message):
    """Such as a checkpoint of another model."""
    with federation(server=Momentum()) as ours, pytest.raises(ConfigError, match=message):
        ours.restore(change(ours.state()))


def test_nobody_is_not_a_federation():
    """At least one user."""
    with pytest.raises(ConfigError, match="users is 0"):
        Federation(SMALL, users=0)


@dataclass(frozen=True)
class Odd:
    """A server rule, a partition rule and a data set in one, which answers what it is told to."""

    answer: Callable[..., Any]
    name = "odd"

    def start(self, n_parameters):
        """Nothing to remember."""
        return {}

    def step(self, weights, mean, state):
        """Whatever."""
        return self.answer(weights), state

    def __call__(self, labels, n_users, rng):
        """Whatever."""
        return self.answer(labels)

    def load(self, folder):
        """Whatever."""
        return self.answer(folder)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda weights: weights / 0, "server odd answered nan or infinity in round 0"),
        (lambda weights: weights[1:], r"server odd answered float32.259,. in round 0"),
        (lambda weights: weights.no, "server odd in round 0 raised AttributeError: 'numpy.ndarray"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_a_servers_rule_does_wrong_is_told_with_its_name(answer, message):
    """And the model stays as it was."""
    with federation(server=Odd(answer)) as ours:
        before = ours.weights_sha256
        with pytest.raises(FedroamError, match=message):
            ours.train(0, np.arange(12))
        assert ours.weights_sha256 == before


@pytest.mark.parametrize(
    ("family", "answer", "message"),
    [
        ("dataset", lambda _: 3, "data set odd loaded a int, expected a Dataset"),
        ("dataset", lambda _: {}["x"], "data set odd raised KeyError: 'x'"),
        ("partition", lambda _: 3, "partition odd raised AttributeError"),
        ("partition", lambda _: {}["x"], "partition odd raised KeyError: 'x'"),
    ],
)
def test_what_other_plug_ins_do_wrong_is_told_with_their_name(family, answer, message):
    """In one line, before anything is trained."""
    with pytest.raises(ContractError, match=message):
        federation(**{family: Odd(answer)})


def test_the_built_in_networks_train_in_workers():
    """The native trainer, by names, as a settings file gives them."""
    settings = LearningSettings(
        dataset=Synthetic(n_train=240, n_test=600, side=8, classes=4),
        partition=Iid(),
        model="logistic",
        local=LocalTraining(local_epochs=1, batch=8, lr=0.1),
    )
    digests = set()
    for workers in (0, 2):
        with Federation(settings, users=12, workers=workers) as ours:
            play(ours, range(2))
            digests.add(ours.weights_sha256)
    assert len(digests) == 1

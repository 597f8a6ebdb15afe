"""The torch trainer: the built-in networks as everywhere, and modules of the user's."""

import sys

import numpy as np
import pytest
import torch

from fedroam.errors import ConfigError, ContractError
from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.records import LocalTraining
from fedroam.learning.torch_trainer import TorchTrainer, UserModule
from fedroam.learning.trainer_contract import check_trainer
from learning.plain import assert_same_training, plain_training
from learning.toys import toy_images


def user(name):
    """A module of tests/learning/toys.py for the toy images."""
    return UserModule(f"learning.toys:{name}", channels=1, side=16, n_classes=10)


@pytest.mark.parametrize("name", MODELS)
def test_both_trainers_agree_over_a_round(name):
    """Same first weights, same batches, the same result to rounding, whichever is used."""
    dataset = toy_images(channels=2)
    network = MODELS[name].network(dataset)
    how = LocalTraining(local_epochs=2, batch=20, lr=0.02, momentum=0.5, prox=0.3)
    results = []
    for trainer in (NativeTrainer(network), TorchTrainer(network)):
        weights = trainer.initial(np.random.default_rng(1))
        update = trainer.train(weights, dataset, np.arange(70), how, np.random.default_rng(2))
        results.append((weights, update, trainer.evaluate(weights, dataset, np.arange(50))))
    (weights, ours, judged), (same, theirs, judged_too) = results
    assert np.array_equal(weights, same)
    assert_same_training(ours.weights, theirs.weights, weights)
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-5)
    assert judged.loss_sum == pytest.approx(judged_too.loss_sum, rel=1e-6)
    assert np.array_equal(judged.correct, judged_too.correct)


def test_a_local_training_is_torch_optims():
    """The fused step over all tensors is torch.optim.SGD's, with momentum and prox."""
    dataset = toy_images()
    network = MODELS["mlp"].network(dataset)
    how = LocalTraining(local_epochs=2, batch=20, lr=0.02, momentum=0.9, prox=0.1)
    weights = network.initial(np.random.default_rng(1))
    samples = np.arange(70)
    update = TorchTrainer(network).train(weights, dataset, samples, how, np.random.default_rng(2))
    theirs, _ = plain_training(network, weights, dataset, samples, how, np.random.default_rng(2))
    assert_same_training(update.weights, theirs, weights)


@pytest.mark.parametrize("name", ["with_batch_norm", "with_dropout", "with_frozen_part"])
def test_modules_of_the_users_keep_the_contract(name):
    """Buffers, random layers and frozen parts: pure, repeatable, learning."""
    check_trainer(TorchTrainer(user(name)), toy_images())


def test_running_means_travel_with_the_weights():
    """Floating-point buffers are the end of the vector; counters are not in it."""
    trainer = TorchTrainer(user("with_batch_norm"))
    # conv 4*9+4, batch norm 4+4, dense 4*14*14*10+10, then running mean and variance 4+4
    assert trainer.n_parameters == 40 + 8 + 7850 + 8
    weights = trainer.initial(np.random.default_rng(0))
    assert weights[-8:].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    update = trainer.train(
        weights, toy_images(), np.arange(40), LocalTraining(1), np.random.default_rng(0)
    )
    assert np.all(update.weights[-8:] != weights[-8:])


def test_frozen_parameters_stay_as_they_are():
    """What the user froze is sent but not trained."""
    trainer = TorchTrainer(user("with_frozen_part"))
    weights = trainer.initial(np.random.default_rng(0))
    update = trainer.train(
        weights, toy_images(), np.arange(40), LocalTraining(1), np.random.default_rng(0)
    )
    frozen = 256 * 30 + 30
    assert np.array_equal(update.weights[:frozen], weights[:frozen])
    assert np.all(update.weights[-10:] != weights[-10:])


def test_pytorchs_own_state_is_left_alone():
    """Neither its random numbers nor its number of threads change for the rest of the program."""
    trainer, threads = TorchTrainer(user("with_dropout")), torch.get_num_threads()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    weights = trainer.initial(np.random.default_rng(0))
    trainer.train(weights, toy_images(), np.arange(40), LocalTraining(1), np.random.default_rng(0))
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("too_many_outputs", ContractError, r"\(2, 11\), expected \(2, 10\)"),
        ("for_other_images", ConfigError, "does not take images of 1 x 16 x 16"),
        ("in_double", ContractError, "1.weight is torch.float64"),
        ("not_a_module", ContractError, "returned int"),
        ("that_raises", ContractError, r"raised LookupError: nothing for 16 .toys.py:\d+."),
        ("that_raises_later", ContractError, "'learning.toys:that_raises_later' raised LookupErr"),
        ("missing", ConfigError, "cannot load 'learning.toys:missing'"),
    ],
)
def test_mistakes_in_a_users_module_are_named(name, error, message):
    """Wrong outputs, sizes, types and names are found before any training."""
    with pytest.raises(error, match=message):
        _ = TorchTrainer(user(name)).n_parameters


def test_an_impossible_device_is_refused():
    """The message holds the device and PyTorch's reason."""
    trainer = TorchTrainer(MODELS["logistic"](1, 16, 10), device="abacus")
    weights = trainer.initial(np.random.default_rng(0))
    with pytest.raises(ConfigError, match="device is 'abacus', which PyTorch cannot use"):
        trainer.evaluate(weights, toy_images(), np.arange(3))


def test_without_pytorch_the_message_says_what_to_install(monkeypatch):
    """A missing extra is a mistake with a cure, not a traceback."""
    monkeypatch.setitem(sys.modules, "torch", None)
    trainer = TorchTrainer(MODELS["logistic"](1, 16, 10))
    weights = trainer.initial(np.random.default_rng(0))
    with pytest.raises(ConfigError, match=r"pip install 'fedroam\[torch\]'"):
        trainer.evaluate(weights, toy_images(), np.arange(3))

"""Every trainer with every model keeps the contract; names become trainers or helpful errors."""

import subprocess
import sys

import pytest

from fedroam.errors import ConfigError
from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.torch_trainer import TorchTrainer, UserModule
from fedroam.learning.trainer_contract import check_trainer
from fedroam.learning.trainers import TRAINERS, trainer_for
from learning.toys import toy_images


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_registered_trainers_keep_the_contract(trainer, model):
    """Being registered is being tested."""
    dataset = toy_images()
    check_trainer(trainer_for(dataset, model, trainer), dataset)


def test_names_become_trainers():
    """The default is the native one; a factory's name makes a torch trainer of a user's module."""
    dataset = toy_images()
    network = MODELS["cnn"].network(dataset)
    assert trainer_for(dataset, "cnn") == NativeTrainer(network)
    assert trainer_for(dataset, "cnn", "torch") == TorchTrainer(network)
    mine = "learning.toys:with_dropout"
    assert trainer_for(dataset, mine, "torch") == TorchTrainer(UserModule(mine, 1, 16, 10))


@pytest.mark.parametrize(
    ("model", "trainer", "device", "message"),
    [
        ("cmn", "native", "cpu", "did you mean 'cnn'"),
        ("cmn", "torch", "cpu", "did you mean 'cnn'"),
        ("cnn", "touch", "cpu", "did you mean 'torch'"),
        ("cnn", "native", "cuda", "'cuda', expected 'cpu'"),
        ("learning.toys:with_dropout", "native", "cpu", "set trainer = 'torch'"),
        ("learning.toys:for_other_images", "torch", "cpu", "does not take images of 1 x 16 x 16"),
    ],
)
def test_wrong_names_are_refused_with_the_right_one(model, trainer, device, message):
    """Each message says what to type instead."""
    with pytest.raises(ConfigError, match=message):
        trainer_for(toy_images(), model, trainer, device)


def test_the_native_trainer_needs_no_pytorch():
    """With PyTorch out of reach, the registry and the native trainer still import."""
    program = "import sys; sys.modules['torch'] = None; import fedroam.learning.trainers"
    subprocess.run([sys.executable, "-c", program], check=True)

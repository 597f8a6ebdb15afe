"""From the names of a trainer and a model to a trainer for one data set."""

from collections.abc import Callable
from typing import cast

from fedroam.errors import ConfigError, nearest, require
from fedroam.learning.models import MODELS, image_format
from fedroam.learning.native import NativeTrainer
from fedroam.learning.records import Dataset, Trainer
from fedroam.plugins import resolve


def native_trainer(model: str, dataset: Dataset, device: str = "cpu") -> Trainer:
    """Fedroam's own kernels, for the built-in models, on the CPU."""
    if ":" in model:
        raise ConfigError(
            f"model {model!r} is a module of your own, which trainer 'native' cannot run; "
            "set trainer = 'torch'"
        )
    require(device == "cpu", "device", device, "'cpu', where trainer 'native' runs")
    if model not in MODELS:
        raise ConfigError(f"model: no {model!r}; {nearest(model, MODELS)}")
    return NativeTrainer(MODELS[model].network(dataset))


def torch_trainer(model: str, dataset: Dataset, device: str = "cpu") -> Trainer:
    """PyTorch, for the built-in models and any ``package.module:factory``."""
    from fedroam.learning.torch_trainer import TorchTrainer, UserModule, require_device

    require_device(device)
    if model in MODELS:
        return TorchTrainer(MODELS[model].network(dataset), device)
    trainer = TorchTrainer(UserModule(model, *image_format(dataset)), device)
    _ = trainer.n_parameters  # builds it, so that a mistake shows now
    return trainer


TRAINERS: dict[str, Callable[..., Trainer]] = {
    "native": native_trainer,
    "torch": torch_trainer,
}


def trainer_for(
    dataset: Dataset, model: str, trainer: str = "native", device: str = "cpu"
) -> Trainer:
    """
    The trainer called ``trainer`` for ``model``, fitted to ``dataset``.

    ``model`` is a key of MODELS or the ``package.module:factory`` of a ``torch.nn.Module``.
    """
    make = resolve("trainer", trainer, TRAINERS)
    return cast(Trainer, make(model, dataset, device))

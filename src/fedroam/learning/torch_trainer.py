"""
The torch trainer: the built-in networks, and any ``torch.nn.Module`` of the user's, in PyTorch.

PyTorch is imported here, nowhere else, and only when a trainer is used. What travels in the flat
vector is every parameter, then every floating-point buffer (such as the running means of batch
normalisation), so buffers are averaged with the weights. Other buffers (counters) start anew in
each training. A step is autograd and one fused update, in channels_last: the fastest of the plain
loops that were measured (docs/decisions/0005-native-trainer.md).
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any

import numpy as np

from fedroam.arrays import Bytes, Floats32, Ints
from fedroam.errors import ConfigError, ContractError, blaming
from fedroam.learning.batches import batch_order, check_images, check_request
from fedroam.learning.models import (
    MODELS,
    Conv,
    Dense,
    Network,
    Pool,
    Relu,
    image_format,
    normalised,
)
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Update
from fedroam.plugins import resolve

_EVALUATION_BATCH = 256


@dataclass(frozen=True)
class UserModule:
    """
    A module of the user's, by the name of its factory: ``package.module:factory``.

    The factory is called with those of ``channels``, ``side`` and ``n_classes`` that it has
    parameters for. It returns a ``torch.nn.Module`` from images ``[n, channels, side, side]`` to
    logits ``[n, n_classes]``, all parameters float32.
    """

    factory: str
    channels: int
    side: int
    n_classes: int


@dataclass(frozen=True)
class TorchTrainer:
    """
    Trains a built-in network or a module of the user's with PyTorch, one thread a process.

    Equal arguments give equal bits on a CPU. Dropout and the like draw from ``rng`` as well.
    """

    source: Network | UserModule
    device: str = "cpu"

    @property
    def n_parameters(self) -> int:
        """The length of the flat vector: parameters and floating-point buffers."""
        if isinstance(self.source, Network):
            return self.source.n_parameters
        return sum(tensor.numel() for tensor in _travelling(_pristine(self.source)))

    def initial(self, rng: np.random.Generator) -> Floats32:
        """Fresh weights, ``[P]``: a built-in network's own, or as the user's module sets them."""
        if isinstance(self.source, Network):
            return self.source.initial(rng)
        with _session(self.device, rng):
            return _flat(_build_user_module(self.source))

    def train(
        self,
        weights: Floats32,
        dataset: Dataset,
        samples: Ints,
        how: LocalTraining,
        rng: np.random.Generator,
    ) -> Update:
        """The weights after ``how.local_epochs`` over ``samples``, from ``weights``."""
        self._check(weights, dataset, dataset.train_x, samples)
        order = batch_order(np.arange(samples.size), how.local_epochs, rng)
        with _session(self.device, rng) as torch:
            module = self._loaded(weights).train()
            images = self._images(dataset, dataset.train_x[samples])
            labels = self._labels(dataset.train_y[samples])
            means: list[Any] = []
            descend = _descent(torch, module, how)
            for epoch in torch.from_numpy(order).to(self.device):
                means.clear()
                for batch in epoch.split(how.batch):
                    found = module(images.index_select(0, batch))
                    mean = torch.nn.functional.cross_entropy(found, labels.index_select(0, batch))
                    descend(mean)
                    means.append(mean.detach())
            sizes = [min(how.batch, samples.size - at) for at in range(0, samples.size, how.batch)]
            loss = float(torch.stack(means).double().cpu().numpy() @ np.array(sizes, np.float64))
            return Update(_flat(module), int(samples.size), loss / int(samples.size))

    def evaluate(self, weights: Floats32, dataset: Dataset, samples: Ints) -> Evaluation:
        """Loss and hits on ``samples`` of the test set."""
        self._check(weights, dataset, dataset.test_x, samples)
        loss_sum, hits = 0.0, []
        with _session(self.device) as torch, torch.inference_mode():
            module = self._loaded(weights).eval()
            for start in range(0, samples.size, _EVALUATION_BATCH):
                batch = samples[start : start + _EVALUATION_BATCH]
                found = module(self._images(dataset, dataset.test_x[batch]))
                labels = self._labels(dataset.test_y[batch])
                losses = torch.nn.functional.cross_entropy(found, labels, reduction="none")
                loss_sum += float(losses.double().sum())
                hits.append((found.argmax(1) == labels).cpu().numpy())
        true = dataset.test_y[samples]
        count = np.bincount(true, minlength=dataset.n_classes)
        correct = np.bincount(true[np.concatenate(hits)], minlength=dataset.n_classes)
        return Evaluation(loss_sum, correct, count)

    def _check(self, weights: Floats32, dataset: Dataset, images: Bytes, samples: Ints) -> None:
        expected = self.source.channels, self.source.side, self.source.n_classes
        check_images(expected, image_format(dataset), dataset.name)
        check_request(self.n_parameters, weights, images, samples)

    def _loaded(self, weights: Floats32) -> Any:
        """A module of its own for every call, so that nothing is left from the one before."""
        torch = import_torch()
        module = deepcopy(_pristine(self.source))
        values = torch.from_numpy(np.array(weights, np.float32))
        tensors = _travelling(module)
        with torch.no_grad():
            parts = values.split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view(tensor.shape))
        return module.to(self.device, memory_format=torch.channels_last)

    def _images(self, dataset: Dataset, pixels: Bytes) -> Any:
        torch = import_torch()
        table = torch.from_numpy(normalised(dataset))
        values = torch.from_numpy(pixels).int()
        images = torch.empty(
            values.shape, dtype=torch.float32, device="cpu", memory_format=torch.channels_last
        )
        for c, numbers in enumerate(table):
            images[:, c] = numbers.index_select(0, values[:, c].flatten()).view_as(images[:, c])
        return images.to(self.device)

    def _labels(self, labels: Bytes) -> Any:
        return import_torch().from_numpy(labels.astype(np.int64)).to(self.device)


def import_torch() -> Any:
    """PyTorch, or ConfigError with what to install."""
    try:
        import torch
    except ImportError as error:
        raise ConfigError(
            "trainer 'torch' needs PyTorch, which is not installed: pip install 'fedroam[torch]'; "
            "trainer 'native' runs the built-in networks without it"
        ) from error
    return torch


def require_device(device: str) -> None:
    """Raise ConfigError unless PyTorch can compute on ``device``."""
    try:
        import_torch().empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device is {device!r}, which PyTorch cannot use: {error}") from error


@contextmanager
def _session(device: str, rng: np.random.Generator | None = None) -> Iterator[Any]:
    """PyTorch with one thread and, from ``rng``, random numbers of its own; both put back after."""
    require_device(device)
    torch = import_torch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(enabled=rng is not None):
            if rng is not None:
                torch.manual_seed(int(rng.integers(2**63)))
            yield torch
    finally:
        torch.set_num_threads(threads)


def _descent(torch: Any, module: Any, how: LocalTraining) -> Any:
    """The step of SGD that follows a loss, over all tensors at once."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    start = [parameter.detach().clone() for parameter in trained] if how.prox else []
    velocity: list[Any] = []

    def step(loss: Any) -> None:
        nonlocal velocity
        slopes = list(torch.autograd.grad(loss, trained))
        with torch.no_grad():
            if how.prox:
                torch._foreach_add_(slopes, torch._foreach_sub(trained, start), alpha=how.prox)
            if how.momentum and velocity:
                torch._foreach_add_(slopes, velocity, alpha=how.momentum)
            velocity = slopes
            torch._foreach_add_(trained, slopes, alpha=-how.lr)

    return step


@lru_cache(maxsize=8)
def _pristine(source: Network | UserModule) -> Any:
    """The module as it is built; callers copy it."""
    if isinstance(source, Network):
        return _build_network(source)
    with _session("cpu", np.random.default_rng(0)):
        return _build_user_module(source)


def _build_network(network: Network) -> Any:
    nn = import_torch().nn
    names = iter(t.name.removesuffix(".weight") for t in network.tensors if len(t.shape) > 1)
    layers: list[tuple[str, Any]] = []
    for i, (layer, shape, after) in enumerate(
        zip(network.layers, network.shapes, network.shapes[1:], strict=False)
    ):
        match layer:
            case Conv():
                conv = nn.Conv2d(shape[0], after[0], layer.size, padding=layer.pad)
                layers.append((next(names), conv))
            case Pool():
                layers.append((f"pool{i}", nn.MaxPool2d(2)))
            case Relu():
                layers.append((f"relu{i}", nn.ReLU(inplace=True)))
            case Dense():
                # Flattening what is flat already costs nothing.
                layers.append((f"flatten{i}", nn.Flatten()))
                layers.append((next(names), nn.Linear(int(np.prod(shape)), after[0])))
    return nn.Sequential(OrderedDict(_relu_last(layers)))


def _relu_last(layers: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Pool before ReLU: the same result from a quarter of the comparisons."""
    for i, ((name, _), (after, _)) in enumerate(pairwise(layers)):
        if name.startswith("relu") and after.startswith("pool"):
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    return layers


def _build_user_module(source: UserModule) -> Any:
    torch = import_torch()
    factory = resolve("model", source.factory, MODELS)
    offered = {
        "channels": source.channels,
        "side": source.side,
        "n_classes": source.n_classes,
    }
    with blaming(f"model {source.factory!r}"):
        parameters = signature(factory).parameters.values()
        takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        known = {parameter.name for parameter in parameters}
        module = factory(**{k: v for k, v in offered.items() if takes_all or k in known})
    if not isinstance(module, torch.nn.Module):
        kind = type(module).__name__
        raise ContractError(f"model {source.factory!r} returned {kind}, expected torch.nn.Module")
    _check_user_module(torch, source, module)
    return module


def _check_user_module(torch: Any, source: UserModule, module: Any) -> None:
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise ContractError(
                f"model {source.factory!r}: {name} is {tensor.dtype}, expected torch.float32"
            )
    images = torch.zeros(2, source.channels, source.side, source.side)
    with torch.no_grad(), blaming(f"model {source.factory!r}"):
        try:
            found = tuple(deepcopy(module).eval()(images).shape)
        except RuntimeError as error:
            raise ConfigError(
                f"model {source.factory!r} does not take images of {source.channels} x "
                f"{source.side} x {source.side}: {error}"
            ) from error
    if found != (2, source.n_classes):
        raise ContractError(
            f"model {source.factory!r} answers 2 images with shape {found}, "
            f"expected {(2, source.n_classes)}"
        )


def _travelling(module: Any) -> list[Any]:
    """What the flat vector holds, in order: the parameters, then the floating-point buffers."""
    buffers = [buffer for buffer in module.buffers() if buffer.is_floating_point()]
    return [*(parameter.data for parameter in module.parameters()), *buffers]


def _flat(module: Any) -> Floats32:
    """All that travels as one vector, in the order of the elements whatever their layout."""
    parts = [tensor.detach().cpu().numpy().ravel() for tensor in _travelling(module)]
    return np.concatenate(parts, dtype=np.float32)

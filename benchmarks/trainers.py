"""
Local training on one core: the native trainer beside the best plain PyTorch loops.

The contestants take turns in one process with one thread; processor time counts, and of several
turns the best, so that whatever else the machine does hits all alike. The plain loops are given
their pixels normalised and in the right layout; the trainers start from bytes. The share of the
peak is useful multiply-adds (no input gradient for the first layer) over what a loop of nothing but
independent vector multiply-adds reaches in the same run.

    python benchmarks/trainers.py [--quick] [--only cnn]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import side_by_side
import torch
from numba import njit
from side_by_side import Row
from torch import nn
from torch.nn import functional

from fedroam.learning.models import MODELS, Conv, Dense, Network, Pool
from fedroam.learning.native import NativeTrainer
from fedroam.learning.native.vectors import (
    FOUR,
    LANES,
    filled,
    kernel,
    outer,
    scalars,
    store_totals,
    vectors,
)
from fedroam.learning.records import Dataset, LocalTraining, Trainer
from fedroam.learning.torch_trainer import TorchTrainer


@dataclass(frozen=True)
class Case:
    model: str
    channels: int
    side: int
    batch: int
    n: int = 1200  # samples, each once a turn
    target: float = 0.0  # ratio to the best plain loop

    def __str__(self) -> str:
        return f"{self.model} {self.channels}x{self.side}x{self.side} batch {self.batch}"


CASES = (
    Case("cnn", 1, 28, 32, target=2.0),
    Case("lenet", 3, 32, 32, target=1.5),
    Case("cnn", 1, 28, 10),
    Case("lenet", 3, 32, 10),
    Case("mcmahan", 1, 28, 32, n=160),
    Case("mcmahan", 1, 28, 10, n=80),
    Case("mlp", 1, 28, 32),
    Case("mlp", 1, 28, 10),
    Case("logistic", 1, 28, 32),
    Case("logistic", 1, 28, 10),
)


def noise(case: Case) -> Dataset:
    """Pixels without meaning: speed does not depend on them."""
    rng = np.random.default_rng(0)
    size = (case.n, case.channels, case.side, case.side)
    pixels, labels = rng.integers(0, 256, size, np.uint8), rng.integers(0, 10, case.n, np.uint8)
    half = (0.5,) * case.channels
    return Dataset("noise", 10, pixels, labels, pixels, labels, half, half)


def trained(trainer: Trainer, dataset: Dataset, case: Case) -> Callable[[], object]:
    weights, samples = trainer.initial(np.random.default_rng(1)), np.arange(case.n)
    how = LocalTraining(local_epochs=1, batch=case.batch)
    return lambda: trainer.train(weights, dataset, samples, how, np.random.default_rng(2))


def plain_loops(network: Network, dataset: Dataset, case: Case) -> Iterator[tuple[str, Callable]]:
    """PyTorch as most write it, and as fast as we could make it without a kernel of our own."""
    images = torch.from_numpy((dataset.train_x / np.float32(255) - 0.5) / np.float32(0.5)).float()
    labels = torch.from_numpy(dataset.train_y.astype(np.int64))
    as_written = sequential(network, in_place=False)
    optimiser = torch.optim.SGD(as_written.parameters(), 0.01)

    def eager() -> None:
        for batch in torch.randperm(case.n).split(case.batch):
            optimiser.zero_grad()
            functional.cross_entropy(as_written(images[batch]), labels[batch]).backward()
            optimiser.step()

    def fused(module: nn.Module, images: torch.Tensor) -> Callable[[], None]:
        tensors = list(module.parameters())

        def run() -> None:
            for batch in torch.randperm(case.n).split(case.batch):
                found = module(images.index_select(0, batch))
                loss = functional.cross_entropy(found, labels.index_select(0, batch))
                slopes = torch.autograd.grad(loss, tensors)
                with torch.no_grad():
                    torch._foreach_add_(tensors, slopes, alpha=-0.01)

        return run

    last = torch.channels_last
    yield "torch, eager", eager
    yield "torch, fused update", fused(sequential(network, in_place=True), images)
    yield (
        "torch, fused update, channels_last",
        fused(
            sequential(network, in_place=True).to(memory_format=last),
            images.contiguous(memory_format=last),
        ),
    )


def sequential(network: Network, *, in_place: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer, shape, after in zip(
        network.layers, network.shapes, network.shapes[1:], strict=False
    ):
        if isinstance(layer, Conv):
            layers.append(nn.Conv2d(shape[0], after[0], layer.size, padding=layer.pad))
        elif isinstance(layer, Dense):
            layers += [nn.Flatten(), nn.Linear(int(np.prod(shape)), after[0])]
        elif isinstance(layer, Pool) and in_place and isinstance(layers[-1], nn.ReLU):
            layers.insert(-1, nn.MaxPool2d(2))  # pool first: ReLU has a quarter of the work
        else:
            layers.append(nn.MaxPool2d(2) if isinstance(layer, Pool) else nn.ReLU(in_place))
    return nn.Sequential(*layers)


def flop(network: Network) -> int:
    """Useful floating-point operations a sample and step."""
    found: list[int] = []
    for layer, shape, after in zip(
        network.layers, network.shapes, network.shapes[1:], strict=False
    ):
        if isinstance(layer, Conv | Dense):
            reach = shape[0] * layer.size**2 if isinstance(layer, Conv) else int(np.prod(shape))
            found.append(2 * reach * int(np.prod(after)))
    return 2 * found[0] + 3 * sum(found[1:])


@kernel
def _multiply_adds(x, n, sums):
    inputs = vectors(x, 0, LANES, FOUR)
    tile = filled(scalars(x, 0, 1, FOUR), FOUR)
    for _ in range(n):
        tile = outer(tile, scalars(x, 0, 1, FOUR), inputs)
    store_totals(sums, 0, len(FOUR), tile, FOUR)


def peak() -> Callable[[], object]:
    x, sums = np.full(4 * LANES, 0.5, np.float32), np.zeros(16, np.float32)
    run = njit(lambda x, n, sums: _multiply_adds(x, n, sums))
    return lambda: run(x, 100_000, sums)


PEAK_FLOP = 2 * 16 * LANES * 100_000


def times_s(contestants: dict[str, Callable[[], object]], turns: int) -> dict[str, list[float]]:
    """Processor seconds; who waits for a core is not charged."""

    def timed(run: Callable[[], object]) -> Callable[[], list[float]]:
        def once() -> list[float]:
            start_s = time.process_time()
            run()
            return [time.process_time() - start_s]

        return once

    for run in contestants.values():
        run()
    return side_by_side.alternate({k: timed(run) for k, run in contestants.items()}, turns)


def measure(case: Case, turns: int) -> list[Row]:
    dataset = noise(case)
    network = MODELS[case.model].network(dataset)
    plain = dict(plain_loops(network, dataset, case))
    contestants: dict[str, Callable[[], object]] = {
        "native": trained(NativeTrainer(network), dataset, case),
        "torch trainer": trained(TorchTrainer(network), dataset, case),
        **plain,
        "peak": peak(),
    }
    found = times_s(contestants, turns)
    peak_flops = PEAK_FLOP / min(found["peak"])
    rates = {name: case.n / min(seconds) for name, seconds in found.items()}
    best = min(plain, key=lambda name: min(found[name]))
    share = rates["native"] * flop(network) / peak_flops
    notes = {
        "native": f"{rates['native']:,.0f} samples/s at best; {share:.0%} of the peak, "
        f"{peak_flops / 1e9:.0f} GFLOP/s",
        "torch trainer": f"{rates['torch trainer']:,.0f} samples/s",
        best: f"{rates[best]:,.0f} samples/s, {rates['native'] / rates[best]:.2f}x at "
        f"best; {best}, the fastest of {len(plain)}",
    }
    names = {best: "best plain PyTorch"}
    targets = {best: f">= {case.target:g}x" if case.target else ""}
    what = f"{case}, {case.n:,} samples"
    return [
        side_by_side.row(what, names.get(n, n), found[n], targets.get(n, ""), note)
        for n, note in notes.items()
    ]


def first_training() -> Iterator[Row]:
    """Processor time to the first training on a machine, and in a later process."""
    program = (
        "import time, numpy as np; start = time.process_time()\n"
        "from fedroam.learning.models import MODELS\n"
        "from fedroam.learning.native import NativeTrainer\n"
        "from fedroam.learning.records import Dataset, LocalTraining\n"
        "x, y = np.zeros((9, 1, 28, 28), np.uint8), np.zeros(9, np.uint8)\n"
        "data = Dataset('nothing', 10, x, y, x, y, (0.5,), (0.5,))\n"
        "trainer, rng = NativeTrainer(MODELS['cnn'].network(data)), np.random.default_rng(0)\n"
        "weights = trainer.initial(rng)\n"
        "imported = time.process_time()\n"
        "trainer.train(weights, data, np.arange(9), LocalTraining(1), rng)\n"
        "trainer.evaluate(weights, data, np.arange(9))\n"
        "print(imported - start, time.process_time() - imported)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        seconds = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            seconds.append([float(s) for s in done.stdout.split()])
    (_, cold_s), (import_s, warm_s) = seconds
    what = "the process's first training, cnn"
    yield side_by_side.row(
        what, "native, compiled before", [warm_s], "", f"import {import_s:.1f} s"
    )
    yield side_by_side.row(what, "native, nothing compiled", [cold_s])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true", help="two cases, few turns")
    parser.add_argument("--only", default="", help="cases that hold this text")
    given = parser.parse_args()
    torch.set_num_threads(1)
    cases = [case for case in CASES if given.only in str(case)][: 2 if given.quick else None]
    before, rows = side_by_side.machine(), []
    for case in cases:
        rows += measure(case, turns=3 if given.quick else 12)
        print(case, "done", file=sys.stderr, flush=True)
    rows += first_training()
    is_whole = not given.quick and not given.only
    side_by_side.report("trainers", rows, before=before, is_kept=is_whole)


if __name__ == "__main__":
    main()

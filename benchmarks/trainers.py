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
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numba import njit
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

OUT = Path(__file__).parent / "out" / "trainers.json"


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


def best_s(contestants: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    for run in contestants.values():
        run()
    found = dict.fromkeys(contestants, np.inf)
    for _ in range(turns):
        for name, run in contestants.items():
            start_s = time.process_time()
            run()
            found[name] = min(found[name], time.process_time() - start_s)
    return found


def measure(case: Case, turns: int) -> dict[str, object]:
    dataset = noise(case)
    network = MODELS[case.model].network(dataset)
    contestants: dict[str, Callable[[], object]] = {
        "native": trained(NativeTrainer(network), dataset, case),
        "torch trainer": trained(TorchTrainer(network), dataset, case),
        **dict(plain_loops(network, dataset, case)),
        "peak": peak(),
    }
    seconds = best_s(contestants, turns)
    peak_flops = PEAK_FLOP / seconds.pop("peak")
    rates = {name: case.n / s for name, s in seconds.items()}
    plain = max(rate for name, rate in rates.items() if name.startswith("torch,"))
    return {
        "case": str(case),
        "samples_per_s": {name: round(rate) for name, rate in rates.items()},
        "ratio": round(rates["native"] / plain, 2),
        "target": case.target,
        "share_of_peak": round(rates["native"] * flop(network) / peak_flops, 3),
        "peak_gflops": round(peak_flops / 1e9, 1),
    }


def many_users(rounds: int) -> dict[str, float]:
    """Logistic regression, MNIST's shape: 1,000 users, 10 a round, batch 10, lr 0.03, 1 epoch."""
    case = Case("logistic", 1, 28, 10, n=60_000)
    dataset = noise(case)
    trainer = NativeTrainer(MODELS["logistic"].network(dataset))
    how = LocalTraining(local_epochs=1, batch=10, lr=0.03)
    users = np.arange(60_000).reshape(1000, 60)
    weights, judged = trainer.initial(np.random.default_rng(0)), 0.0
    start_s = time.perf_counter()
    for turn in range(rounds):
        rng = np.random.default_rng(turn)
        chosen = rng.choice(1000, 10, replace=False)
        updates = [trainer.train(weights, dataset, users[user], how, rng) for user in chosen]
        weights = np.mean([update.weights for update in updates], axis=0, dtype=np.float32)
        before_s = time.perf_counter()
        trainer.evaluate(weights, dataset, np.arange(10_000))
        judged += time.perf_counter() - before_s
    total_s = time.perf_counter() - start_s
    return {"rounds": rounds, "total_s": round(total_s, 2), "of_it_evaluation_s": round(judged, 2)}


def compile_s() -> dict[str, float]:
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
    (_, cold), (import_s, warm) = seconds
    return {"import_s": round(import_s, 2), "cold_s": round(cold, 1), "warm_s": round(warm, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true", help="two cases, few turns")
    parser.add_argument("--only", default="", help="cases that hold this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = [case for case in CASES if options.only in str(case)]
    results = []
    print(f"{'':28}{'native':>9}{'trainer':>9}{'best plain':>11}  ratio target  of peak")
    for case in cases[:2] if options.quick else cases:
        found = measure(case, turns=3 if options.quick else 12)
        results.append(found)
        rates = found["samples_per_s"]
        plain = max(rate for name, rate in rates.items() if name.startswith("torch,"))
        target = f"{case.target:.1f}" if case.target else ""
        print(
            f"{case!s:28}{rates['native']:>9,}{rates['torch trainer']:>9,}{plain:>11,}"
            f"{found['ratio']:>7.2f}{target:>7}{found['share_of_peak']:>9.0%}",
            flush=True,
        )
    print("samples a second; peak", found["peak_gflops"], "GFLOP/s")
    report = {
        "cases": results,
        "logistic_1000_users": many_users(10 if options.quick else 100),
        "first_training": compile_s(),
    }
    print("logistic regression, 1,000 users:", report["logistic_1000_users"])
    print("first training on a machine, and in a later process:", report["first_training"])
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

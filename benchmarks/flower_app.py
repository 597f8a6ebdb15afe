"""
Local training as an app of Flower 1.41: its message API, its Ray backend, a plain PyTorch loop.

20 users, 10 of them a round, each with 1,200 of MNIST's images and one core; no testing. What a
client can keep ready between rounds, its pixels as floats, it keeps.
"""

import time
from functools import lru_cache

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn
from torch.nn.functional import cross_entropy

from fedroam.learning import datasets

USERS, CHOSEN, SAMPLES, BATCH, LR = 20, 10, 1200, 32, 0.01

client = ClientApp()


@client.train()
def train(message, context):
    torch.set_num_threads(1)
    model = cnn()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    images, labels = samples_of(int(context.node_config["partition-id"]))
    optimiser = torch.optim.SGD(model.parameters(), LR)
    for _ in range(message.content["config"]["epochs"]):
        for batch in torch.randperm(SAMPLES).split(BATCH):
            optimiser.zero_grad()
            loss = cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimiser.step()
    content = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": SAMPLES, "loss": loss.item()}),
    }
    return Message(RecordDict(content), reply_to=message)


def cnn() -> nn.Sequential:
    """The one with 21,840 parameters."""
    return nn.Sequential(
        *(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10)),
    )


@lru_cache
def samples_of(user: int) -> tuple[torch.Tensor, torch.Tensor]:
    data = datasets.load("mnist")
    mine = np.random.default_rng(0).permutation(len(data.train_y))[user * SAMPLES :][:SAMPLES]
    images = (data.train_x[mine] / np.float32(255) - data.mean[0]) / data.std[0]
    labels = data.train_y[mine].astype(np.int64)
    return torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels)


def play(epochs: int, rounds: int) -> list[float]:
    """When the simulation was started, and when each of its rounds was over."""
    clock_s, server = [], ServerApp()

    class Clocked(FedAvg):
        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            sound = [not reply.has_error() for reply in replies]
            assert sound == [True] * CHOSEN, f"round {server_round}: {sound}"
            found = super().aggregate_train(server_round, replies)
            clock_s.append(time.perf_counter())
            return found

    @server.main()
    def main(grid, context):
        strategy = Clocked(
            fraction_train=CHOSEN / USERS,
            fraction_evaluate=0.0,
            min_train_nodes=CHOSEN,  # the fraction is of those who are there when it starts
            min_available_nodes=USERS,
        )
        strategy.start(
            grid,
            ArrayRecord(cnn().state_dict()),
            num_rounds=rounds,
            train_config=ConfigRecord({"epochs": epochs}),
        )

    assert sum(tensor.numel() for tensor in cnn().parameters()) == 21_840
    clock_s.append(time.perf_counter())
    one_core = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server, client, USERS, backend_config=one_core)
    assert len(clock_s) == rounds + 1
    return clock_s

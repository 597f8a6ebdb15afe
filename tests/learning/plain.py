"""A plain PyTorch loop over a network: the oracle of the trainers."""

import numpy as np
import torch
from torch import nn

from fedroam.learning.batches import batch_order
from fedroam.learning.models import Conv, Dense, Pool, normalised


def plain_module(network, weights):
    """The network as a Sequential, written down layer by layer, with ``weights`` in it."""
    layers = []
    for layer, shape, after in zip(
        network.layers, network.shapes, network.shapes[1:], strict=False
    ):
        if isinstance(layer, Conv):
            layers.append(nn.Conv2d(shape[0], after[0], layer.size, padding=layer.pad))
        elif isinstance(layer, Dense):
            layers += [nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], after[0])]
        else:
            layers.append(nn.MaxPool2d(2) if isinstance(layer, Pool) else nn.ReLU())
    module = nn.Sequential(*layers)
    nn.utils.vector_to_parameters(torch.from_numpy(weights.copy()), module.parameters())
    return module


def plain_images(dataset, pixels):
    """Normalised pixels as a tensor."""
    table = normalised(dataset)
    return torch.from_numpy(np.stack([t[pixels[:, c]] for c, t in enumerate(table)], axis=1))


def plain_training(network, weights, dataset, samples, how, rng):
    """Weights and mean loss of the last epoch after torch.optim.SGD and autograd."""
    module = plain_module(network, weights)
    images = plain_images(dataset, dataset.train_x)
    labels = torch.from_numpy(dataset.train_y.astype(np.int64))
    start = [parameter.detach().clone() for parameter in module.parameters()]
    optimiser = torch.optim.SGD(module.parameters(), how.lr, momentum=how.momentum)
    total = 0.0
    for epoch in batch_order(samples, how.local_epochs, rng):
        total = 0.0
        for first in range(0, len(epoch), how.batch):
            batch = torch.from_numpy(epoch[first : first + how.batch])
            loss = nn.functional.cross_entropy(module(images[batch]), labels[batch])
            total += loss.item() * len(batch)
            pairs = zip(module.parameters(), start, strict=True)
            distance = sum(((now - then) ** 2).sum() for now, then in pairs)
            optimiser.zero_grad()
            (loss + how.prox / 2 * distance).backward()
            optimiser.step()
    flat = nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
    return flat, total / len(samples)


def assert_same_training(ours, theirs, start):
    """
    Equal to float32 rounding.

    Where two pixels of a pool, or a sum and 0, are as good as equal, rounding may decide another
    way, which moves a few weights by a little more: so the median is strict, the norm less.
    """
    moved = np.linalg.norm(theirs - start)
    assert moved > 1e-3
    assert np.median(np.abs(ours - theirs)) < 1e-7
    assert np.linalg.norm(ours - theirs) < 1e-3 * moved

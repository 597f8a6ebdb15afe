"""Softmax regression on points around centres: made on the spot, nothing is fetched."""

import numpy as np

CLASSES, FEATURES, SAMPLES = 4, 16, 120


def initial():
    """The model: a weight for each feature and class, and a bias for each class."""
    return [np.zeros((FEATURES, CLASSES)), np.zeros(CLASSES)]


def data_of(name, n=SAMPLES):
    """Points and labels; each user, known by a number, has more of some classes than of others."""
    centres = np.random.default_rng(0).normal(0, 1, (CLASSES, FEATURES))
    rng = np.random.default_rng([1, name])
    labels = rng.choice(CLASSES, n, p=rng.dirichlet(np.full(CLASSES, 0.5)))
    return centres[labels] + rng.normal(0, 1, (n, FEATURES)), labels


def loss_and_shares(weights, x, labels):
    """Cross-entropy, and the probability of every class."""
    score = x @ weights[0] + weights[1]
    share = np.exp(score - score.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return float(-np.log(share[np.arange(labels.size), labels] + 1e-12).mean()), share


def trained(weights, x, labels, lr, epochs):
    """Full-batch gradient steps; the weights and the last loss."""
    matrix, bias = (w.copy() for w in weights)
    loss = np.nan
    for _ in range(epochs):
        loss, share = loss_and_shares((matrix, bias), x, labels)
        share[np.arange(labels.size), labels] -= 1
        matrix -= lr * x.T @ share / labels.size
        bias -= lr * share.mean(axis=0)
    return [matrix, bias], loss

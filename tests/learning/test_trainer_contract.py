"""The contract of trainers finds what it promises to find."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedroam.errors import ContractError
from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.records import Evaluation, Update
from fedroam.learning.trainer_contract import check_trainer
from learning.toys import toy_images


@dataclass(frozen=True)
class Faulty:
    """The native trainer with one fault."""

    fault: str
    inner: NativeTrainer

    @property
    def n_parameters(self):
        """The length of the flat vector, or not."""
        return self.inner.n_parameters + (self.fault == "length")

    def initial(self, rng):
        """First weights."""
        weights = self.inner.initial(rng)
        return weights.astype(np.float64) if self.fault == "type" else weights

    def train(self, weights, dataset, samples, how, rng):
        """Train, with the fault."""
        if self.fault == "lazy":
            return Update(weights.copy(), samples.size, 1.0)
        if self.fault == "random":
            rng = np.random.default_rng()
        if self.fault == "whole batches" and samples.size < how.batch:
            return Update(weights.copy(), samples.size, 1.0)
        update = self.inner.train(weights, dataset, samples, how, rng)
        if self.fault == "uphill":
            update = replace(update, weights=2 * weights - update.weights)
        if self.fault == "in place":
            weights[:] = update.weights
        n_samples = 7 if self.fault == "count" else samples.size
        loss = np.nan if self.fault == "nan loss" else update.loss
        return Update(update.weights, n_samples, loss)

    def evaluate(self, weights, dataset, samples):
        """Evaluate, with the fault."""
        found = self.inner.evaluate(weights, dataset, samples)
        if self.fault == "hits":
            return Evaluation(found.loss_sum, found.count + 1, found.count)
        if self.fault == "mean":
            return Evaluation(found.loss, found.correct, found.count)
        if self.fault == "classes":
            return Evaluation(found.loss_sum, found.correct, found.count[::-1] * 2)
        return found


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("length", "shape"),
        ("type", "float64"),
        ("lazy", "changed nothing"),
        ("uphill", "expected less"),
        ("random", "not the same twice"),
        ("whole batches", "not full"),
        ("in place", "its weights argument"),
        ("count", "n_samples is 7"),
        ("nan loss", "loss nan"),
        ("hits", "more hits"),
        ("mean", "do not add up"),
        ("classes", "counts"),
    ],
)
def test_faults_are_found(fault, message):
    """Each fault is named by the message."""
    dataset = toy_images()
    inner = NativeTrainer(MODELS["logistic"].network(dataset))
    check_trainer(inner, dataset)
    with pytest.raises(ContractError, match=message):
        check_trainer(Faulty(fault, inner), dataset)

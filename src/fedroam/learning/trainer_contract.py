"""What every trainer must keep; for our tests and for plug-ins."""

import numpy as np

from fedroam.arrays import Floats32
from fedroam.errors import ContractError
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Trainer, Update

_HOW = LocalTraining(local_epochs=3, batch=16, lr=0.05)


def check_trainer(trainer: Trainer, dataset: Dataset) -> None:
    """
    Raise ContractError unless ``trainer`` keeps its protocol on ``dataset``.

    Weights are flat float32 vectors of ``n_parameters``; arguments are left as they were; equal
    arguments give equal bits, whatever was trained in between; a batch that is not full counts;
    evaluations of parts add up; and the training loss falls. Give it a data set that is quickly
    learned, a few dozen samples in each part.
    """
    weights = trainer.initial(np.random.default_rng(3))
    _check_vector("initial()", trainer, weights)
    _same("initial()", weights, trainer.initial(np.random.default_rng(3)))
    samples = np.arange(min(len(dataset.train_y), 72))[::2]
    update = _check_training(trainer, dataset, weights, samples)
    _check_progress(trainer, dataset, update, samples)
    _check_evaluation(trainer, dataset, update.weights)


def _check_training(
    trainer: Trainer, dataset: Dataset, weights: Floats32, samples: np.ndarray
) -> Update:
    given, chosen = weights.copy(), samples.copy()
    update = trainer.train(given, dataset, chosen, _HOW, np.random.default_rng(4))
    _same("train(): its weights argument", weights, given)
    _demand(np.array_equal(samples, chosen), "train() changed its samples")
    _check_vector("train()", trainer, update.weights)
    _demand(not np.shares_memory(given, update.weights), "train() returned its own argument")
    _demand(update.n_samples == samples.size, f"n_samples is {update.n_samples}")
    _demand(not np.array_equal(weights, update.weights), "train() changed nothing")
    few = trainer.train(weights, dataset, samples[:5], _HOW, np.random.default_rng(6))
    _demand(not np.array_equal(weights, few.weights), "train() leaves out a batch that is not full")
    again = trainer.train(weights, dataset, samples, _HOW, np.random.default_rng(4))
    _same("train()", update.weights, again.weights)
    _demand(update.loss == again.loss, f"train(): loss {update.loss}, then {again.loss}")
    return update


def _check_progress(
    trainer: Trainer, dataset: Dataset, update: Update, samples: np.ndarray
) -> None:
    further = trainer.train(update.weights, dataset, samples, _HOW, np.random.default_rng(5))
    _demand(
        further.loss < update.loss,
        f"the loss went from {update.loss:.4g} to {further.loss:.4g} in "
        f"{_HOW.local_epochs} more epochs, expected less",
    )


def _check_evaluation(trainer: Trainer, dataset: Dataset, weights: Floats32) -> None:
    n = len(dataset.test_y)
    given = weights.copy()
    whole = trainer.evaluate(given, dataset, np.arange(n))
    parts = [trainer.evaluate(weights, dataset, part) for part in np.split(np.arange(n), [n // 3])]
    _same("evaluate(): its weights argument", weights, given)
    found, expected = whole.count, np.bincount(dataset.test_y, minlength=dataset.n_classes)
    _demand(np.array_equal(found, expected), f"evaluate(): counts {found}, expected {expected}")
    _demand(bool(np.all(whole.correct <= whole.count)), "evaluate(): more hits than samples")
    _demand(_adds_up(whole, parts), "evaluate(): parts of the test set do not add up to the whole")


def _adds_up(whole: Evaluation, parts: list[Evaluation]) -> bool:
    hits = np.array_equal(whole.correct, sum(part.correct for part in parts))
    loss_sum = sum(part.loss_sum for part in parts)
    return hits and bool(np.isclose(whole.loss_sum, loss_sum, rtol=1e-5))


def _check_vector(what: str, trainer: Trainer, weights: Floats32) -> None:
    _demand(weights.dtype == np.float32, f"{what} gave {weights.dtype}, expected float32")
    expected = (trainer.n_parameters,)
    _demand(weights.shape == expected, f"{what} gave shape {weights.shape}, expected {expected}")
    _demand(bool(np.isfinite(weights).all()), f"{what} gave nan or infinity")


def _same(what: str, first: Floats32, second: Floats32) -> None:
    if not np.array_equal(first, second):
        worst = float(np.abs(first - second).max())
        raise ContractError(f"{what} is not the same twice: bits differ, by up to {worst:.3g}")


def _demand(ok: bool, message: str) -> None:
    if not ok:
        raise ContractError(message)

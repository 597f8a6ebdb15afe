"""
Importing this loads the compiled loops of local training.

The server that worker processes are copied from does so, once for all of them.
"""

import gc
from contextlib import suppress


def _load() -> None:
    import numpy as np

    from fedroam.learning.models import MODELS
    from fedroam.learning.native import NativeTrainer
    from fedroam.learning.records import Dataset, LocalTraining
    from fedroam.learning.worker import copy_fit

    image, label = np.zeros((1, 1, 2, 2), np.uint8), np.zeros(1, np.uint8)
    dataset = Dataset("one grey image", 2, image, label, image, label, (0.5,), (0.5,))
    trainer = NativeTrainer(MODELS["logistic"].network(dataset))
    rng, samples = np.random.default_rng(0), np.arange(1)
    weights = trainer.initial(rng)
    trained = trainer.train(weights, dataset, samples, LocalTraining(local_epochs=1), rng).weights
    trainer.evaluate(trained, dataset, samples)
    copy_fit(trained, weights)


gc.disable()  # all this stays; looking through it again and again takes a seventh of the time
with suppress(Exception):  # a server that dies of it could not tell anybody; the workers will
    _load()
gc.freeze()
gc.enable()

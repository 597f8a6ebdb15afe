"""Processors with narrower registers than this one get the same training, to rounding."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.records import LocalTraining
from learning.plain import assert_same_training
from learning.toys import toy_images

PROGRAM = """
import sys
import numpy as np
from fedroam.learning.models import MODELS
from fedroam.learning.native import NativeTrainer
from fedroam.learning.native.vectors import LANES
from fedroam.learning.records import LocalTraining
from learning.toys import toy_images

network = MODELS["cnn"].network(toy_images())
weights = network.initial(np.random.default_rng(1))
update = NativeTrainer(network).train(
    weights, toy_images(), np.arange(70), LocalTraining(2, 20, 0.02), np.random.default_rng(2)
)
np.save(sys.argv[1], update.weights)
print(LANES)
"""


@pytest.mark.parametrize(
    ("processor", "features", "lanes"),
    [
        ("haswell", "+sse4.2,+avx,+avx2,+fma", 8),
        ("nehalem", "+sse4.2", 4),
    ],
)
def test_narrow_registers_train_the_same(tmp_path, processor, features, lanes):
    """Compiled for 8 and for 4 lanes in a process of its own; partial batches included."""
    place = tmp_path / "weights.npy"
    environment = os.environ | {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": features,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == lanes

    network = MODELS["cnn"].network(toy_images())
    weights = network.initial(np.random.default_rng(1))
    here = NativeTrainer(network).train(
        weights, toy_images(), np.arange(70), LocalTraining(2, 20, 0.02), np.random.default_rng(2)
    )
    assert_same_training(np.load(place), here.weights, weights)

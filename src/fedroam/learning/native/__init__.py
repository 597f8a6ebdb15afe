"""fedroam's own trainer for the built-in networks; the kernels behind it are compiled by Numba."""

from fedroam.learning.native.trainer import NativeTrainer

__all__ = ["NativeTrainer"]

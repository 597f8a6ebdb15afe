"""How loops over arrays are compiled: once, cached on disk, IEEE arithmetic as written."""

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator for a plain loop. No fastmath: the result is that of the text, step by step."""

inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")
"""The same for short kernels in hot loops: a call that takes records of arrays copies them all."""

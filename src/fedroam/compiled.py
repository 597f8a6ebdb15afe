"""How loops over arrays are compiled: once, cached on disk, IEEE arithmetic as written."""

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator for a plain loop. No fastmath: the result is that of the text, step by step."""

inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")
"""The same for short kernels in hot loops: a call that takes records of arrays copies them all."""

part = njit(
    cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""The same for a loop that only kernels call: without ways in from Python it compiles faster."""

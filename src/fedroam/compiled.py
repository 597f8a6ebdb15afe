"""How loops over arrays are compiled: once, cached on disk, IEEE arithmetic as written."""

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Decorator for a plain loop. No fastmath: the result is that of the text, step by step."""

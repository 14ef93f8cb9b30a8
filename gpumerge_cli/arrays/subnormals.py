"""Floats of 32 bits on a GPU, without the zeros that CuPy takes subnormals for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.arrays.interchange import is_cupy

_MANTISSA, _EXPONENT = 0x7FFFFF, 0x7F800000
_LEAST = 2.0**-149
"""The least positive float32."""


def exact(values: Any) -> Any:
    """The values for comparisons and arithmetic: of CuPy arrays float32 becomes float64, and complex64 complex128.

    CuPy compiles its kernels with -ftz=true, so they take a subnormal float32 for zero, even where they convert it.
    """
    if not is_cupy(values):
        return values
    import cupy

    return widened(cupy, values)


def widened(xp: Any, values: Any) -> Any:
    """float32 as float64 and complex64 as complex128, by their bits; other values as they are. xp: their module."""
    if values.dtype == np.complex64:
        return widened(xp, values.real) + 1j * widened(xp, values.imag)
    if values.dtype != np.float32:
        return values
    bits = xp.ascontiguousarray(values).view(np.int32)
    small = (bits & _MANTISSA).astype(np.float64) * _LEAST
    return xp.where(bits & _EXPONENT, values.astype(np.float64), xp.where(bits < 0, -small, small))

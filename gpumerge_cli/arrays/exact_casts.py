"""Casts that keep every value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def cast_exactly(array: Any, dtype: np.dtype[Any]) -> Any:
    """The items of a NumPy or CuPy array in another dtype; None if it does not hold all of their values."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            cast = array.astype(dtype)
            return cast if bool(_all_same(cast, array)) else None
    except (TypeError, ValueError, OverflowError, np.exceptions.ComplexWarning):
        return None


def _all_same(cast: Any, found: Any) -> Any:
    """Whether all items of two arrays of different dtypes have the same value."""
    same = (cast == found) | ((cast != cast) & (found != found))
    if {cast.dtype.kind, found.dtype.kind} not in ({"f", "i"}, {"f", "u"}):
        return same.all()
    # They have been compared as floats, to which integers are rounded.
    floats, integers = (cast, found) if cast.dtype.kind == "f" else (found, cast)
    beyond = np.float64(np.iinfo(integers.dtype).max) + 1
    exact = (floats < beyond) & (floats.astype(integers.dtype) == integers)
    return (same & (exact | (floats != floats))).all()

"""Lists beside other arrays of a call: they take the dtype that holds the values of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.columns import COLUMN_KINDS
from gpumerge_cli.arrays.exact_casts import cast_exactly
from gpumerge_cli.arrays.interchange import is_cupy
from gpumerge_cli.arrays.options import in_native_order
from gpumerge_cli.arrays.plain_items import copied_to_gpu
from gpumerge_cli.arrays.record_columns import as_given_array, dicts_with_columns

_LISTS = (list, tuple)  # made once: calls on small arrays are short
_NUMBERS = "biufc"
_TEXT = "UT"
EMPTY_TEXTS = "U1"
"""The dtype of lists without items, in calls that read text."""


def as_arrays(given: Sequence[Any], *, payload: bool = False, empty: str = "") -> list[Any]:
    """The NumPy or CuPy arrays of a call, as as_given_array gives each. Lists and tuples in it take a common dtype.

    Beside arrays it is the arrays' dtype, or that of their widest texts, else the one of numpy.result_type. An empty
    list takes any. If the dtype does not hold every value of the lists, they keep their own dtypes. empty: the dtype
    of the lists where all of `given` are empty lists; by default NumPy's.
    """
    if len(given) > 1 and isinstance(given[0], dict) and not payload:
        dicts = dicts_with_columns(given)
        if dicts is not None:
            return dicts
    found = [as_given_array(each, payload=payload) for each in given]
    for each in found:
        if isinstance(each, COLUMN_KINDS):
            return found
    if empty and all(isinstance(each, _LISTS) and array.size == 0 for each, array in zip(given, found, strict=True)):
        return [array.astype(empty) for array in found]
    for each in given:
        if isinstance(each, _LISTS):
            return beside_arrays(given, _alike(given, found))
    return found


def beside_arrays(given: Sequence[Any], found: list[Any], others: Sequence[Any] = ()) -> list[Any]:
    """The arrays of `given` in `found`; those of lists are copied to the GPU of the first CuPy array, if there is one.

    others: further arrays, beside which they lie.
    """
    there = next(filter(is_cupy, [*found, *others]), None)
    if there is None:
        return found
    return [
        copied_to_gpu(array, there.device) if isinstance(each, _LISTS) and not array.dtype.hasobject else array
        for each, array in zip(given, found, strict=True)
    ]


def _alike(given: Sequence[Any], found: list[Any]) -> list[Any]:
    """See as_arrays. found: an array of each of `given`, lists in the dtypes that NumPy gives them."""
    first = found[0].dtype
    if all(each.dtype == first for each in found):
        return found
    listed = [isinstance(each, _LISTS) for each in given]
    dtype = _common(
        [each.dtype for each, is_list in zip(found, listed, strict=True) if not is_list],
        [each.dtype for each, is_list in zip(found, listed, strict=True) if is_list and each.size],
    )
    if dtype is None:
        return found
    cast = [
        _as_dtype(each, dtype) if is_list and each.dtype != dtype else each
        for each, is_list in zip(found, listed, strict=True)
    ]
    return found if any(each is None for each in cast) else cast


def _common(of_arrays: list[np.dtype[Any]], of_lists: list[np.dtype[Any]]) -> np.dtype[Any] | None:
    """The dtype that lists take; None if there is none."""
    if of_arrays:
        one = in_native_order(of_arrays[0])
        if all(in_native_order(other) == one for other in of_arrays):
            return of_arrays[0]
        is_text = {each.kind for each in of_arrays} in ({"S"}, {"U"})
        return max(of_arrays, key=lambda each: each.itemsize) if is_text else None
    try:
        return np.result_type(*of_lists)
    except (TypeError, ValueError):  # no items at all, or items of different kinds
        return None


def _as_dtype(array: Any, dtype: np.dtype[Any]) -> Any:
    """The items of a list in another dtype of the same kind; None if it does not hold all of them."""
    if not array.size:
        return np.empty(array.shape, dtype)
    kinds = {array.dtype.kind, dtype.kind}
    if len(kinds) == 1 or dtype.kind == "O" or kinds <= set(_NUMBERS) or kinds <= set(_TEXT):
        return cast_exactly(array, dtype)
    return None

"""CuPy arrays of any dtype, as CuPy's own kernels take them, which know numbers and bools alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.arrays.interchange import is_cupy
from gpumerge_cli.arrays.options import is_aligned

_NUMBERS = "biufc"
"""The kinds of dtypes that CuPy's own kernels know."""


def contiguous(array: Any) -> Any:
    """The CuPy array, or a contiguous copy of it. If it has no items, it is a new one.

    An empty array may lie at any address, but kernels need one that is a multiple of an item's size.
    """
    import cupy

    numbers = plain(array)
    found = cupy.ascontiguousarray(numbers) if array.size else cupy.empty(numbers.shape, numbers.dtype)
    return from_plain(found, array.dtype)


def plain(array: Any) -> Any:
    """A view of a CuPy array of any dtype, as CuPy's kernels take it.

    Dates and time spans are int64. Bytes and records are uint8, with one more dimension. NumPy's arrays stay as they
    are, as CuPy's numbers and bools do.
    """
    if array.dtype.kind in _NUMBERS or not is_cupy(array):
        return array
    if array.dtype.kind in "mM":
        return array.view(np.int64)
    return item_rows(array)


def from_plain(array: Any, dtype: np.dtype[Any]) -> Any:
    """A contiguous array that `plain` or a call on its result gave, as one of the dtype that it was made of."""
    if array.dtype == dtype:
        return array
    return array.view(dtype) if array.itemsize == dtype.itemsize > 1 else array.view(dtype).reshape(array.shape[:-1])


def taken_items(array: Any, indices: Any) -> Any:
    """The rows of these indices of a NumPy or CuPy array of any dtype, as a new array."""
    return from_plain(plain(array)[indices], array.dtype)


def on_host(array: Any) -> Any:
    """The items of a NumPy or CuPy array of any dtype, in host memory."""
    if not is_cupy(array):
        return array
    with array.device:
        return from_plain(plain(readable(array)).get(), array.dtype)


def item_rows(array: Any) -> Any:
    """The bytes of the items of an array of NumPy or CuPy, a row of uint8 each, wherever they lie.

    They are a view of the array's memory, but for arrays of NumPy that are not contiguous.
    """
    if not is_cupy(array):
        return np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.itemsize)
    import cupy

    shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
    return cupy.ndarray(shape, cupy.uint8, array.data, strides) if array.size else cupy.empty(shape, cupy.uint8)


def readable(values: Any) -> Any:
    """A contiguous CuPy array with the rows of another one, whose items a GPU can read."""
    if not is_aligned(values):
        return item_rows(values).copy().view(values.dtype).reshape(values.shape)
    return contiguous(values)


def native(array: Any) -> Any:
    """A CuPy array in the machine's byte order: itself, or a copy with swapped bytes. Records stay as they are."""
    if array.dtype.isnative or array.dtype.names:
        return array
    import cupy

    swapped = cupy.ascontiguousarray(item_rows(array)[..., ::-1])
    return swapped.reshape(-1).view(array.dtype.newbyteorder("=")).reshape(array.shape)


def copied_to_gpu(array: Any, device: Any) -> Any:
    """A copy of a NumPy array of any dtype but objects on a device of CuPy."""
    import cupy

    flat = np.ascontiguousarray(array).reshape(-1)
    with device:
        if not flat.size:
            return cupy.empty(0, np.uint8).view(array.dtype).reshape(array.shape)
        return cupy.asarray(flat.view(np.uint8)).view(array.dtype).reshape(array.shape)


def in_wider_dtype(array: Any, dtype: np.dtype[Any]) -> Any:
    """A CuPy array of texts in a dtype that is as wide or wider. Zeros fill its items."""
    if array.dtype == dtype:
        return array
    import cupy

    rows = cupy.zeros((len(array), dtype.itemsize), np.uint8)
    if len(array):
        rows[:, : array.itemsize] = item_rows(array)
    return rows.reshape(-1).view(dtype)

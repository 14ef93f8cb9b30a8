"""The options of merges and sorts of arrays, and their checks."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gpumerge_cli.arrays.interchange import check_unmasked, is_cupy
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import KernelChoice, LaunchRequest, TileLoad, Transfer

_BACKENDS = ("auto", "cpu", "gpu")
_WHOLE = (int, np.integer)
_LONGEST = 60
"""Characters of a value in a message."""


class Tuning(TypedDict, total=False):
    """Options for the launches of merges. See LaunchRequest. The backend chooses those that are not given."""

    kernel: KernelChoice
    block_size: int | None
    items_per_thread: int | None
    tile_size: int | None
    tile_load: TileLoad | None
    fan_in: int | None
    transfer: Transfer | None


def launch_request(tuning: Tuning) -> LaunchRequest:
    """The request for these options. Raises TypeError for an unknown option, UsageError for a bad value."""
    for name in tuning:
        if name not in Tuning.__annotations__:
            raise TypeError(f"merge() got an unexpected keyword argument {name!r}")
    for name in ("block_size", "items_per_thread", "tile_size"):
        check_count(name, tuning.get(name))
    return LaunchRequest(**tuning)


def flag(name: str, value: Any) -> bool:
    """The option's value as a bool. Raises UsageError for anything but a bool, or 0 or 1."""
    if value is True or value is False:
        return value
    if isinstance(value, (np.bool_, *_WHOLE)) and value in (0, 1):
        return bool(value)
    raise UsageError(f"{name}={short_repr(value)} is neither true nor false", way_out="give True or False")


def wants_counts(counts: bool, **others: Any) -> bool:
    """Whether counts are wanted. Raises UsageError if an option is given that cannot be combined with them."""
    if counts is False or not flag("counts", counts):
        return False
    for name, value in others.items():
        if value is not None and value is not False:
            raise UsageError(
                f"counts=True leaves equal keys out, so it cannot be combined with {name}", way_out="use one"
            )
    return True


def check_backend(backend: Any, device: Any) -> None:
    """Raise UsageError unless these are the name of a backend and the number of a GPU."""
    if not isinstance(backend, str) or backend not in _BACKENDS:
        raise UsageError(f"backend={short_repr(backend)} is not a backend", way_out=f"use {', '.join(_BACKENDS)}")
    if isinstance(device, bool) or not isinstance(device, _WHOLE) or device < 0:
        raise UsageError(f"device={short_repr(device)} is not the number of a GPU", way_out="give 0 or more")


def check_count(name: str, value: Any) -> None:
    """Raise UsageError for anything but None or a number of 1 or more."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, _WHOLE) or value < 1):
        raise UsageError(f"{name}={short_repr(value)} is not a whole number of 1 or more")


def short_repr(value: Any) -> str:
    """The repr of a value for a message, in one line of limited length."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """A text for a message, in one line of limited length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def same_side(arrays: list[Any]) -> bool:
    """True if all arrays lie on one GPU, False if none does. Raises UsageError for a mixture, or for several GPUs."""
    on_device = [is_cupy(array) for array in arrays]
    if not any(on_device):
        return False
    if not all(on_device):
        raise UsageError("arrays lie partly in host and partly in device memory", way_out="move them to one side")
    numbers = sorted({array.device.id for array in arrays})
    if len(numbers) > 1:
        raise UsageError(f"arrays lie on different devices: GPUs {_listed(numbers)}", way_out="move them to one")
    return True


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def is_aligned(array: Any) -> bool:
    """Whether a GPU can read and write the items of a CuPy array, each of them by itself."""
    size = array.itemsize if array.dtype.kind not in "SV" else 1  # bytes and records are read byte by byte
    return not array.size or not (array.data.ptr % size or any(stride % size for stride in array.strides))


def check_aligned(array: Any, name: str) -> None:
    """Raises UsageError for a CuPy array whose items do not lie at multiples of their size. name: for the message."""
    if not is_aligned(array):
        raise UsageError(f"{name} does not start at a multiple of its items' size", way_out="give a copy of it")


def in_native_order(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype of numbers in the machine's byte order; another as it is."""
    if dtype.kind in "SV":
        return dtype
    try:
        return dtype.newbyteorder("=")
    except TypeError:  # newer kinds of dtypes, such as strings, have no byte order
        return dtype


def check_out(out: Any, dtype: np.dtype[Any], total: int, arrays: list[Any], *, longer: bool = False) -> None:
    """Raises UsageError if `out` cannot take `total` items of the dtype, or shares memory with one of the arrays.

    longer: it may be longer.
    """
    check_unmasked(out)
    on_device = is_cupy(arrays[0])
    if on_device and is_cupy(out) and out.device != arrays[0].device:
        raise UsageError(
            f"out lies on GPU {out.device.id}, and the arrays on GPU {arrays[0].device.id}",
            way_out="give an array on the arrays' GPU",
        )
    fits = is_cupy(out) if on_device else isinstance(out, np.ndarray)
    fits = fits and out.dtype == dtype and out.ndim == 1 and out.flags.c_contiguous
    if not fits or len(out) < total or (len(out) > total and not longer):
        where, or_more = "CuPy" if on_device else "NumPy", " or more" * longer
        swapped = isinstance(out, np.ndarray) and out.dtype != dtype and in_native_order(out.dtype) == dtype
        way_out = "its bytes are swapped: give one in the machine's byte order" if swapped else ""
        raise UsageError(f"out is not a contiguous {where} array of {total}{or_more} items of {dtype}", way_out=way_out)
    if on_device:
        import cupy

        check_aligned(out, "out")
        # Only the ranges of addresses: whether two arrays have an item in common, CuPy finds out by sorting addresses.
        shared = any(cupy.may_share_memory(out, array) for array in arrays)
    else:
        if not out.flags.writeable:
            raise UsageError("out is read-only", way_out="give an array that can be written to")
        shared = any(np.shares_memory(out, array) for array in arrays)
    if shared:
        raise UsageError("out shares memory with an input", way_out="give an array of its own")

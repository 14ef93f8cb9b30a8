"""Repeated calls on CuPy arrays: checked and launched, without deciding anything again.

A kind is an operation, the dtype and number of arrays, a direction, a device, and the dtype and shape of the values.
Other calls take the general path, which also reports errors. The general path ends here, too: it converts its arguments
to plain arrays and prepares the kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpumerge_cli.arrays.interchange import as_array, lies_on_gpu

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.prepared import PreparedOperation
    from gpumerge_cli.order.equals import Equals

CallKind = tuple[Any, ...]
Usual = Callable[[Sequence[Any], bool, Any, Any], Any]
"""Carries out a call of a known kind, of arrays, descending, out and values; gives None for all other calls."""

_MOST_KINDS = 1024
_INDICES = np.dtype(np.int64)
_ready: dict[CallKind, Any] = {}


def kind_of(
    operation: PreparedOperation, arrays: Sequence[Any], descending: bool, values: Any, device: int
) -> CallKind:
    """The kind of a call on CuPy arrays of one dtype. values: CuPy arrays of one dtype and shape, or None."""
    if values is None:
        return operation, arrays[0].dtype, descending, len(arrays), device
    one = values[0]
    return operation, arrays[0].dtype, descending, len(arrays), device, one.dtype, one.shape[1:]


def find_prepared(kind: CallKind) -> Any:
    """The prepared call of this kind (see backends.gpu.prepared); None if there is none yet."""
    return _ready.get(kind)


def keep_prepared(kind: CallKind, prepared: Any) -> None:
    """From now on a call of this kind is launched by `prepared`, unless another thread has kept one before."""
    if len(_ready) >= _MOST_KINDS:
        _ready.clear()  # in one step, as other threads look things up
    _ready.setdefault(kind, prepared)  # the other one's kernels may run now, so they must stay loaded


def run_prepared(
    operation: PreparedOperation, arrays: Sequence[Any], descending: bool, out: Any = None, values: Any = None
) -> Any:
    """The result of a call of a known kind, in `out` if that is given; None for all other calls.

    values: a list of one array for each of `arrays`, or None. The result is an array, (keys, values), or an answer.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    ndarray = cupy.ndarray
    if type(arrays[0]) is not ndarray:
        if isinstance(arrays[0], np.ndarray) or not lies_on_gpu(arrays[0]):
            return None
        arrays = [as_array(array) for array in arrays]
        if type(values) in (list, tuple):
            values = [as_array(each, payload=True) for each in values]
    if values is not None and not _could_fit(values, arrays, ndarray):
        return None
    device = cupy.cuda.runtime.getDevice()
    prepared = _ready.get(kind_of(operation, arrays, descending, values, device))
    if prepared is None:
        return None
    direct = prepared.direct
    if direct is not None:
        try:
            found = direct.run(arrays, values, out)
        except Exception as error:
            prepared.report(error)
            raise
        if found is not None:
            return found
    dtype = arrays[0].dtype
    sources = _sources(arrays if out is None else (*arrays, out), dtype, device)
    if sources is None:
        return None
    addresses, counts, total = sources
    if out is not None:
        room = counts.pop()
        total -= room
        if room != total or _touches(addresses, counts, total, dtype.itemsize):
            return None
    if not prepared.takes(total):
        return None
    places = None if values is None else _places(values, counts, device, prepared.unit)
    if values is not None and (places is None or (out is not None and _overlaps(addresses[-1], out.nbytes, values))):
        return None
    kind = {"argsort": _INDICES, "is_sorted": None}.get(operation, dtype)
    if direct is None:
        prepared.describe(arrays, values, device, kind)
    if out is None and kind is not None:
        memory = prepared.room(total * kind.itemsize)
        out = ndarray((total,), kind, memory)
        addresses.append(memory.ptr)
    if places is None:
        answer = prepared(addresses, counts, total)
        return answer if out is None else out
    one = values[0]
    kind, shape = one.dtype, (total,) if one.ndim == 1 else (total, *one.shape[1:])
    memory = prepared.room(prod(shape) * kind.itemsize)
    prepared([*addresses, *places, memory.ptr], counts, total)
    return out, ndarray(shape, kind, memory)


def set_kind(equals: Equals, dtype: np.dtype[Any], descending: bool, device: int) -> CallKind:
    """The kind of a set of two CuPy arrays."""
    return equals, dtype, descending, device


def ranks_kind(dtype: np.dtype[Any], descending: bool, device: int) -> CallKind:
    """The kind of a search in CuPy arrays."""
    return "ranks", dtype, descending, device


def run_prepared_set(equals: Equals, arrays: Sequence[Any], descending: bool, out: Any, values: Any) -> Any:
    """The set of two arrays of a known kind; None for all other calls."""
    device = None if out is not None or values is not None or len(arrays) != 2 else _current_device(arrays)
    if device is None:
        return None
    dtype = arrays[0].dtype
    prepared = _ready.get(set_kind(equals, dtype, descending, device))
    if prepared is None:
        return None
    sources = _sources(arrays, dtype, device)
    if sources is None or not sources[2]:
        return None
    if dtype.kind in "mM":  # CuPy's functions refuse dates
        return prepared(sources[0], sources[1], _INDICES).view(dtype)
    return prepared(sources[0], sources[1], dtype)


def run_prepared_ranks(
    items: Any, through: bool, arrays: Sequence[Any], descending: bool, out: Any, values: Any
) -> Any:
    """The ranks of items in arrays of a known kind; None for all other calls. There are no out and values."""
    device = _current_device(arrays)
    if device is None or type(items) is not type(arrays[0]):
        return None
    dtype = arrays[0].dtype
    prepared = _ready.get(ranks_kind(dtype, descending, device))
    if prepared is None:
        return None
    sources, flat = _sources(arrays, dtype, device), _sources((items,), dtype, device)
    if sources is None or flat is None or not flat[2]:
        return None
    return prepared(sources[0], sources[1], items, through)


def _current_device(arrays: Sequence[Any]) -> int | None:
    """The number of the current device; None if the first array is not CuPy's."""
    cupy = sys.modules.get("cupy")
    if cupy is None or type(arrays[0]) is not cupy.ndarray:
        return None
    number: int = cupy.cuda.runtime.getDevice()
    return number


def _could_fit(values: Any, arrays: Sequence[Any], kind: Any) -> bool:
    return type(values) in (list, tuple) and len(values) == len(arrays) and type(values[0]) is kind


def _sources(arrays: Sequence[Any], dtype: Any, device: int) -> tuple[list[int], list[int], int] | None:
    """(addresses, counts, their sum) of contiguous aligned 1-D arrays of a dtype on a device; None for any others."""
    kind, width = type(arrays[0]), dtype.itemsize
    contiguous = (width,)
    addresses: list[int] = []
    counts: list[int] = []
    total = 0
    for array in arrays:
        if type(array) is not kind or array.dtype != dtype:
            return None
        data, count = array.data, array.size
        # An array of one dimension says by its strides, sooner than by its flags, that it is contiguous.
        if array.strides != contiguous and (count > 1 or array.ndim != 1):
            return None
        address = data.ptr
        if data.device_id != device or address % width:
            return None
        addresses.append(address)
        counts.append(count)
        total += count
    return addresses, counts, total


def _places(values: Sequence[Any], counts: Sequence[int], device: int, unit: int) -> list[int] | None:
    """The addresses of values that fit their keys; None if any does not."""
    one = values[0]
    kind, dtype = type(one), one.dtype
    rest, contiguous = (one.shape[1:], None) if one.ndim != 1 else ((), (dtype.itemsize,))
    places = []
    for each, count in zip(values, counts, strict=True):
        if type(each) is not kind or each.dtype != dtype:
            return None
        if contiguous is None:
            if each.shape != (count, *rest) or not each.flags.c_contiguous:
                return None
        elif each.size != count or each.strides != contiguous:
            return None
        data = each.data
        place = data.ptr
        if data.device_id != device or place % unit:
            return None
        places.append(place)
    return places


def _touches(addresses: list[int], counts: list[int], total: int, width: int) -> bool:
    """Whether any run of items of `width` bytes shares a byte with `total` items at the last address."""
    at = addresses[-1]
    end = at + total * width
    for address, count in zip(addresses, counts, strict=False):
        if address < end and at < address + count * width and count > 0:
            return True
    return False


def _overlaps(at: int, nbytes: int, arrays: Sequence[Any]) -> bool:
    """Whether any of some contiguous arrays shares a byte with the `nbytes` at an address, at least one."""
    for array in arrays:
        address, size = array.data.ptr, array.nbytes
        if at < address + size and address < at + nbytes and size:
            return True
    return False

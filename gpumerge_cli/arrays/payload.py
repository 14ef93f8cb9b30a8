"""Values that stay beside their keys: arrays of any dtype, a row for each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gpumerge_cli.arrays.common_dtype import as_arrays, beside_arrays
from gpumerge_cli.arrays.interchange import check_listed, holds_structs, is_cupy, is_one_array, is_table, name_of
from gpumerge_cli.arrays.options import same_side, short_repr
from gpumerge_cli.arrays.plain_items import from_plain, plain, taken_items
from gpumerge_cli.errors import UsageError

_SHOWN = 4
"""The most arrays of values that a message lists."""
_LISTED = 8
"""The most arrays that CuPy concatenates without a list of addresses in host memory, which a graph would not keep."""


def payload(values: Any, keys: Sequence[Any], *, on_device: bool, listed: bool) -> list[Any]:
    """The payload of each run of keys, as NumPy or CuPy arrays. Raises UsageError if values do not match the keys.

    on_device: whether the keys are CuPy's. listed: see CallOptions; for messages.
    """
    if type(values) not in (list, tuple):
        if is_table(values) or holds_structs(values):
            raise _is_table(values, keys, listed)
        check_listed(values, "values")
        if is_one_array(values):
            what = f"values: {name_of(values)} is one array"
            raise UsageError(what, way_out="give a list of one array for each array of keys, as [array]")
    if not isinstance(values, Iterable):
        what = f"values={short_repr(values)} is not a list of arrays"
        raise UsageError(what, way_out="give one array for each array of keys")
    given = list(values)
    for each in given:
        if not isinstance(each, np.ndarray) and (isinstance(each, Mapping) or is_table(each) or holds_structs(each)):
            raise _is_table(each, keys, listed)
    found = beside_arrays(given, _as_arrays(given), keys)
    if len(found) != len(keys):
        raise UsageError(
            f"{len(found)} arrays of values for {len(keys)} of keys", way_out="give a list of one array for each"
        )
    for each, run in zip(found, keys, strict=True):
        if is_cupy(each) != on_device:
            raise UsageError("values and keys are not on one side", way_out="move them to the host, or to one device")
        if each.shape[:1] != run.shape:
            raise UsageError(f"values of shape {each.shape} for {len(run)} keys", way_out="give one row for each key")
    if len({(each.dtype, each.shape[1:]) for each in found}) > 1:
        kinds = ", ".join(sorted({f"{each.dtype} {each.shape[1:] or ''}".rstrip() for each in found}))
        raise UsageError(f"values of different dtypes or shapes: {kinds}", way_out="convert them to one")
    if on_device:
        same_side([*found, *keys])
    return found


def _as_arrays(given: Sequence[Any]) -> list[Any]:
    """The arrays of values. The error for one that is none says that it is about values: keys stand beside them."""
    try:
        return as_arrays(given, payload=True)
    except UsageError as error:
        what = error.what if error.what.startswith("values") else f"values: {error.what}"
        raise UsageError(what, way_out=error.way_out) from error


def _is_table(table: Any, keys: Sequence[Any], listed: bool) -> UsageError:
    """The error for values that are a table, or an array of structs. listed: see CallOptions."""
    ends = accumulate((len(run) for run in keys), initial=0)
    numbers = [f"numpy.arange({low}, {high})" for low, high in pairwise(ends)]
    more = ", ..." if len(numbers) > _SHOWN else ""
    shown = f"[{', '.join(numbers[:_SHOWN])}{more}]" if listed else numbers[0]
    columns = isinstance(table, Mapping)
    rows = "table.take(rows)" if hasattr(table, "take") else "column[rows]" if columns else "table[rows]"
    of_all = " of the concatenated tables" if len(numbers) > 1 else ""
    way_out = f"give the numbers of rows, values={shown}, and take the rows that come back{of_all}: {rows}"
    what = "holds columns" if columns else "is a table" if is_table(table) else "holds structs"
    return UsageError(f"values: {name_of(table)} {what}", way_out=way_out)


def moves_along(rows: Any) -> bool:
    """True if a GPU can move rows of this CuPy array together with their keys: they have 4 or 8 bytes."""
    each = rows.nbytes // len(rows) if len(rows) else 0
    return each in (4, 8) and rows.flags.c_contiguous and rows.data.ptr % 4 == 0


def gathered(values: Sequence[Any], ranks: Any) -> Any:
    """The rows `ranks` of the concatenated values."""
    return taken_items(concatenated(values), ranks)


def concatenated(arrays: Sequence[Any]) -> Any:
    """The concatenation of arrays of one dtype; a single array is returned itself."""
    if len(arrays) == 1:
        return arrays[0]
    shape = (sum(len(each) for each in arrays), *arrays[0].shape[1:])
    if is_cupy(arrays[0]):
        numbers = [plain(each) for each in arrays]
        return from_plain(_joined_on_device(numbers, (*shape, *numbers[0].shape[len(shape) :])), arrays[0].dtype)
    # numpy.concatenate would turn records to native byte order.
    masked = any(isinstance(each, np.ma.MaskedArray) for each in arrays)
    both = np.ma.empty(shape, arrays[0].dtype) if masked else np.empty(shape, arrays[0].dtype)
    position = 0
    for each in arrays:
        both[position : position + len(each)] = each
        position += len(each)
    return both


def _joined_on_device(arrays: Sequence[Any], shape: tuple[int, ...]) -> Any:
    import cupy

    from gpumerge_cli.backends.gpu.streams import current_stream, is_captured

    if len(arrays) <= _LISTED or not is_captured(current_stream()):
        return cupy.concatenate(arrays)
    both, position = cupy.empty(shape, arrays[0].dtype), 0
    for each in arrays:
        both[position : position + len(each)] = each
        position += len(each)
    return both

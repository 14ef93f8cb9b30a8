"""gpumerge_cli.rank and rank_of: ranks in a merge of arrays, without merging them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.common_dtype import cast_exactly
from gpumerge_cli.arrays.device import DeviceCall
from gpumerge_cli.arrays.interchange import (
    as_array,
    check_listed,
    check_unmasked,
    is_cupy,
    is_one_array,
    is_table,
    lies_on_gpu,
    name_of,
)
from gpumerge_cli.arrays.keys import Array, ArrayKeys, keys_in
from gpumerge_cli.arrays.options import check_aligned, flag, same_side, short_repr
from gpumerge_cli.arrays.run import check_sorted
from gpumerge_cli.arrays.searching import Side, co_ranks_of_images, search_ranks
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.arrays.text_key import TextKey, TextKind
from gpumerge_cli.engine.ranks import FixedRanks
from gpumerge_cli.errors import UsageError
from gpumerge_cli.extents import Extent


class _Keywords(TypedDict, total=False):
    key: str | None
    descending: bool
    text: TextKey | TextKind | None
    check: bool


@overload
def rank(arrays: Sequence[Host], at: Any, **options: Unpack[_Keywords]) -> Indices: ...
@overload
def rank(arrays: Sequence[Any], at: Any, **options: Unpack[_Keywords]) -> Any: ...
def rank(
    arrays: Sequence[Any],
    at: Any,
    *,
    key: str | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
) -> Any:
    """The co-ranks of ranks of a merge: how many items of each array are among the first `at` of the merge.

    >>> import gpumerge_cli, numpy as np
    >>> runs = [np.array([1, 4, 9]), np.array([2, 4])]
    >>> gpumerge_cli.rank(runs, 3).tolist()
    [2, 1]
    >>> gpumerge_cli.rank(runs, [0, 4, 5]).tolist()
    [[0, 0], [2, 2], [3, 2]]

    Parameters
    ----------
    arrays:
        Sorted 1-D arrays that `merge` takes, in host memory or on one GPU.
    at:
        A rank from 0 to the number of all items, or an array of ranks of any shape.
    key, descending, text, check:
        The same as for `merge`.

    Returns
    -------
    int64, of the shape of `at` with one more dimension, of an item for each array. The items of the arrays ahead of a
    row, merged, are the first `at` items of `merge`. Rows are unique, since equal items go in the order of the arrays.
    In host memory each takes O(k log n) comparisons. For arrays on a GPU it is a CuPy array, and all of their items are
    read once.

    Raises
    ------
    UsageError: unusable arrays or ranks. InputError: a text that its kind cannot read, and unsorted arrays in host
    memory, if the search meets the disorder.
    DeviceError: an unavailable GPU.
    """
    call = _call_of(arrays, key, descending, check, text)
    ranks = _as_array(at, f"at={short_repr(at)} is not an array of ranks")
    if ranks.size and ranks.dtype.kind not in "iu":
        raise UsageError(f"at={short_repr(at)} is not a rank", way_out="give whole numbers")
    if ranks.size and not 0 <= int(ranks.min()) <= int(ranks.max()) <= call.total:
        raise UsageError(f"a rank lies outside of 0 to {call.total}", way_out="the merge has no more items")
    ranks = ranks.astype(np.int64)
    if call.on_device:
        return _co_ranks_on_device(call, ranks)
    wanted, places = np.unique(ranks.reshape(-1), return_inverse=True)
    found = _co_ranks(*call.runs(), wanted)[places.reshape(-1)]
    return found.reshape(*ranks.shape, len(call.arrays))


@overload
def rank_of(arrays: Sequence[Host], items: Any, *, side: Side = "left", **options: Unpack[_Keywords]) -> Indices: ...
@overload
def rank_of(arrays: Sequence[Any], items: Any, *, side: Side = "left", **options: Unpack[_Keywords]) -> Any: ...
def rank_of(
    arrays: Sequence[Any],
    items: Any,
    *,
    side: Side = "left",
    key: str | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
) -> Any:
    """The ranks that items have, or would have, in the merge of arrays, as by NumPy's searchsorted.

    >>> import gpumerge_cli, numpy as np
    >>> runs = [np.array([1, 4, 9]), np.array([2, 4])]
    >>> gpumerge_cli.rank_of(runs, [4, 5]).tolist()
    [2, 4]
    >>> int(gpumerge_cli.rank_of(runs, 4, side="right"))
    4

    Parameters
    ----------
    arrays:
        Sorted 1-D arrays that `merge` takes, in host memory or on one GPU.
    items:
        A key or an array of keys of any shape, which the arrays' dtype can hold. For structured arrays, values of the
        field `key`.
    side:
        "left" counts the items ahead of all that equal the key, "right" also counts the equal ones.
    key, descending, text, check:
        The same as for `merge`.

    Returns
    -------
    int64, of the shape of `items`: a CuPy array for arrays on a GPU.

    Raises
    ------
    UsageError: arrays or items that do not match. InputError: a text that its kind cannot read. DisorderError: `check`
    found an array out of order. DeviceError: an unavailable GPU.
    """
    call = _call_of(arrays, key, descending, check, text)
    if not isinstance(side, str) or side not in ("left", "right"):
        raise UsageError(f"side={short_repr(side)} is not a side", way_out='use "left" or "right"')
    items = as_array(items) if lies_on_gpu(items) or hasattr(items, "__array__") else items
    if call.on_device:
        if is_cupy(items):
            same_side([*call.arrays, items])
            check_aligned(items, "the array of items")
        return _ranks_on_device(call, items, side)
    items = items.get() if is_cupy(items) else items
    if call.keys.text is None:
        wanted = _as_keys(np, items, keys_in(call.arrays[0][:0], call.keys.path).dtype)
    else:
        wanted = _as_texts(items)
    *runs, found = call.comparable(wanted.reshape(-1))
    wanted = found.reshape(wanted.shape)
    return search_ranks(np, runs, wanted, side, descending=call.keys.order.descending)


def _call_of(arrays: Sequence[Any], key: str | None, descending: bool, check: bool, text: Any) -> Call:
    if is_table(arrays):
        raise UsageError(f"{name_of(arrays)} is a table", way_out="give a list of columns, as [table['key']]")
    check_listed(arrays, "arrays")
    if not isinstance(arrays, Iterable) or is_one_array(arrays):
        raise UsageError("arrays is not a list of arrays", way_out="give one in brackets, too: [array]")
    given = list(arrays)
    if not given:
        raise UsageError("no arrays to rank", way_out="give at least one")
    call = Call.of(given, CallOptions(key=key, descending=flag("descending", descending), check=check, text=text))
    check_sorted(call)
    return call


def _co_ranks_on_device(call: Call, ranks: NDArray[np.int64]) -> Any:
    import cupy

    device = DeviceCall(call)
    with device.current():
        images = [device.images(array) for array in call.arrays]
        found = co_ranks_of_images(cupy, images, cupy.asarray(ranks.reshape(-1)))
        return device.kept(found.reshape(*ranks.shape, len(images)))


def _ranks_on_device(call: Call, items: Any, side: Side) -> Any:
    import cupy

    device = DeviceCall(call)
    with device.current():
        wanted = _as_keys(cupy, items, call.keys.dtype)
        images = [device.images(array) for array in call.arrays]
        found = search_ranks(cupy, images, device.images(wanted.reshape(-1)), side)
        return device.kept(found.reshape(wanted.shape))


def _as_array(given: Any, what: str) -> Array:
    """The items of anything that NumPy takes, or of a CuPy array. Raises UsageError(what) for others."""
    check_unmasked(given)
    try:
        found = np.asarray(given.get() if is_cupy(given) else given)
    except ValueError as error:  # lists of different lengths
        raise UsageError(what, way_out="give an array, or lists of one length") from error
    if found.dtype.kind == "O" and found.ndim == 0 and not isinstance(given, int | np.ndarray):
        raise UsageError(f"{what}, but {name_of(given)}", way_out="give an array or a list")
    return found


def _as_keys(xp: Any, items: Any, dtype: np.dtype[Any]) -> Any:
    """Items as an array of the dtype, of the module `xp`, NumPy or CuPy. Raises UsageError if it cannot hold them."""
    found = items if is_cupy(items) else _as_array(items, "items are not an array")
    if found.dtype.kind == "V" and dtype.kind == "S":
        found = found.view(f"S{found.dtype.itemsize}")
    if found.dtype == dtype:
        return xp.asarray(found)
    if isinstance(items, list | tuple) and found.dtype.kind == "f" and dtype.kind in "iu":
        found = np.asarray(items, object)  # NumPy rounds small and large integers beside each other to floats
    cast = cast_exactly(found, dtype)
    if cast is None:
        raise UsageError(f"items of {found.dtype} are not all values of {dtype}", way_out="give keys of that dtype")
    return xp.asarray(cast)


def _as_texts(items: Any) -> Array:
    """Items as an array of S or U. Raises UsageError if they are not text."""
    found = _as_array(items, "items are not an array")
    if found.dtype.kind not in "SUV" or found.dtype.names:
        raise UsageError(f"items of {found.dtype} are not text", way_out="give keys of S or U")
    return found


def _co_ranks(runs: Sequence[Array], keys: ArrayKeys, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The co-ranks of ascending ranks. NaTs lie apart from other items: ahead of them if descending, else behind."""
    nats = np.array([keys.nats(run) for run in runs], np.int64)
    dates = [keys.split(run, int(count))[0] for run, count in zip(runs, nats, strict=True)]
    behind = 0 if keys.order.descending else sum(map(len, dates))
    ends = np.cumsum(nats)
    of_nats = np.clip(ranks[:, None] - behind - (ends - nats), 0, nats)
    of_dates = np.clip(ranks - of_nats.sum(axis=1), 0, sum(map(len, dates)))
    cutter = FixedRanks([_Held(f"array {number}", run) for number, run in enumerate(dates)], keys.order)
    return np.asarray(cutter.cuts(of_dates) // keys.order.item_bytes + of_nats)


class _Held:
    """An array as a source of cuts. See Readable."""

    def __init__(self, name: str, items: Array) -> None:
        self.name = name
        self.size = items.nbytes
        self._items = items

    @property
    def extent(self) -> Extent:
        return Extent(-1, 0, self.size, memory=self._items)

    def read_into(self, start: int, out: NDArray[np.uint8]) -> None:
        out[:] = self._items.view(np.uint8)[start : start + len(out)]

"""The ranks and keys that users ask about, and the co-ranks of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.common_dtype import EMPTY_TEXTS
from gpumerge_cli.arrays.exact_casts import cast_exactly
from gpumerge_cli.arrays.interchange import check_unmasked, is_cupy, name_of
from gpumerge_cli.arrays.keys import Array, ArrayKeys
from gpumerge_cli.engine.ranks import FixedRanks
from gpumerge_cli.errors import UsageError
from gpumerge_cli.extents import Extent


def as_listed(given: Any, what: str) -> Array:
    """The items of anything that NumPy takes, or of a CuPy array. Raises UsageError(what) for others."""
    check_unmasked(given)
    try:
        found = np.asarray(given.get() if is_cupy(given) else given)
    except ValueError as error:  # lists of different lengths
        raise UsageError(what, way_out="give an array, or lists of one length") from error
    if found.dtype.kind == "O" and found.ndim == 0 and not isinstance(given, int | np.ndarray):
        raise UsageError(f"{what}, but {name_of(given)}", way_out="give an array or a list")
    return found


def as_keys(xp: Any, items: Any, dtype: np.dtype[Any]) -> Any:
    """Items as an array of the dtype, of the module `xp`, NumPy or CuPy. Raises UsageError if it cannot hold them."""
    found = items if is_cupy(items) else as_listed(items, "items are not an array")
    if found.dtype.kind == "V" and dtype.kind == "S":
        found = found.view(f"S{found.dtype.itemsize}")
    if found.dtype == dtype:
        return _there(xp, found)
    if isinstance(items, list | tuple) and found.dtype.kind == "f" and dtype.kind in "iu":
        found = np.asarray(items, object)  # NumPy rounds small and large integers beside each other to floats
    known = xp is np or not is_cupy(found) or found.dtype.kind not in "mM"
    cast = cast_exactly(found, dtype) if known else None
    if cast is None:
        raise UsageError(f"items of {found.dtype} are not all values of {dtype}", way_out="give keys of that dtype")
    return _there(xp, cast)


def _there(xp: Any, array: Any) -> Any:
    """The NumPy or CuPy array as one of the module `xp`. CuPy makes no arrays of NumPy's dates."""
    return xp.asarray(array.view(np.int64)).view(array.dtype) if array.dtype.kind in "mM" else xp.asarray(array)


def as_items(items: Any, dtype: np.dtype[Any]) -> Any:
    """Items as an array of the dtype, of NumPy or CuPy. Raises UsageError if they are not, and for other records."""
    if not is_cupy(items) and dtype.names is None:
        return as_keys(np, items, dtype)
    found = items if is_cupy(items) else as_listed(items, "items are not an array")
    if found.dtype.kind == "V" and dtype == f"S{found.dtype.itemsize}":
        found = found.view(dtype)
    if found.dtype != dtype:
        raise UsageError(f"items of {found.dtype} are not of {dtype}", way_out="give items of the arrays' dtype")
    return found


def as_texts(items: Any) -> Array:
    """Items as an array of S or U. Raises UsageError if they are not text."""
    found = as_listed(items, "items are not an array")
    if isinstance(items, list | tuple) and found.size == 0:
        return found.astype(EMPTY_TEXTS)
    if found.dtype.kind not in "SUV" or found.dtype.names:
        raise UsageError(f"items of {found.dtype} are not text", way_out="give keys of S or U")
    return found


def co_ranks_of_runs(runs: Sequence[Array], ranks: NDArray[np.int64], keys: ArrayKeys) -> NDArray[np.int64]:
    """The co-ranks of ascending ranks. NaTs lie apart from other items: ahead of them if descending, else behind."""
    nats = np.array([keys.nats(run) for run in runs], np.int64)
    dates = [keys.split(run, int(count))[0] for run, count in zip(runs, nats, strict=True)]
    behind = 0 if keys.order.descending else sum(map(len, dates))
    ends = np.cumsum(nats)
    of_nats = np.clip(ranks[:, None] - behind - (ends - nats), 0, nats)
    of_dates = np.clip(ranks - of_nats.sum(axis=1), 0, sum(map(len, dates)))
    cutter = FixedRanks([_Held(f"array {number}", run) for number, run in enumerate(dates)], keys.order)
    cuts = np.array(cutter.near(of_dates.tolist())).reshape(of_nats.shape)
    targets = of_dates * keys.order.item_bytes
    for number in np.flatnonzero(cuts.sum(axis=1) != targets).tolist():
        cuts[number] = cutter.exact(int(targets[number]), tuple(cuts[number].tolist()))
    return np.asarray(cuts // keys.order.item_bytes + of_nats)


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

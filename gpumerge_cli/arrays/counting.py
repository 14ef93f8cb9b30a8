"""Counts of equal keys: the first or the last of several equal keys stays, with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpumerge_cli.arrays.interchange import is_cupy
from gpumerge_cli.arrays.key_parts import key_images, words_of
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.plain_items import from_plain, plain, taken_items

if TYPE_CHECKING:
    from gpumerge_cli.order.equals import Kept


def counted(found: Any, keys: ArrayKeys | None, threads: int, keep: Kept, *, moved: bool) -> Any:
    """(keys, counts), or (keys, values, counts), of sorted keys, or of (keys, values) if `moved`.

    found: NumPy's or CuPy's arrays; waits for a GPU. keys: of the items; None if these are their own keys. threads: of
    the host, for text. keep: the one of several equal keys that stays. Counts are int64.
    """
    items, *values = found if moved else (found,)
    if not is_cupy(items):
        compared = items if keys is None else keys.comparable([items], threads)[0]
        return _counted(items, values, compared, keep)
    from gpumerge_cli.backends.gpu import access as gpu
    from gpumerge_cli.backends.gpu.streams import calls_on, check_waiting, current_stream

    with calls_on(items.device):
        check_waiting(current_stream(), "a call with counts")
        backend = gpu.create(items.device.id)
        if keys is None or not keys.parts:
            return _counted_on_gpu(backend, items, plain(items), values, keep)
        import cupy

        [images] = key_images(cupy, backend, [words_of(cupy, items, keys.parts)])
        return _counted_on_gpu(backend, items, images, values, keep)


def _counted_on_gpu(backend: Any, items: Any, compared: Any, values: list[Any], keep: Kept) -> tuple[Any, ...]:
    """See counted. items: sorted. compared: they themselves as numbers, or their images, contiguous."""
    import cupy

    counts = cupy.empty(0, np.int64)
    if not len(items):
        return (items, *values, counts)
    found, first = backend.groups(compared)
    counts = cupy.empty(len(first), np.int64)
    cupy.subtract(first[1:], first[:-1], out=counts[:-1])
    counts[-1:] = len(items) - first[-1:]
    kept = first if keep == "first" else first + (counts - 1)
    # Equal floats may differ: zeros in their sign, and NaNs.
    may_differ = compared.dtype.kind == "f" and keep == "last"
    same = compared.dtype == plain(items).dtype and not may_differ
    return (
        from_plain(found, items.dtype) if same else taken_items(items, kept),
        *(taken_items(rows, kept) for rows in values),
        counts,
    )


def _counted(items: Any, values: list[Any], compared: Any, keep: Kept) -> tuple[Any, ...]:
    """See counted. compared: the items' keys, or images of these."""
    new = np.ones(len(compared), bool)
    here, ahead = compared[1:], compared[:-1]
    new[1:] = here != ahead
    if compared.dtype.kind in "fmM":  # NaN and NaT do not equal themselves
        new[1:] &= (here == here) | (ahead == ahead)
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(compared)))
    kept = first if keep == "first" else first + counts - 1
    return (items[kept], *(rows[kept] for rows in values), counts.astype(np.int64, copy=False))

"""What the radix sort needs to know of its items: how they are moved, and in which order they are.

Items are 1-D arrays of key bits, or (n, 2) arrays of uint64 whose rows are pairs: a row's prefix and its number. The
context is that of keys.py; of pairs it is the rows', of which the address of prefixes is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from gpumerge_cli.backends.cpu.keys import key_of
from gpumerge_cli.backends.cpu.records import row_before
from gpumerge_cli.backends.cpu.rows import RECORDS, TAIL


def load(items: Any, i: Any) -> Any:
    """Item i: key bits, or a pair."""
    raise AssertionError("runs compiled only")


@overload(load, strict=False)
def _load(items: Any, i: Any) -> Any:
    if items.ndim == 2:
        return lambda items, i: (items[i, np.uint64(0)], items[i, np.uint64(1)])
    return lambda items, i: items[i]


def store(items: Any, i: Any, item: Any) -> None:
    """Put an item to place i."""
    raise AssertionError("runs compiled only")


@overload(store, strict=False)
def _store(items: Any, i: Any, item: Any) -> Any:
    if items.ndim == 2:

        def pair(items: Any, i: Any, item: Any) -> None:
            items[i, np.uint64(0)] = item[0]
            items[i, np.uint64(1)] = item[1]

        return pair

    def single(items: Any, i: Any, item: Any) -> None:
        items[i] = item

    return single


def image(item: Any, context: Any) -> Any:
    """The unsigned 64-bit integer that orders as the item does, ties of rows aside."""
    raise AssertionError("runs compiled only")


@overload(image, strict=False)
def _image(item: Any, context: Any) -> Any:
    if len(context) == 4:
        return lambda item, context: item[0]
    return lambda item, context: np.uint64(key_of(item, context))


def tie_before(y: Any, x: Any, context: Any) -> Any:
    """Whether item y sorts strictly before item x, whose images are equal."""
    raise AssertionError("runs compiled only")


@overload(tie_before, strict=False)
def _tie_before(y: Any, x: Any, context: Any) -> Any:
    if len(context) == 4:
        return lambda y, x, context: row_before(
            context[1],
            context[2],
            np.int64(y[1]),  # type: ignore[arg-type]
            np.int64(x[1]),  # type: ignore[arg-type]
            context[3],
        )
    return lambda y, x, context: False


def has_ties(context: Any) -> Any:
    """Whether items with equal images may differ in order."""
    raise AssertionError("runs compiled only")


@overload(has_ties, strict=False)
def _has_ties(context: Any) -> Any:
    if len(context) == 4:
        return lambda context: not (context[3] & RECORDS and context[3] >> TAIL == 0)
    return lambda context: False

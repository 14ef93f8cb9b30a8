"""What a merge kernel needs to know of its items: an item's key, and whether one item goes before another.

The kernels are written once; Numba compiles them for each kind of context:
- integer keys, (flip,): items are key bits, the key is `bits ^ flip`;
- float keys, (flip, infinity, sign): the key is the image of order.py;
- rows, (prefixes, data, places, flags), the first two addresses: items are numbers of lines or records, the key is the
  row's prefix, ties fall through to the rest of the key. See rows.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from gpumerge_cli.backends.cpu.records import row_before
from gpumerge_cli.jit import word_at


def key_of(item: Any, context: Any) -> Any:
    """The key of an item: an unsigned integer that orders as the item does, ties of rows aside."""
    raise AssertionError("runs compiled only")


@overload(key_of, strict=False)
def _key_of(item: Any, context: Any) -> Any:
    fields = len(context)
    if fields == 1:
        return lambda item, context: item ^ context[0]
    if fields == 4:
        return lambda item, context: word_at(context[0] + 8 * item)

    top = np.uint64(item.bitwidth - 1)
    everything = np.uint64(-1 % (1 << item.bitwidth))

    def image(item: Any, context: Any) -> Any:
        # Without a branch: signs of random keys cannot be foreseen.
        flip, infinity, sign = context
        bits = np.uint64(item)
        magnitude = bits & ~np.uint64(sign) & everything
        negative = np.uint64(0) - ((bits & np.uint64(sign)) >> top)
        ordered = np.uint64(sign) + ((magnitude ^ negative) - negative)
        not_a_number = np.uint64(0) - np.uint64(magnitude > np.uint64(infinity))
        return (ordered | (not_a_number & everything)) ^ np.uint64(flip)

    return image


def before(y: Any, y_key: Any, x: Any, x_key: Any, context: Any) -> Any:
    """Whether item y sorts strictly before item x, given their keys."""
    raise AssertionError("runs compiled only")


@overload(before, strict=False)
def _before(y: Any, y_key: Any, x: Any, x_key: Any, context: Any) -> Any:
    if len(context) == 4:

        def rows(y: Any, y_key: Any, x: Any, x_key: Any, context: Any) -> Any:
            if y_key != x_key:
                return y_key < x_key
            return row_before(context[1], context[2], y, x, context[3])

        return rows
    return lambda y, y_key, x, x_key, context: y_key < x_key

"""References to rows: the number of an input or run, and of the row in it, in one integer of 63 bits.

Two items may stand for all rows of a group, see formats.tables.apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.order.rows import REFERENCE_BYTES
from gpumerge_cli.order.rules import NUL

if TYPE_CHECKING:
    import pyarrow as pa

_ROW_BITS = 40
MOST_ROWS = 1 << _ROW_BITS
"""The most rows of an input."""
_INPUT_BITS = 21
MOST_INPUTS = 1 << _INPUT_BITS
"""The most inputs of rows."""
WHOLE = np.uint64(1 << 61)
"""Set in a reference that stands for all rows of the group that begins with its row."""
END = np.uint64(1 << 62)
"""Set in a reference to the last row of such a group, which stands for no more rows."""
_AT_ONCE = 1 << 16
_BITS = 7
_TEXT = 9
"""The bytes of a reference in a line. The highest bit of each is set, so that none is NUL or MARK."""


def references(number: int, first: int, count: int) -> NDArray[np.uint64]:
    """The references to `count` rows of input `number` from row `first` on."""
    start = (number << _ROW_BITS) + first
    return np.arange(start, start + count, dtype=np.uint64)


def check_rows(name: str, rows: int) -> None:
    """Raise InputError for more rows of an input than references can number. name: the file."""
    if not 0 <= rows <= MOST_ROWS:
        what = f"it says that it has {rows} rows; at most {MOST_ROWS} can be merged"
        raise InputError(what, where=name, way_out="copy or write it again")


def reference_texts(found: NDArray[np.uint64]) -> pa.LargeBinaryArray:
    """References as the end of lines, with NUL."""
    import pyarrow as pa

    texts = np.zeros((len(found), _TEXT + 1), np.uint8)
    for at in range(_TEXT):
        texts[:, at] = _bits(found, at)
    offsets = np.arange(len(found) + 1, dtype=np.int64) * (_TEXT + 1)
    return pa.Array.from_buffers(
        pa.large_binary(), len(found), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts))]
    )


def references_of(items: Bytes, item_bytes: int) -> NDArray[np.uint64]:
    """The references of whole items. item_bytes: the bytes of each, 0 for lines."""
    data: Any = np.frombuffer(items, np.uint8)
    if item_bytes % REFERENCE_BYTES == 0 and item_bytes:
        words: NDArray[np.uint64] = data.view(np.uint64).reshape(-1, item_bytes // REFERENCE_BYTES)
        return words[:, -1]
    if item_bytes:
        rows = data.reshape(-1, item_bytes)[:, item_bytes - REFERENCE_BYTES :]
        return np.ascontiguousarray(rows).view(np.uint64).reshape(-1)
    ends = np.flatnonzero(data == NUL)
    return _of_texts([data[ends - (_TEXT - at)] for at in range(_TEXT)])


def _of_texts(columns: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint64]:
    """The references in lines, of which each column has one byte."""
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        found <<= np.uint64(_BITS)
        found |= (column & 0x7F).astype(np.uint64)
    return found


NO_ROW = b"\xff" * _TEXT
"""Stands for the reference to no row in the joined lines of PayloadJoin."""
NO_BYTE = b"\xff"
"""The bytes of such a reference in the joined records of RecordJoin."""


def joined_rows(items: Bytes, key_bytes: int, sides: int) -> NDArray[np.int64]:
    """The rows of joined items, int64[items, sides]; -1 for none.

    key_bytes: those of the keys in joined records, 0 for lines. sides: the references in an item.
    """
    data: Any = np.frombuffer(items, np.uint8)
    if key_bytes:
        size = key_bytes + sides * REFERENCE_BYTES
        if size % REFERENCE_BYTES == 0:
            found = data.view(np.uint64).reshape(-1, size // REFERENCE_BYTES)[:, -sides:]
        else:
            found = np.ascontiguousarray(data.reshape(-1, size)[:, key_bytes:]).view(np.uint64)
    else:
        rows = data.reshape(-1, sides * (_TEXT + 1))
        starts = range(0, sides * (_TEXT + 1), _TEXT + 1)
        found = np.stack([_of_texts([rows[:, start + at] for at in range(_TEXT)]) for start in starts], axis=1)
    made = np.empty((sides, len(found)), np.int64)  # the rows of a side lie one behind the other
    for side, rows in zip(made, found.T, strict=True):
        np.bitwise_and(rows, np.uint64(MOST_ROWS - 1), out=side.view(np.uint64))
        side[rows >= END] = -1
    return made.T


def row_of(item: bytes, item_bytes: int) -> int:
    """The row of an item, without the end of a line. item_bytes: see references_of."""
    _, rows = places(references_of(item if item_bytes else item + bytes([NUL]), item_bytes))
    return int(rows[0])


def renumbered(items: Bytes, number: int, item_bytes: int) -> NDArray[np.uint8]:
    """Whole items, which are changed to refer to the rows of input `number` in turn. item_bytes: see references_of."""
    data = np.frombuffer(items, np.uint8)
    if item_bytes:
        rows = data.reshape(-1, item_bytes)
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            found = references(number, at, len(some))
            some[:, item_bytes - REFERENCE_BYTES :] = found.view(np.uint8).reshape(-1, REFERENCE_BYTES)
        return data
    ends = np.flatnonzero(data == NUL)
    found = references(number, 0, len(ends))
    for at in range(_TEXT):
        data[ends - (_TEXT - at)] = _bits(found, at)
    return data


def _bits(found: NDArray[np.uint64], at: int) -> NDArray[np.uint8]:
    """Byte `at` of references in lines."""
    bits = (found >> np.uint64(_BITS * (_TEXT - 1 - at))) & np.uint64(0x7F)
    return bits.astype(np.uint8) | np.uint8(0x80)


def places(found: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(the numbers of inputs, the rows) of references, whether they stand for one row or a group."""
    inputs = found >> np.uint64(_ROW_BITS) & np.uint64(MOST_INPUTS - 1)
    return inputs.astype(np.int64), (found & np.uint64(MOST_ROWS - 1)).astype(np.int64)

"""Rows of tables by references to them, by the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpumerge_cli.buffers import address_of
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library

_WORD = 8


@dataclass(frozen=True)
class RowRange:
    """The rows of an input among which wanted ones lie."""

    low: int
    high: int
    """The row behind the last one."""
    count: int
    """The number of wanted rows."""


@dataclass(frozen=True)
class RowChunk:
    """Some values of an input, which lie one behind the other."""

    number: int
    """That of the input."""
    first: int
    """Its first row."""
    rows: int
    address: int
    """The address of the first value."""


def row_ranges(references: Any, inputs: int) -> dict[int, RowRange] | None:
    """The ranges of inputs to which there are references; None if there is one to an input beyond `inputs`.

    references: an array of uint64, which may have gaps.
    """
    lib = library()
    found = (lib.RowRange * inputs)()
    if not lib.gm_row_ranges(*_words(references), inputs, found):
        return None
    return {number: RowRange(one.low, one.high, one.count) for number, one in enumerate(found) if one.count}


def gather(references: Any, width: int, chunks: Sequence[RowChunk], out: Any) -> bool:
    """Write the values of rows to a buffer, in the order of the references; False if a row is in no chunk.

    width: the bytes of a value. See row_ranges.
    """
    lib = library()
    made = (lib.RowChunk * len(chunks))(*((one.number, one.first, one.rows, one.address) for one in chunks))
    return bool(lib.gm_gather(*_words(references), width, made, len(chunks), address_of(out)))


def _words(references: Any) -> tuple[int, int, int]:
    """(the address of the first one, the words from one to the next, the number of them)."""
    return references.__array_interface__["data"][0], references.strides[0] // _WORD, len(references)

"""Lines that begin with counts, and the items that stand for them, by the library."""

from __future__ import annotations

from gpumerge_cli.buffers import Bytes, address_of, uncleared
from gpumerge_cli.native.library import library

_MORE = 8
"""Bytes that a line may have more than its item."""


class NoCountError(Exception):
    """A line does not begin with a count. position: the byte of the text at which it begins."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def items_of_lines(text: Bytes, end: int) -> Bytes:
    """The items of whole lines, the last of which may lack its newline: see gm_counted_items. Raises NoCountError."""
    nbytes = memoryview(text).nbytes
    out = uncleared(nbytes + 1)
    made = library().gm_counted_items(address_of(text), nbytes, end, address_of(out))
    if made < 0:
        raise NoCountError(~made)
    return out[:made]


def counted_text(items: Bytes, end: int) -> Bytes:
    """The lines of such items, as uniq -c writes them."""
    nbytes = memoryview(items).nbytes
    out = uncleared(nbytes + _MORE * bytes(items).count(end))
    return out[: library().gm_counted_lines(address_of(items), nbytes, end, address_of(out))]

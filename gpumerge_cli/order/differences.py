"""The rules of a diff: two inputs in the order of one key, and what differs between their items."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import Order
from gpumerge_cli.order.rules import LineKey

MARKS = ("-", "+", "<", ">")
"""The values of the column that a diff adds: an item of the old input alone, one of the new input alone, and both items
of a changed pair. They are in the order of Mark of kernels/cpu/join_output.hpp."""
CHANGE_TITLE = "change"
"""The title of this column."""
# Bits of JoinShows of kernels/cpu/entries.h.
_DIFF, _UNIQUE, _COUNTS = 16, 32, 64


@dataclass(frozen=True)
class DiffRequest:
    """A diff of two inputs, before they are opened."""

    ignored: tuple[str, ...] = ()
    """Columns that are not compared: names of a header, or numbers from 1."""
    multi: bool = False
    """Whether several items of an input may have equal keys. They are paired in order."""
    total: bool = False
    """Whether differences are counted and not written."""
    changes: str | None = None
    """The file of changed columns, CSV; None for none."""

    @property
    def added(self) -> tuple[str, ...]:
        """The title of the column that the output gets, if it holds items."""
        return () if self.total else (CHANGE_TITLE,)

    @property
    def shows(self) -> int:
        """The sum of bits of JoinShows."""
        return _DIFF | _UNIQUE * (not self.multi) | _COUNTS * self.total


@dataclass(frozen=True)
class Diff:
    """A diff of two inputs whose items are alike."""

    shows: int
    """See DiffRequest."""
    orders: tuple[Order, ...]
    """The order of the old input and of the new one, which is the same."""
    marks: tuple[bytes, ...]
    """The bytes ahead of an item for each of MARKS, all of one length."""
    ignored: tuple[int, ...] = ()
    """Fields of lines that are not compared, counted from 0."""
    places: tuple[array[int], ...] = ()
    """The places of keys in records; () for lines."""
    changes: str | None = None
    """See DiffRequest."""
    names: tuple[str, ...] = ()
    """The names of the columns of lines, as far as they have names."""
    by_key: Order | None = None
    """The order of the keys of records and rows; None for lines."""
    changed_items: Callable[[Any], tuple[Any, int]] | None = None
    """Leaves the pairs that have not changed out of the bytes of whole items of the result, and counts these pairs.

    None if the items hold all that is compared."""

    asof = None
    between = b"\0"
    most = (0, 0)

    @property
    def only_counts(self) -> bool:
        """Whether differences are counted and not written."""
        return bool(self.shows & _COUNTS)

    @property
    def filler(self) -> bytes:
        """See JoinSpec of kernels/cpu/entries.h."""
        return b"".join(self.marks)

    @property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """See JoinSpec."""
        return tuple((field,) for field in self.ignored)

    @property
    def compared(self) -> Order:
        """The order of keys. A line is compared as a whole, by the keys in it."""
        return self.orders[0] if self.by_key is None else self.by_key

    @property
    def tables(self) -> tuple[array[int], ...]:
        """See Join."""
        if self.places:
            return self.places
        text = self.orders[0].text
        assert text is not None
        return (replace(text, keys=(LineKey(),), stable=True, locale="").table(),) * 2

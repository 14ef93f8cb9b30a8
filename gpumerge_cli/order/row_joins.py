"""Joins of items that stand for rows or lines: an item is the images of keys, then what stands for the rest."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.joins import ONLY_A, ONLY_B, PAIRED_A, PAIRS
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import MARK

if TYPE_CHECKING:
    from gpumerge_cli.order.asof import Asof


@dataclass(frozen=True)
class JoinRequest:
    """A join of two inputs whose format makes items for it, see formats.format.Format.joins_by_request."""

    shows: int = PAIRS
    """A sum of PAIRS and the others of joins.py."""
    columns: tuple[tuple[int, int], ...] | None = None
    """The columns of the output, see order.joins.Join; None for all."""
    asof: Asof | None = None
    """See order.joins.Join."""

    @property
    def may_lack(self) -> tuple[bool, bool]:
        """Whether there may be no row of A, or of B, for a row of the output."""
        return bool(self.shows & ONLY_B), bool(self.shows & (ONLY_A | PAIRED_A))

    @property
    def only_one(self) -> int:
        """0 if no rows but those of A go out, 1 if no rows but those of B do, -1 otherwise."""
        if not self.shows & (PAIRS | ONLY_B):
            return 0
        return 1 if self.shows == ONLY_B else -1


@dataclass(frozen=True)
class PayloadJoin:
    """A join of two inputs of lines, A and B, each the images of keys with MARK behind each, and then a payload.

    The output has the payload of A, MARK and the payload of B.
    """

    shows: int
    """See JoinRequest."""
    orders: tuple[Order, ...]
    """The orders of A and B, by as many keys that compare alike."""
    filler: bytes
    """The payload of a missing line."""
    asof: Asof | None = None
    """See order.joins.Join."""

    between = MARK
    most = (0, 0)

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """See Join."""
        return (1, self._keys), (2, self._keys)

    @property
    def compared(self) -> Order:
        """The order of keys: of lines that have nothing but the images."""
        text = self.orders[0].text
        assert text is not None
        if self._keys > 1:
            return Order.lines(text)
        (key,) = text.keys
        return Order.lines(replace(text, keys=(replace(key, start_field=0, end_field=None),)))

    @property
    def tables(self) -> tuple[array[int], ...]:
        """See Join."""
        return tuple(order.text.table() for order in self.orders if order.text is not None)

    @property
    def _keys(self) -> int:
        text = self.orders[0].text
        assert text is not None
        return len(text.keys)

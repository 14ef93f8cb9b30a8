"""Sieves, which leave out items that cannot be among the first or last ones of a sort, by the library."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status, order_spec
from gpumerge_cli.order.kinds import Order

PADDING = 64
"""Bytes behind items that must be readable, as memory.hpp has it."""


class Sieve:
    """Passes on items until it has a bound; then only those that do not go behind it, or with `last` ahead of it.

    Its memory is gone when it is closed. Raises MemoryError.
    """

    def __init__(self, order: Order, *, last: bool) -> None:
        self._library = library()
        self._spec = order_spec(order)
        self._found = self._library.Sieved()
        self._handle: int | None = self._library.gm_sieve_open(self._spec, last)
        if self._handle is None:
            raise MemoryError

    def bound(self, item: bytes, *, equals: bool) -> None:
        """Leave out items beyond this one. equals: those that compare equal, too. Lines come without terminators."""
        check_status(self._library.gm_sieve_bound(self._handle, item, len(item), equals))

    def sift(self, block: Bytes, start: int, stop: int, out: Bytes) -> Any:
        """Copy the items that stay from block[start:stop] to the front of `out`. Returns Sieved of entries.h.

        PADDING bytes of the block must follow `stop`. start, out: aligned to keys. The result is valid until the next
        call.
        """
        place = address_of(block) + start
        self._library.gm_sieve_pass(self._handle, place, stop - start, address_of(out), len(out), self._found)
        return self._found

    def close(self) -> None:
        """Free the memory."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_sieve_close(handle)

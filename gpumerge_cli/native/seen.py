"""The items that go out of equal ones, wherever these lie, by the library."""

from __future__ import annotations

import os
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, memory_at
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import OutputError, output_error
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

HASH_BITS = 64
"""The bits of a hash. Tests have fewer, so that many items have one hash."""


@dataclass(frozen=True)
class Taken:
    """The outcome of a call of `SeenItems`."""

    nbytes: int
    """The bytes of the text that were gone through."""
    items: int
    """The number of items in them."""
    part: int
    """The part to which `piece` must be written before the next call; -1 for none."""
    piece: Bytes
    """Valid until the next call."""
    kept: int
    """The items that go out, of those that were put out."""


class SeenItems:
    """Decides which of equal items go out. They come in any order. One thread at a time uses it.

    equals: a rule for places, which are those in the order in which items come. most: bytes of items and of their table
    that are held at a time. bits: bytes of the bits that say which items go out; others lie in the file `descriptor`.
    Raises MemoryError.
    """

    def __init__(self, order: Order, equals: Equals, most: int, bits: int, descriptor: int) -> None:
        self._library = lib = library()
        self._order = order_spec(order)
        self._spec = lib.SeenSpec(equals.value, most, bits, descriptor, HASH_BITS)
        self._result: Any = lib.SeenResult()
        self._failure: Any = lib.Failure()
        self._handle: int | None = lib.gm_seen_open(self._order, self._spec)
        if self._handle is None:
            raise MemoryError

    def begin(self, parts: int, room: int, depth: int) -> None:
        """Begin with the caller's items at depth 0, or with those of a part of the depth ahead.

        parts: a power of two, the parts to which items go once memory is full. room: bytes of a part that are held.
        """
        self._check(self._library.gm_seen_begin(self._handle, parts, room, depth, self._failure))

    def take(self, text: Bytes, start: int, stop: int, *, records: bool) -> Taken:
        """Take whole items in text[start:stop], until a piece of a part must be written.

        TEXT_PADDING bytes behind `stop` can be read. records: the text is of a part. Raises Disordered for an invalid
        key, OutputError, MemoryError.
        """
        call, at = self._library.gm_seen_take, address_of(text) + start
        self._check(call(self._handle, at, stop - start, records, self._result, self._failure))
        if self._result.fault >= 0:
            raise Disordered(0)
        return self._taken()

    def flush(self) -> Taken:
        """The next piece that must be written at the end."""
        self._library.gm_seen_flush(self._handle, self._result)
        return self._taken()

    def put(self, text: Bytes, start: int, stop: int, out: Bytes) -> Taken:
        """Write the whole items in text[start:stop] that go out to `out`, which has as much room: `piece`."""
        call, at = self._library.gm_seen_put, address_of(text) + start
        self._result.part = -1
        self._check(call(self._handle, at, stop - start, address_of(out), self._result, self._failure))
        self._result.at = address_of(out)
        return self._taken()

    def close(self) -> None:
        """Free the memory."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_seen_close(handle)

    def _taken(self) -> Taken:
        found = self._result
        return Taken(found.taken, found.items, found.part, memory_at(found.at, found.nbytes), found.kept)

    def _check(self, status: int) -> None:
        lib, failure = self._library, self._failure
        if status == lib.WRITE_FAILED:
            error = OSError(failure.error, os.strerror(failure.error))
            raise output_error(error, "a temporary file") if failure.error else OutputError("a temporary file failed")
        if status != lib.DONE:
            raise MemoryError

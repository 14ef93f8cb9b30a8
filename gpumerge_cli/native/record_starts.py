"""The lines that begin records of several lines, found by the library."""

from __future__ import annotations

import ctypes
from functools import cache

from gpumerge_cli.errors import UsageError
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.units import quoted_value

_MESSAGE = 256


class RecordStarts:
    """The lines that a pattern matches, or that hold the time that key 0 of an order reads."""

    def __init__(self, pattern: bytes | None, order: Order) -> None:
        """pattern: extended as POSIX has it; None for times. Raises UsageError with the words of the C library."""
        self._order = order_spec(order)
        self._pattern: int | None = None
        if pattern is None:
            return
        message = ctypes.create_string_buffer(_MESSAGE)
        self._pattern = library().gm_pattern_open(pattern, ctypes.addressof(message), _MESSAGE)
        if self._pattern is None:
            if not message.value:
                raise MemoryError
            raise UsageError(
                f"--record-start {quoted_value(pattern.decode(errors='backslashreplace'))}: {message.value.decode()}",
                way_out="write time, or a POSIX extended regular expression, as for grep -E",
            )

    def mark(self, text: bytearray, end: int) -> tuple[bool, bool]:
        """Put the byte `end` in place of the newline ahead of each line of `text` that begins a record.

        Returns whether the first line begins one, whose newline is not there, and whether any line does.
        """
        begun = ctypes.c_int64()
        held = (ctypes.c_char * len(text)).from_buffer(text)
        library().gm_mark_records(
            self._pattern, self._order, ctypes.addressof(held), len(text), end, ctypes.addressof(begun)
        )
        return bool(begun.value & 1), bool(begun.value & 2)

    def close(self) -> None:
        """Give the pattern's memory back; a second call does nothing."""
        pattern, self._pattern = self._pattern, None
        if pattern is not None:
            library().gm_pattern_close(pattern)


@cache
def check_pattern(pattern: bytes) -> None:
    """Raise UsageError for an invalid regular expression."""
    RecordStarts(pattern, Order.lines()).close()

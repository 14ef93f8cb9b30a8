"""Blocks of objects that were read lately: cuts make many small reads, close to each other."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar

BLOCK = 256 << 10
_MOST_BYTES = 128 << 20
_MOST_AHEAD = 16
_LOCKS = 61

Read = Callable[[int, int], bytes]


class Blocks:
    """Keeps the blocks of one object; all objects together keep no more than some bytes, the latest ones.

    read: gives the bytes between two positions. size: bytes of the object.
    """

    _kept: ClassVar[OrderedDict[tuple[int, int], bytes]] = OrderedDict()
    _lock = threading.Lock()
    _owners = 0
    _number = 0

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._size = size
        self._locks = [threading.Lock() for _ in range(min(_LOCKS, size // BLOCK + 1))]
        with Blocks._lock:
            Blocks._number += 1
            Blocks._owners += 1
            self._own = Blocks._number

    def get(self, start: int, stop: int) -> bytes:
        """The bytes between two positions inside the object."""
        if stop <= start:
            return b""
        first, last = start // BLOCK, (stop - 1) // BLOCK
        whole = b"".join([self._block(number) for number in range(first, last + 1)])
        return whole[start - first * BLOCK : stop - first * BLOCK]

    def _block(self, number: int) -> bytes:
        found = self._held(number)
        if found is not None:
            return found
        # Threads that want neighbouring blocks wait for the one that reads them.
        ahead = self._ahead(number)
        with self._locks[number // ahead % len(self._locks)]:
            found = self._held(number)
            if found is not None:
                return found
            low = number * BLOCK
            data = self._read(low, min(self._size, low + ahead * BLOCK))
            with Blocks._lock:
                for at in range(0, len(data), BLOCK):
                    Blocks._kept[self._own, number + at // BLOCK] = data[at : at + BLOCK]
                while len(Blocks._kept) * BLOCK > _MOST_BYTES:
                    Blocks._kept.popitem(last=False)
            return data[:BLOCK]

    def _held(self, number: int) -> bytes | None:
        with Blocks._lock:
            found = Blocks._kept.get((self._own, number))
            if found is not None:
                Blocks._kept.move_to_end((self._own, number))
            return found

    def _ahead(self, number: int) -> int:
        """Blocks to read at once: several if the one ahead was read, as who reads in order does."""
        with Blocks._lock:
            if (self._own, number - 1) not in Blocks._kept:
                return 1
            share = _MOST_BYTES // BLOCK // (2 * max(1, Blocks._owners))
        return max(1, min(_MOST_AHEAD, share))

    def close(self) -> None:
        """Keep nothing any more."""
        with Blocks._lock:
            Blocks._owners -= 1
            for key in [key for key in Blocks._kept if key[0] == self._own]:
                del Blocks._kept[key]

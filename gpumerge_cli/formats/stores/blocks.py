"""Blocks of objects that were read lately: cuts make many small reads, close to each other, and chunks go in order."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from gpumerge_cli.errors import InputError

BLOCK_BYTES = 256 << 10
_MOST_BYTES = 256 << 20
_MOST_AHEAD = 16
_LOCKS = 61

ReadRange = Callable[[int, int], bytes]


class Blocks:
    """Keeps the blocks of one object; all objects together keep no more than some bytes, the latest ones.

    read: gives the bytes between two positions. size: bytes of the object. later: has another thread call a function.
    """

    _kept: ClassVar[OrderedDict[tuple[int, int], bytes]] = OrderedDict()
    _lock = threading.Lock()
    _owners = 0
    _number = 0

    def __init__(
        self, read: ReadRange, size: int, later: Callable[[Callable[[], None]], Any] = lambda work: None
    ) -> None:
        self._read = read
        self._size = size
        self._later = later
        self._locks = [threading.Lock() for _ in range(min(_LOCKS, size // BLOCK_BYTES + 1))]
        self._foreseen: set[int] = set()
        self._closed = False
        with Blocks._lock:
            Blocks._number += 1
            Blocks._owners += 1
            self._id = Blocks._number

    def get(self, start: int, stop: int) -> bytes:
        """The bytes between two positions inside the object."""
        if stop <= start:
            return b""
        first, last = start // BLOCK_BYTES, (stop - 1) // BLOCK_BYTES
        whole = b"".join([self._block(number) for number in range(first, last + 1)])
        return whole[start - first * BLOCK_BYTES : stop - first * BLOCK_BYTES]

    def _block(self, number: int) -> bytes:
        found = self._held(number)
        if found is None:
            # Who reads in order gets several blocks at once, and the next ones are read meanwhile.
            ahead = self._ahead() if self._held(number - 1) is not None else 1
            found = self._fetch(number, ahead)
            if ahead > 1:
                self._foresee(number + ahead)
        elif number in self._foreseen:
            self._foreseen.discard(number)
            self._foresee(number + self._ahead())
        return found

    def _foresee(self, number: int) -> None:
        if number * BLOCK_BYTES < self._size and number not in self._foreseen:
            self._foreseen.add(number)
            self._later(lambda: self._try_to_fetch(number))

    def _try_to_fetch(self, number: int) -> None:
        if not self._closed:
            with suppress(InputError):  # whoever wants the block reads it again, and raises
                self._fetch(number, self._ahead())

    def _fetch(self, number: int, count: int) -> bytes:
        """Read so many blocks, unless the first is there; returns that one."""
        # Threads that want neighbouring blocks wait for the one that reads them.
        with self._locks[number // _MOST_AHEAD % len(self._locks)]:
            found = self._held(number)
            if found is not None:
                return found
            low = number * BLOCK_BYTES
            data = self._read(low, min(self._size, low + count * BLOCK_BYTES))
            with Blocks._lock:
                for at in range(0, 0 if self._closed else len(data), BLOCK_BYTES):
                    Blocks._kept[self._id, number + at // BLOCK_BYTES] = data[at : at + BLOCK_BYTES]
                while len(Blocks._kept) * BLOCK_BYTES > _MOST_BYTES:
                    Blocks._kept.popitem(last=False)
            return data[:BLOCK_BYTES]

    def _held(self, number: int) -> bytes | None:
        with Blocks._lock:
            found = Blocks._kept.get((self._id, number))
            if found is not None:
                Blocks._kept.move_to_end((self._id, number))
            return found

    def _ahead(self) -> int:
        """Blocks to read at once: fewer where many objects share the memory."""
        return max(1, min(_MOST_AHEAD, _MOST_BYTES // BLOCK_BYTES // (4 * max(1, Blocks._owners))))

    def close(self) -> None:
        """Keep nothing any more."""
        with Blocks._lock:
            self._closed = True
            Blocks._owners -= 1
            for key in [key for key in Blocks._kept if key[0] == self._id]:
                del Blocks._kept[key]

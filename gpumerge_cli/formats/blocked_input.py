"""Inputs that are compressed by blocks: read at any position, and unpacked no earlier than that."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from logging import getLogger
from typing import ClassVar

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.block_index import BlockCoding, BlockDamageError, BlockIndex, Window, index_of
from gpumerge_cli.formats.codecs import CODECS
from gpumerge_cli.formats.compressed import compression_of
from gpumerge_cli.formats.input import SeekableInput

_MOST_KEPT = 64 << 20
"""Bytes of content that all inputs together keep. An input for whose groups there is no room is unpacked to a copy."""
_LEAST_KEPT = 32 << 20  # some cuts are searched before chunks are read
_KEPT_SHARE = 8  # of a job's memory, if that is less
_EACH_KEEPS = 2  # groups: where a thread has read to, and where a cut is searched
_AT_ONCE = 1 << 20  # packed bytes that one call reads
_CONTENT_AT_ONCE = 4 << 20
_LOCKS = 61

_unended: set[str] = set()
"""Names of inputs without their end that a warning was given of."""


class BlockedInput(SeekableInput):
    """A compressed file as an input, read in place.

    file: the file. index: of all its groups. memory: of the job, see open_input.
    """

    _kept: ClassVar[OrderedDict[tuple[int, int], bytes]] = OrderedDict()
    _numbers: ClassVar[Iterator[int]] = count()
    _kept_bytes = 0
    _taken = 0
    _lock = threading.Lock()

    def __init__(
        self, file: SeekableInput, index: BlockIndex, coding: BlockCoding, folder: str | None, memory: int | None
    ) -> None:
        """Precondition: `take_room` took room for the index."""
        self.name, self.tag, self.start, self.size = file.name, "", 0, index.size
        self._folder = folder
        self._descriptor, self._shared = -1, None
        self._file, self._index, self._coding = file, index, coding
        self._number = next(BlockedInput._numbers)
        self._room = _EACH_KEEPS * index.largest
        self._least_kept = min(_LEAST_KEPT, _most_kept(memory))
        self._locks = [threading.Lock() for _ in range(min(_LOCKS, len(index.starts)))]

    @classmethod
    def take_room(cls, index: BlockIndex, memory: int | None) -> bool:
        """Take room for the groups of a further input from the memory of all; False if it has none left."""
        with cls._lock:
            fits = cls._taken + _EACH_KEEPS * index.largest <= _most_kept(memory)
            cls._taken += _EACH_KEEPS * index.largest if fits else 0
        return fits

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """No descriptor has its bytes."""
        return None

    def read_into(self, position: int, out: Bytes) -> None:
        """See SeekableInput."""
        view, offsets = memoryview(out), self._index.offsets
        stop = position + len(view)
        if stop > self.size:
            raise InputError(f"its content ends at byte {self.size}", where=self.name, way_out="try again")
        number = self._index.group_at(position)
        while position < stop:
            low, high = offsets[number], offsets[number + 1]
            if low == high:
                number += 1
                continue
            if position == low and high <= stop and self._held(number) is None:
                until = self._whole(number, stop)
                parts = self._unpacked(number, until)
            else:  # others want the rest of it, soon or now
                until = number + 1
                parts = [self._group(number)[position - low : stop - low]]
            for part in parts:
                view[: len(part)] = part
                view = view[len(part) :]
                position += len(part)
            number = until

    def read(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        count = max(0, min(count, self.size - position))
        if not count:
            return b""
        number = self._index.group_at(position)
        low = self._index.offsets[number]
        if position + count <= self._index.offsets[number + 1]:
            return self._group(number)[position - low : position - low + count]
        out = bytearray(count)
        self.read_into(position, out)
        return bytes(out)

    def check_unchanged(self) -> None:
        """See SeekableInput."""
        self._file.check_unchanged()

    def close(self) -> None:
        """See SeekableInput."""
        if self._descriptor != -1:
            return
        self._descriptor = -2
        self._file.close()
        with BlockedInput._lock:
            BlockedInput._taken -= self._room
            for key in [key for key in BlockedInput._kept if key[0] == self._number]:
                BlockedInput._kept_bytes -= len(BlockedInput._kept.pop(key))

    def _whole(self, number: int, stop: int) -> int:
        """The group behind those from `number` on that one call reads and that end no later than byte `stop`."""
        starts, offsets = self._index.starts, self._index.offsets
        most, stop = starts[number] + _AT_ONCE, min(stop, offsets[number] + _CONTENT_AT_ONCE)
        until = number + 1
        while until + 1 < len(offsets) and offsets[until + 1] <= stop and starts[until + 1] <= most:
            until += 1
        return until

    def _unpacked(self, number: int, until: int) -> list[bytes]:
        """The contents of groups. Raises InputError."""
        starts, offsets = self._index.starts, self._index.offsets
        first = starts[number]
        data = self._file.read_exactly(first, starts[until] - first)
        found = []
        for one in range(number, until):
            packed = data if until == number + 1 else data[starts[one] - first : starts[one + 1] - first]
            try:
                found.append(self._coding.unpack(packed, offsets[one + 1] - offsets[one]))
            except BlockDamageError as error:
                self._file.check_unchanged()
                raise _damaged_block(self.name, self._coding, starts[one] + error.at, error.what) from None
        return found

    def _group(self, number: int) -> bytes:
        """The content of a group, which is kept."""
        # A thread waits for another one that unpacks the same group.
        with self._locks[number % len(self._locks)]:
            content = self._held(number)
            if content is None:
                (content,) = self._unpacked(number, number + 1)
                self._keep(number, content)
            return content

    def _held(self, number: int) -> bytes | None:
        with BlockedInput._lock:
            found = BlockedInput._kept.get((self._number, number))
            if found is not None:
                BlockedInput._kept.move_to_end((self._number, number))
            return found

    def _keep(self, number: int, content: bytes) -> None:
        with BlockedInput._lock:
            if self._descriptor != -1:  # it was closed meanwhile
                return
            BlockedInput._kept[self._number, number] = content
            BlockedInput._kept_bytes += len(content)
            while BlockedInput._kept_bytes > max(self._least_kept, BlockedInput._taken):
                BlockedInput._kept_bytes -= len(BlockedInput._kept.popitem(last=False)[1])


def _most_kept(memory: int | None) -> int:
    """The bytes of content that all inputs of a job with this memory keep."""
    return _MOST_KEPT if memory is None else min(_MOST_KEPT, memory // _KEPT_SHARE)


def open_blocked(
    name: str, progress: Callable[[float], None], folder: str | None, memory: int | None
) -> BlockedInput | None:
    """The compressed file `name` as an input that is read in place.

    None if it is not of blocks throughout, if they are too large, or if it is not a file. progress, folder: see
    SeekableInput. memory: see open_input. Raises InputError, UsageError.
    """
    blocks = CODECS[compression_of(name)].blocks
    if blocks is None or not os.path.isfile(name):
        return None
    coding = blocks()
    file = SeekableInput(name, plain=True, folder=folder)
    try:
        index = index_of(Window(file, progress), coding)
        if index is not None and coding.end and file.read(file.size - len(coding.end), _AT_ONCE) != coding.end:
            _warn(name, coding)
        if index is not None and BlockedInput.take_room(index, memory):
            return BlockedInput(file, index, coding, folder, memory)
    except BlockDamageError as error:
        file.check_unchanged()
        file.close()
        raise _damaged_block(name, coding, error.at, error.what) from None
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _damaged_block(name: str, coding: BlockCoding, at: int, what: str) -> InputError:
    """The error for a block at byte `at` of a file."""
    return InputError(
        f"the {coding.word} at byte {at} is damaged: {what}",
        where=name,
        way_out="get the file again",
    )


def _warn(name: str, coding: BlockCoding) -> None:
    if name not in _unended:
        _unended.add(name)
        getLogger("gpumerge").warning(
            "gpumerge: %s: warning: the last %s is not the empty one that ends a whole file; the file may be truncated",
            name,
            coding.word,
        )

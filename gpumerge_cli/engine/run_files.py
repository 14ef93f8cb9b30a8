"""Sorted runs between their making and their merging: in memory, or in spools, which no exit leaves behind.

Each is read as an input is: these classes stand in for formats.input.SeekableInput.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from gpumerge_cli.buffers import Bytes, allocate
from gpumerge_cli.engine.packing import BlockCodec
from gpumerge_cli.engine.spool import Spool
from gpumerge_cli.errors import OutputError, output_error
from gpumerge_cli.extents import Extent
from gpumerge_cli.units import format_bytes

_KEPT_BLOCKS = 4  # of each run, unpacked


class MemoryFile:
    """Bytes in memory, read as a file is."""

    def __init__(self, data: Bytes, name: str = "") -> None:
        self.name = name
        self.size = len(data)
        self._data = data

    @classmethod
    def of(cls, parts: Iterable[Bytes]) -> MemoryFile:
        """A copy of the parts."""
        copies = [_joined([part]) for part in parts]
        return cls(copies[0] if len(copies) == 1 else _joined(copies))

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """See SeekableInput."""
        return Extent(-1, start, held, swap, self._data)

    def read_into(self, position: int, out: Bytes) -> None:
        """See SeekableInput."""
        memoryview(out)[:] = self._data[position : position + len(out)]

    def read(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        return bytes(self._data[position : position + count])

    read_exactly = read

    def check_unchanged(self) -> None:
        """Nothing to check: nobody else writes to it."""

    def close(self) -> None:
        """Give the memory back."""
        self._data = allocate(0)


class SpilledFile:
    """Bytes in a spool."""

    name = "a temporary file"

    def __init__(self, parts: Iterable[Bytes], spool: Spool) -> None:
        self._spool = spool
        self._start, self.size = spool.append(parts)
        self._is_open = True

    def append(self, parts: Iterable[Bytes]) -> None:
        """Add parts to the run, the last one of its spool. Raises OutputError."""
        start, nbytes = self._spool.append(parts)
        self._spool.leave()  # it counts as one run still
        assert start == self._start + self.size, "no other run follows"
        self.size += nbytes

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """See SeekableInput."""
        return Extent(self._spool.descriptor, self._start + start, held, swap)

    def read_into(self, position: int, out: Bytes) -> None:
        """See SeekableInput."""
        self._spool.read_into(self._start + position, out)

    def read(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        return os.pread(self._spool.descriptor, max(0, min(count, self.size - position)), self._start + position)

    def read_exactly(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        data = self.read(position, count)
        if len(data) == count:
            return data
        out = bytearray(count)
        self.read_into(position, out)
        return bytes(out)

    def check_unchanged(self) -> None:
        """Nothing to check: it has no name by which anybody could write to it."""

    def close(self) -> None:
        """Leave the spool, which gives its room back with its last run; a second call does nothing."""
        if self._is_open:
            self._is_open = False
            self._spool.leave()


class PackedFile:
    """Bytes in a spool, block by block compressed; the last blocks used are kept unpacked."""

    name = "a temporary file"

    def __init__(self, parts: Iterable[Bytes], spool: Spool, codec: BlockCodec) -> None:
        self.size = 0
        self._codec = codec
        self._ends = [0]
        self._file = SpilledFile(self._packed(parts), spool)
        self._unpacked: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """See SeekableInput."""
        return None

    def read_into(self, position: int, out: Bytes) -> None:
        """See SeekableInput."""
        done = 0
        while done < len(out):
            number, skipped = divmod(position + done, self._codec.block)
            part = self._block(number)[skipped : skipped + len(out) - done]
            memoryview(out)[done : done + len(part)] = part
            done += len(part)

    def read(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        return self.read_exactly(position, max(0, min(count, self.size - position)))

    def read_exactly(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        out = bytearray(count)
        self.read_into(position, out)
        return bytes(out)

    def check_unchanged(self) -> None:
        """See SpilledFile."""

    def close(self) -> None:
        """See SpilledFile."""
        self._file.close()
        self._unpacked.clear()

    def _packed(self, parts: Iterable[Bytes]) -> Iterator[Bytes]:
        for block in _blocks(parts, self._codec.block):
            data = self._codec.pack(block)
            self.size += len(block)
            self._ends.append(self._ends[-1] + len(data))
            yield data

    def _block(self, number: int) -> bytes:
        with self._lock:
            block = self._unpacked.get(number)
            if block is None:
                start, stop = self._ends[number], self._ends[number + 1]
                block = self._codec.unpack(self._file.read_exactly(start, stop - start))
                if len(block) != min(self._codec.block, self.size - number * self._codec.block):
                    raise OutputError(
                        "a temporary file did not decompress to its original bytes",
                        way_out="use another --compress-program, or none",
                    )
                self._unpacked[number] = block
                if len(self._unpacked) > _KEPT_BLOCKS:
                    self._unpacked.popitem(last=False)
            else:
                self._unpacked.move_to_end(number)
            return block


class RunSink:
    """Takes one run that is made in pieces, in order. The part of Sink that a SinkWriter needs."""

    seekable = False
    exact = True
    line_end = None
    target = None

    def __init__(self, folder: str) -> None:
        self.file = SpilledFile([], Spool(folder))

    def encode(self, data: Bytes) -> Bytes:
        """See Sink."""
        return data

    def write_at(self, start: int, data: Bytes) -> None:
        """See Sink."""
        self.file.append([data])

    def stop(self) -> None:
        """See Sink."""


class Spill:
    """Takes runs that should not stay in memory, to temporary folders in turn.

    Each folder gets as many spools as threads write to it at the same time: writes to one file wait for each other.
    """

    def __init__(self, folders: Sequence[str], program: str | None) -> None:
        self._folders = spill_folders(folders)
        self._codec = BlockCodec.of(program)
        self._lock = threading.Lock()
        self._next = 0
        self._idle: list[list[Spool]] = [[] for _ in self._folders]  # those that no thread writes to

    def check_space(self, nbytes: int, *, packs: bool = True) -> None:
        """Raise OutputError if a name is not a folder, or if `nbytes` do not fit into all folders together.

        packs: runs could be compressed.
        """
        free: dict[int, int] = {}
        for folder in self._folders:
            try:
                status = os.statvfs(folder)
                free[os.stat(folder).st_dev] = status.f_bavail * status.f_frsize
            except OSError as error:
                raise output_error(error, folder) from None
        if self._codec is None and nbytes > sum(free.values()):
            free_bytes = format_bytes(sum(free.values()))
            raise OutputError(
                f"{format_bytes(nbytes)} of temporary files do not fit into the {free_bytes} that are free",
                where=", ".join(self._folders),
                way_out="name another folder with -T" + ", or compress them with --compress-program" * packs,
            )

    def stop(self) -> None:
        """End packing with an error, as soon as can be."""
        if self._codec is not None:
            self._codec.stop()

    def keep(self, parts: Iterable[Bytes]) -> SpilledFile | PackedFile:
        """Write the parts of a run to the next folder. From any thread. Raises OutputError."""
        with self._lock:
            number = self._next % len(self._folders)
            self._next += 1
            spool = self._idle[number].pop() if self._idle[number] else None
        spool = spool or Spool(self._folders[number])
        try:
            return SpilledFile(parts, spool) if self._codec is None else PackedFile(parts, spool, self._codec)
        finally:
            with self._lock:
                if not spool.is_closed:
                    self._idle[number].append(spool)


def spill_folders(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders of runs: the given ones, or the system's if there are none."""
    if folders:
        return tuple(folders)
    import tempfile

    return (tempfile.gettempdir(),)


def _joined(parts: Sequence[Bytes]) -> memoryview:
    """A copy of the parts, one behind the other."""
    copy, at = allocate(sum(map(len, parts))), 0
    for part in parts:
        copy[at : at + len(part)] = part
        at += len(part)
    return copy


def _blocks(parts: Iterable[Bytes], size: int) -> Iterator[bytes]:
    """The parts' bytes in blocks of that size. The last one may be shorter."""
    rest = b""
    for part in parts:
        rest = b"".join([rest, part])
        whole = len(rest) // size * size
        for at in range(0, whole, size):
            yield rest[at : at + size]
        rest = rest[whole:]
    if rest:
        yield rest

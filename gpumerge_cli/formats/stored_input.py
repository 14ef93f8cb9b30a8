"""Inputs that are objects of stores: read by ranges, large ones several at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import IO

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats import compressed
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.input_stream import InputStream
from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.formats.stores.blocks import Blocks
from gpumerge_cli.formats.stores.lookup import object_of
from gpumerge_cli.urls import shown

_DIRECT = 4 << 20
"""Reads of so many bytes go to the store as they are; smaller ones take part in blocks."""
_REQUEST = 8 << 20
_REQUESTS_AT_ONCE = 16


class StoredInput(SeekableInput):
    """An object of a store as an input, read in place at any position. url: its name. Raises InputError, UsageError."""

    def __init__(self, url: str, *, folder: str | None = None) -> None:
        self.name = shown(url)
        self.start = 0
        self._folder = folder
        self._descriptor, self._shared = -1, None
        self._object = object_of(url)
        with self._input_errors():
            self._found = self._object.stat()
        self.size = self._found.size
        self.tag = f"{self._found.tag} {self.size}" if self._found.tag else ""
        self._blocks = Blocks(self._read, self.size, lambda work: _readers().submit(work))

    @property
    def ranged(self) -> bool:
        """Whether ranges of it can be read. `download` copies others."""
        return self._found.ranged

    def download(self) -> SeekableInput:
        """A copy of it in an unnamed temporary file; this one is closed."""

        def write(spool: IO[bytes]) -> None:
            with self._input_errors():
                for block in self._object.blocks():
                    spool.write(block)

        return self.replaced(write)

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """No descriptor has its bytes."""
        return None

    def read_into(self, position: int, out: Bytes) -> None:
        """See SeekableInput."""
        if len(out) < _DIRECT:
            memoryview(out)[:] = self._blocks_of(position, position + len(out))
            return
        pieces = [(at, min(at + _REQUEST, len(out))) for at in range(0, len(out), _REQUEST)]

        def read(piece: tuple[int, int]) -> None:
            low, high = piece
            memoryview(out)[low:high] = self._read(position + low, position + high)

        for _ in map(read, pieces) if len(pieces) == 1 else _readers().map(read, pieces):
            pass

    def read(self, position: int, count: int) -> bytes:
        """See SeekableInput."""
        count = max(0, min(count, self.size - position))
        if count < _DIRECT:
            return self._blocks_of(position, position + count)
        out = bytearray(count)
        self.read_into(position, out)
        return bytes(out)

    def check_unchanged(self) -> None:
        """Raise InputError if the object is another one than when it was opened."""
        with self._input_errors():
            if self._object.stat() != self._found:
                raise InputError(
                    "the object changed while it was read",
                    where=self.name,
                    way_out="merge it when nothing writes to it",
                )

    def close(self) -> None:
        """Keep no blocks; a second call does nothing."""
        if self._descriptor == -1:
            self._blocks.close()
            self._descriptor = -2

    def _blocks_of(self, start: int, stop: int) -> bytes:
        if stop > self.size:
            raise InputError(f"the object ends at byte {self.size}", where=self.name, way_out="try again")
        return self._blocks.get(start, stop)

    def _read(self, start: int, stop: int) -> bytes:
        with self._input_errors():
            return self._object.read(start, stop, self._found)

    @contextmanager
    def _input_errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise InputError(error.what, where=self.name, way_out=error.way_out) from None


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_REQUESTS_AT_ONCE, "gpumerge-read")


def size_of_url(url: str) -> int:
    """The bytes of the object that a URL names. Raises the InputError or UsageError that opening it would."""
    file = StoredInput(url)
    file.close()
    return file.size


def open_url(
    url: str, *, plain: bool = False, progress: Callable[[float], None] = lambda share: None, folder: str | None = None
) -> SeekableInput:
    """The object that a URL names as an input. The arguments are SeekableInput's. Raises InputError, UsageError."""
    stored = StoredInput(url, folder=folder)
    file: SeekableInput = stored
    try:
        if not stored.ranged:
            file = stored.download()
        return file if plain or not compressed.compression_of(file.name) else _unpacked(file, progress)
    except BaseException:
        file.close()
        raise


def _unpacked(file: SeekableInput, progress: Callable[[float], None]) -> SeekableInput:
    """The decompressed content of a file, which is closed, in an unnamed temporary file."""

    return file.replaced(lambda spool: _unpack(file, spool, progress))


def _unpack(file: SeekableInput, out: compressed.Writable, progress: Callable[[float], None]) -> None:
    with io.BufferedReader(InputStream(file), 1 << 20) as raw:
        compressed.unpack(raw, out, file.name, file.size, progress)
    file.check_unchanged()


def unpack_url(url: str, out: compressed.Writable, progress: Callable[[float], None]) -> str:
    """See naming.unpack_input."""
    stored = StoredInput(url)
    file = stored if stored.ranged else stored.download()
    try:
        _unpack(file, out, progress)
    finally:
        file.close()
    return stored.tag

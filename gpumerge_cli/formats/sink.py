"""The sink that items of every format go to: a header before them, their byte order, their compression."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import SinkLocation, Target, UploadLocation
from gpumerge_cli.formats.fixed_source import foreign_keys
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.formats.output_range import OutputRange
from gpumerge_cli.formats.output_stream import OutputStream

if TYPE_CHECKING:
    from gpumerge_cli.formats.stored_output import StoredOutput
    from gpumerge_cli.order.key_types import Dtype


class Footer(Protocol):
    """The bytes that end an output and describe what stands before them."""

    def note(self, start: int, data: Bytes) -> None:
        """Encoded `data` was written at byte `start` of the file; one call at a time, in any order."""

    def made(self) -> bytes:
        """The footer, when all is written."""


class ItemSink:
    """Items from memory to an output. See formats.base.Sink.

    dtype: of items as the file has them; None for lines. header: makes the bytes before a number of items, always of
    one length. count: the number of items; None if it is known only at the end. compress: compresses a chunk; None
    writes chunks as they are. footer: makes the bytes behind all chunks, if there are any. line_end: see Sink. start:
    the bytes of the output before the header.
    """

    def __init__(
        self,
        output: OutputFile | OutputRange | OutputStream | StoredOutput,
        *,
        dtype: Dtype | None = None,
        header: Callable[[int], bytes] | None = None,
        count: int | None = None,
        compress: Callable[[Any], bytes] | None = None,
        footer: Footer | None = None,
        line_end: int | None = None,
        start: int = 0,
    ) -> None:
        self.name = output.name
        self.line_end = line_end
        self.seekable = output.seekable
        self.exact = compress is None
        self._output = output
        self._compress = compress
        self._header = header
        self._footer = footer
        self._end = 0
        self._lock = threading.Lock()
        self._count = count
        self._dtype = dtype
        self._native = None if dtype is None else foreign_keys(dtype)
        self._start = start
        self._empty = True
        self._finished = False
        if header is not None:
            head = self._packed(header(count or 0))
            self._output.write_at(0, head)
            self._start = start + len(head)
            self._empty = False

    @property
    def target(self) -> Target | None:
        """See Sink."""
        swap = 0 if self._native is None else self._native.itemsize
        return self._output.target(self._start, swap) if self.exact else None

    @property
    def spot(self) -> SinkLocation | UploadLocation | None:
        """See Sink."""
        found = self._output.spot(self._start, self._dtype) if self.exact else None
        return None if isinstance(found, UploadLocation) and self._head_changes else found

    @property
    def _head_changes(self) -> bool:
        """Whether the bytes ahead of the items are known only at the end."""
        return self._header is not None and self._count is None and self._header(0) != self._header(1)

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """See Sink."""
        self._output.sent(start, nbytes, tag)

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """See Sink."""
        if self.exact:
            self._output.reserve(self._start + nbytes, threads)

    def populate(self, threads: int) -> None:
        """See Sink."""
        self._output.populate(threads)

    def encode(self, data: Bytes) -> Bytes:
        """See Sink."""
        return self._packed(in_order_of(self._native, data))

    def write_at(self, start: int, data: Bytes) -> None:
        """See Sink."""
        self._output.write_at(self._start + start, data)
        self._empty = False
        if self._footer is not None:
            with self._lock:
                self._footer.note(self._start + start, data)
                self._end = max(self._end, start + len(data))

    def finish(self, *, nbytes: int | None = None, count: int | None = None, durable: bool = False) -> None:
        """See Sink."""
        if self._finished:
            return
        if nbytes is not None:  # first: what is written below makes a file that was cut as long again
            self._output.end_at(self._start + nbytes if self.exact else 0)
        if self._empty and not self.exact:
            self._output.write_at(0, self._packed(b""))
        if self._footer is not None:
            self._output.write_at(self._start + self._end, self._footer.made())
        if self._header is not None and count is not None:
            head = self._header(count)
            if head != self._header(self._count or 0):
                self._output.write_at(0, head)
        self._output.finish(durable=durable)
        self._finished = True

    def commit(self, *, count: int | None = None, durable: bool = False, keep: bool = False) -> None:
        """See Sink."""
        self.finish(count=count, durable=durable)
        self._output.commit(durable=durable, keep=keep)

    def take_back(self) -> bool:
        """See Sink."""
        return self._output.take_back()

    def stop(self) -> None:
        """See Sink."""
        self._output.stop()

    def abort(self) -> None:
        """See Sink."""
        self._output.abort()

    def _packed(self, data: Bytes) -> Bytes:
        return data if self._compress is None else self._compress(data)


def in_order_of(native: Dtype | None, data: Bytes) -> Bytes:
    """The file's bytes for whole items in native byte order. native: see foreign_keys; None leaves them as they are."""
    if native is None:
        return data
    import numpy as np

    return np.asarray(data).view(native).byteswap().view(np.uint8)

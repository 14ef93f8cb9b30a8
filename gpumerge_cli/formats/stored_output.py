"""Outputs that are objects of stores: uploads in parts, shown when everything is complete, and dropped otherwise.

Pieces of the output may come in any order and of any size. Each lies in the memory of its part until the part is
whole, and is then sent. Chunks are handed out in order, so few parts are begun at a time, however large the output.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.errors import Interrupted, OutputError
from gpumerge_cli.extents import Target, UploadLocation
from gpumerge_cli.formats.stores.base import StoreError, Upload
from gpumerge_cli.formats.stores.lookup import object_of
from gpumerge_cli.urls import shown

LEAST_PART, MOST_PART = 8 << 20, 5 << 30
_UNKNOWN = 64 << 20
_LAST = 15.0
"""Seconds in which a store must drop an upload: the program that waits for it may have been asked to end."""
_PARTS = 9_000  # of the 10,000 that S3 allows: headers and data that do not compress add to what is expected

placed_objects: list[str] = []
"""Objects that were completed, by their names."""
unfinished_uploads: set[StoredOutput] = set()

_T = TypeVar("_T")


@dataclass
class _Part:
    """A part that is begun."""

    data: bytearray
    missing: list[tuple[int, int]] = field(default_factory=list)
    """The ranges of it that are still to come, in order."""

    def take(self, low: int, data: memoryview) -> None:
        """Put data at byte `low` of the part; again changes nothing but its bytes."""
        high = low + len(data)
        self.data[low:high] = data
        left: list[tuple[int, int]] = []
        for start, stop in self.missing:
            left += [edge for edge in ((start, min(stop, low)), (max(start, high), stop)) if edge[0] < edge[1]]
        self.missing = left


class StoredOutput:
    """An object of a store, written at any position from any thread. See formats.output_file.OutputFile.

    most: about the bytes that it may have, 0 if nobody knows. Raises OutputError, UsageError.
    """

    seekable = True

    def __init__(self, url: str, most: int = 0) -> None:
        self.name = shown(url)
        place = object_of(url, written=True)
        self._part_bytes = part_bytes_for(self.name, most)
        self._parts: dict[int, _Part] = {}
        self._sent: set[int] = set()
        self._lent: dict[int, int] = {}  # by others: the bytes of each part, by the place of its first item
        self._end = 0
        self._lock = threading.Lock()
        self._state = "open"
        with self._output_errors():
            self._upload = _begun(lambda: place.upload(self._part_bytes))
        unfinished_uploads.add(self)

    @property
    def rewrites(self) -> bool:
        """Whether the first bytes may be written again at the end: the first part is kept until then."""
        return self._upload.any_order

    def end_at(self, nbytes: int) -> None:
        """Raise OutputError if parts that other processes were to send are missing. nbytes: of the whole object."""
        end = 0
        for start in sorted(self._lent):
            if start == end:
                end += self._lent[start]
        if self._lent and self._end + end != nbytes:  # a fault of this program; the head is all that was written here
            raise OutputError("parts are missing", where=self.name)

    def stop(self) -> None:
        """Threads that wait for their part's turn come back."""
        self._upload.stop()

    def spot(self, start: int, dtype: Any) -> UploadLocation | None:
        """Its upload, to which other processes send parts of items, with what was written so far ahead of them.

        None if the store lets only this process write.
        """
        upload = self._upload.lend()
        if upload is None:
            return None
        head = bytes(self._parts[0].data[:start]) if start else b""
        return UploadLocation(self.name, upload, head, self._part_bytes, dtype)

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Another process has sent the part with `nbytes` of items from byte `start` of them on. See Sink."""
        with self._lock:
            self._lent[start] = nbytes
            self._upload.sent(part_number(start, self._part_bytes), tag)

    def target(self, start: int, swap: int) -> Target | None:
        """Compiled code cannot write it."""
        return None

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """A store has room."""

    def populate(self, threads: int) -> None:
        """There is no memory to prepare."""

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`. It may wait for parts that are sent."""
        view, size = memoryview(data), self._part_bytes
        while len(view):
            number, low = divmod(position, size)
            piece = view[: size - low]
            self._take(number, low, piece)
            position += len(piece)
            view = view[len(piece) :]

    def _take(self, number: int, low: int, piece: memoryview) -> None:
        with self._lock:
            self._end = max(self._end, number * self._part_bytes + low + len(piece))
            if number in self._sent:
                return  # a piece that is made again has the same bytes
            part = self._parts.get(number)
            if part is None:
                part = self._parts[number] = _Part(bytearray(self._part_bytes), [(0, self._part_bytes)])
            part.take(low, piece)
            if part.missing or (number == 0 and self.rewrites):
                return
            self._sent.add(number)
            del self._parts[number]
        with self._output_errors():
            self._upload.send(number, part.data)

    def finish(self, *, durable: bool = False) -> None:
        """Send what is left, and wait for it. A store keeps what it has shown, so durable means nothing here."""
        if self._lent:
            return
        with self._lock:
            left, self._parts = sorted(self._parts.items()), {}
        with self._output_errors():
            for number, part in left:
                size = min(self._part_bytes, self._end - number * self._part_bytes)
                if any(start < size for start, _ in part.missing):
                    raise OutputError(f"part {number + 1} is not whole", where=self.name)  # a fault of this program
                del part.data[size:]
                self._upload.send(number, part.data)
                self._sent.add(number)
            self._upload.arrive()
        if len(self._sent) != -(-self._end // self._part_bytes):
            raise OutputError("parts are missing", where=self.name)

    def commit(self, *, durable: bool = False, keep: bool = False) -> None:
        """Have the store show the object, in one step. What it replaces cannot be kept."""
        self.finish(durable=durable)
        with self._output_errors():
            self._upload.complete()
        self._state = "placed"
        placed_objects.append(self.name)
        unfinished_uploads.discard(self)

    def take_back(self) -> bool:
        """An object that was shown stays."""
        return self._state != "placed"

    def abort(self) -> None:
        """Drop what was sent; after `commit`, nothing."""
        if self._state != "open":
            return
        self._state = "dropped"
        unfinished_uploads.discard(self)
        dropping = _apart(self._upload.abort)
        try:
            self._await(dropping)
        except Interrupted:
            self._await(dropping)
            raise

    def _await(self, dropping: Future[None]) -> None:
        """Wait until the upload is dropped; a warning reports if it is not."""
        try:
            dropping.result(_LAST)
            return
        except StoreError as error:
            what = error.what
        except TimeoutError:
            what = f"no answer in {_LAST:.0f} seconds"
        from logging import getLogger

        message = f"{self.name}: warning: its unfinished upload stays ({what}); remove it by the store's own tools"
        getLogger("gpumerge").warning("gpumerge: %s", message)

    @contextmanager
    def _output_errors(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise OutputError(error.what, where=self.name, way_out=error.way_out) from None


def _begun(begin: Callable[[], Upload]) -> Upload:
    """The upload that `begin` begins. A signal meanwhile drops it: the store may have begun it. Raises StoreError."""
    beginning = _apart(begin)
    try:
        return beginning.result()
    except Interrupted:
        with suppress(StoreError, TimeoutError):
            _apart(beginning.result(_LAST).abort).result(_LAST)
        raise


def _apart(call: Callable[[], _T]) -> Future[_T]:
    """The outcome of a call in a thread of its own, which no signal breaks off: those come to the main thread."""
    outcome: Future[_T] = Future()

    def do() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # for the one who asks for the outcome
            outcome.set_exception(error)

    threading.Thread(target=do, name="gpumerge-store", daemon=True).start()
    return outcome


def part_number(start: int, least: int) -> int:
    """The number of the part whose items begin at byte `start` of all, where every part ahead has `least` at least.

    Numbers grow with the places of parts, but not all numbers are taken: stores let some be left out.
    """
    return start // least


def part_bytes_for(name: str, most: int) -> int:
    """The size of the parts of the object `name`. most: bytes that it may have, 0 if unknown. Raises OutputError."""
    size = max(1, -(-most // (_PARTS * LEAST_PART))) * LEAST_PART if most else _UNKNOWN
    if size > MOST_PART:
        raise OutputError(f"an object holds less than {most} bytes", where=name, way_out="write it with --parts")
    return size

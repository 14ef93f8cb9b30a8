"""Sources and sinks: where items come from and go to, as positioned reads and writes of bytes.

A source shows a file as one stream of whole items, keys in native byte order: headers are left out, foreign byte order
is swapped, a missing last newline is supplied. Records are shown as they are. Positions are byte offsets in that
stream, and cuts are positions at which an item starts (or the stream's end).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import Extent, SinkLocation, Target, UploadLocation

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order

STDIO = "-"
"""The name of standard input and output."""


class Source(Protocol):
    """A sorted input, read at any position from any thread."""

    name: str
    """The name in messages: the path, or "-"."""
    size: int
    """Bytes of the stream."""
    dtype: Dtype | None
    """The items' type, native or not, as the file has it; V, S or structured for records; None for lines."""

    @property
    def tag(self) -> str:
        """Tells an object of a store from others under its name; "" for files, and for an object that has none."""

    @property
    def extent(self) -> Extent | None:
        """The place of its bytes in a file; None if only `read_into` can read them."""

    def read_into(self, start: int, out: Bytes) -> None:
        """Fill `out` with the bytes from `start` on. Raises InputError if the file has become shorter."""

    def item_start(self, position: int) -> int:
        """The first position at or after `position` where an item starts; `size` if there is none."""

    def item_at(self, start: int) -> bytes:
        """The item that starts at `start`: native bytes of a key, a record, or a line without its newline."""

    def item_before(self, start: int) -> bytes:
        """The item that ends where the one at `start` begins. Precondition: 0 < start <= size."""

    def item_end(self, start: int) -> int:
        """The position just after the item that starts at `start`."""

    def location(self, start: int) -> str:
        """ "FILE:LINE" or "FILE@ITEM" of the item at `start`, counted as users count: lines from 1, items from 0."""

    def count(self, stop: int | None = None) -> int:
        """The number of items, or of those ahead of `stop`. Lines are counted by reading them."""

    def check_unchanged(self) -> None:
        """Raise InputError if the file was written to, or replaced by another, since it was opened."""

    def close(self) -> None:
        """Give the descriptor back."""


@runtime_checkable
class HintingSource(Protocol):
    """A source that knows more of the order of its items than they show."""

    def order_hint(self, others: Sequence[Source] | None, order: Order) -> str:
        """The way out if the items are not in an order; "" if none is known. Raises InputError.

        others: other inputs, which a proposed order must fit, too; None if nobody knows them, and no order is proposed.
        """


class Sink(Protocol):
    """An output that appears whole or not at all: `commit` shows it, anything else leaves what was there."""

    name: str
    seekable: bool
    """True if writes may come in any order."""
    exact: bool
    """True if `encode` gives as many bytes as it takes, so that places in the output are known ahead."""

    line_end: int | None
    """The byte that ends a line, if `encode` makes something of lines and must be given whole ones; else None."""

    @property
    def target(self) -> Target | None:
        """The place of chunks that are written as they are; None if only `write_at` can write them."""

    @property
    def spot(self) -> SinkLocation | UploadLocation | None:
        """The place of chunks for other processes, which write them as they are; None if they cannot."""

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Another process has sent a part of a PartsSpot: `nbytes` of items from byte `start` of them on.

        tag: the store's name of the part.
        """

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """Reserve room for `nbytes` of items, which will be written later. Raises OutputError if there is no room.

        Sets `target`. May be called again ahead of the first write, once the number is better known. threads: how many
        will write them at once, None for one a core.
        """

    def populate(self, threads: int) -> None:
        """Have so many processes prepare memory for the writes that will come, if that helps; return at once.

        It ends with `commit` or `abort`. Call it where nobody writes yet, such as while a GPU starts.
        """

    def encode(self, data: Bytes) -> Bytes:
        """The file's bytes for a chunk of whole items: in its byte order, compressed. From any thread."""

    def write_at(self, start: int, data: Bytes) -> None:
        """Write encoded `data` at byte `start` of all encoded data; from any thread, in order if not `seekable`."""

    def finish(self, *, nbytes: int | None = None, count: int | None = None, durable: bool = False) -> None:
        """Everything is written: do all of `commit` that may fail for lack of room; further calls do nothing.

        nbytes: of all encoded data. Then room that was reserved behind them is given back, and an output that others
        have cut is an OutputError. None if nobody counted.
        """

    def commit(self, *, count: int | None = None, durable: bool = False, keep: bool = False) -> None:
        """Everything is written: put the output in its place.

        count: items written, for headers that say so. durable: only once it is on stable storage, and return only once
        its name is. keep: what it replaces, so that `take_back` can put it there again, until `abort`.
        """

    def take_back(self) -> bool:
        """After a commit that keeps what there was, have the place as it was before; whether that could be done."""

    def stop(self) -> None:
        """Nothing more will be written; threads that wait in `write_at` for data of others come back."""

    def abort(self) -> None:
        """Remove what was written. May be called at any time, also twice; does nothing after `commit`."""

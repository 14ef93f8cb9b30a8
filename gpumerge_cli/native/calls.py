"""Chunks that a backend takes from their first read to their last write in one call, and the arguments of that call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import Extent
from gpumerge_cli.measure import Span
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.order.record_joins import JoinRules


class Readable(Protocol):
    """The part of formats.base.Source that calls need."""

    name: str
    size: int

    @property
    def extent(self) -> Extent | None:
        """The place of its bytes; None if only `read_into` can read them."""

    def read_into(self, start: int, out: Bytes) -> None:
        """Fill `out` from `start` on."""


class ChunkWork(Protocol):
    """The work on every chunk of a merge that goes from reading to writing in one call, as a pass has it.

    order: compares the items. check: whether the order of the sources is checked. equals: the items that go out of
    several that compare equal. margin: text beside each line. join: set if chunks are joined.
    """

    @property
    def sources(self) -> Sequence[Readable]: ...

    @property
    def order(self) -> Order: ...

    @property
    def check(self) -> bool: ...

    @property
    def equals(self) -> Equals: ...

    @property
    def margin(self) -> Margin | None: ...

    @property
    def join(self) -> JoinRules | None: ...


class Disordered(Exception):  # noqa: N818 - the reader of the chunk reports it
    """An input is not in order, or has a line with an invalid key. source: its number."""

    def __init__(self, source: int) -> None:
        super().__init__(source)
        self.source = source


class ChunkWorker(Protocol):
    """Works on one chunk at a time, for one thread."""

    counts: list[int]
    """The items of each source in the last chunk."""
    dropped: int
    """The number of those that were left out."""
    changed: int
    """The pairs of items of a diff that differ; 0 for other work. Counted as `outputs` is read."""
    merged_bytes: int
    """The bytes of its result. Negative if the result is made while `outputs` is read, and counted only then."""
    spans: list[Span]

    def run(self, ranges: Sequence[tuple[int, int]], part: int, offset: int) -> None:
        """Merge these ranges of the sources, and write the result at `offset` of the part's target, if there are any.

        Raises Disordered, InputError, OutputError, MemoryError.
        """

    def outputs(self) -> Iterable[Bytes]:
        """The result of the last `run` by parts, each valid until the next one is taken."""

    def close(self) -> None:
        """Give its memory back."""


class CountingWorker(ChunkWorker, Protocol):
    """A worker on the CPU, which can also count equal items apart."""

    def equals(self) -> Bytes:
        """The numbers that the margin has for the items of the last result, as int64, where they are apart."""


ChunkWorkers = Callable[[int], ChunkWorker]
"""Makes a worker for chunks of up to so many bytes, for each thread one. Raises MemoryError."""

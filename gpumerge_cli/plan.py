"""The plan of a merge: independent chunks, each with its range of every input and its offset in the output."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Generic, TypeVar

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.native.calls import Readable
from gpumerge_cli.native.cuts import Cut, Cuts
from gpumerge_cli.native.item_cuts import ItemCuts
from gpumerge_cli.order.kinds import Order

_SPAN, _LEAST_SPAN = 256, 8
"""Chunks that are cut at once from a stretch of all inputs; and from one of each part, where there are several."""


@dataclass(frozen=True)
class Chunk:
    """Byte ranges to merge."""

    ranges: tuple[tuple[int, int], ...]
    """(start, stop) in bytes, one for each input."""
    offset: int
    """The byte of the output at which the result begins."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Bytes of each range."""
        return tuple(stop - start for start, stop in self.ranges)

    @property
    def nbytes(self) -> int:
        """Bytes in, which is bytes out."""
        return sum(stop - start for start, stop in self.ranges)

    def as_dict(self) -> dict[str, Any]:
        """The chunk as plain values, for JSON."""
        return {"offset": self.offset, "nbytes": self.nbytes, "ranges": [list(one) for one in self.ranges]}

    def joined(self, last: Chunk) -> Chunk:
        """This chunk, `last`, which lies behind it, and all between them, as one."""
        ranges = zip(self.ranges, last.ranges, strict=True)
        return Chunk(tuple((low, high) for (low, _), (_, high) in ranges), self.offset)


@dataclass(frozen=True)
class FileChunk:
    """A chunk as it lies in the files that users name, whose last line may lack its end."""

    ranges: tuple[tuple[int, int], ...]
    """(start, stop) in bytes of each file, counted from its first item. None lies past the end."""
    offset: int
    """The byte of the output at which the result begins."""
    nbytes: int
    """Bytes of the result, the end of each line included."""
    in_rows: bool = False
    """Whether all of these are numbers of rows, not bytes."""

    def as_dict(self) -> dict[str, Any]:
        """The chunk as plain values, for JSON."""
        ranges = [list(one) for one in self.ranges]
        if self.in_rows:
            return {"rank": self.offset, "items": self.nbytes, "item_ranges": ranges}
        return {"offset": self.offset, "nbytes": self.nbytes, "ranges": ranges}


AnyChunk = TypeVar("AnyChunk", Chunk, FileChunk)


@dataclass(frozen=True)
class Plan(Generic[AnyChunk]):
    """Chunks that partition every input and the output, in output order. Pure data: may be pickled or printed."""

    chunks: tuple[AnyChunk, ...]
    in_rows: bool = False
    """Whether its chunks are in rows, see FileChunk.in_rows."""

    @property
    def nbytes(self) -> int:
        """Bytes of the whole output, or its rows."""
        return sum(chunk.nbytes for chunk in self.chunks)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON: per chunk its place in the output and its range of every input."""
        return {
            "items" if self.in_rows else "nbytes": self.nbytes,
            "chunks": [chunk.as_dict() for chunk in self.chunks],
        }


def cuts_of(
    sources: Sequence[Readable], order: Order, *, groups: bool = False, tables: Sequence[array[int]] = ()
) -> Cuts | ItemCuts:
    """Makes cuts of the merge of sources. groups, tables: see Cuts."""
    ranged = [source for source in sources if isinstance(source, RangedSource)]
    return ItemCuts(ranged, order, groups=groups) if ranged else Cuts(sources, order, groups=groups, tables=tables)


class Planner:
    """Cuts the merge of `sources` into chunks.

    grid: (bytes of a block of the output's file, the position in it of the first item); chunks begin where blocks do,
    as far as items allow. groups: items that compare equal lie in one chunk. keys: for each source the place of the
    key that `order` compares, see Join.tables; none for whole items.
    """

    def __init__(
        self, sources: Sequence[Readable], order: Order, grid: tuple[int, int] = (1, 0), *, groups: bool = False,
        keys: Sequence[array[int]] = (),
    ) -> None:  # fmt: skip
        self._block, self._start = grid
        self._cuts = cuts_of(sources, order, groups=groups, tables=keys)
        is_ranged = isinstance(self._cuts, ItemCuts)  # whose positions are not those of bytes of items
        self._item = 1 if is_ranged else max(1, order.item_bytes)

    def whole(self) -> Chunk:
        """All of the sources."""
        return Chunk(tuple((0, size) for size in self._cuts.sizes), 0)

    def parts(self, number: int, of: Chunk | None = None) -> list[Chunk]:
        """All of the sources, or a chunk of them, cut into `number` parts.

        Parts are equal in size to within one item or line. With more parts than items, some are empty.
        """
        chunk = of or self.whole()
        low, high = ends_of(chunk)
        targets = [chunk.offset + edge for edge in even_edges(chunk.nbytes, self._item, number)[1:-1]]
        return chunks_between((low, *self.near(targets, low, high), high))

    def near(self, targets: Sequence[int], low: Cut | None = None, high: Cut | None = None) -> list[Cut]:
        """Cuts as near as the edges of items allow to `targets`, ascending bytes of all sources.

        low, high: two cuts that the new ones lie between; by default all zeros and the sizes.
        """
        return self._rows(self._cuts.at(targets, low, high))

    def _rows(self, positions: array[int]) -> list[Cut]:
        return list(zip(*[iter(positions)] * len(self._cuts.sizes), strict=True))

    def is_cut(self, positions: Sequence[int]) -> bool:
        """See Cuts."""
        return self._cuts.is_cut(positions)

    def split(self, chunk: Chunk, chunk_bytes: int) -> list[Chunk]:
        """The chunk cut into chunks of about `chunk_bytes` (at least 1), in output order. An empty one has none.

        Chunks are exact for any keys, ties included. A chunk is longer than about 1.2 times `chunk_bytes` only if it
        holds a longer line, or a longer group of items that must not be cut.
        """
        targets = self.targets(chunk, chunk_bytes)
        if not targets:
            return [chunk] if chunk.nbytes else []
        low, high = ends_of(chunk)
        inner = self._cuts.between(low, high, targets) if self._block == 1 else self._cuts.at(targets, low, high)
        cuts = (low, *self._rows(inner), high)
        return chunks_between((low, *(cut for ahead, cut in pairwise(cuts) if cut != ahead)))

    def targets(self, chunk: Chunk, chunk_bytes: int) -> list[int]:
        """The targets of the cuts inside a chunk that `split` searches: ascending bytes of all sources."""
        nbytes = chunk.nbytes
        number = -(-nbytes // max(1, chunk_bytes))
        targets = [chunk.offset + nbytes * at // number for at in range(1, number)]
        if self._block > 1:
            starts = {(target + self._start) // self._block * self._block - self._start for target in targets}
            targets = sorted(start for start in starts if start > chunk.offset)
        return targets

    def spans(self, chunk_bytes: int, parts: Sequence[Chunk] = ()) -> Iterator[list[list[Chunk]]]:
        """The chunks of each of the parts, in output order, some of all at a time. parts: the whole merge if empty.

        They are cut on demand, so memory grows with the number of spans only.
        """
        parts = parts or [self.whole()]
        size = max(_LEAST_SPAN, _SPAN // len(parts)) * chunk_bytes
        for spans in zip_longest(*(self.split(part, size) for part in parts)):
            yield [[] if span is None else self.split(span, chunk_bytes) for span in spans]


def chunks_between(cuts: Iterable[Cut]) -> list[Chunk]:
    """The chunks that each lie between two neighbouring cuts of all sources."""
    return [Chunk(tuple(zip(low, high, strict=True)), sum(low)) for low, high in pairwise(cuts)]


def ends_of(chunk: Chunk) -> tuple[Cut, Cut]:
    """The cuts that a chunk lies between."""
    return tuple(low for low, _ in chunk.ranges), tuple(high for _, high in chunk.ranges)


def even_edges(nbytes: int, item: int, parts: int) -> list[int]:
    """The edges of `parts` parts of `nbytes`, in bytes, from 0 to `nbytes`; each part has whole items of `item` bytes.

    Their numbers of items differ by 1 at most.
    """
    items = nbytes // item
    return [items * number // parts * item for number in range(parts)] + [nbytes]


def item_blocks(source: Source, block_bytes: int) -> list[tuple[int, int]]:
    """The source cut into blocks of whole items, about `block_bytes` (at least 1) each, without comparing keys."""
    edges = [0]
    while edges[-1] < source.size:
        edges.append(max(source.item_start(min(source.size, edges[-1] + block_bytes)), edges[-1] + 1))
    return list(pairwise(edges))

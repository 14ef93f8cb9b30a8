"""The plan of a merge: independent chunks, each with its range of every input and its place in the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from gpumerge_cli import corank
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order import Order

# Samples per run and chunk: a chunk is at most this fraction larger than asked for, whatever the keys.
_SAMPLES = 8


@dataclass(frozen=True)
class Chunk:
    """Merge these byte ranges, one per input, and write the result at `offset` of the output."""

    ranges: tuple[tuple[int, int], ...]
    offset: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """Bytes of each range."""
        return tuple(stop - start for start, stop in self.ranges)

    @property
    def nbytes(self) -> int:
        """Bytes in, which is bytes out."""
        return sum(self.lengths)


@dataclass(frozen=True)
class Plan:
    """Chunks that partition every input and the output, in output order. Pure data: may be pickled or printed."""

    chunks: tuple[Chunk, ...]
    sizes: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole output."""
        return sum(self.sizes)

    @property
    def largest(self) -> int:
        """Bytes of the largest chunk, 0 if there is none."""
        return max((chunk.nbytes for chunk in self.chunks), default=0)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        return asdict(self)


class _KeyedSource:
    """A source as corank's Run: its items by key."""

    def __init__(self, source: Source, order: Order) -> None:
        self.size = source.size
        self.item_start = source.item_start
        self.item_end = source.item_end
        self._source = source
        self._order = order

    def key_at(self, start: int) -> Any:
        return self._order.key(self._source.item_at(start))


def make_plan(sources: Sequence[Source], order: Order, chunk_bytes: int) -> Plan:
    """Cut the merge of `sources` into chunks of about `chunk_bytes` (at least 1) each.

    Chunks are exact for any keys, ties included; a chunk is longer than about 1.2 times `chunk_bytes` only where a
    single line is. Probes O(k log n) items a chunk for k inputs.
    """
    sizes = tuple(source.size for source in sources)
    total = sum(sizes)
    number = -(-total // max(1, chunk_bytes))
    ends = [sizes]
    if number > 1:
        runs = [_KeyedSource(source, order) for source in sources]
        target = -(-total // number)
        ends = [*_cuts(runs, target), sizes]
    chunks = []
    floor = tuple(0 for _ in sizes)
    for end in ends:
        if end != floor:
            chunks.append(Chunk(tuple(zip(floor, end, strict=True)), sum(floor)))
        floor = end
    return Plan(tuple(chunks), sizes)


def _cuts(runs: Sequence[_KeyedSource], target: int) -> list[tuple[int, ...]]:
    used = sum(run.size > 0 for run in runs)
    stride = max(1, target // (_SAMPLES * used))
    sampled = [corank.samples(run, number, stride) for number, run in enumerate(runs)]
    cuts = []
    floor = tuple(0 for _ in runs)
    passed = [0] * len(runs)
    for sample in sorted(sample for of_run in sampled for sample in of_run):
        # Up to this sample, every run has put out about as much as its last passed sample says.
        passed[sample.run] = max(passed[sample.run], sample.start)
        if sum(passed) - sum(floor) >= target:
            floor = corank.cut(runs, sampled, sample, floor)
            passed = [max(done, position) for done, position in zip(passed, floor, strict=True)]
            cuts.append(floor)
    return cuts


def blocks_of(source: Source, block_bytes: int) -> list[tuple[int, int]]:
    """The source cut into stretches of whole items, about `block_bytes` (at least 1) each, without looking at keys."""
    edges = [0]
    while edges[-1] < source.size:
        edges.append(max(source.item_start(min(source.size, edges[-1] + block_bytes)), edges[-1] + 1))
    return list(pairwise(edges))

"""The plan of a merge: independent chunks, each with its range of every input and its place in the output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli import corank
from gpumerge_cli.formats.base import Source
from gpumerge_cli.linekeys import LONG
from gpumerge_cli.order import Order

# As many samples of every run in a chunk's bytes: then a chunk is at most this fraction larger, whatever the keys.
_SAMPLES = 8
# Chunks that are cut from one stretch of all inputs.
_SPAN = 64
# A chunk this much larger than asked for is cut again.
_TOO_LARGE = 1.2


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
    """Chunks that partition every input and the output, in output order. Pure data: may be pickled or printed.

    cuts: byte positions, one row a cut and one column an input, from all zeros to the sizes; a chunk lies between two
    neighbouring rows.
    """

    cuts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def chunk(self, number: int) -> Chunk:
        """Chunk `number`, counted from 0."""
        start, stop = self.cuts[number].tolist(), self.cuts[number + 1].tolist()
        return Chunk(tuple(zip(start, stop, strict=True)), sum(start))

    @property
    def chunks(self) -> Iterator[Chunk]:
        """All chunks, in output order."""
        return map(self.chunk, range(len(self)))

    @property
    def nbytes(self) -> int:
        """Bytes of the whole output."""
        return int(self.cuts[-1].sum())

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON: per chunk its place in the output and its range of every input."""
        return {
            "nbytes": self.nbytes,
            "chunks": [
                {"offset": c.offset, "nbytes": c.nbytes, "ranges": list(map(list, c.ranges))} for c in self.chunks
            ],
        }


class _KeyedSource:
    """A source as corank's Run: its items by key. Keys of long lines are not held, so they may be kept in numbers."""

    def __init__(self, source: Source, order: Order) -> None:
        self.size = source.size
        self.item_start = source.item_start
        self.item_end = source.item_end
        self._source = source
        self._order = order

    def key_at(self, start: int) -> Any:
        item = self._source.item_at(start)
        return self._order.key(item, partial(self._source.item_at, start) if len(item) > LONG else None)


class _Window:
    """The stretch of a run from `low` to `high`, both of them cuts, as a run of its own."""

    def __init__(self, run: corank.Run, low: int, high: int) -> None:
        self.size = high - low
        self._run = run
        self._low = low

    def item_start(self, position: int) -> int:
        return min(self.size, self._run.item_start(self._low + position) - self._low)

    def item_end(self, start: int) -> int:
        return self._run.item_end(self._low + start) - self._low

    def key_at(self, start: int) -> Any:
        return self._run.key_at(self._low + start)


def spans_of(sources: Sequence[Source], order: Order, chunk_bytes: int) -> Iterator[list[Chunk]]:
    """The chunks of the merge of `sources`, about `chunk_bytes` each, in output order, some at a time.

    They are cut when they are asked for: what is held meanwhile grows with the number of spans only.
    """
    for span in make_plan(sources, order, _SPAN * chunk_bytes).chunks:
        yield split(sources, order, span, chunk_bytes)


def plan_in_spans(sources: Sequence[Source], order: Order, chunk_bytes: int) -> Plan:
    """All that `spans_of` gives, as a Plan."""
    ends = [[stop for _, stop in chunk.ranges] for span in spans_of(sources, order, chunk_bytes) for chunk in span]
    return Plan(np.array([[0] * len(sources), *ends], np.int64).reshape(-1, len(sources)))


def split(sources: Sequence[Source], order: Order, chunk: Chunk, chunk_bytes: int) -> list[Chunk]:
    """The chunk cut into chunks of about `chunk_bytes`; itself alone if a single line is all it holds."""
    runs = [_Window(_KeyedSource(source, order), *ends) for source, ends in zip(sources, chunk.ranges, strict=True)]
    low = np.array([start for start, _ in chunk.ranges], np.int64)
    return list(Plan(_planned(runs, chunk_bytes) + low).chunks)


def make_plan(sources: Sequence[Source], order: Order, chunk_bytes: int) -> Plan:
    """Cut the merge of `sources` into chunks of about `chunk_bytes` (at least 1) each.

    Chunks are exact for any keys, ties included; a chunk is longer than about 1.2 times `chunk_bytes` only where a
    single line is. Probes O(k log n) items a chunk for k inputs.
    """
    return Plan(_planned([_KeyedSource(source, order) for source in sources], chunk_bytes))


def _planned(runs: Sequence[corank.Run], chunk_bytes: int, samples: int = 0) -> NDArray[np.int64]:
    """The cuts of a Plan.

    samples: how many a chunk, of all runs together. What a run puts out between two of its samples is not known before
    the cut is made; with enough of them that is little even in the worst case, but what is unknown of many runs mostly
    evens out. So first few samples are taken, and more of what came out too large.
    """
    sizes = tuple(run.size for run in runs)
    total, used = sum(sizes), sum(size > 0 for size in sizes)
    number = -(-total // max(1, chunk_bytes))
    most = _SAMPLES * used
    samples = min(most, samples or math.ceil(_SAMPLES * math.sqrt(used)))
    ends = [*_cuts(runs, -(-total // number), samples), sizes] if number > 1 else [sizes]
    cuts = [tuple(0 for _ in sizes)]
    for end in ends:
        start = cuts[-1]
        if samples < most and sum(end) - sum(start) > _TOO_LARGE * chunk_bytes:
            parts = [_Window(run, *edges) for run, *edges in zip(runs, start, end, strict=True)]
            cuts += map(tuple, (_planned(parts, chunk_bytes, 4 * samples)[1:] + start).tolist())
        elif end != start:
            cuts.append(end)
    return np.array(cuts, np.int64).reshape(-1, len(sizes))


def _cuts(runs: Sequence[corank.Run], target: int, samples: int) -> list[tuple[int, ...]]:
    """Cuts about `target` bytes apart, from about `samples` in as many bytes."""
    stride = max(1, target // samples)
    sampled = [corank.samples(run, number, stride) for number, run in enumerate(runs)]
    cuts = []
    floor = tuple(0 for _ in runs)
    passed = [0] * len(runs)
    ahead = 0  # what all runs have passed since the last cut
    # Every run but the sample's own is on average half a stride further than its last passed sample.
    enough = max(target // 2, target - sum(run.size > 0 for run in runs[1:]) * stride // 2)
    for sample in sorted(sample for of_run in sampled for sample in of_run):
        # Up to this sample, every run has put out about as much as its last passed sample says.
        ahead += max(0, sample.start - passed[sample.run])
        passed[sample.run] = max(passed[sample.run], sample.start)
        if ahead >= enough:
            floor = corank.cut(runs, sampled, sample, floor)
            passed = [max(done, position) for done, position in zip(passed, floor, strict=True)]
            ahead = sum(passed) - sum(floor)
            cuts.append(floor)
    return cuts


def blocks_of(source: Source, block_bytes: int) -> list[tuple[int, int]]:
    """The source cut into stretches of whole items, about `block_bytes` (at least 1) each, without looking at keys."""
    edges = [0]
    while edges[-1] < source.size:
        edges.append(max(source.item_start(min(source.size, edges[-1] + block_bytes)), edges[-1] + 1))
    return list(pairwise(edges))

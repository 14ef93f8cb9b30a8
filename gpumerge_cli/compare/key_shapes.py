"""Key shapes: families of synthetic runs, made block by block, the same from the same seed.

A family is a few runs to be merged with each other; its shape says how their keys interleave. Every key
starts as a 64-bit position in the key range. Sorted positions are cumulated gaps, so a sorted run of any length needs
no sort and no more memory than a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order.kinds import KeyOrder, Order

KeyShape = Literal["uniform", "few", "equal", "disjoint", "blocky", "one-sided"]
SHAPES: tuple[KeyShape, ...] = get_args(KeyShape)

KEYS_AT_ONCE = 1 << 18
"""Items made at once, few enough for a core's cache."""

_RANGE = 1 << 64
_FEW_BITS = 4
_EQUAL = 0x5 << 60
_NARROW = 1 << 10
_LONGEST_STRETCH = 1 << 16
_FLOAT_BITS = {2: 11, 4: 24, 8: 53}

Positions = NDArray[np.uint64]


@dataclass(frozen=True)
class Family:
    """Runs of `count` keys each. Raises UsageError for a dtype without an order."""

    shape: KeyShape
    """"uniform": each run over the whole key range. "few": the same, 16 distinct keys. "equal": one key. "disjoint":
    the runs lie one after the other. "blocky": the runs take turns, in stretches of 1 to 65,536 items. "one-sided": the
    first run over the whole range, the others in a narrow part of its middle."""
    dtype: np.dtype[Any]
    """The dtype of the keys, in any byte order."""
    count: int
    runs: int = 2
    seed: int = 0
    shuffled: bool = False
    """Whether the same keys come in no order."""
    descending: bool = False
    """Whether runs descend."""

    def __post_init__(self) -> None:
        Order.of(self.dtype)

    def blocks(self, run: int) -> Iterator[NDArray[Any]]:
        """The keys of one run, in blocks of at most KEYS_AT_ONCE. Floats lie in [-1, 1]."""
        if self.descending and not self.shuffled:
            yield from (self._keys(~block) for block in self._positions(run))
        else:
            yield from (self._keys(block) for block in self._positions(run))

    def keys(self, run: int) -> NDArray[Any]:
        """All keys of one run."""
        return np.concatenate([np.empty(0, self.dtype), *self.blocks(run)], dtype=self.dtype)

    def positions(self, run: int) -> Iterator[Positions]:
        """The positions that keys are made from, in the family's order, for items other than keys, such as lines."""
        for block in self._positions(run):
            yield ~block if self.descending and not self.shuffled else block

    def _positions(self, run: int) -> Iterator[Positions]:
        random = np.random.default_rng([self.seed, run, SHAPES.index(self.shape)])
        if self.shape == "blocky":
            yield from self._stretches(run, random)
            return
        low, span = 0, _RANGE
        if self.shape == "disjoint":
            span = _RANGE // self.runs
            low = run * span
        elif self.shape == "one-sided" and run > 0:
            span = _RANGE // _NARROW
            low = (_RANGE - span) // 2
        spread = _drawn if self.shuffled else _ascending
        for block in spread(random, self.count, low, span):
            if self.shape == "few":
                block = block >> np.uint64(64 - _FEW_BITS) << np.uint64(64 - _FEW_BITS)
            elif self.shape == "equal":
                block = np.full(block.size, _EQUAL, np.uint64)
            yield block

    def _stretches(self, run: int, random: np.random.Generator) -> Iterator[Positions]:
        # A round gives every run one stretch of the same length, each in its own part of the round's key range. All
        # runs draw the lengths from the same generator, so that their rounds agree.
        lengths = _stretch_lengths(np.random.default_rng(self.seed), self.count, self._resolution() // (2 * self.runs))
        ends = np.cumsum(lengths)
        part = np.uint64(_RANGE // (max(lengths.size, 1) * self.runs) - 1)
        for start in range(0, self.count, KEYS_AT_ONCE):
            stop = min(start + KEYS_AT_ONCE, self.count)
            if self.shuffled:
                index = random.integers(0, self.count, stop - start)
                round_number = np.searchsorted(ends, index, "right")
            else:
                index = np.arange(start, stop)
                first, last = np.searchsorted(ends, [start, stop - 1], "right")
                edges = np.clip(ends[first : last + 1], start, stop)
                round_number = np.repeat(np.arange(first, last + 1), np.diff(edges, prepend=start))
            length = lengths[round_number]
            inside = (index - ends[round_number] + length).astype(np.uint64)
            slot = (round_number * self.runs + run).astype(np.uint64)
            yield slot * part + inside * (part // length.astype(np.uint64))

    def _resolution(self) -> int:
        """The number of distinct keys of the dtype that positions can become."""
        if self.dtype.kind == "f":
            return 1 << _FLOAT_BITS[self.dtype.itemsize]
        return int(min(1 << self._bits(), _RANGE - 1))

    def _keys(self, positions: Positions) -> NDArray[Any]:
        if self.dtype.kind == "f":
            unit = (positions >> np.uint64(11)).astype(np.float64) * 2.0**-53
            return (unit * 2 - 1).astype(self.dtype)
        order = KeyOrder.of_dtype(self.dtype)
        image = (positions >> np.uint64(64 - self._bits())).astype(order.unsigned)
        return np.asarray(order.bits_of_image(image)).view(order.dtype).astype(self.dtype)

    def _bits(self) -> int:
        """The bits of a key that is not a float."""
        return 1 if self.dtype.kind == "b" else 8 * self.dtype.itemsize


def _ascending(random: np.random.Generator, count: int, low: int, span: int) -> Iterator[Positions]:
    """`count` ascending positions in [low, low + span), uniform gaps between them."""
    if count == 0:
        return
    # Seven standard deviations below the mean that fills the span, or so low that no draw exceeds it.
    widest = min(max(span // count, int(2 * span / count * (1 - 4 / count**0.5))), span - 1)
    last = low
    for start in range(0, count, KEYS_AT_ONCE):
        gaps = random.integers(0, widest, min(KEYS_AT_ONCE, count - start), dtype=np.uint64, endpoint=True)
        gaps[0] = min(int(gaps[0]), low + span - 1 - last)
        positions = np.cumsum(gaps) + np.uint64(last)
        if int(positions[-1]) < last or int(positions[-1]) >= low + span:
            positions[(positions < np.uint64(last)) | (positions > np.uint64(low + span - 1))] = low + span - 1
        last = int(positions[-1])
        yield positions


def _drawn(random: np.random.Generator, count: int, low: int, span: int) -> Iterator[Positions]:
    """`count` positions in [low, low + span), in no order."""
    for start in range(0, count, KEYS_AT_ONCE):
        drawn = random.integers(0, span - 1, min(KEYS_AT_ONCE, count - start), dtype=np.uint64, endpoint=True)
        yield drawn + np.uint64(low)


def _stretch_lengths(random: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    """Lengths, evenly spread over their logarithms, that add up to at least `count`; about `most` of them."""
    drawn: list[NDArray[np.int64]] = []
    total = 0
    while total < count:
        lengths = np.exp2(random.uniform(0, np.log2(_LONGEST_STRETCH), 4096)).astype(np.int64)
        drawn.append(lengths)
        total += int(lengths.sum())
    if not drawn:
        return np.empty(0, np.int64)
    lengths = np.concatenate(drawn)
    needed = int(np.searchsorted(np.cumsum(lengths), count)) + 1
    lengths *= -(-needed // max(most, 1))
    return lengths[: int(np.searchsorted(np.cumsum(lengths), count)) + 1]

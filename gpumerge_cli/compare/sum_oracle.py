"""Checks in one pass over blocks whether an output is the stable merge, for more keys than are sorted quickly.

An output of keys that never descends, and that holds the keys of the inputs, is their merge. The same keys have the
same sum of 64-bit mixes, which does not depend on their order: a wrong output passes only if its sum happens to be
equal, with a chance of about one in 2^64 for errors that are independent of the mix. Keys that compare equal and differ
in their bytes, zeros and NaNs of floats, are also compared in sequence, which shows if the merge is stable. Items of
more than a key would need that for every tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order.kinds import KeyOrder

ItemBytes = NDArray[np.uint8]
_BLOCK = 1 << 17
"""Items checked at once, few enough that a block and its mixes stay in a core's cache."""
_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class _Traits:
    """The traits of a stretch of keys."""

    falls: bool
    """Whether some key goes before the one ahead of it."""
    first: int
    """The image of the first key."""
    last: int
    """The image of the last key."""
    images: int
    """The sum of the mixes of all images, modulo 2^64."""
    bits: int
    """The sum of the mixes of all keys' bits, modulo 2^64."""
    alike: NDArray[Any]
    """Bits of the keys that may equal keys with other bits, in sequence."""


class SumOracle:
    """See compare.oracle.Oracle. `threads` host threads share the work."""

    how = "order and sums"

    def __init__(self, runs: Sequence[ItemBytes], order: KeyOrder, threads: int) -> None:
        self._order = order
        self._threads = threads
        self.nbytes = sum(run.size for run in runs)
        self._alike = order.image(order.alike)
        traits = [trait for run in runs for trait in self._traits(run)]
        self._images, self._bits = _sums(traits)
        self._sequence = self._in_sequence(traits)

    def exact(self, merged: ItemBytes) -> bool:
        """See Oracle."""
        traits = self._ascending(merged)
        if traits is None or _sums(traits)[1] != self._bits:
            return False
        return np.array_equal(self._in_sequence(traits), self._sequence)

    def equal_by_key(self, merged: ItemBytes) -> bool:
        """See Oracle."""
        traits = self._ascending(merged)
        return traits is not None and _sums(traits)[0] == self._images

    def _ascending(self, merged: ItemBytes) -> list[_Traits] | None:
        """The traits of `merged`, or None if it has another length or a key out of order."""
        if merged.size != self.nbytes:
            return None
        traits = self._traits(merged)
        falls = any(trait.falls for trait in traits)
        falls |= any(a.last > b.first for a, b in pairwise(traits))
        return None if falls else traits

    def _traits(self, data: ItemBytes) -> list[_Traits]:
        def blocks() -> Iterator[ItemBytes]:
            for start in range(0, data.size, _BLOCK * self._order.width):
                yield data[start : start + _BLOCK * self._order.width]

        if self._threads == 1 or data.size <= _BLOCK * self._order.width:
            return list(map(self._trait, blocks()))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._trait, blocks()))

    def _trait(self, block: ItemBytes) -> _Traits:
        keys = self._order.keys(block)
        images, bits = self._order.image(keys), keys.view(self._order.unsigned)
        of_images = _mixed(images)
        of_bits = _mixed(bits) if self._alike.size else of_images
        return _Traits(
            bool((images[1:] < images[:-1]).any()),
            int(images[0]),
            int(images[-1]),
            of_images,
            of_bits,
            bits[np.isin(images, self._alike)] if self._alike.size else bits[:0],
        )

    def _in_sequence(self, traits: Sequence[_Traits]) -> NDArray[Any]:
        """The keys that may compare equal to keys with other bits: zeros, then NaNs, each in sequence."""
        found = np.concatenate([np.empty(0, self._order.unsigned), *(trait.alike for trait in traits)])
        return found[np.argsort(self._order.image(found.view(self._order.dtype)), kind="stable")]


def _mixed(values: NDArray[Any]) -> int:
    """The sum, modulo 2^64, of the values' mixes (the finalizer of splitmix64)."""
    mix = values.astype(np.uint64)
    mix += np.uint64(0x9E3779B97F4A7C15)
    mix ^= mix >> np.uint64(30)
    mix *= np.uint64(0xBF58476D1CE4E5B9)
    mix ^= mix >> np.uint64(27)
    mix *= np.uint64(0x94D049BB133111EB)
    mix ^= mix >> np.uint64(31)
    return int(mix.sum())


def _sums(traits: Sequence[_Traits]) -> tuple[int, int]:
    return sum(trait.images for trait in traits) & _ALL, sum(trait.bits for trait in traits) & _ALL

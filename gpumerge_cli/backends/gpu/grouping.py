"""The groups of equal neighbours in sorted arrays: see groups.cu."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.launching import Allocate, PinnedAnswers, Step, zeros
from gpumerge_cli.backends.gpu.module import Kernels, gpu_kernels
from gpumerge_cli.backends.gpu.streams import scratch
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order.kinds import KeyOrder

_WORD = 8
_THREADS = kernel_size("GROUPING_THREADS")
_TILE = _THREADS * kernel_size("GROUPING_TURNS")
_RESIDENT = 8  # blocks of a multiprocessor


class Grouping:
    """A search for groups that is ready to launch on the current device."""

    def __init__(self, kernels: Kernels) -> None:
        self._find = kernels.ready("find_groups", _THREADS, shared=kernel_size("GROUPING_BYTES"), file="groups.cu")
        self._blocks = _RESIDENT * kernels.limits.multiprocessors
        self._answers = PinnedAnswers("a call with counts")

    def __call__(self, items: Any) -> tuple[Any, Any]:
        """(the first key of each group, the int64 index of each) of a sorted CuPy array, on its stream. Waits.

        items: 1-D, contiguous and aligned, of the order's dtype, with at least one item.
        """
        count = len(items)
        keys, firsts = cupy.empty_like(items), cupy.empty(count, cupy.int64)
        groups = self._answers.answer_of(self.steps, (items.data.ptr, count), firsts.data.ptr, keys.data.ptr, scratch)
        return _cut(keys, groups), _cut(firsts, groups)

    def steps(self, items: Run, firsts: int, keys: int, allocate: Allocate, answer: int) -> Iterator[Step]:
        """The work of a call, which writes the number of groups to the int64 at `answer`."""
        address, count = items
        tiles = -(-count // _TILE)
        words = 1 + tiles + kernel_size("GROUP_WORDS") * -(-tiles // kernel_size("WARP"))
        memory = allocate(_WORD * words)
        yield zeros, _WORD * words, (memory.ptr,), False
        places = [firsts, keys, count, memory.ptr, memory.ptr + _WORD, answer]
        yield self._find, min(tiles, self._blocks), [address, count, *places], False


@lru_cache(maxsize=256)
def grouping_of(device: int, order: KeyOrder, limits: DeviceLimits) -> Grouping:
    """The search for keys of an order, in either direction, on the current device, whose number is `device`."""
    return Grouping(gpu_kernels(device, order, limits))


def _cut(array: Any, count: int) -> Any:
    """The first items; a copy if most of the memory would be kept for nothing."""
    return array[:count].copy() if 2 * count < len(array) else array[:count]

"""The words of groups of runs, as NumPy's stand-ins for kernels read them in the host's memory: see runs.cuh."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumerge_cli.backends.gpu.grouped import MAX_WORDS
from gpumerge_cli.backends.gpu.tree import Run


@dataclass(frozen=True)
class FakeGroup:
    """A group: its runs, and the item of the output at which its result begins."""

    runs: list[Run]
    start: int
    total: int


def write_words(blocks: int, stream: int, given: Sequence[int], dependent: bool) -> None:
    """Stands for write_words.cu."""
    *words, count, to = given
    assert (blocks, len(words)) == (1, MAX_WORDS)
    assert 0 < count <= MAX_WORDS
    _words(to, count)[:] = words[:count]


def groups_of(given: Sequence[int], fan_in: int, tile: int) -> list[FakeGroup]:
    """The groups of a launch's arguments. It checks that the cuts of each lie behind those of the one ahead."""
    groups, count = given[0], given[2]
    found, edges = [], 0
    for words in _words(groups, count * (2 * fan_in + 2)).reshape(count, -1).tolist():
        runs = list(zip(words[:fan_in], words[fan_in : 2 * fan_in], strict=True))
        total = sum(length for _, length in runs)
        assert total > 0
        assert words[-1] == edges
        edges += -(-total // tile) + 1
        found.append(FakeGroup(runs, words[-2], total))
    return found


def check_blocks(given: Sequence[int], of_each: Sequence[int], blocks: int) -> None:
    """Check the first blocks of all groups. of_each: the blocks of each."""
    first = np.cumsum([0, *of_each])
    assert (_words(given[1], given[2]) == first[:-1]).all()
    assert blocks == first[-1]


def _words(address: int, count: int) -> Any:
    return np.frombuffer((ctypes.c_int64 * count).from_address(address), np.int64)

"""The accesses of the path kernel whose threads move its tiles: merge_path.cu with vector loads, for two runs.

As in accesses.py. The cuts of the tiles are found by another kernel beforehand, and its accesses are not counted here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.corank import co_rank
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.explain.accesses import Access, Codes, Threads
from gpumerge_cli.explain.shape import kernel_item_bytes
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.kinds import KeyOrder, Order
from gpumerge_cli.results.page import MemorySpace

_REACH = 16  # of co_rank_near in share.cuh
_WORD = 4  # bytes of a Unit in transfer.cuh


@dataclass(frozen=True)
class _Slice:
    """Items `first`, first + 1, ... of a run, staged from byte `begin` of shared memory on."""

    memory: MemorySpace
    codes: Codes
    first: int
    count: int
    begin: int
    offset: int
    """The bytes by which it lies behind the start of a vector in global memory."""

    def code(self, index: int) -> int:
        return self.codes[self.first + index]


def traces_path(order: Order) -> bool:
    """Whether the accesses are known for items of this order. Narrow integers and floats go other ways in share.cuh."""
    return kernel_item_bytes(order) in (4, 8, 16) and not (isinstance(order, KeyOrder) and order.kind == "float")


def path_block_accesses(a: Codes, b: Codes, policy: LaunchPolicy, size: int) -> Iterator[Threads]:
    """The accesses of the threads of each block. size: the bytes of an item: 4, 8 or 16."""
    total = len(a) + len(b)
    for first in range(0, total, policy.tile_size):
        threads: Threads = [[] for _ in range(policy.block_size)]
        last = min(first + policy.tile_size, total)
        low, high = (co_rank(at, len(a), len(b), lambda j, i: b[j] < a[i])[0] for at in (first, last))
        slice_a, vectors_a = _laid_out("A", a, low, high, 0, size)
        slice_b, vectors_b = _laid_out("B", b, first - low, last - high, vectors_a, size)
        _stage(threads, (slice_a, vectors_a), (slice_b, vectors_b), size)
        for thread, accesses in enumerate(threads):
            _merge_slices(accesses, slice_a, slice_b, thread, policy.items_per_thread, size, first)
        _store(threads, first, last - first, size)
        yield threads


def _laid_out(memory: MemorySpace, codes: Codes, first: int, stop: int, vectors: int, size: int) -> tuple[_Slice, int]:
    """lay_out of stage.cuh: a slice, and the vectors of its window. vectors: those ahead of it."""
    vector, count = kernel_size("VECTOR"), stop - first
    offset = first * size % vector
    window = ceil_div(offset + count * size, vector) if count else 0
    return _Slice(memory, codes, first, count, vectors * vector + offset, offset), window


def _stage(threads: Threads, a: tuple[_Slice, int], b: tuple[_Slice, int], size: int) -> None:
    """stage of stage.cuh: all loads of a thread come ahead of its stores."""
    vector = kernel_size("VECTOR")
    vectors = a[1] + b[1]
    for at in range(vectors):
        turn, thread = divmod(at, len(threads))
        (one, _), ahead = (a, 0) if at < a[1] else (b, a[1])
        source = one.first * size // vector + at - ahead
        threads[thread].append(Access((0, turn), "stage", one.memory, source, unit=vector))
    for at in range(vectors):
        turn, thread = divmod(at, len(threads))
        threads[thread].append(Access((1, turn), "stage", "shared", at, store=True, unit=vector))


def _merge_slices(
    accesses: list[Access], a: _Slice, b: _Slice, thread: int, each: int, size: int, first: int
) -> None:  # fmt: skip
    """merge_pairs of merge_path.cu, with merge_share_by and merge_items of share.cuh."""
    total = a.count + b.count
    diagonal = min(thread * each, total)
    i = _co_rank_near(accesses, diagonal, a, b, size)
    j = diagonal - i

    def read(turn: int, statement: int, one: _Slice, index: int) -> None:
        accesses.append(Access((3, turn, statement), "merge", "shared", one.begin // size + index))

    read(0, 0, a, i)
    read(0, 1, b, j)
    for turn in range(each):
        if j < b.count and (i >= a.count or b.code(j) < a.code(i)):
            j += 1
            read(turn + 1, 0, b, j)
        else:
            i += 1
            read(turn + 1, 0, a, i)
    shift = first * size % kernel_size("VECTOR") // size
    for turn in range(min(each, total - diagonal)):
        accesses.append(Access((4, turn), "merge", "shared", shift + diagonal + turn, store=True))


def _co_rank_near(accesses: list[Access], rank: int, a: _Slice, b: _Slice, size: int) -> int:
    low, high = max(0, rank - b.count), min(rank, a.count)
    probes = 0

    def narrow(middle: int) -> None:
        nonlocal low, high, probes
        for statement, (one, index) in enumerate(((a, middle), (b, rank - 1 - middle))):
            accesses.append(Access((2, probes, statement), "search", "shared", one.begin // size + index))
        probes += 1
        if b.code(rank - 1 - middle) < a.code(middle):
            high = middle
        else:
            low = middle + 1

    share = np.float32(a.count) / np.float32(a.count + b.count + 1)
    guess = int(np.float32(rank) * share)
    for near in (guess - _REACH, guess + _REACH):
        if low < near < high:
            narrow(near)
    while low < high:
        narrow((low + high) // 2)
    return low


def _store(threads: Threads, first: int, outputs: int, size: int) -> None:
    """store of transfer.cuh: whole vectors, then the words ahead of them and behind them."""
    vector, start, nbytes = kernel_size("VECTOR"), first * size, outputs * size
    offset = start % vector
    head = min(vector - offset, nbytes) if offset else 0
    vectors = (nbytes - head) // vector
    tail = head + vectors * vector
    pieces = (
        (5, vector, head, vectors),
        (6, _WORD, 0, head // _WORD),
        (7, _WORD, tail, (nbytes - tail) // _WORD),
    )
    for part, unit, begin, pieces_of_it in pieces:
        for at in range(pieces_of_it):
            turn, thread = divmod(at, len(threads))
            threads[thread] += (
                Access((part, turn, 0), "stage", "shared", (offset + begin) // unit + at, unit=unit),
                Access((part, turn, 1), "stage", "out", (start + begin) // unit + at, store=True, unit=unit),
            )

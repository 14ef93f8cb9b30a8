"""The CPU backend: the compiled library. Each host thread takes one long piece of the output, cut by co-rank."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from gpumerge_cli.backends.base import ChunkSizes, DeviceInfo, PieceSizes
from gpumerge_cli.backends.cpu import policy as policies
from gpumerge_cli.backends.cpu.team import ThreadTeam
from gpumerge_cli.backends.cpu.workspace import CpuWorkspace
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.extents import Target
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortPolicy, SortRequest, check_recursion
from gpumerge_cli.native.calls import ChunkWork, ChunkWorkers
from gpumerge_cli.native.chunks import Chunks, CpuChunkWorker
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status, launch_spec, order_spec, sort_spec
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

# A chunk's input, output and temporaries stay in a core's share of the cache, and writers hold the file's lock for a
# short time. 2 MiB was the fastest of 0.5 to 128 MiB for 2 x 1 GB on two cores.
_CHUNK = 2 << 20
# Many threads keep the interpreter busy dispatching chunks: 16 of them took 1.39 s for 2 x 4 GB in chunks of 2 MiB, and
# 0.94, 0.91, 0.92 and 1.01 s in chunks of 4 to 32 MiB.
_CHUNK_OF_MANY = 8 << 20
# Lines have rows of 16 bytes beside their text. 1 and 2 MiB took the least processor time of 1 to 8 MiB for 2 x 0.2 GB
# of four kinds of lines on two cores, and 2 MiB half of the memory of 8.
_LEAST_CHUNK = 1 << 20
# Memory of a sort in one piece, for each byte of its keys: unsorted and sorted keys, and small tables. In one piece
# 100 M int32 took 1.2 s of user time on two cores, and 50 M float64 0.8 s. In merged pieces they took 2.0 and 1.2 s.
_WHOLE = 2.2
_WHOLE_ROW_BYTES = 52  # a line's start, an image of two words, a pair of two words, tables for dealing, and some spare
# A sort in one piece writes its rows to fresh memory, but pieces use theirs again. On two cores, lines of 10 bytes
# took a third longer in one piece, and lines of 33 to 100 bytes a fifth less. More threads gain more from one piece:
# pieces sort all rows a second time where many runs are merged.
_LEAST_WHOLE_ROW, _FEW_THREADS = 24, 4
_BUFFER_PAIRS, _COPIES = 3, 5  # of the copy ceiling
_PIECE, _MOST_RUNS = 32 << 20, 64  # of a sort
_MOST_MERGED = 8  # runs: a radix sort of a chunk of more runs is faster than its merges of pairs
_PAIR_BYTES = 16  # of a row; the radix sort deals between two arrays of these
_ROW_BYTES = 32  # a line's start, prefix and number, and its place in the merge; a record has no start


class CpuBackend:
    """Merges in host memory. Raises DeviceError: see select.host."""

    name = "cpu"
    remote = False

    def __init__(self) -> None:
        self._library = library()

    def info(self) -> DeviceInfo:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        level = self._library.gm_level().decode()
        details = {"cores": str(len(os.sched_getaffinity(0))), "level": level}
        return DeviceInfo("cpu", _cpu_name(), memory, details)

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2, equals: Equals = Equals.ALL) -> LaunchPolicy:
        return policies.resolve(request, order)

    def resolve_pairs(self, request: LaunchRequest, order: Order) -> LaunchPolicy | None:
        """See policy.resolve_pairs."""
        return policies.resolve_pairs(request, order)

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        return policies.resolve_sort(request, order, nbytes)

    def splits(self, policy: LaunchPolicy, total: int, threads: int) -> Splits:
        return policies.splits(policy, threads)

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        _check_policy(policy, len(items))
        arguments = (items.ctypes.data, len(items), out.ctypes.data)
        check_status(self._library.gm_sort_array(order_spec(order), sort_spec(policy), *arguments, threads))

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        _check_policy(policy, len(items))
        import numpy as np

        ranks = np.empty(len(items), np.int64)
        arguments = (items.ctypes.data, len(items), ranks.ctypes.data)
        check_status(self._library.gm_sort_ranks(order_spec(order), sort_spec(policy), *arguments, threads))
        return ranks

    def chunk_sizes(self, order: Order, runs: int, item_bytes: float) -> ChunkSizes:
        spares = min(2, max(0, (runs - 1).bit_length() - 1))
        chunk = _CHUNK_OF_MANY if len(os.sched_getaffinity(0)) > _FEW_THREADS else _CHUNK
        footprint = 2 + (1.25 * _ROW_BYTES + 8 * spares) / item_bytes if order.is_rows else 2 + spares
        return ChunkSizes(chunk, _LEAST_CHUNK, 0, footprint)

    def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
        room = 2 * _PAIR_BYTES / item_bytes if order.is_rows else 1
        return PieceSizes(0, _PIECE, _MOST_RUNS, resorts=_MOST_MERGED, room=room, outgrows=True)

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        if order.is_rows and item_bytes < _LEAST_WHOLE_ROW and threads <= _FEW_THREADS:
            return None
        if order.is_rows:
            return int((1 + _WHOLE_ROW_BYTES / item_bytes) * nbytes) + threads * part
        return int(_WHOLE * nbytes)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> CpuWorkspace:
        return CpuWorkspace(order, capacity, threads)

    def prepare(
        self,
        order: Order,
        policy: LaunchPolicy | SortPolicy,
        items: int,
        *,
        check: bool = False,
        equals: Equals = Equals.ALL,
    ) -> None:
        """See Backend. The library is compiled already."""

    def chunk_workers(
        self, work: ChunkWork, policy: LaunchPolicy | SortPolicy, targets: Sequence[Target]
    ) -> ChunkWorkers:
        if work.join is not None:
            from gpumerge_cli.native.joins import Joins, JoinWorker

            return partial(JoinWorker, Joins(work.sources, work.join, check=work.check))
        return partial(CpuChunkWorker, Chunks(work, policy, targets))

    def versions(self) -> dict[str, str]:
        from gpumerge_cli.backends.cpu.baselines import versions

        return versions()

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        with ThreadTeam(threads) as team:
            return min(_copy_seconds(nbytes, team) for _ in range(_BUFFER_PAIRS))

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        addresses = (ctypes.c_void_p * len(runs))(*(run.ctypes.data for run in runs))
        counts = (ctypes.c_int64 * len(runs))(*map(len, runs))
        arguments = (order_spec(order), launch_spec(policy), addresses, counts, len(runs))
        check_status(self._library.gm_merge_arrays(*arguments, out.ctypes.data, threads))

    def merge_pairs(
        self,
        runs: Sequence[Any],
        values: Sequence[Any],
        order: Order,
        policy: LaunchPolicy,
        out: Any,
        out_values: Any,
        *,
        threads: int = 1,
    ) -> None:
        """Merge runs as merge_arrays does, and move the value of each key along, to `out_values`.

        runs: of numbers of 4 or 8 bytes. values: for each run a contiguous array with rows of 4 or 8 bytes, one a key.
        """
        addresses, of_values = (
            (ctypes.c_void_p * len(runs))(*(each.ctypes.data for each in arrays)) for arrays in (runs, values)
        )
        counts = (ctypes.c_int64 * len(runs))(*map(len, runs))
        arguments = (order_spec(order), launch_spec(policy), addresses, of_values, counts, len(runs))
        to = (out_values.nbytes // max(1, len(out)), out.ctypes.data, out_values.ctypes.data)
        check_status(self._library.gm_merge_pairs(*arguments, *to, threads))

    def combine_arrays(self, runs: Sequence[Any], order: Order, equals: Equals, out: Any, *, threads: int = 1) -> int:
        """Write a set of sorted 1-D contiguous arrays of the order's dtype to the front of `out`.

        `out` has room for all items of the arrays. Returns the number of the set's items.
        """
        addresses = (ctypes.c_void_p * len(runs))(*(run.ctypes.data for run in runs))
        counts = (ctypes.c_int64 * len(runs))(*map(len, runs))
        launch, kept = launch_spec(policies.resolve(LaunchRequest(), order)), ctypes.c_int64()
        arguments = (order_spec(order), launch, addresses, counts, len(runs), equals.value)
        check_status(self._library.gm_combine_arrays(*arguments, out.ctypes.data, ctypes.byref(kept), threads))
        return kept.value

    def select(
        self, items: Any, order: Order, bound: Any, selects: int, room: int, *, threads: int = 1
    ) -> tuple[Any, int]:
        """Find the items that go before another one or equal it: a sum of SELECT_LESS and SELECT_EQUAL.

        items: 1-D and contiguous, of the order's dtype, in any order. bound: an array of the one item. Returns the
        int64 indices of the first `room` of them, ascending, and the number of all.
        """
        import numpy as np

        indices, found = np.empty(min(room, len(items)), np.int64), ctypes.c_int64()
        arguments = (order_spec(order), items.ctypes.data, len(items), bound.ctypes.data, selects)
        to = (indices.ctypes.data, len(indices), ctypes.byref(found))
        check_status(self._library.gm_select(*arguments, *to, threads))
        return indices[: found.value], found.value

    def first_disorder(self, run: Any, order: Order) -> int | None:
        index = self._library.gm_first_disorder(order_spec(order), run.ctypes.data, len(run), 0)
        return None if index < 0 else index


def _check_policy(policy: SortPolicy, items: int) -> None:
    if policy.algorithm == "recursive":
        check_recursion(items)


def _copy_seconds(nbytes: int, team: ThreadTeam) -> float:
    """The median of a few copies between two arrays whose pages exist already."""
    from statistics import median

    import numpy as np

    source, target = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)

    found = []
    for _ in range(_COPIES):
        start = time.perf_counter()
        team.run(np.copyto, [(target[a:b], source[a:b]) for a, b in team.pieces(nbytes)])
        found.append(time.perf_counter() - start)
    return median(found)


@lru_cache(maxsize=1)
def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else os.uname().machine

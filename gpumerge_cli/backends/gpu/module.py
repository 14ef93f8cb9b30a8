"""Compiled kernels, one module for a kernel file and its macros, and the calls of each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from math import gcd
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import FAN_INS, LaunchPolicy, SortPolicy
from gpumerge_cli.backends.gpu.buffers import copy_on_device
from gpumerge_cli.backends.gpu.compiled import begin, kernel
from gpumerge_cli.backends.gpu.joining import THREADS as JOINING_THREADS
from gpumerge_cli.backends.gpu.joining import WORDS as JOINING_WORDS
from gpumerge_cli.backends.gpu.joining import join_runs
from gpumerge_cli.backends.gpu.launching import Launch, current_stream, scratch_array
from gpumerge_cli.backends.gpu.policy import (
    VALUES_THREADS,
    begins_beside,
    by_values,
    columns_shared_bytes,
    grid_size,
    item_bytes,
    own_cuts_beside,
    partition_size,
    partition_stretch,
    shared_bytes,
    values_stretch,
)
from gpumerge_cli.backends.gpu.radix import DigitKernels, Ends, sort_by_digits
from gpumerge_cli.backends.gpu.sort_policy import (
    RANK_MERGING_THREADS,
    RANKING_THREADS,
    TileShape,
    tile_shape,
    tile_shared_bytes,
)
from gpumerge_cli.backends.gpu.source import (
    comparison_macros,
    compiler_options,
    partition_macros,
    policy_macros,
    row_macros,
    text_macros,
    tile_macros,
    values_macros,
)
from gpumerge_cli.backends.gpu.text_kernels import TextKernels, ceil_div
from gpumerge_cli.backends.gpu.tree import Level
from gpumerge_cli.backends.launch import Transfer
from gpumerge_cli.backends.limits import STATIC_SHARED, DeviceLimits
from gpumerge_cli.backends.variants import named
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros

Address = int
"""A device address. Kernels take pointers and counts as 64-bit arguments."""

_THREADS = 256
OWN_CUTS = 12
"""With at most so many tiles for each multiprocessor, it is faster if blocks find their own cuts."""
_SERIAL_THREADS = 64
_USUAL_SHARED_MEMORY = 48 * 1024


@cache
def _function(device: int, file: str, name: str, macros: Macros, largest: int) -> Any:
    """The kernel for the current device, whose number is `device`. largest: bytes of shared memory, 0 for the usual.

    A kernel that needs more than the usual is allowed the most there is, so that all launch shapes share it.
    """
    return kernel(file, compiler_options(macros), name, largest)


@dataclass(frozen=True)
class _Given:
    """The items of a merge. source: a table of runs, or a level whose runs are `length` long. total: their number."""

    source: Any
    total: int
    length: int = 0

    @property
    def batched(self) -> bool:
        """Whether it is a level."""
        return self.length > 0


@dataclass(frozen=True)
class _Edges:
    """The places that are cut: in each of `groups` of up to fan_in runs so many edges, `tile` items apart."""

    fan_in: int
    tile: int
    number: int
    groups: int = 1


class Kernels:
    """The kernels for one order on one device. All launches go to the current stream of the current device.

    Items are keys of the order's width, or rows; counts are in items. text and starts: see lines.cuh; both are 0 for
    keys, and starts is 0 for records.
    """

    def __init__(self, device: int, order: Order, limits: DeviceLimits) -> None:
        self._device = device
        self._order = order
        self._limits = limits
        # rows.cu reads the keys inside records, and join_runs.cu no keys at all.
        self._macros = {"rows.cu": row_macros(order), "text.cu": text_macros(), "join_runs.cu": ()}
        self._comparing = comparison_macros(order)
        self._digits = DigitKernels(self, order, limits)

    @property
    def order(self) -> Order:
        """The order of the items."""
        return self._order

    @property
    def limits(self) -> DeviceLimits:
        """The limits of the device."""
        return self._limits

    def merge(
        self,
        policy: LaunchPolicy,
        runs: Sequence[tuple[Address, int]],
        out: Address,
        text: Address = 0,
        starts: Address = 0,
    ) -> None:
        """Merge up to `policy.fan_in` sorted runs, each an address and a count, into `out`."""
        total = sum(count for _, count in runs)
        if total == 0:
            return
        self._merge(policy, _Given(_run_table(runs, policy.fan_in), total), out, text, starts)

    def merging(self, policy: LaunchPolicy, macros: Macros = (), words: int = 0) -> Launch:
        """The kernel that merges a table of runs by a policy which cuts ahead.

        macros, words: those of columns, of which the words end the arguments.
        """
        macros = (*policy_macros(policy), *macros)
        words += _source_words(policy.fan_in) + 5
        return self.ready(f"merge_{policy.kernel}", policy.block_size, words, macros, shared_bytes(policy, self._order))

    def merging_columns(self, policy: LaunchPolicy, value_bytes: int, words: int) -> Launch:
        """The kernel that merges two runs of keys and values, see Columns.stay_apart. words: those of the columns."""
        macros = (*policy_macros(policy), ("VALUE_SIZE", value_bytes))
        shared = columns_shared_bytes(policy, self._order.width, value_bytes)
        words += _source_words(policy.fan_in) + 5
        return self.ready("merge_columns", policy.block_size, words, macros, shared)

    def partitioning(self, policy: LaunchPolicy, macros: Macros = ()) -> Launch:
        """The kernel that cuts ahead of `merging`."""
        macros = (*partition_macros(policy.fan_in), *macros)
        return self.ready("partition", partition_size(policy.fan_in), _source_words(policy.fan_in) + 6, macros)

    def tiling(self, shape: TileShape, transfer: Transfer | None, macros: Macros = (), words: int = 0) -> Launch:
        """The kernel whose blocks sort a tile each. macros, words: see merging."""
        shared = tile_shared_bytes(shape, self._order)
        own = tile_macros(shape.block_size, shape.items_per_thread, shape.resident, transfer)
        return self.ready("sort_tile", shape.block_size, 6 + words, (*own, *macros), shared)

    def ranking(self, macros: Macros = (), words: int = 0) -> Launch:
        """The kernel that sorts tiles by rank. macros, words: see merging."""
        macros = (("BLOCK_SIZE", RANKING_THREADS), *macros)
        return self.ready("sort_by_rank", RANKING_THREADS, 6 + words, macros)

    def merging_by_rank(self, macros: Macros = (), words: int = 0) -> Launch:
        """The kernel that merges groups of small runs by rank. macros, words: see merging."""
        macros = (("BLOCK_SIZE", RANK_MERGING_THREADS), *macros)
        return self.ready("merge_by_rank", RANK_MERGING_THREADS, 5 + words, macros)

    def ready(
        self, name: str, threads: int, words: int, macros: Macros = (), shared: int = 0, *, file: str = ""
    ) -> Launch:
        """A kernel to launch, of a file of its own name or of `file`. It is compiled in the background meanwhile."""
        file = file or f"{name}.cu"
        begin(file, compiler_options(self._all_macros(file, macros)), self._limits.capability)
        return Launch(partial(self._compiled, name, file, macros, shared), threads, words, shared)

    def joining(self) -> Launch:
        """The kernel that lays runs one behind the other."""
        return self.ready("join_runs", JOINING_THREADS, JOINING_WORDS)

    def checking(self) -> Launch:
        """The kernel that says whether a run is in disorder."""
        return self.ready("any_disorder", _THREADS, 5, file="check.cu")

    def merging_values(self, policy: LaunchPolicy) -> Launch:
        """The kernel that merges narrow integers value by value."""
        words = _source_words(policy.fan_in) + 4
        return self.ready("merge_values", VALUES_THREADS, words, values_macros(policy.fan_in))

    def merge_level(
        self, policy: LaunchPolicy, level: Level, out: Address, text: Address = 0, starts: Address = 0
    ) -> None:
        """Merge every `policy.fan_in` neighbouring runs of a level into one, in one launch."""
        length = min(level.length, level.total)
        given = _Given(_words([level.items, length, level.total]), level.total, length)
        self._merge(policy, given, out, text, starts)

    def merge_alone(self, level: Level, out: Address, text: Address = 0, starts: Address = 0) -> None:
        """Merge every two neighbouring runs of a level, with one thread for each pair."""
        pairs = ceil_div(level.total, 2 * level.length)
        threads = min(pairs, _SERIAL_THREADS)
        table = _words([level.items, level.length, level.total])
        self._launch(
            "merge_alone",
            ceil_div(pairs, threads),
            threads,
            (table, out, text, starts),
            file="sort_serial.cu",
            macros=(("BATCHED", 1),),
        )

    def copy(self, source: Address, to: Address, nbytes: int) -> None:
        """Copy between addresses of the device."""
        copy_on_device(source, to, nbytes)

    def sort_tiles(
        self, policy: SortPolicy, items: tuple[Address, int], out: Address, text: Address = 0, starts: Address = 0
    ) -> None:
        """Sort each tile of `policy.tile` items by itself. `out` may be the items themselves."""
        shape = tile_shape(policy.tile, self._order, self._limits)
        self._launch(
            "sort_tile", ceil_div(items[1], policy.tile), shape.block_size, (*items, policy.tile, out, text, starts),
            macros=tile_macros(shape.block_size, shape.items_per_thread, shape.resident, policy.launch.transfer),
            shared=tile_shared_bytes(shape, self._order),
        )  # fmt: skip

    def sort_digits(self, items: tuple[Address, int], out: Address, scratch: Address, ends: Ends | None = None) -> None:
        """See radix.sort_by_digits."""
        ready = self._digits.of(items[1], pairs=ends is not None)
        sort_by_digits(*ready, items, (out, scratch), current_stream(), ends)

    def join_runs(self, runs: Sequence[tuple[Address, int]], to: Address) -> None:
        """Lay runs, none of them empty, one behind the other."""
        join_runs(self.joining(), runs, item_bytes(self._order), to, current_stream())

    def _merge(self, policy: LaunchPolicy, given: _Given, out: Address, text: Address, starts: Address) -> None:
        source, total, batched = given.source, given.total, given.batched
        if not batched and by_values(self._order, policy, total):
            stretch = values_stretch(total, self._limits)
            self._launch(
                "merge_values", ceil_div(total, stretch), VALUES_THREADS, (source, out, stretch, text, starts),
                macros=values_macros(policy.fan_in),
            )  # fmt: skip
            return
        shared = shared_bytes(policy, self._order)
        macros = policy_macros(policy, batched=batched)
        variant = named(policy.kernel)
        name, file = f"merge_{policy.rung.replace(' ', '_')}", f"merge_{policy.kernel}.cu"
        if not variant.gpu.cut_ahead:
            self._launch(
                name, grid_size(policy, total), policy.block_size,
                (source, out, *variant.gpu.sizes(policy), text, starts), file=file, macros=macros, shared=shared,
            )  # fmt: skip
            return
        group = min(policy.fan_in * given.length, total) if batched else total
        tiles = grid_size(policy, group)
        blocks = total // group * tiles + grid_size(policy, total % group)
        if blocks <= OWN_CUTS * self._limits.multiprocessors:
            self._launch(
                name, blocks, policy.block_size, (source, out, 0, blocks, text, starts),
                file=file, macros=macros, shared=shared,
            )  # fmt: skip
            return
        edges = _Edges(policy.fan_in, policy.tile_size, tiles + 1, ceil_div(total, group))
        cuts = self._partition(edges, given, text, starts)
        own = own_cuts_beside(self._limits)
        words = [*np.frombuffer(source.tobytes(), np.int64).tolist(), out, cuts.data.ptr, own, text, starts]
        launch = Launch(partial(self._compiled, name, file, macros, shared), policy.block_size, len(words), shared)
        launch(blocks, current_stream(), words, beside=begins_beside(self._limits))

    def cuts(self, runs: Sequence[tuple[Address, int]], rank: int) -> cupy.ndarray:
        """The number of items of each sorted run that are among the first `rank` of all, stably: int64, then zeros.

        Runs, at most FAN_INS[-1] of them, may lie on any device that this one can read.
        """
        fan_in = next(most for most in FAN_INS if most >= len(runs))
        given = _Given(_run_table(runs, fan_in), sum(count for _, count in runs))
        return self._partition(_Edges(fan_in, rank, 2), given, 0, 0)[fan_in:]

    def _partition(self, edges: _Edges, given: _Given, text: Address, starts: Address) -> cupy.ndarray:
        """The cuts at the edges: int64, fan_in for each edge, one group after the other."""
        cuts = scratch_array(edges.groups * edges.number * edges.fan_in, cupy.int64)
        stretch = partition_stretch(edges.number, edges.fan_in, self._limits)
        self._launch(
            "partition",
            edges.groups * ceil_div(edges.number, stretch),
            partition_size(edges.fan_in),
            (given.source, cuts.data.ptr, edges.number, stretch, edges.tile, text, starts),
            macros=partition_macros(edges.fan_in, batched=given.batched),
        )
        return cuts

    def no_disorder(self) -> cupy.ndarray:
        """A place for `check` that holds the largest uint64. CuPy's own functions for it would be compiled first."""
        place = cupy.empty(1, cupy.uint64)
        place.data.memset_async(0xFF, place.nbytes)
        return place

    def check(
        self,
        run: tuple[Address, int],
        base: int,
        first: Address,
        text: Address = 0,
        starts: Address = 0,
        *,
        strict: bool = False,
    ) -> None:
        """Lower the uint64 at `first` to base + i, for the first item i that goes before item i - 1.

        strict: an item that equals the one ahead of it counts too.
        """
        if run[1] > 1:
            blocks = min(ceil_div(run[1], _THREADS), 16 * self._limits.multiprocessors)
            self._launch(
                "check_order", blocks, _THREADS, (*run, base, int(strict), first, text, starts), file="check.cu"
            )

    def keep_first(self, items: tuple[Address, int], ahead: bool, text: Address = 0, starts: Address = 0) -> int:
        """Move the first of equal neighbours to the front of sorted items, in place. Returns their number.

        ahead: items that equal the first one went out before, so none of them is kept. Waits for the device.
        """
        return self._keep(items, self._firsts(items, ahead, text, starts))

    def count_equals(self, items: tuple[Address, int], text: Address = 0, starts: Address = 0) -> NDArray[np.int64]:
        """Move the first of equal neighbours to the front of sorted items, in place. Returns how many equal each one.

        The numbers lie in the host's memory. Waits for the device.
        """
        if not items[1]:
            return np.empty(0, np.int64)
        firsts = self._firsts(items, False, text, starts)
        self._keep(items, firsts)
        places: NDArray[np.int64] = cupy.flatnonzero(firsts).get()
        return np.diff(places, append=items[1])

    def _firsts(self, items: tuple[Address, int], ahead: bool, text: Address, starts: Address) -> cupy.ndarray:
        """Whether each item is the first of equal neighbours. ahead: see keep_first."""
        count = items[1]
        differs = cupy.empty(count, cupy.uint8)
        blocks = min(ceil_div(count, _THREADS), 16 * self._limits.multiprocessors)
        self._launch(
            "mark_first", blocks, _THREADS, (*items, int(not ahead), differs.data.ptr, text, starts), file="check.cu"
        )
        return differs.view(cupy.bool_)

    def _keep(self, items: tuple[Address, int], which: cupy.ndarray) -> int:
        """Move some items to the front, in place. Returns their number."""
        address, count = items
        width = item_bytes(self._order)
        words = gcd(width, 8)
        memory = cupy.cuda.UnownedMemory(address, count * width, self)
        shape = (count, width // words)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        view = cupy.ndarray(shape, f"uint{8 * words}", memptr=pointer)
        kept = view[which]
        view[: len(kept)] = kept
        return len(kept)

    def hold(self, nanoseconds: int) -> None:
        """Keep the current stream busy for so many nanoseconds."""
        function = _function(self._device, "hold.cu", "hold", (), 0)
        function((1,), (1,), (nanoseconds,))

    @property
    def text(self) -> TextKernels:
        """The kernels that find, number and gather lines and records."""
        return TextKernels(self._launch, self._order)

    def _launch(
        self,
        name: str,
        blocks: int,
        threads: int,
        arguments: tuple[Any, ...],
        *,
        file: str = "",
        macros: Macros = (),
        shared: int = 0,
    ) -> None:
        function = self._compiled(name, file or f"{name}.cu", macros, shared)
        function((blocks,), (threads,), arguments, shared_mem=shared)

    def _compiled(self, name: str, file: str, macros: Macros, shared: int) -> Any:
        largest = self._limits.shared_memory if shared + STATIC_SHARED > _USUAL_SHARED_MEMORY else 0
        return _function(self._device, file, name, self._all_macros(file, macros), largest)

    def _all_macros(self, file: str, macros: Macros) -> Macros:
        return (*self._macros.get(file, self._comparing), *macros)


def _run_table(runs: Sequence[tuple[Address, int]], fan_in: int) -> Any:
    """The runs as the kernels take them: `fan_in` addresses, then as many counts. The last counts may be 0."""
    padded = [*runs, *[(runs[0][0], 0)] * (fan_in - len(runs))]
    return _words([*(address for address, _ in padded), *(count for _, count in padded)])


def _source_words(fan_in: int) -> int:
    """The words of a table of runs (see runs.cuh)."""
    return 2 * fan_in


def _words(numbers: Sequence[int]) -> Any:
    words = np.array(numbers, np.int64)
    return words.view(f"V{words.nbytes}")  # CuPy passes an array of one item by value

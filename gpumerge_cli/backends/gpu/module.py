"""Compiled kernels, one module for a kernel file and its macros, and the calls of each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import Any

import cupy
import numpy as np

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
    grid_size,
    item_bytes,
    own_cuts_beside,
    partition_size,
    partition_stretch,
    shared_bytes,
    values_stretch,
)
from gpumerge_cli.backends.gpu.radix import Ends, sort_by_digits
from gpumerge_cli.backends.gpu.sort_policy import TileShape, tile_shape, tile_shared_bytes
from gpumerge_cli.backends.gpu.source import (
    comparison_macros,
    compiler_options,
    lines_order,
    partition_macros,
    policy_macros,
    row_macros,
    text_macros,
    tile_macros,
    values_macros,
)
from gpumerge_cli.backends.gpu.tree import Level
from gpumerge_cli.backends.limits import STATIC_SHARED, DeviceLimits
from gpumerge_cli.backends.variants import named
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros

Address = int
"""A device address. Kernels take pointers and counts as 64-bit arguments."""

_THREADS = 256
OWN_CUTS = 12
"""With at most so many tiles for each multiprocessor, it is faster if blocks find their own cuts."""
_SERIAL_THREADS = 64
_USUAL_SHARED_MEMORY = 48 * 1024
_BYTES_PER_THREAD = 16  # rows.cu, text.cu
_SUMMED_PER_THREAD = 16


@lru_cache(maxsize=256)
def _function(device: int, file: str, name: str, macros: Macros, largest: int) -> Any:
    """The kernel for the current device, whose number is `device`. largest: bytes of shared memory, 0 for the usual.

    A kernel that needs more than the usual is allowed the most there is, so that all launch shapes share it.
    """
    return kernel(file, compiler_options(macros), name, largest)


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

    @property
    def order(self) -> Order:
        """The order of the items."""
        return self._order

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
        self._merge(policy, _run_table(runs, policy.fan_in), total, out, text, starts)

    def merging(self, policy: LaunchPolicy, *, batched: bool = False, macros: Macros = (), words: int = 0) -> Launch:
        """The kernel that merges by a policy which cuts ahead: a table of runs, or a level.

        macros, words: those of columns, of which the words end the arguments.
        """
        shared = shared_bytes(policy, self._order)
        name, file = f"merge_{policy.rung.replace(' ', '_')}", f"merge_{policy.kernel}.cu"
        function = self._compiled(name, file, (*policy_macros(policy, batched=batched), *macros), shared)
        return Launch(function, policy.block_size, _source_words(policy.fan_in, batched) + 5 + words, shared)

    def partitioning(self, policy: LaunchPolicy, *, batched: bool = False, macros: Macros = ()) -> Launch:
        """The kernel that cuts ahead of `merging`."""
        macros = (*partition_macros(policy.fan_in, batched=batched), *macros)
        function = self._compiled("partition", "partition.cu", macros, 0)
        return Launch(function, partition_size(policy.fan_in), _source_words(policy.fan_in, batched) + 6)

    def tiling(
        self, policy: SortPolicy, *, shape: TileShape | None = None, macros: Macros = (), words: int = 0
    ) -> Launch:
        """The kernel that sorts each tile by itself. shape: None for the usual one. macros, words: see merging."""
        shape = shape or tile_shape(policy.tile, self._order, self._limits)
        shared = tile_shared_bytes(shape, self._order)
        own = tile_macros(shape.block_size, shape.items_per_thread, shape.resident, policy.launch.transfer)
        function = self._compiled("sort_tile", "sort_tile.cu", (*own, *macros), shared)
        return Launch(function, shape.block_size, 6 + words, shared)

    def begin(self, name: str, macros: Macros) -> None:
        """Begin to compile a kernel in the background."""
        begin(f"{name}.cu", compiler_options((*self._comparing, *macros)), self._limits.capability)

    def ready(self, name: str, threads: int, words: int, macros: Macros, shared: int) -> Launch:
        """A kernel of a file of its own name, ready to launch."""
        return Launch(self._compiled(name, f"{name}.cu", macros, shared), threads, words, shared)

    def joining(self) -> Launch:
        """The kernel that lays runs one behind the other."""
        return Launch(self._compiled("join_runs", "join_runs.cu", (), 0), JOINING_THREADS, JOINING_WORDS)

    def checking(self) -> Launch:
        """The kernel that says whether a run is in disorder."""
        return Launch(self._compiled("any_disorder", "check.cu", (), 0), _THREADS, 5)

    def merging_values(self, policy: LaunchPolicy) -> Launch:
        """The kernel that merges narrow integers value by value."""
        function = self._compiled("merge_values", "merge_values.cu", values_macros(policy.fan_in), 0)
        return Launch(function, VALUES_THREADS, _source_words(policy.fan_in, False) + 4)

    def merge_level(
        self, policy: LaunchPolicy, level: Level, out: Address, text: Address = 0, starts: Address = 0
    ) -> None:
        """Merge every `policy.fan_in` neighbouring runs of a level into one, in one launch."""
        length = min(level.length, level.total)
        self._merge(policy, _words([level.items, length, level.total]), level.total, out, text, starts, length)

    def merge_alone(self, level: Level, out: Address, text: Address = 0, starts: Address = 0) -> None:
        """Merge every two neighbouring runs of a level, with one thread for each pair."""
        pairs = _ceil_div(level.total, 2 * level.length)
        threads = min(pairs, _SERIAL_THREADS)
        table = _words([level.items, level.length, level.total])
        self._launch(
            "merge_alone",
            _ceil_div(pairs, threads),
            threads,
            (table, out, text, starts),
            file="sort_serial.cu",
            macros=(("BATCHED", 1),),
        )

    def sort_tiles(
        self, policy: SortPolicy, items: tuple[Address, int], out: Address, text: Address = 0, starts: Address = 0
    ) -> None:
        """Sort each tile of `policy.tile` items by itself. `out` may be the items themselves."""
        shape = tile_shape(policy.tile, self._order, self._limits)
        self._launch(
            "sort_tile", _ceil_div(items[1], policy.tile), shape.block_size, (*items, policy.tile, out, text, starts),
            macros=tile_macros(shape.block_size, shape.items_per_thread, shape.resident, policy.launch.transfer),
            shared=tile_shared_bytes(shape, self._order),
        )  # fmt: skip

    def sort_digits(self, items: tuple[Address, int], out: Address, scratch: Address, ends: Ends | None = None) -> None:
        """See radix.sort_by_digits."""
        sort_by_digits(self._launch, self._order, self._limits, items, (out, scratch), ends)

    def join_runs(self, runs: Sequence[tuple[Address, int]], to: Address) -> None:
        """Lay runs, none of them empty, one behind the other."""
        join_runs(self.joining(), runs, item_bytes(self._order), to, current_stream())

    def _merge(
        self, policy: LaunchPolicy, source: Any, total: int, out: Address, text: Address, starts: Address,
        length: int = 0,
    ) -> None:  # fmt: skip
        """Launch a merge. source: a table of runs, or a level whose runs are `length` long."""
        batched = length > 0
        if not batched and by_values(self._order, policy, total):
            stretch = values_stretch(total, self._limits)
            self._launch(
                "merge_values", _ceil_div(total, stretch), VALUES_THREADS, (source, out, stretch, text, starts),
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
        group = min(policy.fan_in * length, total) if batched else total
        tiles = grid_size(policy, group)
        blocks = total // group * tiles + grid_size(policy, total % group)
        if blocks <= OWN_CUTS * self._limits.multiprocessors:
            self._launch(
                name, blocks, policy.block_size, (source, out, 0, blocks, text, starts),
                file=file, macros=macros, shared=shared,
            )  # fmt: skip
            return
        cuts = self._partition(
            policy.fan_in, policy.tile_size, tiles + 1, _ceil_div(total, group), source, text, starts,
            batched=batched,
        )  # fmt: skip
        own = own_cuts_beside(policy.fan_in, self._limits)
        words = [*np.frombuffer(source.tobytes(), np.int64).tolist(), out, cuts.data.ptr, own, text, starts]
        launch = Launch(self._compiled(name, file, macros, shared), policy.block_size, len(words), shared)
        launch(blocks, current_stream(), words, beside=begins_beside(self._limits))

    def cuts(self, runs: Sequence[tuple[Address, int]], rank: int) -> cupy.ndarray:
        """The number of items of each sorted run that are among the first `rank` of all, stably: int64, then zeros.

        Runs, at most FAN_INS[-1] of them, may lie on any device that this one can read.
        """
        fan_in = next(most for most in FAN_INS if most >= len(runs))
        cuts = self._partition(fan_in, rank, 2, 1, _run_table(runs, fan_in), 0, 0, batched=False)
        return cuts[fan_in:]

    def _partition(
        self,
        fan_in: int,
        tile: int,
        edges: int,
        groups: int,
        source: Any,
        text: Address,
        starts: Address,
        *,
        batched: bool,
    ) -> cupy.ndarray:
        cuts = scratch_array(groups * edges * fan_in, cupy.int64)
        stretch = partition_stretch(edges, fan_in, self._limits)
        self._launch(
            "partition",
            groups * _ceil_div(edges, stretch),
            partition_size(fan_in),
            (source, cuts.data.ptr, edges, stretch, tile, text, starts),
            macros=partition_macros(fan_in, batched=batched),
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
            blocks = min(_ceil_div(run[1], _THREADS), 16 * self._limits.multiprocessors)
            self._launch(
                "check_order", blocks, _THREADS, (*run, base, int(strict), first, text, starts), file="check.cu"
            )

    def keep_first(self, items: tuple[Address, int], ahead: bool, text: Address = 0, starts: Address = 0) -> int:
        """Move the first of equal neighbours to the front of sorted items, in place. Returns their number.

        ahead: items that equal the first one went out before, so none of them is kept. Waits for the device.
        """
        address, count = items
        differs = cupy.empty(count, cupy.uint8)
        blocks = min(_ceil_div(count, _THREADS), 16 * self._limits.multiprocessors)
        self._launch(
            "mark_first", blocks, _THREADS, (*items, int(not ahead), differs.data.ptr, text, starts), file="check.cu"
        )
        width = item_bytes(self._order)
        words = gcd(width, 8)
        memory = cupy.cuda.UnownedMemory(address, count * width, self)
        shape = (count, width // words)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        view = cupy.ndarray(shape, f"uint{8 * words}", memptr=pointer)
        kept = view[differs.view(cupy.bool_)]
        view[: len(kept)] = kept
        return len(kept)

    def hold(self, nanoseconds: int) -> None:
        """Keep the current stream busy for so many nanoseconds."""
        function = _function(self._device, "hold.cu", "hold", (), 0)
        function((1,), (1,), (nanoseconds,))

    def line_starts(self, text: Address, nbytes: int) -> Any:
        """The offsets of all lines of a text that ends in a terminator, and of its end: int64. Waits for the device.

        The words of the order and their number lie ahead of them in the same memory (see lines.cuh).
        """
        layout = self._order.layout()
        assert layout.table is not None
        terminator, ahead = layout.terminator, lines_order(layout.table)
        blocks = self._text_blocks(nbytes)
        ends = cupy.empty(blocks, cupy.int64)
        self._launch(
            "count_lines", blocks, _THREADS, (text, nbytes, terminator, ends.data.ptr),
            file="text.cu", shared=4 * _THREADS,
        )  # fmt: skip
        self._running_sums(ends)
        room = cupy.empty(len(ahead) + int(ends[-1]) + 1, cupy.int64)
        room[: len(ahead)].set(ahead)
        starts = room[len(ahead) :]
        self._launch(
            "find_lines", blocks, _THREADS, (text, nbytes, terminator, ends.data.ptr, starts.data.ptr),
            file="text.cu", shared=4 * _THREADS,
        )  # fmt: skip
        return starts

    def line_numbers(self, starts: Any, offsets: Sequence[int]) -> list[int]:
        """The numbers of the lines that start at these offsets; the end has one, too. Waits for the device."""
        count = len(offsets)
        numbers = cupy.asarray(np.array(offsets, np.int64))
        self._launch(
            "number_lines", _ceil_div(count, _THREADS), _THREADS,
            (starts.data.ptr, starts.size - 1, numbers.data.ptr, count), file="text.cu",
        )  # fmt: skip
        return [int(number) for number in numbers.get()]

    def make_rows(self, text: Address, starts: Address, lines: int, rows: Address) -> None:
        """Write the rows of all lines or records to `rows`, in the text's order."""
        self._launch("make_rows", _ceil_div(lines, _THREADS), _THREADS, (text, starts, lines, rows), file="rows.cu")

    def gather(
        self, text: Address, starts: Address, rows: tuple[Address, int], out: Address, nbytes: int, whole: bool
    ) -> tuple[int, cupy.ndarray | None]:
        """Write the lines or records of `rows` to the `nbytes` at `out`, as far as they fit. Returns their bytes.

        whole: they should fill `nbytes`, because no row was dropped and the runs were in order. The second result is
        then the number of bytes that lines really have, on the device. Otherwise a call for lines waits for the device.
        """
        if rows[1] == 0:
            return 0, None
        if self._order.item_bytes:
            nbytes = rows[1] * self._order.item_bytes
            self._launch("gather_records", self._text_blocks(nbytes + 3), _THREADS, (text, *rows, out), file="rows.cu")
            return nbytes, None
        ends = cupy.empty(rows[1], cupy.int64)
        self._launch(
            "line_lengths", _ceil_div(rows[1], _THREADS), _THREADS, (*rows, starts, ends.data.ptr), file="text.cu"
        )
        self._running_sums(ends)
        taken = None
        if whole:
            taken = cupy.empty(1, cupy.int64)
            copy_on_device(ends[-1:].data.ptr, taken.data.ptr, taken.nbytes)
        else:
            written = int(ends[-1])
            if written > nbytes:  # the runs were out of order
                raise out_of_order()
            nbytes = written
        self._launch(
            "gather_lines", self._text_blocks(nbytes), _THREADS,
            (text, starts, rows[0], ends.data.ptr, rows[1], out, nbytes), file="text.cu",
        )  # fmt: skip
        return nbytes, taken

    def _running_sums(self, numbers: cupy.ndarray) -> None:
        """Each of the int64 becomes the sum of all up to it. CuPy would compile a copy first, and load NVRTC for it."""
        blocks = _ceil_div(numbers.size, _THREADS * _SUMMED_PER_THREAD)
        run, shared = (numbers.data.ptr, numbers.size), 8 * _THREADS
        sums = cupy.empty(blocks, cupy.int64)
        if blocks > 1:
            self._launch("add_up", blocks, _THREADS, (*run, sums.data.ptr), file="text.cu", shared=shared)
            self._running_sums(sums)
        self._launch("running_sums", blocks, _THREADS, (*run, sums.data.ptr), file="text.cu", shared=shared)

    def _text_blocks(self, nbytes: int) -> int:
        return _ceil_div(nbytes, _THREADS * _BYTES_PER_THREAD)

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
        of_order = self._macros.get(file, self._comparing)
        return _function(self._device, file, name, (*of_order, *macros), largest)


def _run_table(runs: Sequence[tuple[Address, int]], fan_in: int) -> Any:
    """The runs as the kernels take them: `fan_in` addresses, then as many counts. The last counts may be 0."""
    padded = [*runs, *[(runs[0][0], 0)] * (fan_in - len(runs))]
    return _words([*(address for address, _ in padded), *(count for _, count in padded)])


def _source_words(fan_in: int, batched: bool) -> int:
    """The words of a Source (see runs.cuh)."""
    return 3 if batched else 2 * fan_in


def _words(numbers: Sequence[int]) -> Any:
    words = np.array(numbers, np.int64)
    return words.view(f"V{words.nbytes}")  # CuPy passes an array of one item by value


def _ceil_div(count: int, size: int) -> int:
    return -(-count // size)


def out_of_order() -> DisorderError:
    """The error for merged lines that are not the lines of the inputs. Only inputs out of order lead to it."""
    what = "inputs are out of order: merged, some of their lines are there twice and others not at all"
    return DisorderError(what, way_out="leave --no-check out")

"""The GPU backend: CuPy, and the kernels in kernels/."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import cupy

from gpumerge_cli.backends.base import ChunkSizes, DeviceInfo, PieceSizes
from gpumerge_cli.backends.gpu import ahead, device, policy, sort_policy
from gpumerge_cli.backends.gpu.baselines import versions
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.folding import set_policy
from gpumerge_cli.backends.gpu.grouping import grouping_of
from gpumerge_cli.backends.gpu.launching import queue
from gpumerge_cli.backends.gpu.many_runs import may_go_by_digits, merge_of_many, reason_for_digits
from gpumerge_cli.backends.gpu.module import Kernels, gpu_kernels
from gpumerge_cli.backends.gpu.prepared import PreparedCall, PreparedOperation, PreparedRanks, PreparedSet, prepare
from gpumerge_cli.backends.gpu.radix import PairAddresses, sort_by_digits
from gpumerge_cli.backends.gpu.ranking import DeviceRanks, most_edges, worth_sorting
from gpumerge_cli.backends.gpu.selecting import DeviceSelection
from gpumerge_cli.backends.gpu.sort_policy import index_bytes, pair_order, resolve_sort
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.streams import current_stream, is_captured, scratch, scratch_array
from gpumerge_cli.backends.gpu.strings import DeviceStrings
from gpumerge_cli.backends.gpu.text_kernels import TextKernels
from gpumerge_cli.backends.gpu.walks import combine_arrays, walk_of
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.extents import Target
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, LaunchRequest, SortPolicy, SortRequest
from gpumerge_cli.native.calls import ChunkWork
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.workspace import GpuWorkspace

# Chunks are large enough for the link's full speed, and small enough that stages overlap. Each worker's thread copies
# what goes in and out, and 8 keep up with the link: 4, 8 and 12 took 2.25, 2.12 and 2.33 s for 2 x 4 GB on an H200.
_CHUNK = 16 << 20
_WORKERS = 8
_PIECE = 1 << 30
_WHOLE = 1.1  # the device memory of a radix sort, with its counts of tiles, divided by that of a merge of three runs


class GpuBackend:
    """See backends.compared.ComparedBackend. One device, chosen by number. Raises DeviceError if it is missing."""

    name = "gpu"
    remote = True

    def __init__(self, number: int = 0) -> None:
        self._device = device.device_numbered(number)
        self._limits = device.limits(self._device)

    @property
    def limits(self) -> DeviceLimits:
        """The limits of the device."""
        return self._limits

    def info(self) -> DeviceInfo:
        """See Backend."""
        return device.device_info(self._device)

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2, equals: Equals = Equals.ALL) -> LaunchPolicy:
        """See Backend."""
        if equals.is_set:
            return set_policy(order, self._limits, runs)
        found = policy.resolve(request, order, self._limits, runs)
        if request != LaunchRequest() or runs <= found.fan_in or not may_go_by_digits(order):
            return found
        many = replace(found, runs=runs)
        reason = reason_for_digits(order, many)
        return replace(many, why=f"{many.why}; {reason}") if reason else found

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        """See Backend."""
        return resolve_sort(request, order, self._limits, nbytes)

    def prepare(
        self,
        order: Order,
        policy: LaunchPolicy | SortPolicy,
        items: int,
        *,
        check: bool = False,
        equals: Equals = Equals.ALL,
    ) -> None:
        """See Backend. Kernels are compiled in parallel, in the background."""
        _compile_ahead(self._kernels(order), policy, items, check=check, equals=equals)

    def splits(self, policy: LaunchPolicy, total: int, threads: int) -> Splits:
        """See Backend. Backends on the host use `threads`."""
        return variant_named(policy.kernel).gpu.splits(policy, total)

    def chunk_sizes(self, order: Order, runs: int, item_bytes: float) -> ChunkSizes:
        """See Backend. Input and output share pinned memory. Dropping equal items takes a copy on the device."""
        spare = runs > 2
        # A row before and after the merge, and in scratch; a flag; a line's start and end.
        rows = (2 * 8 * len(order.end) + (3 + spare) * 16 + 1) / item_bytes
        on_device = 2 + rows if moves_rows(order) else 3 + spare + 1 / item_bytes
        if runs > FAN_INS[-1] and may_go_by_digits(order):
            on_device *= _WHOLE
        return ChunkSizes(_CHUNK, _CHUNK, _WORKERS, 1, on_device)

    def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
        """See Backend."""
        return PieceSizes(1, _PIECE)

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        """See Backend. The device sorts faster than its link moves data, so it sorts all that fits in its memory."""
        each = self._whole_footprint(order, item_bytes)
        with device_errors(), self._device:
            free, _ = cupy.cuda.runtime.memGetInfo()
        return threads * part if each * nbytes <= free else None

    def _whole_footprint(self, order: Order, item_bytes: float) -> float:
        """Device memory for each byte of a sort in one workspace."""
        return _WHOLE * GpuBackend.chunk_sizes(self, order, 3, item_bytes).device_footprint

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> GpuWorkspace:
        """See Backend. Backends on the host use `threads`."""
        from gpumerge_cli.backends.gpu.workspace import GpuWorkspace  # merges of arrays need none

        return GpuWorkspace(self._device, order, self._kernels(order), capacity)

    def chunk_workers(self, work: ChunkWork, policy: LaunchPolicy | SortPolicy, targets: Sequence[Target]) -> None:
        """See Backend. The steps of a workspace do it."""

    def versions(self) -> dict[str, str]:
        """See ComparedBackend."""
        return versions()

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        """See Backend. Backends on the host use `threads`."""
        from gpumerge_cli.backends.gpu.ceiling import copy_ceiling

        with device_errors(), self._device:
            cupy.get_default_memory_pool().free_all_blocks()
            return copy_ceiling(nbytes)

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        """See Backend. CuPy arrays, merged on the current stream without waiting. `out` may not overlap a run."""
        with device_errors(), self._device:
            for array in (*runs, out):
                check_array(array, order)
            total = sum(run.size for run in runs)
            if out.size != total:
                raise UsageError(
                    f"out holds {out.size} items, the runs {total}", way_out="make out as long as all runs"
                )
            if any(_overlap(run, out) for run in runs):
                raise UsageError("out overlaps one of the runs", way_out="give an array of its own")
            if total == 0:
                return
            self.prepare(order, policy, total)
            merge = merge_of_many(self._kernels(order), policy)
            steps = merge.steps([(run.data.ptr, run.size) for run in runs], out.data.ptr, scratch)
            queue(steps, current_stream())

    def prepared(
        self, operation: PreparedOperation, order: Order, runs: int = 1, value_bytes: int | None = None
    ) -> PreparedCall | None:
        """Calls of one kind, ready to launch; None if that kind is not prepared: see prepared.prepare."""
        with device_errors(), self._device:
            return prepare(operation, order, runs, value_bytes, device=self._device.id, limits=self._limits)

    def prepared_set(self, order: Order, equals: Equals) -> PreparedSet:
        """Sets of two arrays of keys, ready to launch."""
        with device_errors(), self._device:
            return PreparedSet(walk_of(self._device.id, order, self._limits, equals, None), equals)

    def prepared_ranks(self, order: Order) -> PreparedRanks:
        """Searches in arrays of keys, ready to launch."""
        return PreparedRanks(DeviceRanks(self._kernels(order)), order.item_bytes)

    def combined(
        self,
        arrays: Sequence[Any],
        order: Order,
        equals: Equals,
        values: Sequence[Any] | None = None,
        out: Any = None,
    ) -> Any:
        """The set of one or two sorted CuPy arrays of keys, and of their values (None if there are none).

        Waits for the number of items. values: contiguous arrays of rows, one for each array of keys. out: an array for
        the keys, with room for equals.most of them.
        """
        with device_errors(), self._device:
            for array in (*arrays, *(() if out is None else (out,))):
                check_array(array, order)
            return combine_arrays(arrays, order, equals, values, (self._device.id, self._limits), out)

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        """See Backend. CuPy arrays, sorted on the current stream without waiting.

        `out` may be `items` itself, but may not overlap it otherwise.
        """
        with device_errors(), self._device:
            for array in (items, out):
                check_array(array, order)
            if out.size != items.size:
                raise UsageError(
                    f"out holds {out.size} items, not {items.size}", way_out="make out as long as the items"
                )
            if out.data.ptr != items.data.ptr and _overlap(items, out):
                raise UsageError("out overlaps the items", way_out="give an array of its own, or the items themselves")
            if items.size == 0:
                return
            self.prepare(order, policy, items.size)
            sort = sort_of(self._kernels(order), policy)
            queue(sort.steps((items.data.ptr, items.size), out.data.ptr, scratch), current_stream())

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        """See Backend. The result is a CuPy array. Every algorithm but radix sorts rows of image and index."""
        with device_errors(), self._device:
            check_array(items, order)
            if items.size == 0:
                return cupy.empty(0, cupy.int64)
            if policy.algorithm == "radix":
                indices = cupy.empty(items.size, cupy.int64)
                self._sort_pairs(items, order, index_bytes(items.size), PairAddresses(0, 0, indices.data.ptr))
                return indices
            rows, out = (scratch_array(2 * items.size, cupy.int64).reshape(-1, 2) for _ in range(2))
            TextKernels(self._kernels(order)).make_rows((items.data.ptr, 0), items.size, rows.data.ptr)
            sort = sort_of(self._kernels(sort_policy.RANKS), sort_policy.for_ranks(policy, self._limits, items.size))
            run = (rows.data.ptr, items.size)
            queue(sort.steps(run, out.data.ptr, scratch), current_stream())
            return out[:, 1].copy()

    def sort_pairs(self, items: Any, order: Order, values: Any, out: Any) -> Any:
        """Sort CuPy keys into `out` by their digits, on the current stream. Returns their values, in the keys' order.

        values: an array of rows of 4 or 8 bytes, contiguous and aligned to 4 bytes.
        """
        with device_errors(), self._device:
            check_array(items, order)
            moved = cupy.empty_like(values)
            if items.size:
                ends = PairAddresses(values.data.ptr, out.data.ptr, moved.data.ptr)
                self._sort_pairs(items, order, values.nbytes // items.size, ends)
            return moved

    def _sort_pairs(self, items: Any, order: Order, value_bytes: int, ends: PairAddresses) -> None:
        records = pair_order(order, value_bytes)
        buffers = [scratch_array(items.size * records.item_bytes, cupy.uint8) for _ in range(2)]
        sort = sort_by_digits(self._kernels(records), pairs=True)
        run, rooms = (items.data.ptr, items.size), (buffers[0].data.ptr, buffers[1].data.ptr)
        queue(sort.steps(run, rooms, scratch, ends), current_stream())

    def groups(self, items: Any) -> tuple[Any, Any]:
        """(the first key of each group of equals, the int64 index of each) of a sorted CuPy array of numbers or bools.

        Waits for the number of groups. items: 1-D and contiguous, in either direction.
        """
        order = Order.of(items.dtype)
        assert isinstance(order, KeyOrder)
        check_array(items, order)
        return grouping_of(self._device.id, order, self._limits)(items)

    def strings(self) -> DeviceStrings:
        """Searches in texts on the device, which is the current one."""
        return DeviceStrings(self._kernels(Order.lines()))

    def selection(self, items: Any, order: Order) -> DeviceSelection:
        """Searches by a bound in a CuPy array of keys, 1-D and contiguous."""
        check_array(items, order)
        return DeviceSelection(items, self._kernels(order))

    def ranks_of(self, runs: Sequence[Any], items: Any, order: Order, through: bool, out: Any) -> None:
        """Write to the int64 array `out` how many items of all runs go before each item; with `through`, or equal it.

        runs, items: CuPy arrays of keys, 1-D and contiguous; the runs are in order. At least one item.
        """
        with device_errors():
            for array in (*runs, items):
                check_array(array, order)
            places, ranks = None, out.reshape(-1)
            # A look at the order of the items waits, which a captured stream cannot.
            may_wait = worth_sorting(sum(run.nbytes for run in runs), items.size) and not is_captured(current_stream())
            if may_wait and self.first_disorder(items, order) is not None:
                ordered = cupy.empty_like(items)
                places = self.sort_pairs(items, order, cupy.arange(items.size, dtype=cupy.int32), ordered)
                items, ranks = ordered, cupy.empty_like(ranks)
            addresses, wanted = [(run.data.ptr, run.size) for run in runs], (items.data.ptr, items.size)
            search = DeviceRanks(self._kernels(order))
            if may_wait:
                edges = cupy.empty(most_edges(items.size), cupy.int64)
                steps = search.ordered_steps(addresses, wanted, through, ranks.data.ptr, edges.data.ptr)
            else:
                steps = search.steps(addresses, wanted, through, ranks.data.ptr)
            queue(steps, current_stream())
            if places is not None:
                out.reshape(-1)[places] = ranks

    def first_disorder(self, run: Any, order: Order) -> int | None:
        """See Backend. Waits for the current stream."""
        with device_errors(), self._device:
            check_array(run, order)
            if run.size < 2:
                return None
            checks = Checks(self._kernels(order))
            first = checks.no_disorder()
            checks.check((run.data.ptr, run.size), 0, first.data.ptr)
            index = int(first.get()[0])
        return index if index < run.size else None

    def _kernels(self, order: Order) -> Kernels:
        return gpu_kernels(self._device.id, order, self._limits)


_compile_ahead = lru_cache(maxsize=256)(ahead.compile_ahead)


def check_array(array: Any, order: Order) -> None:
    """Raises UsageError unless it is a contiguous CuPy array of the order's keys. Dates and time spans are int64."""
    if not isinstance(array, cupy.ndarray):
        raise UsageError(f"{type(array).__name__} is not an array on the GPU", way_out="pass CuPy arrays")
    dated = isinstance(order, KeyOrder) and order.is_dated
    if order.is_rows or array.dtype != (cupy.int64 if dated else order.dtype):
        raise UsageError(f"an array of {array.dtype} is not one of {order.describe()}", way_out="convert one of them")
    if array.size and array.data.ptr % array.itemsize:
        raise UsageError("an array does not start at a multiple of its items' size", way_out="merge a copy of it")
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise UsageError("an array is not 1-D and contiguous", way_out="pass it through cupy.ravel")


def _overlap(run: Any, out: Any) -> bool:
    begin, end = run.data.ptr, run.data.ptr + run.nbytes
    return bool(run.nbytes and out.nbytes and begin < out.data.ptr + out.nbytes and out.data.ptr < end)

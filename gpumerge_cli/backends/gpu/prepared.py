"""Calls on arrays that are ready to launch: merges, sorts and checks of one kind on one device.

The first call of a kind chooses kernels, and the first one of some counts records its steps. Later calls pass addresses
to the library, which queues all steps in one call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import cupy

from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.direct import DirectCall
from gpumerge_cli.backends.gpu.failures import CUPY_ERRORS, device_error
from gpumerge_cli.backends.gpu.launching import Allocate, PinnedAnswers, Step, queue
from gpumerge_cli.backends.gpu.many_runs import may_go_by_digits, merge_of_many
from gpumerge_cli.backends.gpu.merging import Merge
from gpumerge_cli.backends.gpu.module import gpu_kernels
from gpumerge_cli.backends.gpu.policy import for_columns, resolve
from gpumerge_cli.backends.gpu.radix import sort_by_digits
from gpumerge_cli.backends.gpu.rank_sort import RankSort, most_by_rank
from gpumerge_cli.backends.gpu.ranking import DeviceRanks, most_edges, worth_sorting
from gpumerge_cli.backends.gpu.recording import Recording
from gpumerge_cli.backends.gpu.sort_policy import pair_order
from gpumerge_cli.backends.gpu.streams import check_stream, current_stream, is_captured, scratch
from gpumerge_cli.backends.gpu.walks import Walk, cut_to
from gpumerge_cli.backends.limits import MAX_GRID, DeviceLimits
from gpumerge_cli.dataclass import replace
from gpumerge_cli.launch import FAN_INS, LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

PreparedOperation = Literal["merge", "sort", "argsort", "is_sorted"]
_NARROW = 4  # bytes of a key
_MOST_NUMBERED = 1 << 32
_MOST_RECORDINGS = 64


class PreparedCall:
    """A call that is ready to launch, on the current device and its current stream.

    steps: ArraySteps; with answers, a function of an array's address, its count, and the address of the answer. most:
    the most items in all. unit: the alignment of the values' addresses, in bytes. recorded: the steps depend on the
    counts alone, not on addresses, so they are recorded for counts that come again.
    """

    __slots__ = ("_answers", "_most", "_recorded", "_recordings", "_steps", "direct", "unit")

    def __init__(
        self,
        steps: Callable[..., Iterable[Step]],
        most: int,
        unit: int = 1,
        *,
        answers: PinnedAnswers | None = None,
        recorded: bool = True,
    ) -> None:
        self._steps, self._most, self.unit, self._answers = steps, most, unit, answers
        self._recorded = recorded
        self.direct: DirectCall | None = None
        """Calls that the library carries out alone; None if there are none, or not yet."""
        self._recordings: dict[tuple[int, ...], Recording | Literal[False]] = {}
        """By the counts of runs; False if they have come once."""

    @staticmethod
    def room(nbytes: int) -> Any:
        """Memory for a result. Raises DeviceMemoryError."""
        try:
            return cupy.cuda.alloc(nbytes)
        except CUPY_ERRORS as error:
            raise device_error(error) from error

    def takes(self, total: int) -> bool:
        """Whether it can work on so many items in all."""
        return 0 < total <= self._most

    def describe(self, arrays: Sequence[Any], values: Sequence[Any] | None, device: int, result: Any) -> None:
        """Let the library know the kind of a call, so that it carries out further ones alone.

        values: as many as arrays, or None. result: the dtype of a new result, None for an answer.
        """
        if not self._recorded or (values is not None and values[0].ndim != 1):
            return
        kinds = arrays[0].dtype, result, None if values is None else values[0].dtype
        direct = DirectCall(len(arrays), device, kinds, self.unit, _MOST_RECORDINGS)
        if self._answers is not None:
            direct.run = self._answers.through(direct.run)
        self.direct = direct

    @staticmethod
    def report(error: Exception) -> None:
        """Raises the error of a call, for one of CuPy."""
        if isinstance(error, CUPY_ERRORS):
            check_stream()
            raise device_error(error) from error

    def __call__(self, addresses: list[int], counts: list[int], total: int) -> bool:
        """Queue the work of a call, for which takes(total). Only is_sorted waits, and has an answer other than true.

        addresses: of the runs; of the output, unless the call is is_sorted; of each run's rows of values, and of their
        output, if there are values. counts: of the items of each run. total: the sum of the counts.

        Raises UsageError for a current stream that cannot be used, DeviceError if the device fails.
        """
        try:
            recording = self._recordings.get(tuple(counts))
            if not recording:
                if recording is None:
                    return self._first(addresses, counts, total)
                recording = self._record(len(addresses), counts, total)
            if self._answers is not None:
                return self._answers.answer_to(partial(recording.answer, addresses)) == 0
            recording.queue(addresses)
            return True
        except CUPY_ERRORS as error:
            check_stream()
            raise device_error(error) from error

    def _first(self, addresses: list[int], counts: list[int], total: int) -> bool:
        """A call with new counts. They may not come again, and a recording takes longer than a call."""
        if self._recorded:
            self._keep(counts, None)
        if self._answers is not None:
            return self._answers.answer_of(self._steps, addresses[0], total) == 0
        queue(self._at(addresses, counts, total, scratch), current_stream())
        return True

    def _at(self, addresses: list[int], counts: list[int], total: int, allocate: Allocate) -> Iterable[Step]:
        """The steps of a call with these addresses."""
        if self._answers is not None:
            return self._steps(addresses[0], total, addresses[1])
        runs = len(counts)
        values = addresses[runs + 1 : -1]
        moved = addresses[-1] if values else 0
        return self._steps(addresses[:runs], counts, total, addresses[runs], values, moved, allocate)

    def _record(self, number: int, counts: list[int], total: int) -> Recording:
        """The recording of the steps for these counts, which is kept, with so many addresses."""
        number += self._answers is not None
        recording = Recording(lambda addresses, allocate: self._at(addresses, counts, total, allocate), number)
        self._keep(counts, recording)
        return recording

    def _keep(self, counts: list[int], recording: Recording | None) -> None:
        if len(self._recordings) >= _MOST_RECORDINGS:
            self._recordings.clear()  # in one step, as other threads look things up
            if self.direct is not None:
                self.direct.clear()
        self._recordings[tuple(counts)] = recording or False
        if recording is not None and self.direct is not None:
            self.direct.add(counts, recording)


class PreparedSet:
    """A set of two arrays of keys that is ready to launch, on the current device and its current stream."""

    __slots__ = ("_equals", "_walk")

    def __init__(self, walk: Walk, equals: Equals) -> None:
        self._walk, self._equals = walk, equals

    def __call__(self, addresses: list[int], counts: list[int], dtype: Any) -> Any:
        """The items of the set of two runs that are not both empty. Waits. Errors: see PreparedCall."""
        try:
            keys = cupy.empty(self._equals.most(counts), dtype)
            if not keys.size:
                return keys
            runs = [(addresses[0], counts[0]), (addresses[1], counts[1])]
            return cut_to(keys, self._walk(runs, keys.data.ptr, keys.size, [], 0))
        except CUPY_ERRORS as error:
            check_stream()
            raise device_error(error) from error


class PreparedRanks:
    """A search for items in sorted arrays that is ready to launch, on the current device and its current stream."""

    __slots__ = ("_answers", "_ranks", "_width")

    def __init__(self, ranks: DeviceRanks, width: int) -> None:
        self._ranks, self._width = ranks, width
        self._answers = PinnedAnswers("rank_of")

    def __call__(self, addresses: list[int], counts: list[int], items: Any, through: bool) -> Any:
        """The ranks of items, int64 of their shape; None for items out of order whose sort pays.

        Errors: see PreparedCall.

        items: contiguous, at least one. Waits for many items.
        """
        try:
            out, stream = cupy.empty(items.shape, cupy.int64), current_stream()
            runs, wanted = list(zip(addresses, counts, strict=True)), (items.data.ptr, items.size)
            if not worth_sorting(sum(counts) * self._width, items.size) or is_captured(stream):
                queue(self._ranks.steps(runs, wanted, through, out.data.ptr), stream)
                return out
            edges = cupy.empty(most_edges(items.size), cupy.int64)
            steps = self._ranks.ordered_steps
            disorder = self._answers.answer_of(steps, runs, wanted, through, out.data.ptr, edges.data.ptr)
            return None if disorder else out
        except CUPY_ERRORS as error:
            check_stream()
            raise device_error(error) from error


def prepare(
    operation: PreparedOperation,
    order: Order,
    runs: int = 1,
    value_bytes: int | None = None,
    *,
    device: int,
    limits: DeviceLimits,
) -> PreparedCall | None:
    """A prepared call for the current device, whose number is `device`; None if this kind of call is not prepared.

    runs: the number of runs. value_bytes: the bytes of a row of values; None for keys alone. Values of 0 bytes, and
    more than FAN_INS[-1] runs with values, are not prepared.
    """
    if value_bytes == 0:
        return None
    keys, columns = order, None
    if runs > FAN_INS[-1]:
        if value_bytes is not None or not may_go_by_digits(order):
            return None
        policy = replace(resolve(LaunchRequest(), order, limits, runs), runs=runs)
        many = merge_of_many(gpu_kernels(device, order, limits), policy)
        return PreparedCall(many.array_steps, MAX_GRID * policy.tile_size, recorded=False)
    if operation == "is_sorted":
        checks = Checks(gpu_kernels(device, order, limits))
        return PreparedCall(checks.any_disorder, sys.maxsize, answers=PinnedAnswers("is_sorted"))
    if value_bytes is not None or operation == "argsort":
        fan_in = next(most for most in FAN_INS if most >= runs)
        columns = Columns(order, fan_in if operation == "merge" else 1, value_bytes)
        order = columns.order
    most, unit = (sys.maxsize, 1) if columns is None else (columns.most, columns.unit)
    if operation == "merge":
        policy = resolve(LaunchRequest(), order, limits, runs)
        if columns is not None and columns.stay_apart(policy):
            order, policy = keys, for_columns(policy, keys.width, columns.narrow)
        merge = Merge(gpu_kernels(device, order, limits), policy, columns)
        return PreparedCall(merge.array_steps, min(most, MAX_GRID * policy.tile_size), unit)
    few = RankSort(gpu_kernels(device, order, limits), columns, most_by_rank(keys, columns))
    if value_bytes not in (None, 4, 8):
        return PreparedCall(few.array_steps, few.most, unit)
    pairs = order if columns is None else pair_order(keys, value_bytes or _NARROW)
    digits = sort_by_digits(gpu_kernels(device, pairs, limits), pairs=columns is not None)

    def sort(
        addresses: list[int],
        counts: list[int],
        total: int,
        out: int,
        values: list[int],
        moved: int,
        allocate: Allocate,
    ) -> Iterable[Step]:
        steps = few.array_steps if total <= few.most else digits.array_steps
        return steps(addresses, counts, total, out, values, moved, allocate)

    return PreparedCall(sort, _MOST_NUMBERED - 1, unit)

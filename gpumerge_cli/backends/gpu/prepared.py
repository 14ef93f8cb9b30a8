"""Calls on arrays that are ready to launch: merges, sorts and checks of one kind on one device.

The first call of a kind chooses kernels and launch sizes. Later calls fill a table of addresses and counts, and launch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import cupy

from gpumerge_cli.backends.base import FAN_INS, LaunchPolicy, LaunchRequest
from gpumerge_cli.backends.gpu.buffers import copy_on_device
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.failures import FOREIGN, device_error
from gpumerge_cli.backends.gpu.joining import join_runs
from gpumerge_cli.backends.gpu.launching import Answer, Launch, current_stream, judge_stream, judge_waiting, scratch
from gpumerge_cli.backends.gpu.many_runs import may_go_by_digits, merge_many
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.passes import MergePass
from gpumerge_cli.backends.gpu.policy import for_columns, resolve
from gpumerge_cli.backends.gpu.prepared_digits import DigitPasses
from gpumerge_cli.backends.gpu.rank_sort import RankSort, most_by_rank
from gpumerge_cli.backends.gpu.sort_policy import pair_order
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import MAX_GRID, DeviceLimits
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order import Order

Operation = Literal["merge", "sort", "argsort", "is_sorted"]
_VECTOR = 16
_NARROW = 4  # bytes of a key
_MOST_NUMBERED = 1 << 32
_CHECK_THREADS = 256
_CHECK_BLOCKS = 16  # for each multiprocessor


@dataclass(frozen=True)
class Kind:
    """A kind of calls: all that depends on neither addresses nor counts.

    runs: the number of runs. value_bytes: of a row of the values that go with keys; None if there are none.
    """

    operation: Operation
    order: Order
    runs: int = 1
    value_bytes: int | None = None


class Prepared(ABC):
    """A call that is ready to launch, on the current device and its current stream.

    unit: the addresses of values are multiples of so many bytes.
    """

    unit = 1

    @staticmethod
    def room(nbytes: int) -> Any:
        """Memory for a result. Raises DeviceMemoryError."""
        try:
            return cupy.cuda.alloc(nbytes)
        except FOREIGN as error:
            raise device_error(error) from error

    @abstractmethod
    def takes(self, total: int) -> bool:
        """Whether it can work on so many items in all."""

    def __call__(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        """Queue the work. Precondition: takes(total), which is the sum of `counts`.

        out: where the keys go, or the indices of an argsort. values, moved: where the rows of values come from and go.
        Only a check of the order waits, and gives an answer.

        Raises UsageError for a current stream that cannot be used, DeviceError if the device fails.
        """
        try:
            return self._launch(addresses, counts, total, out, values, moved)
        except FOREIGN as error:
            judge_stream()
            raise device_error(error) from error

    @abstractmethod
    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        """See __call__."""


def prepare(kind: Kind, device: int, limits: DeviceLimits) -> Prepared | None:
    """A call of this kind for the current device, whose number is `device`; None if there is none.

    Only up to FAN_INS[-1] runs have values, and rows of values have bytes.
    """
    if kind.value_bytes == 0:
        return None
    order, columns = kind.order, None
    if kind.runs > FAN_INS[-1]:
        if kind.value_bytes is not None or not may_go_by_digits(order):
            return None
        policy = replace(resolve(LaunchRequest(), order, limits, kind.runs), runs=kind.runs)
        return _MergeOfMany(Kernels(device, order, limits), policy, limits)
    if kind.operation == "is_sorted":
        return _Check(Kernels(device, order, limits), limits)
    if kind.value_bytes is not None or kind.operation == "argsort":
        fan_in = next(most for most in FAN_INS if most >= kind.runs)
        columns = Columns(order, fan_in if kind.operation == "merge" else 1, kind.value_bytes)
        order = columns.order
    if kind.operation == "merge":
        policy = resolve(LaunchRequest(), order, limits, kind.runs)
        if columns is not None and columns.stay_apart(policy):
            order, policy = kind.order, for_columns(policy, kind.order.width, columns.narrow)
        return _Merge(MergePass(Kernels(device, order, limits), policy, limits, columns), columns)
    kernels = Kernels(device, order, limits)
    few = _SortOfFew(RankSort(kernels, limits, columns), most_by_rank(kind.order, columns), columns)
    if columns is None:
        return _SortOfAny(few, DigitPasses(kernels, order, limits), pairs=False, keys=True)
    if kind.value_bytes not in (None, 4, 8):
        return few
    pairs = pair_order(kind.order, kind.value_bytes or _NARROW)
    digits = DigitPasses(Kernels(device, pairs, limits), pairs, limits)
    return _SortOfAny(few, digits, pairs=True, keys=kind.operation == "sort")


def _table(addresses: list[int], counts: list[int], fan_in: int) -> list[int]:
    """The words of a table of runs (see runs.cuh)."""
    missing = fan_in - len(counts)
    if not missing:
        return [*addresses, *counts]
    return [*addresses, *addresses[:1] * missing, *counts, *[0] * missing]


class _Merge(Prepared):
    """Merges of keys, and of their values if there are columns of them."""

    def __init__(self, merge: MergePass, columns: Columns | None) -> None:
        self.unit = 1 if columns is None else columns.unit
        self._merge = merge
        self._columns = columns
        self._most = MAX_GRID * merge.tile

    def takes(self, total: int) -> bool:
        return 0 < total <= self._most and (self._columns is None or self._columns.takes(total))

    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        stream, runs = current_stream(), _table(addresses, counts, self._merge.fan_in)
        told = [] if self._columns is None else self._columns.told(values, counts, out, moved)
        self._merge(runs, total, out, stream, told)
        return True


class _MergeOfMany(Prepared):
    """Merges of more runs than a pass takes, by passes or by digits. It is the Launcher of many_runs.merge_many."""

    def __init__(self, kernels: Kernels, policy: LaunchPolicy, limits: DeviceLimits) -> None:
        self._kernels, self._policy, self._limits, self._order = kernels, policy, limits, kernels.order
        self._digits = DigitPasses(kernels, kernels.order, limits)
        self._pass: MergePass | None = None  # what is not used is not compiled
        self._joining: Launch | None = None

    def takes(self, total: int) -> bool:
        return 0 < total <= MAX_GRID * self._policy.tile_size

    def merge(self, policy: LaunchPolicy, runs: Sequence[Run], out: int) -> None:
        if self._pass is None:
            self._pass = MergePass(self._kernels, self._policy, self._limits)
        addresses, counts = [run[0] for run in runs], [run[1] for run in runs]
        total, source = sum(counts), _table(addresses, counts, self._pass.fan_in)
        self._pass(source, total, out, current_stream(), [])

    def sort_digits(self, items: Run, out: int, scratch: int) -> None:
        self._digits.items(items, out, scratch)

    def join_runs(self, runs: Sequence[Run], to: int) -> None:
        if self._joining is None:
            self._joining = self._kernels.joining()
            self._digits.begin(sum(count for _, count in runs))  # which sorts them then
        join_runs(self._joining, runs, self._order.item_bytes, to, current_stream())

    def copy(self, source: int, to: int, nbytes: int) -> None:
        copy_on_device(source, to, nbytes)

    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        rooms: list[Any] = []  # they live until all is queued

        def room() -> int:
            rooms.append(scratch(-(-total * self._order.item_bytes // _VECTOR) * _VECTOR, current_stream()))
            return int(rooms[0].ptr)

        runs = list(zip(addresses, counts, strict=True))
        merge_many(self, self._policy, self._order, runs, out, room)
        return True


class _SortOfFew(Prepared):
    """Sorts of keys by rank, and of their values or numbers if there are columns. most: keys, at most."""

    def __init__(self, sort: RankSort, most: int, columns: Columns | None) -> None:
        self.unit = 1 if columns is None else columns.unit
        self._sort = sort
        self._most = min(most, sort.most)
        self._columns = columns

    def takes(self, total: int) -> bool:
        return 0 < total <= self._most

    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        columns, told = self._columns, []
        if columns is not None:
            told = columns.told(values, counts, out, moved) if moved else columns.told(values, counts, 0, out)
        self._sort(addresses[0], total, out, current_stream(), told)
        return True


class _SortOfAny(Prepared):
    """Sorts of any number of keys: few by rank, many by digits."""

    def __init__(self, few: _SortOfFew, digits: DigitPasses, *, pairs: bool, keys: bool) -> None:
        self.unit = few.unit
        self._few, self._digits = few, digits
        self._pairs, self._keys = pairs, keys

    def takes(self, total: int) -> bool:
        return 0 < total < _MOST_NUMBERED

    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        if self._few.takes(total):
            return self._few._launch(addresses, counts, total, out, values, moved)
        if not self._pairs:
            self._digits.keys(addresses[0], total, out)
        elif self._keys:
            self._digits.pairs(addresses[0], total, values[0], out, moved)
        else:
            self._digits.pairs(addresses[0], total, 0, 0, out)
        return True


class _Check(Prepared):
    """Checks of the order of a run. The kernel writes to a word of the host's memory, one for each thread that asks."""

    def __init__(self, kernels: Kernels, limits: DeviceLimits) -> None:
        self._check = kernels.checking()
        self._most_blocks = _CHECK_BLOCKS * limits.multiprocessors
        self._spare: list[Answer] = []

    def takes(self, total: int) -> bool:
        return total > 0

    def _launch(
        self, addresses: list[int], counts: list[int], total: int, out: int, values: list[int], moved: int
    ) -> bool:
        stream = current_stream()
        judge_waiting(stream, "is_sorted")
        try:
            answer = self._spare.pop()
        except IndexError:
            answer = Answer()
        answer.word.value = 0
        self._check(
            min(-(-total // _CHECK_THREADS), self._most_blocks), stream, [addresses[0], total, answer.address, 0, 0]
        )
        cupy.cuda.runtime.streamSynchronize(stream)
        found = answer.word.value
        self._spare.append(answer)
        return found == 0

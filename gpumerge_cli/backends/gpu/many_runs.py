"""Merges of more runs than a pass takes: by several passes, or by one stable sort of all items by their digits.

A stable sort of runs, laid one behind the other, is their merge. It takes a pass for each byte of the key, however many
runs there are. This file decides which way is faster, from counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from gpumerge_cli.backends.gpu import joining
from gpumerge_cli.backends.gpu.grouped import TABLE_WORD, writing
from gpumerge_cli.backends.gpu.launching import Allocate, Launch, Step, copy
from gpumerge_cli.backends.gpu.merging import Merge, merge_of
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.radix import SortByDigits, sort_by_digits
from gpumerge_cli.backends.gpu.sort_policy import of_fan_in
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Run, fan_ins, merge_passes, merge_runs
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import FAN_INS, LaunchPolicy
from gpumerge_cli.order.kinds import Order

_MERGED: dict[int, tuple[float, ...]] = {
    1: (1.2e-12, 1.3e-12, 1.55e-12, 2.2e-12),
    2: (2.2e-12, 3.4e-12, 5.2e-12, 7.4e-12),
    4: (2.9e-12, 3.2e-12, 3.7e-12, 5.2e-12),
    8: (5.6e-12, 6.1e-12, 6.8e-12, 8.9e-12),
    12: (8.4e-12, 9.2e-12, 10.2e-12, 13.4e-12),
    16: (11.2e-12, 12.2e-12, 13.6e-12, 17.8e-12),
}
"""Seconds for an item in a pass that merges up to 2, 4, 8 and 16 runs, by the bytes of an item; those of 12 and 16
follow from 8."""
_PASS = 40e-6
"""Seconds for each pass, beside its items."""
_DIGIT = {1: 3.65e-12, 2: 4.2e-12, 4: 4.6e-12, 8: 7.85e-12, 12: 11.8e-12, 16: 15.7e-12}
"""Seconds for an item in a pass by digits, by the bytes of an item; those of 12 and 16 follow from 8."""
_LAUNCHED, _DIGIT_LAUNCHED = 50e-6, 15e-6
"""Seconds for a sort by digits, and for each of its passes, beside its items."""
_JOINED, _JOIN = 0.75e-12, 10e-6
"""Seconds for a byte, and for a launch, where runs that lie apart are laid together."""
_RUN = 0.5e-6
"""Seconds of the host for each run, whichever way is taken.

All of these describe what 20 to 1,000 runs take on an H100, in data/results/h100/many-runs.md. There floats take a
quarter more than integers.
"""


@dataclass(frozen=True)
class _Seconds:
    fixed: float
    item: float

    def of(self, count: int) -> float:
        return self.fixed + self.item * count


def may_go_by_digits(order: Order) -> bool:
    """Whether a sort by digits can merge runs: items move whole, and digits of 8 bytes decide."""
    return order.prefix_decides and not moves_rows(order)


def pays(order: Order, policy: LaunchPolicy, runs: int, total: int, pieces: int = 1) -> bool:
    """Whether a sort by digits should merge so many runs of `total` items. pieces: the number of pieces they lie in.

    It never replaces a kernel that the user requested.
    """
    if not policy.runs or runs <= policy.fan_in:
        return False
    merged, by_digits = _costs(order, policy.fan_in, runs, pieces)
    return by_digits.of(total) < merged.of(total)


def reason_for_digits(order: Order, policy: LaunchPolicy) -> str:
    """The reason, for reports, why a sort by digits merges `policy.runs` consecutive runs; "" if it does not."""
    merged, by_digits = _costs(order, policy.fan_in, policy.runs, 1)
    if by_digits.item <= merged.item:
        return "sorted by digits, as that takes fewer passes" if by_digits.fixed <= merged.fixed else ""
    most = int((merged.fixed - by_digits.fixed) / (by_digits.item - merged.item))
    return f"up to {most} items of so many runs are sorted by digits, which is faster" if most > 0 else ""


@lru_cache(maxsize=256)
def _costs(order: Order, fan_in: int, runs: int, pieces: int) -> tuple[_Seconds, _Seconds]:
    """The costs of a merge by passes and of a sort by digits."""
    size, digits, most = item_bytes(order), order.prefix_bytes, fan_ins(runs, fan_in)
    joins = -(-pieces // joining.MAX_RUNS) if pieces > 1 else 0
    return (
        _Seconds(runs * _RUN + len(most) * _PASS, sum(_MERGED[size][FAN_INS.index(each)] for each in most)),
        _Seconds(
            runs * _RUN + _LAUNCHED + digits * _DIGIT_LAUNCHED + joins * _JOIN,
            digits * _DIGIT[size] + (size * _JOINED if joins else 0.0),
        ),
    )


def join_adjacent(runs: Sequence[Run], size: int) -> list[Run]:
    """The runs without empty ones. Runs that are adjacent in memory are joined. size: bytes of an item.

    Adjacent runs may lie in two allocations. A kernel can read across these, but a copy by the driver cannot.
    """
    found: list[Run] = []
    for address, count in runs:
        if not count:
            continue
        if found and found[-1][0] + found[-1][1] * size == address:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((address, count))
    return found


class MergeOfMany:
    """Merges of any number of runs of keys, small records or rows, by a policy. The runs stay as they are."""

    def __init__(self, kernels: Kernels, policy: LaunchPolicy) -> None:
        self._kernels, self._policy, self._order = kernels, policy, kernels.order
        self._size = item_bytes(kernels.order)
        self._merge = merge_of(kernels, policy)
        self._of_groups: dict[int, Merge] = {}  # by their fan-ins
        self._cut_ahead = variant_named(policy.kernel).gpu.cut_ahead

    def array_steps(
        self,
        addresses: list[int],
        counts: list[int],
        total: int,
        out: int,
        values: list[int],
        moved: int,
        allocate: Allocate,
    ) -> Iterator[Step]:
        """Merge arrays that have no values: see launching.ArraySteps."""
        return self._steps(addresses, counts, total, out, allocate, NO_TEXT)

    def steps(self, runs: Sequence[Run], out: int, allocate: Allocate, text: Context = NO_TEXT) -> Iterator[Step]:
        """Merge runs into `out`. text: of rows. With more runs than a pass takes, other memory holds all items, too."""
        counts = [count for _, count in runs]
        return self._steps([address for address, _ in runs], counts, sum(counts), out, allocate, text)

    def _steps(
        self, addresses: list[int], counts: list[int], total: int, out: int, allocate: Allocate, text: Context
    ) -> Iterator[Step]:
        size, policy = self._size, self._policy
        if counts.count(0):
            addresses = [address for address, count in zip(addresses, counts, strict=True) if count]
            counts = [count for count in counts if count]
        runs = len(counts)
        other = allocate(whole_vectors(total * size)) if runs > policy.fan_in else None
        room = 0 if other is None else other.ptr
        if pays(self._order, policy, runs, total):
            pieces = join_adjacent(list(zip(addresses, counts, strict=True)), size)
            if pays(self._order, policy, runs, total, len(pieces)):
                yield from self._by_digits(pieces, total, out, room, allocate)
                return
        if runs > policy.fan_in and self._cut_ahead:
            yield from self._by_passes(addresses, counts, out, room, allocate, text)
            return
        for group, to in merge_runs(list(zip(addresses, counts, strict=True)), size, out, room, fan_in=policy.fan_in):
            if len(group) > 1:
                yield from self._merge.table(group, to, allocate, text)
            else:
                yield copy, group[0][1] * size, (group[0][0], to), False

    def _by_digits(self, pieces: Sequence[Run], total: int, out: int, room: int, allocate: Allocate) -> Iterator[Step]:
        """Lay pieces together, and sort them."""
        # Items that lie in a buffer of the sort must lie in the one that the first of all passes may read.
        alone = len(pieces) == 1
        begin = pieces[0][0] if alone else room if self._order.prefix_bytes % 2 else out
        if not alone:
            join, _ = self._join, self._digits.of(total)  # all are compiled meanwhile
            yield from joining.steps(join, pieces, self._size, begin)
        yield from self._digits.steps((begin, total), (out, room), allocate)

    def _by_passes(
        self, addresses: list[int], counts: list[int], out: int, room: int, allocate: Allocate, text: Context
    ) -> Iterator[Step]:
        """Merge runs, none of them empty, by passes, each of which merges all its groups at once."""
        words, laid = list[int](), []
        most = fan_ins(len(counts), self._policy.fan_in)
        for fan_in, each in zip(most, merge_passes(addresses, counts, self._size, out, room, most), strict=True):
            merge = self._of_groups.get(fan_in)
            if merge is None:
                merge = merge_of(self._kernels, of_fan_in(self._policy, fan_in), form="groups")
                self._of_groups[fan_in] = merge
            laid.append((merge, merge.lay_out(each, words)))
        table = allocate(len(words) * TABLE_WORD)
        yield from writing(self._kernels, words, table.ptr)
        for merge, groups in laid:
            yield from merge.groups(groups, table.ptr, allocate, text)

    @cached_property
    def _join(self) -> Launch:
        return self._kernels.ready("join_runs", joining.THREADS)

    @cached_property
    def _digits(self) -> SortByDigits:
        return sort_by_digits(self._kernels)


merge_of_many = lru_cache(maxsize=256)(MergeOfMany)
"""The same merges for the same kernels and policy."""

"""Keys with values: the small records that they move as, and their arguments for kernels (see columns.cuh)."""

from __future__ import annotations

import sys
from math import gcd

from gpumerge_cli.backends.gpu.source import column_macros
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.kinds import Order

_WORD = 4
_LARGEST_UNIT = 16
_NARROW = (1, 2, 4, 8)
_NUMBER_BYTES = 4


class Columns:
    """Keys and values of up to `runs` runs.

    value_bytes: the bytes of a row of values; None if the values are the indices of the keys. order: the order of the
    records that move. unit: the alignment of the values' addresses, in bytes. narrow: the bytes of a value that moves
    beside its key; 0 if an index moves instead.
    """

    def __init__(self, order: Order, runs: int, value_bytes: int | None) -> None:
        self.narrow = value_bytes if value_bytes in _NARROW else 0
        payload = max(_WORD, self.narrow) if self.narrow else _NUMBER_BYTES
        self._wide_keys = order.width >= _WORD
        self._runs = runs
        self.order = Order.records(max(_WORD, order.width) + payload, 0, order.dtype, descending=order.descending)
        self.unit = gcd(value_bytes, _LARGEST_UNIT) if value_bytes else 1
        self._units = (value_bytes or 0) // self.unit

    def macros(self, *, reads: bool, writes: bool) -> Macros:
        """The macros of a kernel that reads or writes columns."""
        gathers = not self.narrow and self._units > 0
        return column_macros(self._runs, self.narrow, self.unit if gathers else 0, reads=reads, writes=writes)

    @property
    def most(self) -> int:
        """The most items whose indices a payload can hold."""
        return sys.maxsize if self.narrow else (1 << 8 * _NUMBER_BYTES) - 1

    def stay_apart(self, policy: LaunchPolicy) -> bool:
        """Whether merge_columns.cu can merge them: two runs of wide keys with narrow values, by bulk copies."""
        return self._wide_keys and self.narrow > 0 and policy.fan_in == 2 and policy.transfer == "bulk"

    def arguments(self, values: list[int], counts: list[int], keys: int, moved: int) -> list[int]:
        """The words of a Columns (see columns.cuh), from addresses and counts. values: none if there are none."""
        missing = self._runs - len(counts)
        if missing or not values:
            padded = [0] * missing
            return [*(values or [0] * len(counts)), *padded, *counts, *padded, keys, moved, self._units]
        return [*values, *counts, keys, moved, self._units]

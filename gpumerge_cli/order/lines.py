"""The order of lines of text, by their rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpumerge_cli.order.base import Layout, Macros, Order, Ways
from gpumerge_cli.order.rules import LineKey, LineOrder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LINES = 4  # ItemKind of kernels/cpu/entries.h


@dataclass(frozen=True)
class Lines(Order):
    """The order of lines: `rules`."""

    rules: LineOrder = LineOrder()  # noqa: RUF009 - it is frozen

    costs_as = "lines"

    @classmethod
    def by(
        cls,
        text: LineOrder | None = None,
        *,
        numeric: bool = False,
        descending: bool = False,
        stable: bool = False,
    ) -> Lines:
        """The order of lines: `text`; or bytewise, or by leading number, ties then bytewise or left if `stable`."""
        if text is None:
            keys = (LineKey("numeric", reverse=descending),) if numeric else ()
            text = LineOrder(keys, reverse=descending, stable=stable)
        return cls("lines", rules=text)

    @property
    def item_bytes(self) -> int:
        return 0

    @property
    def text(self) -> LineOrder:
        return self.rules

    @property
    def end(self) -> bytes:
        return bytes([self.rules.terminator])

    @property
    def prefix_decides(self) -> bool:
        return False

    def count(self, nbytes: int) -> int | None:
        return None

    def sample(self) -> bytes:
        return b"0" + self.end

    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        return _Ended(run, self.rules.terminator)

    def layout(self) -> Layout:
        return Layout(_LINES, terminator=self.rules.terminator, table=self.rules.table())

    def macros(self, *, rows: bool) -> Macros:
        return (("ROWS", 1), ("KEY_BITS", 64))

    def describe(self) -> str:
        return self.rules.describe()

    def quoted(self, part: bytes) -> str:
        return repr(part.decode("utf-8", "replace"))

    def by_key(self) -> Sequence[Order]:
        return [Lines.by(replace(self.rules, keys=(key,), stable=True)) for key in self.rules.keys]

    @property
    def ways(self) -> Ways:
        return self.rules.numeric, self.rules.reverse, self.rules.stable

    @property
    def plain_way(self) -> str:
        return "ascending bytewise"

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        rules = self.rules
        stable = [Lines.by(replace(rules, stable=True))] if keys_equal and rules.keys else []
        if not rules.simple:
            return stable
        numeric, descending = rules.numeric, rules.reverse
        wishes = ((not numeric, descending), (numeric, not descending), (not numeric, not descending))
        return stable + [Lines.by(numeric=n, descending=d, stable=rules.stable and n) for n, d in wishes]


class _Ended(Sequence[bytes]):
    """The lines of a run, each of which ends in the terminator."""

    def __init__(self, run: NDArray[np.uint8], terminator: int) -> None:
        import numpy as np  # only here: what reads command lines reads orders, too

        self._run = run
        self._ends = np.flatnonzero(run == terminator)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        start = int(self._ends[number - 1]) + 1 if number else 0
        return self._run[start : int(self._ends[number])].tobytes()

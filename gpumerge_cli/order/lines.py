"""The order of lines of text, by their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import Bounds, Macros, Meant, Order, OrderLayout, Ways, by_another_key
from gpumerge_cli.order.rules import LineKey, LineOrder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LINES = 4  # ItemKind of kernels/cpu/entries.h
_SWITCHED = {"bytes": "numeric", "numeric": "bytes"}
"""Users often write one of these and mean the other."""
_OTHER_KEYS = {"-f": LineKey(fold=True), "-h": LineKey("human"), "-V": LineKey("version"), "-g": LineKey("general")}
"""Options that name an order of whole lines; tried if lines have no key."""


@dataclass(frozen=True)
class TextOrder(Order):
    """The order of lines: `rules`."""

    rules: LineOrder = LineOrder()

    costs_as = "lines"

    @classmethod
    def by(
        cls,
        text: LineOrder | None = None,
        *,
        numeric: bool = False,
        descending: bool = False,
        stable: bool = False,
    ) -> TextOrder:
        """The order of lines: `text`; or bytewise, or by leading number, ties then bytewise or left if `stable`."""
        if text is None:
            keys = (LineKey("numeric", reverse=descending),) if numeric else ()
            text = LineOrder(keys, reverse=descending, stable=stable)
        return cls("lines", rules=text)

    def by_rules(self, rules: LineOrder) -> Order:
        return replace(self, rules=rules)

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

    @property
    def checks_values(self) -> bool:
        return self.rules.checks_values

    def count(self, nbytes: int) -> int | None:
        return None

    def sample(self) -> bytes:
        return b"0" + self.end

    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        return _Ended(run, self.rules.terminator)

    def layout(self) -> OrderLayout:
        return OrderLayout(_LINES, terminator=self.rules.terminator, table=self.rules.table())

    def macros(self, *, rows: bool) -> Macros:
        return (("ROWS", 1), ("KEY_BITS", 64), ("COMPARED", self.rules.compared))

    def describe(self) -> str:
        return self.rules.describe()

    def quoted(self, part: bytes) -> str:
        return repr(part.decode("utf-8", "replace"))

    @property
    def item_word(self) -> str:
        return self.rules.spelling.item

    @property
    def plain_lines(self) -> bool:
        return not self.rules.made

    @property
    def begins_with_number(self) -> bool:
        return any(key.kind.begins is not None and key.start_field == key.start_char == 0 for key in self.rules.keys)

    def key_of(self, item: bytes) -> bytes:
        return self.rules.record_of(item)

    def by_key(self) -> Sequence[Order]:
        return [TextOrder.by(replace(self.rules, keys=(key,), stable=True)) for key in self.rules.keys]

    def key_option(self, number: int) -> str:
        return self.rules.requested.keys[number].option_text

    def part(self, number: int, item: bytes, bounds: Bounds) -> bytes | None:
        if self.rules.keys[number].whole:
            return None
        begin, end = bounds(number, item)
        return self.rules.between_fields(item[begin:end])

    def shown_keys(self, item: bytes) -> str | None:
        """The keys of an item in the form that keys_of_text takes; None if they are the bytes of key_bounds."""
        return None

    def keys_of_text(self, text: str, *, fewer: bool = False) -> Sequence[bytes] | None:
        """The bytes of each key that a text states; None if they are its fields. Raises UsageError."""
        return None

    @property
    def ways(self) -> Ways:
        return self.rules.numeric, self.rules.reverse

    @property
    def plain_way(self) -> str:
        return "ascending bytewise"

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        rules = self.rules
        stable = [TextOrder.by(replace(rules, stable=True))] if keys_equal and rules.keys and not rules.stable else []
        if not rules.simple:
            return stable
        numeric, descending = rules.numeric, rules.reverse
        wishes = ((not numeric, descending), (numeric, not descending), (not numeric, not descending))
        return stable + [TextOrder.by(numeric=n, descending=d, stable=rules.stable and n) for n, d in wishes]

    def meant(self, by: int | None) -> Sequence[Meant]:
        if by is not None and not self.rules.simple:
            return self._by_another_key(by)
        named = _OTHER_KEYS.items() if self.rules == LineOrder() else ()
        return [
            *(self._leaving_ties(found) for found in super().meant(by)),
            *(Meant(TextOrder.by(LineOrder((key,))), f"the file is in {way} order: add {way}") for way, key in named),
        ]

    def _leaving_ties(self, found: Meant) -> Meant:
        """`found`, in the words for an order that is this one but leaves ties, if it is that."""
        if found.order != TextOrder.by(replace(self.rules, stable=True)):
            return found
        way_out = f"the file is in the order of its keys: {self.rules.stable_by}"
        return replace(found, way_out=way_out, leaves_ties=True)

    def _by_another_key(self, by: int) -> Sequence[Meant]:
        """The orders in which key `by`, a part of lines, is the other way round, a number, or no number."""
        key = self.rules.keys[by]
        if key.whole or key.compare not in _SWITCHED:
            return ()
        switched = _SWITCHED[key.compare]
        wishes = [(switched, key.reverse), (key.compare, not key.reverse), (switched, not key.reverse)]
        if key.dictionary or key.printable:  # numbers take neither
            wishes = wishes[1:2]
        others = [TextOrder.by(_with_key(self.rules, by, *wish)) for wish in wishes]
        return [by_another_key(self, other, by) for other in others]


def _with_key(rules: LineOrder, by: int, compare: str, reverse: bool) -> LineOrder:
    key = replace(rules.keys[by], compare=compare, reverse=reverse)
    spelling = rules.spelling.of(_with_key(rules.requested, by, compare, reverse)) if rules.made else rules.spelling
    return replace(rules, keys=(*rules.keys[:by], key, *rules.keys[by + 1 :]), spelling=spelling)


class _Ended(Sequence[bytes]):
    """The lines of a run, each of which ends in the terminator."""

    def __init__(self, run: NDArray[np.uint8], terminator: int) -> None:
        import numpy as np  # only here: what reads command lines reads orders, too

        self._run = run
        self._ends = np.flatnonzero(np.asarray(run) == terminator)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        start = int(self._ends[number - 1]) + 1 if number else 0
        return self._run[start : int(self._ends[number])].tobytes()

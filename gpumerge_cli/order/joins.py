"""The rules of a join as plain data: where each input has its key, how keys compare, and what goes out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpumerge_cli.order.rules import LineKey, LineOrder

PAIRS, ONLY_A, ONLY_B, PAIRED_A = 1, 2, 4, 8
"""The lines that go out, as bits: one for each pair of lines with equal keys; the lines of A, and of B, without a
partner; each line of A that has one, once. They are JoinShows of kernels/cpu/entries.h."""
TYPES = {
    "inner": PAIRS,
    "left": PAIRS | ONLY_A,
    "right": PAIRS | ONLY_B,
    "outer": PAIRS | ONLY_A | ONLY_B,
    "anti": ONLY_A,
    "semi": PAIRED_A,
}
"""The kinds of joins by name."""
_SPACE = 0x20


@dataclass(frozen=True)
class Join:
    """A join of two inputs of lines, A and B.

    fields: the join fields of A and B, counted from 0. key: the order of keys, as if each were a line. separator: the
    byte between fields; None for blanks. between: the byte that goes out between fields. quoted: fields are those of
    CSV. shows: a sum of PAIRS and the others. columns: the fields that go out, as (0, 0) for the key and (1 or 2, field
    from 0) for those of A or B; None for the key, the other fields of A and the other fields of B. auto: `columns` is
    to be made from the first lines of the inputs. filler: stands for fields that are empty or not there.
    """

    fields: tuple[int, int] = (0, 0)
    key: LineOrder = LineOrder()  # noqa: RUF009 - it is frozen
    separator: int | None = None
    between: int = _SPACE
    quoted: bool = False
    shows: int = PAIRS
    columns: tuple[tuple[int, int], ...] | None = None
    auto: bool = False
    filler: bytes = b""

    @property
    def orders(self) -> tuple[LineOrder, LineOrder]:
        """The orders that the lines of A and B are in: by their join fields."""
        first, second = (self._order(field) for field in self.fields)
        return first, second

    def _order(self, field: int) -> LineOrder:
        way = self.key.keys[0] if self.key.keys else LineKey(reverse=self.key.reverse)
        key = replace(way, start_field=field, end_field=field, skip_start=self.separator is None)
        return LineOrder(
            (key,),
            separator=self.separator,
            stable=True,
            terminator=self.key.terminator,
            salt=self.key.salt,
            quoted=self.quoted,
        )

    def all_columns(self, counts: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """The columns of `auto`: the key, then all others of lines that have so many fields in A and B."""
        others = (
            (number, field)
            for number, count, joined in zip((1, 2), counts, self.fields, strict=True)
            for field in range(count)
            if field != joined
        )
        return ((0, 0), *others)

"""The rules for equal items: which of them a merge, a unique output or a set writes.

Sets are multisets, as in the C++ standard. Two inputs are combined by pairing their equal items: the first of one input
with the first of the other, and so on. Further inputs are combined with that result. kernels/sets.cuh has the same
rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from gpumerge_cli.dataclass import dataclass


class Equals(Enum):
    """The rule for items that compare equal. Each rule of sets also has a distinct form."""

    ALL = "all"
    FIRST = "first"
    UNION = "union"
    INTERSECT = "intersect"
    DIFFERENCE = "difference"
    SYMMETRIC = "symmetric"
    DISTINCT_UNION = "distinct union"
    DISTINCT_INTERSECT = "distinct intersect"
    DISTINCT_DIFFERENCE = "distinct difference"
    DISTINCT_SYMMETRIC = "distinct symmetric"
    JOIN = "join"

    @classmethod
    def of(cls, unique: bool) -> Equals:
        """The value that --unique asks for, or that holds without it."""
        return cls.FIRST if unique else cls.ALL

    @classmethod
    def of_sets(cls, name: str, *, distinct: bool) -> Equals:
        """The value for a name of SETS. distinct: equal items of one input count as one."""
        return cls(f"distinct {name}" if distinct else name)

    @property
    def keeps_all(self) -> bool:
        """Whether as many bytes go out as come in, so that each chunk's place in the output is known ahead."""
        return self is Equals.ALL

    @property
    def is_set(self) -> bool:
        """Whether it counts how many of several equal items each input has. Such items must lie in one chunk."""
        return self not in (Equals.ALL, Equals.FIRST, Equals.JOIN)

    @property
    def groups(self) -> bool:
        """Whether equal items of all inputs must lie in one chunk."""
        return self.is_set or self is Equals.JOIN

    @property
    def is_distinct(self) -> bool:
        """Whether equal items of one input count as one."""
        return self.value.startswith("distinct ")

    @property
    def name_of_set(self) -> str:
        """The name in SETS, or "join"; "merge" for the others."""
        return self.value.rpartition(" ")[2] if self.groups else "merge"

    def most(self, counts: Sequence[int]) -> int:
        """The most items that a set has of one or more runs of so many items."""
        if self.name_of_set == "intersect":
            return min(counts)
        return counts[0] if self.name_of_set == "difference" else sum(counts)

    def kept(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """The items that go out of a group of equal ones, as a range for each input: from the first one to the last.

        counts: the number of these items that each input holds, one or more inputs. This is the plain form of the rule.
        """
        if self is Equals.FIRST:
            first = next((at for at, count in enumerate(counts) if count), -1)
            return [(0, int(at == first)) for at in range(len(counts))]
        if self.is_distinct:
            return Equals(self.name_of_set).kept([min(1, count) for count in counts])
        if self in (Equals.INTERSECT, Equals.DIFFERENCE):
            first, others = counts[0], counts[1:]
            stays = (0, min(counts)) if self is Equals.INTERSECT else (min(first, sum(others)), first)
            return [stays, *[(0, 0) for _ in others]]
        if self is Equals.SYMMETRIC:
            return _odd_ones(counts)
        most, ranges = 0, []
        for count in counts:
            ranges.append((min(most, count) if self is Equals.UNION else 0, count))
            most = max(most, count)
        return ranges


_LEAST_COUNT = 8  # bytes of a count and its blank; a longer count has many more lines behind it


@dataclass(frozen=True)
class Margin:
    """Text beside each line that goes out, or numbers apart from the items.

    count: of equal items the first goes out with their number: "ahead" of a line as uniq -c has it, "after" it behind a
    tab, or "apart", for items of every kind; None for no count. file: takes the numbers that are apart, little-endian
    uint64, one for each item of the output, raw or .npy as its suffix says. columns: for a union of two
    inputs, the texts ahead of a line of both, of the first alone, and of the second alone, None where such lines stay
    out; () for no columns. total: a last line says how many lines the columns have, the first input's ahead, with this
    text between the numbers; None for no such line.
    """

    count: Literal["ahead", "after", "apart"] | None = None
    columns: tuple[bytes | None, ...] = ()
    total: bytes | None = None
    file: str | None = None

    def most(self, nbytes: int, items: int) -> int:
        """The most bytes that lines of `nbytes` have with their text, if there are at most so many."""
        width = {"ahead": _LEAST_COUNT, "after": _LEAST_COUNT, "apart": 0}.get(self.count or "", 0)
        return nbytes + max([width, *(len(text) for text in self.columns if text is not None)]) * items

    def last_line(self, counts: Sequence[int], both: int, end: int) -> bytes:
        """The line of `total`. counts: lines of each input. both: lines that met. end: the byte that ends a line."""
        first, second = counts
        numbers = [b"%d" % number for number in (first - both, second - both, both)]
        return (self.total or b"").join([*numbers, b"total"]) + bytes([end])


SETS = (Equals.UNION.value, Equals.INTERSECT.value, Equals.DIFFERENCE.value, Equals.SYMMETRIC.value)
"""The names of the sets, which are commands."""


def _odd_ones(counts: Sequence[int]) -> list[tuple[int, int]]:
    """The ranges of a symmetric difference: the last items of the one input that is left over."""
    holder, left = 0, counts[0]
    for at, count in enumerate(counts[1:], start=1):
        if count > left:
            holder, left = at, count - left
        else:
            left -= count
    return [(count - left, count) if at == holder else (0, 0) for at, count in enumerate(counts)]

"""The rules for equal items: which of them a merge, a unique output or a set writes.

Sets are multisets, as in the C++ standard. Two inputs are combined by pairing their equal items: the first of one input
with the first of the other, and so on. Further inputs are combined with that result. kernels/sets.cuh
carries out the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from typing import Literal

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.sums import SumRules

# The bits of kernels/equals.h, which explains them.
EQUAL, ONLY_A, ONLY_B, SET, DISTINCT = 1, 2, 4, 8, 16
SINGLE, LAST_OF, FIRST_OF, INNER, CONTINUED, FOLLOWED = 32, 64, 128, 256, 512, 1024
FIRST, BY_PLACE = SINGLE | FIRST_OF, SINGLE | LAST_OF | FIRST_OF | INNER
_JOIN = 2048  # no kernel of merges or sorts sees it

Kept = Literal["first", "last"]
"""The item that stands for several equal ones, in the stable order of a merge."""
Only = Literal["duplicates", "all-duplicates", "singles"]
"""The items that --only writes: the first of several equal ones; all of several; or those that equal no other."""


@unique
class Equals(Enum):
    """The rule for items that compare equal: the sum of the bits that the kernels of every processor read.

    Each rule of sets also has a distinct form.
    """

    ALL = 0
    FIRST = FIRST
    LAST = SINGLE | LAST_OF
    DUPLICATES = FIRST_OF
    ALL_DUPLICATES = FIRST_OF | INNER | LAST_OF
    SINGLES = SINGLE
    # The same for a chunk whose first item equals one ahead of it, whose last item equals one behind it, or both. Only
    # those that differ from the plain rule: see `beside`.
    FIRST_CONTINUED = FIRST | CONTINUED
    LAST_FOLLOWED = LAST | FOLLOWED
    DUPLICATES_CONTINUED = DUPLICATES | CONTINUED
    DUPLICATES_FOLLOWED = DUPLICATES | FOLLOWED
    DUPLICATES_AMID = DUPLICATES | CONTINUED | FOLLOWED
    ALL_DUPLICATES_CONTINUED = ALL_DUPLICATES | CONTINUED
    ALL_DUPLICATES_FOLLOWED = ALL_DUPLICATES | FOLLOWED
    ALL_DUPLICATES_AMID = ALL_DUPLICATES | CONTINUED | FOLLOWED
    SINGLES_CONTINUED = SINGLES | CONTINUED
    SINGLES_FOLLOWED = SINGLES | FOLLOWED
    SINGLES_AMID = SINGLES | CONTINUED | FOLLOWED
    UNION = SET | EQUAL | ONLY_A | ONLY_B
    INTERSECT = SET | EQUAL
    DIFFERENCE = SET | ONLY_A
    SYMMETRIC = SET | ONLY_A | ONLY_B
    DISTINCT_UNION = UNION | DISTINCT
    DISTINCT_INTERSECT = INTERSECT | DISTINCT
    DISTINCT_DIFFERENCE = DIFFERENCE | DISTINCT
    DISTINCT_SYMMETRIC = SYMMETRIC | DISTINCT
    JOIN = _JOIN

    @classmethod
    def of(cls, unique: bool | Kept, only: Only | None = None) -> Equals:
        """The value that --unique or --only asks for, or that holds without them. unique: True keeps the first one."""
        if only is not None:
            return cls[only.replace("-", "_").upper()]
        return cls.LAST if unique == "last" else cls.FIRST if unique else cls.ALL

    @classmethod
    def of_sets(cls, name: str, *, distinct: bool) -> Equals:
        """The value for a name of SETS. distinct: equal items of one input count as one."""
        return cls(cls[name.upper()].value | (DISTINCT if distinct else 0))

    @property
    def keeps_all(self) -> bool:
        """Whether all items are written, so that each chunk's place in the output is known ahead."""
        return self is Equals.ALL

    @property
    def is_for_cpu(self) -> bool:
        """Whether `auto` has the CPU carry it out: rules of places but FIRST, which were not measured on a GPU."""
        return self.is_by_place and self.value & BY_PLACE != FIRST

    @property
    def is_by_place(self) -> bool:
        """Whether it is a rule for the places of equal items in their group, as FIRST is."""
        return bool(self.value & BY_PLACE)

    @property
    def is_continued(self) -> bool:
        """Whether the chunk's first item equals one ahead of the chunk."""
        return bool(self.value & CONTINUED)

    @property
    def is_followed(self) -> bool:
        """Whether the chunk's last item equals one behind the chunk."""
        return bool(self.value & FOLLOWED)

    def beside(self, *, ahead: bool, behind: bool) -> Equals:
        """A rule of places, for a chunk whose first or last item equals a neighbour outside of it."""
        place = self.value & BY_PLACE
        minds = {FIRST: CONTINUED, SINGLE | LAST_OF: FOLLOWED}.get(place, CONTINUED | FOLLOWED)
        return Equals(place | minds & (CONTINUED * ahead | FOLLOWED * behind))

    @property
    def minds_next(self) -> bool:
        """Whether the item behind a chunk tells which items of the chunk go out."""
        return self.is_by_place and self.beside(ahead=False, behind=True) is not self

    @property
    def is_set(self) -> bool:
        """Whether it counts how many of several equal items each input has. Such items must lie in one chunk."""
        return bool(self.value & SET)

    @property
    def groups(self) -> bool:
        """Whether equal items of all inputs must lie in one chunk."""
        return bool(self.value & (SET | _JOIN))

    @property
    def is_distinct(self) -> bool:
        """Whether equal items of one input count as one."""
        return bool(self.value & DISTINCT)

    @property
    def name_of_set(self) -> str:
        """The name in SETS, or "join"; "merge" for the others."""
        return Equals(self.value & ~DISTINCT).name.lower() if self.groups else "merge"

    def most(self, counts: Sequence[int]) -> int:
        """The most items that are written from one or more runs of so many items."""
        if not self.is_set:
            return sum(counts)
        most, *others = counts
        for count in others:
            of_a = most if self.value & ONLY_A else min(most, count) if self.value & EQUAL else 0
            most = of_a + (count if self.value & ONLY_B else 0)
        return most

    def kept(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """The items that are written from a group of equal ones, as a range for each input.

        counts: the number of these items that each input holds, one or more inputs. This is the plain form of the
        rules.
        """
        if self.value & BY_PLACE:
            return _part([(0, count) for count in counts], *self._places(sum(counts)))
        if not self.is_set:
            return [(0, count) for count in counts]
        if self.is_distinct:
            counts = [min(1, count) for count in counts]
        ranges = [(0, counts[0])]
        for count in counts[1:]:
            pairs = min(sum(stop - start for start, stop in ranges), count)
            low, high = (0 if self.value & EQUAL else pairs), (None if self.value & ONLY_A else pairs)
            ranges = [*_part(ranges, low, high), (pairs if self.value & ONLY_B else count, count)]
        return [(start, stop) if start < stop else (0, 0) for start, stop in ranges]

    def _places(self, count: int) -> tuple[int, int]:
        """The range that a rule of places keeps of `count` equal items."""
        if count < 2:
            return 0, count if self.value & SINGLE else 0
        if not self.value & (FIRST_OF | LAST_OF):
            return 0, 0
        return 0 if self.value & FIRST_OF else count - 1, count if self.value & LAST_OF else 1


_LEAST_COUNT = 8  # bytes of a count and its blank; a longer count has many more lines behind it


@dataclass(frozen=True)
class Margin:
    """Text beside each line of the output, or numbers in a file beside the output, or both."""

    count: Literal["ahead", "after", "apart"] | None = None
    """The first of equal items is written with their number: "ahead" of a line as in uniq -c, "after" it behind a tab,
    or "apart", for items of every kind. None for no count."""
    columns: tuple[bytes | None, ...] = ()
    """For a union of two inputs: the texts before a line of both, of the first alone, and of the second alone; None
    leaves such lines out. () for no columns."""
    columns_apart: bool = False
    """Whether the columns are numbers for the output, 0, 1 and 2 for the texts in `columns`, which are not written.
    The total is no line of the output then, but a message."""
    total: bytes | None = None
    """A last line without its end, with a %d for each number of lines: of the first input alone, of the second alone,
    and of both. None for no such line."""
    separator: bytes = b""
    """The byte between a number and the fields beside it, where numbers are a column; b"" for the forms of `count`."""
    title: str | None = None
    """The title of a column of the names of inputs, one for each line; None for no such column."""
    names: tuple[bytes, ...] = ()
    """The text directly ahead of the lines of each input, where there is such a column."""
    file: str | None = None
    """The file of the numbers that are apart: little-endian uint64, one for each item of the output; raw or .npy as its
    suffix means."""
    sums: tuple[str, ...] = ()
    """The columns that hold their sum over equal items in the item that goes out, as options name them."""
    separators: tuple[int, int] = (0, 0)
    """See SumRequest."""
    separated_by: str = ""
    """The option that gives `separators`; "" for those that only settings give, which not every job reads."""
    counted: bool = False
    """Whether lines begin with counts, which are summed as such columns are."""
    rules: SumRules | None = None
    """The places of these columns in items; None until the inputs are opened."""

    @property
    def groups(self) -> bool:
        """Whether equal items of all inputs must lie in one chunk."""
        return self.count is not None or bool(self.columns)

    @property
    def sums_columns(self) -> bool:
        """Whether columns are summed over equal items."""
        return self.sums != () or self.counted

    @property
    def is_apart(self) -> bool:
        """Whether each item has a number apart from it."""
        return self.count == "apart" or self.columns_apart or self.rules is not None

    @property
    def added(self) -> tuple[str, ...]:
        """The titles of the columns that items get ahead of them or after them, the first one first."""
        found = [COUNT_TITLE] * (self.count in ("ahead", "after")) + [PLACE_TITLE] * bool(self.columns)
        return (*found, *([] if self.title is None else [self.title]))

    def of_runs(self, origins: Sequence[int]) -> Margin:
        """The margin of lines that lie in runs. origins: the number of the input that each run comes from."""
        return replace(self, names=tuple(self.names[number] for number in origins)) if self.names else self

    def most(self, nbytes: int, items: int) -> int:
        """The most bytes that lines of `nbytes` have with their text, if there are at most so many."""
        width = {"ahead": _LEAST_COUNT, "after": _LEAST_COUNT, "apart": 0}.get(self.count or "", 0)
        width = max([width, *(len(text) for text in self.columns if text is not None)])
        return nbytes + (width + max(map(len, self.names), default=0)) * items

    def last_line(self, counts: Sequence[int], both: int) -> bytes:
        """The line of `total`, without its end. counts: lines of each input. both: lines that met."""
        first, second = counts
        return (self.total or b"") % (first - both, second - both, both)


TITLE = "source"
"""The title of the column of the names of inputs, if the user gives none."""
COUNT_TITLE = "count"
"""The title of the column of the numbers of equal items."""
PLACE_TITLE = "found_in"
"""The title of the column that says which of two inputs hold an item."""
PLACES = ("both", "first", "second")
"""The values of this column, in the order of Margin.columns."""
SETS = tuple(one.name_of_set for one in Equals if one.is_set and not one.is_distinct)
"""The names of the sets, which are commands."""
assert all(f"DISTINCT_{name.upper()}" in Equals.__members__ for name in SETS), "each set has a distinct form"


def _part(ranges: Sequence[tuple[int, int]], low: int, high: int | None) -> list[tuple[int, int]]:
    """The items from `low` to `high` (None: the end) of those in the ranges, which lie one behind the other."""
    found, ahead = [], 0
    for start, stop in ranges:
        end = stop if high is None else min(stop, start + max(0, high - ahead))
        found.append((min(stop, start + max(0, low - ahead)), end))
        ahead += stop - start
    return found

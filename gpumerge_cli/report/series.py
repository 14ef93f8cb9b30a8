"""Slices of a bench for its figures: rows that differ in one thing, all else being equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.report.tables import format_size
from gpumerge_cli.results.compared import BenchRow
from gpumerge_cli.units import format_counted


@dataclass(frozen=True)
class Axis:
    """An axis of a figure."""

    of: Callable[[BenchRow], Any]
    """A row's place on the axis."""
    fixed: Callable[[BenchRow], tuple[str, ...]]
    """The rest of the row's case, as text for a title."""
    in_order: bool
    """Whether places are sorted as numbers; otherwise they stay in the order of the rows."""


def contestant(row: BenchRow) -> str:
    """The name of a row in figures: a tree of two-way merges counts as the two-way merge, for more runs."""
    return row.name.removesuffix(" tree")


def _items(row: BenchRow) -> str:
    return row.items


def _runs(row: BenchRow) -> str:
    return format_counted(row.runs, "run")


def _size(row: BenchRow) -> str:
    return f"{format_size(row.size)} items"


BY_SIZE = Axis(lambda row: row.size, lambda row: (row.items, row.shape, _runs(row)), True)
BY_TYPE = Axis(_items, lambda row: (row.shape, _runs(row), _size(row)), False)
_BY_TYPE_AND_SIZE = replace(BY_TYPE, of=lambda row: f"{row.items}\n{format_size(row.size)}")
BY_SHAPE = Axis(lambda row: row.shape, lambda row: (row.items, _runs(row), _size(row)), False)
BY_RUNS = Axis(lambda row: row.runs, lambda row: (row.items, row.shape, _size(row)), True)


@dataclass(frozen=True)
class Slice:
    """Timed rows along one axis."""

    axis: Axis
    title: str
    rows: tuple[BenchRow, ...]

    @property
    def places(self) -> list[Any]:
        """The places on the axis that have rows."""
        found = list(dict.fromkeys(self.axis.of(row) for row in self.rows))
        return sorted(found) if self.axis.in_order else found

    @property
    def names(self) -> list[str]:
        """The names of the contestants, kernels ahead of libraries."""
        return list(dict.fromkeys((*kernels(self.rows), *map(contestant, self.rows))))

    def of(self, name: str) -> list[BenchRow]:
        """One contestant's rows, along the axis."""
        places = self.places
        return sorted(
            (row for row in self.rows if contestant(row) == name), key=lambda row: places.index(self.axis.of(row))
        )


def kernels(rows: Sequence[BenchRow]) -> list[str]:
    """The names of all kernels among the rows, the simplest first and the best last.

    That is the order of the case with the most kernels, since every case runs its kernels in the ladder's order.
    """
    cases: dict[tuple[str, str, int, int], list[str]] = {}
    for row in rows:
        if row.role == "kernel":
            cases.setdefault(row.case, []).append(contestant(row))
    by_length = sorted(cases.values(), key=len, reverse=True)
    ordered: list[str] = []
    for names in by_length:
        ordered = [name for name in names if name not in ordered] + ordered
    return list(dict.fromkeys(ordered))


def slices(rows: Sequence[BenchRow], axis: Axis) -> list[Slice]:
    """The slices along `axis` with more than one place. Those with the most places, then the largest sizes, come first.

    Copies and rows without times are left out.
    """
    parts: dict[tuple[str, ...], list[BenchRow]] = {}
    for row in _timed(rows):
        parts.setdefault(axis.fixed(row), []).append(row)
    found = [Slice(axis, ", ".join(fixed), tuple(part)) for fixed, part in parts.items()]
    return _most_first(found)


def types(rows: Sequence[BenchRow]) -> list[Slice]:
    """Slices along the types of items: one for each shape and number of runs, at the largest size that all types have.

    If no size is common to all, each type has the largest of its own, and places name it: "int64\\n2^24".
    """
    parts: dict[tuple[str, int], list[BenchRow]] = {}
    for row in _timed(rows):
        parts.setdefault((row.shape, row.runs), []).append(row)
    found = []
    for part in parts.values():
        sizes: dict[str, set[int]] = {}
        for row in part:
            sizes.setdefault(row.items, set()).add(row.size)
        common = set.intersection(*sizes.values())
        largest = {items: max(common or own) for items, own in sizes.items()}
        shown = tuple(row for row in part if row.size == largest[row.items])
        of = (shown[0].shape, _runs(shown[0]), _size(shown[0]) if common else "the most items of each type")
        found.append(Slice(BY_TYPE if common else _BY_TYPE_AND_SIZE, ", ".join(of), shown))
    return _most_first(found)


def _timed(rows: Sequence[BenchRow]) -> list[BenchRow]:
    return [row for row in rows if row.median > 0 and row.role != "copy"]


def _most_first(found: Sequence[Slice]) -> list[Slice]:
    several = [part for part in found if len(part.places) > 1]
    return sorted(several, key=lambda part: (-len(part.places), -max(row.size for row in part.rows)))


def ladder(rows: Sequence[BenchRow]) -> list[list[BenchRow]]:
    """For each type of items, its largest case of two runs with more than one kernel: kernels first, then libraries.

    A kernel that moves its tiles in two ways, "path" and "path, vector loads", counts once.
    """
    cases: dict[tuple[str, str, int, int], list[BenchRow]] = {}
    for row in rows:
        if row.median > 0 and row.role != "copy" and row.runs == 2:
            cases.setdefault(row.case, []).append(row)
    best: dict[str, list[BenchRow]] = {}
    for (items, _, _, size), found in cases.items():
        different = {row.name.partition(",")[0] for row in found if row.role == "kernel"}
        if len(different) > 1 and (items not in best or size > best[items][0].size):
            best[items] = sorted(found, key=lambda row: row.role != "kernel")
    return list(best.values())

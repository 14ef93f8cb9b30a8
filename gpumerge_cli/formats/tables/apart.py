"""Groups of tables that no rows of other inputs fall into: a merge can copy them whole.

Statistics say where the keys of a group lie, before anything is decoded. They are not trusted: the keys are read, and
must be in order and lie where the statistics say. Two items stand for such a group, its first row and its last one, so
that the engine checks its order with what lies beside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables.images import fixed_images, line_images, uint64_images
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.references import END, WHOLE, references
from gpumerge_cli.formats.tables.table import Table, rows_of_range
from gpumerge_cli.order.rules import MARK

_ITEMS = 2
"""The items of a group that is apart."""
KeyRange = tuple[bytes, bytes]
"""The images of the least and the greatest first key of a group."""


_NO_KEYS: KeyRange = (b"", b"")
"""The range of a group without rows."""


class WrongRangeError(Exception):
    """Keys of a group are not in order, or not where its statistics say."""


class Apart:
    """The groups of a table that are apart from other inputs. ranges: of all its groups."""

    def __init__(self, groups: frozenset[int], ranges: Sequence[KeyRange]) -> None:
        self.groups = groups
        self.ranges = ranges

    def unlisted(self, table: Table) -> int:
        """The number of rows of the table beyond that of its items."""
        return sum(table.group_rows[group] - _ITEMS for group in self.groups)

    def needs_keys(self, table: Table, form: Form) -> bool:
        """Whether the table's statistics do not place a group that is apart: its keys must be read."""
        path = form.keys[0].column.path
        return not all(table.has_exact_extremes(group, path) for group in self.groups)


def groups_apart(tables: Sequence[Table], form: Form, takes: Callable[[Table, int], bool]) -> list[Apart] | None:
    """The groups of each table that are apart; None if nobody knows.

    takes: whether the output takes a group as it is; others are not wanted.
    """
    if not form.is_fixed and any(key.column.kind or key.reverse for key in form.keys):
        return None  # images do not compare as bytes
    ranges: list[list[KeyRange]] = []
    for one_table in tables:
        found = [
            key_range(one_table, number, form) if rows else _NO_KEYS for number, rows in enumerate(one_table.group_rows)
        ]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        ranges.append(known)
    everything = sorted(
        (*one, of_table, number)
        for of_table, some in enumerate(ranges)
        for number, one in enumerate(some)
        if one is not _NO_KEYS
    )
    apart = [
        {number for number, rows in enumerate(table.group_rows) if rows and takes(table, number)} for table in tables
    ]
    for walk, is_forward in ((everything, True), (everything[::-1], False)):
        # The farthest ends of groups before this one: of all tables, and of all but the table of that one.
        farthest: list[tuple[bytes, int]] = []
        for least, greatest, of_table, number in walk:
            begin, end = (least, greatest) if is_forward else (greatest, least)
            other = next((reach for reach, of in farthest if of != of_table), None)
            if other is not None and (other >= begin if is_forward else other <= begin):
                apart[of_table].discard(number)
            farthest = _two_farthest([*farthest, (end, of_table)], is_forward)
    return [Apart(frozenset(some), one) for some, one in zip(apart, ranges, strict=True)]


def items_of_rows(
    number: int, table: Table, batches: Iterator[Any], form: Form, apart: Apart | None, nbytes: int
) -> Iterator[tuple[Any, int]]:
    """The items of table `number`, and the rows of which they are.

    batches: all its rows with their keys. apart: None gives each row an item. nbytes: about those of items at once.
    Raises WrongRangeError.
    """
    at = 0
    if apart is None:
        for batch in form.pieces(batches, nbytes):
            yield form.items(batch, references(number, at, batch.num_rows)), batch.num_rows
            at += batch.num_rows
        return
    last = b""
    for batch in form.pieces(batches, nbytes):
        for group, low, high in _pieces(table, at, batch.num_rows):
            piece = batch.slice(low - at, high - low)
            images = _Images(form, form.values(piece))
            begins, ends = low == table.starts[group], high == table.starts[group + 1]
            least, greatest = apart.ranges[group]
            if (begins and images.first_key(0) < least) or (ends and images.first_key(-1) > greatest):
                raise WrongRangeError
            if group not in apart.groups:
                yield form.items(piece, references(number, low, high - low)), high - low
                continue
            if not images.are_in_order or (not begins and images[0] < last):
                raise WrongRangeError
            last = images[-1]
            if begins:
                yield form.items(piece.slice(0, 1), references(number, low, 1) | WHOLE), 0
            if ends:
                yield form.items(piece.slice(len(piece) - 1), references(number, high - 1, 1) | END), 0
            yield b"", high - low
        at += batch.num_rows


def items_as_stated(
    number: int, table: Table, batches_from: Callable[[int], Iterator[Any]], form: Form, apart: Apart, nbytes: int
) -> Iterator[tuple[Any, int]]:
    """The same, by what statistics say of groups that are apart: their rows are not read.

    batches_from: all rows from a group on. form: of one key with images of one size. nbytes: see items_of_rows.
    """
    group, groups = 0, len(table.group_rows)
    while group < groups:
        at, rows = table.starts[group], table.group_rows[group]
        if group in apart.groups:
            least, greatest = apart.ranges[group]
            yield form.item(least, references(number, at, 1) | WHOLE), 0
            yield form.item(greatest, references(number, at + rows - 1, 1) | END), rows
            group += 1
            continue
        group = next((one for one in range(group, groups) if one in apart.groups), groups)
        yield from items_of_some(number, table, batches_from, form, range(at, table.starts[group]), nbytes)


def items_of_some(
    number: int, table: Table, batches_from: Callable[[int], Iterator[Any]], form: Form, rows: range, nbytes: int
) -> Iterator[tuple[Any, int]]:
    """The items of some rows of table `number`, and the rows of which they are.

    batches_from: all from a group on. nbytes: see items_of_rows.
    """
    at = rows.start
    for batch in form.pieces(rows_of_range(table, batches_from, rows), nbytes):
        yield form.items(batch, references(number, at, batch.num_rows)), batch.num_rows
        at += batch.num_rows


def _pieces(table: Table, at: int, rows: int) -> Iterator[tuple[int, int, int]]:
    """(group, first row, row behind the last one) of the rows from `at` on."""
    stop = at + rows
    while at < stop:
        group = bisect_right(table.starts, at) - 1
        end = min(stop, table.starts[group + 1])
        yield group, at, end
        at = end


def _two_farthest(reaches: Sequence[tuple[bytes, int]], is_forward: bool) -> list[tuple[bytes, int]]:
    """The farthest ends of two tables."""
    found: list[tuple[bytes, int]] = []
    for reach, table in sorted(reaches, reverse=is_forward):
        if all(table != other for _, other in found):
            found.append((reach, table))
    return found[:2]


def key_range(table: Table, group: int, form: Form) -> KeyRange | None:
    """The range of the first keys of a group by its statistics; None if these do not say it."""
    key = form.keys[0]
    extremes = table.extremes(group, key.column.path)
    if extremes is None:
        return None
    least, greatest, has_nulls = extremes
    try:
        values = pa.array([least, greatest, *([None] if has_nulls else [])], key.column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    images = _Images(replace(form, keys=(key,)), [values])
    found = sorted(images[number] for number in range(len(values)))
    return found[0], found[-1]


class _Images:
    """The images of rows, which compare as bytes. values: of each key."""

    def __init__(self, form: Form, values: Sequence[Any]) -> None:
        self._form = form
        if form.native:
            self._all: Any = uint64_images(form.keys[0].column, values[0])
        elif form.is_fixed:
            pairs = zip(form.keys, values, strict=True)
            images = [fixed_images(key.column, array, nullable=key.nullable) for key, array in pairs]
            self._all = np.ascontiguousarray(np.concatenate(images, axis=1))
        else:
            import pyarrow.compute as pc

            texts = [line_images(key.column, array) for key, array in zip(form.keys, values, strict=True)]
            self._all = pc.binary_join_element_wise(*texts, pa.scalar(MARK, pa.large_binary()))

    def __getitem__(self, row: int) -> bytes:
        if self._form.native:
            return int(self._all[row]).to_bytes(8, "big")
        found: bytes = self._all[row].tobytes() if self._form.is_fixed else self._all[row].as_py()
        return found

    def first_key(self, row: int) -> bytes:
        """The image of the first key."""
        image = self[row]
        if self._form.native:
            return image
        return image[: self._form.keys[0].width] if self._form.is_fixed else image.partition(MARK)[0]

    @property
    def are_in_order(self) -> bool:
        """Whether none is less than the one before it."""
        if self._form.native:
            return bool((self._all[1:] >= self._all[:-1]).all())
        if self._form.is_fixed:
            texts = self._all.view(f"S{self._all.shape[1]}").reshape(-1)
            return bool((texts[1:] >= texts[:-1]).all())
        import pyarrow.compute as pc

        return pc.all(pc.greater_equal(self._all.slice(1), self._all.slice(0, len(self._all) - 1))).as_py() is not False

"""Items that calls compare by integers of 64 bits: columns, several columns, and text on a GPU.

A call makes the images of all its items first. Then it works on these and on the items' positions, as on numbers, and
takes the items of the result by their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpumerge_cli.arrays.column_array import ColumnArray
from gpumerge_cli.arrays.column_texts import taken_of_columns
from gpumerge_cli.arrays.column_values import text_column_images
from gpumerge_cli.arrays.column_words import column_words
from gpumerge_cli.arrays.columns import NamedColumns, as_columns
from gpumerge_cli.arrays.exact_casts import cast_exactly
from gpumerge_cli.arrays.key_parts import as_field_keys, key_images
from gpumerge_cli.arrays.options import same_side, short_repr
from gpumerge_cli.backends.select import host
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import UsageError

_TURNED = ":r"
_KEY_WAY_OUT = "name columns of the dict"


@dataclass(frozen=True, eq=False)
class ImagedItems:
    """The items of all arrays of a call, which are compared by images."""

    given: Sequence[Any]
    """For each array of the call a ColumnArray, or NamedColumns with the same names."""
    keys: Sequence[tuple[str, bool]]
    """The name of each key among NamedColumns, the first one first, and whether it descends; "" for a ColumnArray."""
    text: Any
    """The kind of values that the texts of the only key are read as; None for their bytes. See merge."""
    threads: int
    """Threads of the host that make images in its memory."""

    @classmethod
    def of(cls, given: Sequence[Any], key: Any, descending: bool, text: Any, threads: int | None) -> ImagedItems:
        """The items of a call. Raises UsageError for arrays that differ.

        given: at least one is a ColumnArray or NamedColumns. key, descending, text, threads: see merge.
        """
        several = [isinstance(each, NamedColumns) for each in given]
        if any(several) and not all(several):
            raise UsageError("a dict of columns beside other arrays", way_out="give all arrays as such dicts")
        if all(several):
            found = cls(given, _named_keys(given, key, descending), text, threads or cores())
        elif key is not None:
            raise UsageError(
                "a column has no fields, so it cannot have a key", way_out="leave key out, or give a dict of columns"
            )
        else:
            found = cls([_as_column(each) for each in given], [("", descending)], text, threads or cores())
        if text is not None and len(found.keys) > 1:
            raise UsageError("text: only one key can be read as values", way_out="give the name of one column")
        same_side([each.values for each in found._key_columns()])
        for name, _ in found.keys:
            _check_alike(found._columns(found.given, name), name)
        return found

    @property
    def on_device(self) -> bool:
        """Whether the items lie on a GPU."""
        return next(self._key_columns()).on_device

    @property
    def has_nulls(self) -> bool:
        """Whether keys may be null."""
        return any(each.valid is not None for each in self._key_columns())

    def images(self, *others: Any) -> list[Any]:
        """For each array the images of its items, uint64, where the items lie. They ascend where items are in order.

        others: further ones that compare with the items, as `given` has them. A call on a GPU waits. Raises UsageError
        for nulls without a place, InputError for offsets out of order.
        """
        every = [*self.given, *others]
        with self._current() as (xp, backend):
            if self.text is not None:
                [(name, descending)] = self.keys
                found = text_column_images(self._columns(every, name), self.text, descending, self.threads)
                return [xp.asarray(each) for each in found]
            words: list[list[Any]] = [[] for _ in every]
            for name, descending in self.keys:
                columns = self._columns(every, name)
                for found, more in zip(
                    words, column_words(xp, backend, columns, descending, self.threads), strict=True
                ):
                    found += more
            return key_images(xp, backend, words, self.threads)

    def taken(self, positions: Any) -> Any:
        """The items at these positions in all arrays, one behind the other: a ColumnArray, or a dict of columns.

        positions: int64, on the side of the items.
        """
        with self._current() as (xp, backend):
            if isinstance(self.given[0], ColumnArray):
                return taken_of_columns(xp, backend, list(self.given), positions)
            return {
                name: taken_of_columns(xp, backend, [each.columns[name] for each in self.given], positions)
                for name in self.given[0].columns
            }

    def as_items(self, items: Any) -> tuple[Any, tuple[int, ...]]:
        """(items that are asked for, as `given` has them, on its side; their shape).

        items: a column or an array of keys, a list or one key of them; for NamedColumns a dict with a column for each
        key. Raises UsageError for others.
        """
        if isinstance(self.given[0], NamedColumns):
            if isinstance(items, Mapping):
                items = as_columns({name: _as_column(items[name]) for name, _ in self.keys if name in items})
            if not isinstance(items, NamedColumns) or {name for name, _ in self.keys} - set(items.columns):
                what = "items are not a dict with a column for each key"
                raise UsageError(what, way_out=f"give one with {', '.join(name for name, _ in self.keys)}")
            found: Any = NamedColumns(
                {name: self._beside(_as_column(items.columns[name]), name) for name, _ in self.keys}
            )
            return found, (len(found),)
        is_one = (
            items is None
            or isinstance(items, str | bytes)
            or (np.ndim(items) == 0 and not isinstance(items, ColumnArray))
        )
        column = _as_column([items] if is_one else items)
        return self._beside(column, ""), () if is_one else (len(column),)

    def _beside(self, column: ColumnArray, name: str) -> ColumnArray:
        """A column of items that are asked for, on the side of the keys and in their type."""
        [first] = self._columns(self.given[:1], name)
        if column.offsets is None and first.offsets is None and column.values.dtype != first.values.dtype:
            values = cast_exactly(column.on_host().values, first.values.dtype.newbyteorder("="))
            if values is None:
                what = f"items of {column.values.dtype} are not all values of {first.values.dtype}"
                raise UsageError(what, way_out="give keys of that dtype")
            column = ColumnArray(values, None, column.on_host().valid, column.nulls)
        _check_alike([first, column], name)
        if column.on_device == first.on_device:
            return column
        return column.on_host() if column.on_device else column.on_gpu(first.values.device)

    def shown(self, number: int, index: int) -> str:
        """The keys of an item for a message. number: of its array."""
        found = []
        for name, _ in self.keys:
            [column] = self._columns([self.given[number]], name)
            with self._current() as (xp, backend):
                one = taken_of_columns(xp, backend, [column], xp.arange(index, index + 1))
            found.append(str(one.tolist()[0]))
        return ", ".join(found)

    def _columns(self, given: Sequence[Any], name: str) -> list[ColumnArray]:
        """The column of a key in each of some arrays."""
        return [each if isinstance(each, ColumnArray) else _as_column(each.columns[name]) for each in given]

    def _key_columns(self) -> Iterator[ColumnArray]:
        for name, _ in self.keys:
            yield from self._columns(self.given, name)

    @contextmanager
    def _current(self) -> Iterator[tuple[Any, Any]]:
        """(the module of the items' arrays, the backend in whose memory they lie), on their device."""
        if not self.on_device:
            yield np, host()
            return
        import cupy

        from gpumerge_cli.backends.gpu import access as gpu
        from gpumerge_cli.backends.gpu.streams import calls_on, check_waiting, current_stream, temporaries

        device = next(self._key_columns()).values.device
        with calls_on(device), temporaries():
            check_waiting(current_stream(), "a call on columns")
            yield cupy, gpu.create(device.id)


def _as_column(given: Any) -> ColumnArray:
    return given if isinstance(given, ColumnArray) else ColumnArray.of(given)


def _named_keys(given: Sequence[NamedColumns], key: Any, descending: bool) -> list[tuple[str, bool]]:
    names = list(given[0].columns)
    for each in given:
        if list(each.columns) != names:
            what = f"dicts of different columns: {', '.join(names)} and {', '.join(each.columns)}"
            raise UsageError(what, way_out="give the same ones in one order")
    if key is None:
        raise UsageError("a dict of columns needs a key", way_out=f"name one or several as the key: {', '.join(names)}")
    found = []
    for name, turned in as_field_keys([key] if isinstance(key, str) else key):
        if name not in names and name.endswith(_TURNED):
            name, turned = name.removesuffix(_TURNED), not turned
        if name not in names:
            raise UsageError(f"key={short_repr(name)} is not a column", way_out=f"{_KEY_WAY_OUT}: {', '.join(names)}")
        found.append((name, turned != descending))
    return found


def _check_alike(columns: Sequence[ColumnArray], name: str) -> None:
    """Raises UsageError unless columns are texts, or values of one dtype, whose nulls have one place."""
    where = f"column {short_repr(name)}: " if name else ""
    kinds = {"texts" if each.offsets is not None else str(each.values.dtype.newbyteorder("=")) for each in columns}
    if len(kinds) > 1:
        what = f"{where}columns of different types: {', '.join(sorted(kinds))}"
        raise UsageError(what, way_out="convert them to one type")
    if len({each.nulls for each in columns} - {None}) > 1:
        raise UsageError(f"{where}nulls come first in one column and last in another", way_out="give them one place")

"""The comparison of two Arrow arrays value by value: a null equals a null, NaN equals NaN, and -0.0 equals 0.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gpumerge_cli.formats.tables.key_columns import plain_values
from gpumerge_cli.formats.tables.taking import values_at

Same = NDArray[np.bool_]
Path = tuple[str, ...]
"""The names of fields of structs, from the outer one on."""
_OF_VIEWS = ((pa.types.is_string_view, pa.large_string()), (pa.types.is_binary_view, pa.large_binary()))


def same_values(a: Any, b: Any, ignored: Sequence[Path] = ()) -> Same:
    """Whether the values of two arrays are the same, one by one: bool[len(a)].

    a, b: Arrays of one length and one type of values, which may be dictionaries of it. Values of dictionaries, lists,
    structs and maps compare by what they hold; the pairs of a map in their order. ignored: fields of structs that are
    not compared.
    """
    if not ignored and a.type == b.type and a.equals(b):
        return np.ones(len(a), np.bool_)
    a, b = _plain(a), _plain(b)
    found = _same(a, b, ignored)
    if not a.null_count and not b.null_count:
        return found
    is_there = [np.asarray(one.is_valid()) for one in (a, b)]
    both: Same = np.where(is_there[0] & is_there[1], found, is_there[0] == is_there[1])
    return both


def _plain(array: Any) -> Any:
    """The values without dictionaries, views and extensions around them."""
    array = plain_values(array)
    return next((array.cast(type) for is_view, type in _OF_VIEWS if is_view(array.type)), array)


def _same(a: Any, b: Any, ignored: Sequence[Path]) -> Same:
    """The same where neither value is null, anything elsewhere."""
    types = pa.types
    type = a.type
    if types.is_null(type):
        return np.ones(len(a), np.bool_)
    if types.is_struct(type):
        return _same_structs(a, b, ignored)
    if types.is_map(type):
        pairs = pa.list_(pa.struct([type.key_field, type.item_field]))
        return _same_lists(a.cast(pairs), b.cast(pairs), ignored)
    if types.is_nested(type) and hasattr(type, "value_type"):
        return _same_lists(_as_list(a), _as_list(b), ignored)
    if types.is_floating(type):
        x, y = _floats(a), _floats(b)
        return np.asarray((x == y) | (np.isnan(x) & np.isnan(y)))
    try:
        return np.asarray(pc.equal(a, b).fill_null(False))
    except pa.ArrowNotImplementedError:  # intervals and unions
        return np.array([one == other for one, other in zip(a.to_pylist(), b.to_pylist(), strict=True)], np.bool_)


def _floats(array: Any) -> NDArray[Any]:
    """Any number at nulls."""
    if not len(array):
        return np.empty(0)
    size = array.type.bit_width // 8
    return np.frombuffer(array.buffers()[1] or b"", f"f{size}", len(array), array.offset * size)


def _same_structs(a: Any, b: Any, ignored: Sequence[Path]) -> Same:
    found = np.ones(len(a), np.bool_)
    for number, (x, y) in enumerate(zip(a.flatten(), b.flatten(), strict=True)):
        name = a.type.field(number).name
        if (name,) not in ignored:
            found &= same_values(x, y, [path[1:] for path in ignored if path[0] == name])
    return found


def _as_list(array: Any) -> Any:
    is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    return array if is_list else array.cast(pa.large_list(array.type.value_field))


def _same_lists(a: Any, b: Any, ignored: Sequence[Path]) -> Same:
    """Lists are the same if they are as long, and have the same values."""
    lengths = [np.asarray(pc.list_value_length(one).fill_null(-1)) for one in (a, b)]
    even = (lengths[0] == lengths[1]) & (lengths[0] >= 0)
    found = np.zeros(len(a), np.bool_)
    if even.any():
        where = np.flatnonzero(even)
        some = [one if even.all() else values_at(one, pa.array(where)) for one in (a, b)]
        x, y = map(pc.list_flatten, some)
        differ = ~same_values(x, y, ignored)
        ahead = np.concatenate([[0], np.cumsum(differ)])
        ends = np.cumsum(lengths[0][where])
        found[where] = ahead[ends] == ahead[ends - lengths[0][where]]
    return found

"""Joins of JSON Lines: items for them, and the joined lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.json_lines import TypedValue, copied_lines, json_key, value_order
from gpumerge_cli.formats.json_ranges import JsonRanges, ranged_lines
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.native.json_joins import JsonPairs
from gpumerge_cli.native.json_values import JsonKey
from gpumerge_cli.order.asof import DECIMALS, NO_SCALE, Asof, Measure, scale_of_kind
from gpumerge_cli.order.row_joins import JoinRequest, PayloadJoin
from gpumerge_cli.order.rules import LineKey, LineOrder, Spelling

_NULLS = {b"\x03": b"\x04", b"\xff": b"\xfe", b"0": b"1", b"z": b"y"}
"""The images of nulls, each with another one at the same place among values."""
_LOOKED_AT = 1 << 12
"""Lines whose values tell the type of a key of ranged sources."""
_VALUE_NULLS, _TEXT_NULLS = (b"\x03", b"\x04", b"\xff", b"\xfe"), (b"0", b"1", b"z", b"y")


@dataclass(frozen=True)
class LinesOfPairs:
    """Turns joined items into the lines to write."""

    keys: Sequence[tuple[JsonKey, JsonKey]]
    """Those of A, each beside that of B."""
    request: JoinRequest

    def __call__(self, items: Bytes) -> Bytes:
        return self._pairs.lines(items)

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """For each key that is a member of B's objects, its name in A, "" where it lies deeper, and its name in B."""
        return [(_name(a) if len(a.path) == 1 else "", _name(b)) for a, b in self.keys if len(b.path) == 1]

    @cached_property
    def _pairs(self) -> JsonPairs:
        return JsonPairs(self.names)


@dataclass(frozen=True)
class JoinedLines:
    """Two files of JSON Lines as they are joined."""

    sources: Sequence[LineSource]
    join: PayloadJoin
    shown: LinesOfPairs


def joined_lines(
    sources: Sequence[LineSource],
    orders: tuple[LineOrder, LineOrder],
    request: JoinRequest,
    spelling: Spelling,
    progress: Callable[[int, float], None] | None,
) -> JoinedLines:
    """The items of two files, each of which is closed. orders, progress, errors: see copied_lines.

    progress: None has the files become ranged sources, see json_ranges.
    """
    if request.columns is not None:
        raise UsageError("-o: JSON Lines are joined as whole objects", way_out="leave it out")
    found = [tuple(map(json_key, order.keys)) for order in orders]
    pairs = [_apart(a, b, reverse=key.reverse) for a, b, key in zip(found[0], found[1], orders[0].keys, strict=True)]
    keys = [tuple(pair[side] for pair in pairs) for side in (0, 1)]
    joined: Sequence[LineSource]
    types: Sequence[TypedValue | None]
    if progress is None:
        joined = ranged = ranged_lines(sources, orders, keys)
        types, type = [None] * len(pairs), None if request.asof is None else _type_of_last(ranged)
    else:
        joined, types = copied_lines(sources, orders, keys, progress)
        type = "null" if types[-1] is None else types[-1].type
    made = tuple(value_order(order, its, types, spelling) for order, its in zip(orders, keys, strict=True))
    asof = None if request.asof is None else _asof(request.asof, orders[0].keys[-1], keys[0][-1], type)
    return JoinedLines(joined, PayloadJoin(request.shows, made, b"", asof), LinesOfPairs(pairs, request))


def _type_of_last(sources: Sequence[JsonRanges]) -> str | None:
    """The type of the values of the last key, "null" if there are none; None if the first lines do not tell."""
    found = [source.type_of_last(_LOOKED_AT) for source in sources]
    known = next((type for type in found if type not in (None, "null")), None)
    return known if known is not None or None in found else "null"


def _asof(asof: Asof, key: LineKey, read: JsonKey, type: str | None) -> Asof:
    """The as-of join by the last key. type: that of its values, None if it is not known."""
    name, descending = key.option_text, key.reverse
    if read.reads == "values" and type is None and asof.by_distance:
        what = f"{name} is null in the first {_LOOKED_AT} lines of both files, so its type is not known"
        raise UsageError(what, way_out="leave --cluster out")
    if read.reads == "texts":
        return asof.by(name, "by kind", scale_of_kind(key.compare), descending=descending)
    if read.reads == "tagged texts":
        return asof.by(name, "nullable", NO_SCALE, descending=descending, nulls=b"".join(_TEXT_NULLS))
    if read.reads == "values" and type == "null":
        return asof.without_values(b"".join(_VALUE_NULLS))
    is_number = read.reads == "numbers" or type == "number"
    measure: Measure = "json" if is_number else "nullable"
    return asof.by(
        name, measure, DECIMALS if is_number else NO_SCALE, descending=descending, nulls=b"".join(_VALUE_NULLS)
    )


def _name(key: JsonKey) -> str:
    return key.path[0]


def _apart(a: JsonKey, b: JsonKey, *, reverse: bool) -> tuple[JsonKey, JsonKey]:
    """A key of A and of B whose nulls are not equal. Those of A go first."""
    other = _NULLS.get(a.null_image)
    if other is None:  # those of kinds are empty texts
        return a, b
    low, high = sorted((a.null_image, other))
    return replace(a, null_image=high if reverse else low), replace(b, null_image=low if reverse else high)

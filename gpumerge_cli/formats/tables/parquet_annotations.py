"""Annotations of columns that Arrow does not know, taken over from the first Parquet file.

INTERVAL, VARIANT, GEOMETRY and BSON are bytes or structs in Arrow, and times in UTC are times. Their values are written
as they were read, so that what a file says of them holds for the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_columns import elements_of
from gpumerge_cli.formats.tables.parquet_facts import ParquetFooter, SchemaField
from gpumerge_cli.formats.tables.thrift import Encoded, Struct

_BYTES = (None, 6, 7)
"""The physical types of groups, and of bytes of any or of one size."""
_KINDS = (SchemaField.converted_type, SchemaField.logical_type)
_INTERVAL = 21
_TIME = 7
"""The field of LogicalType for times. Its own are whether they are in UTC, and the unit."""
_UNIT = 2
_CONVERTED_TIMES = {7: 1, 8: 2}
"""The units of times of old writers, which are in UTC, by the number of the converted type."""
_Path = tuple[bytes, ...]


def annotated(footer: ParquetFooter, like: ParquetFooter) -> ParquetFooter:
    """A footer whose columns are annotated as those of another file, where they have nothing to lose.

    Raises InputError.
    """
    known = dict(_by_path(like))
    made = [_annotated(one, known.get(path)) for path, one in _by_path(footer)]
    return replace(footer, schema=Encoded(thrift.list_of([thrift.written(one) for one in made])))


def intervals(footer: ParquetFooter) -> frozenset[tuple[str, ...]]:
    """The columns whose values are INTERVAL, each with the names above it. Raises InputError."""
    return frozenset(
        tuple(name.decode(errors="replace") for name in path)
        for path, element in _by_path(footer)
        if _value(element, SchemaField.converted_type) == _INTERVAL
    )


def _annotated(own: Struct, other: Struct | None) -> Struct:
    if other is None or any(
        _value(own, id) != _value(other, id) for id in (SchemaField.type, SchemaField.type_length, SchemaField.children)
    ):
        return own
    is_bare = not any(id in own for id in _KINDS)
    unit = _unit_of_times(own)
    if (is_bare and _value(own, SchemaField.type) in _BYTES) or (unit and unit == _unit_of_times(other)):
        kept = {id: field for id, field in own.items() if id not in _KINDS}
        found = {**kept, **{id: other[id] for id in _KINDS if id in other}}
        return {id: found[id] for id in sorted(found)}
    return own


def _unit_of_times(element: Struct) -> int | None:
    """The unit if values are times, as LogicalType numbers it: in milliseconds 1, in microseconds 2; None otherwise."""
    logical = _value(element, SchemaField.logical_type)
    if not isinstance(logical, dict):
        converted = _value(element, SchemaField.converted_type)
        return _CONVERTED_TIMES.get(converted) if isinstance(converted, int) else None
    if _TIME not in logical or _UNIT not in logical[_TIME].value:
        return None
    return next(iter(logical[_TIME].value[_UNIT].value), None)


def _value(element: Struct, id: int) -> object:
    return element[id].value if id in element else None


def _by_path(footer: ParquetFooter) -> Iterator[tuple[_Path, Struct]]:
    """The elements of a schema, each with its name and those above it."""
    open_groups: list[tuple[_Path, int]] = []
    for number, element in enumerate(elements_of(footer)):
        while open_groups and open_groups[-1][1] == 0:
            open_groups.pop()
        above: _Path = ()
        if open_groups:
            above, left = open_groups[-1]
            open_groups[-1] = (above, left - 1)
        path = (*above, element[SchemaField.name].value) if number else ()
        children = _value(element, SchemaField.children)
        if isinstance(children, int) and children > 0:
            open_groups.append((path, children))
        yield path, element

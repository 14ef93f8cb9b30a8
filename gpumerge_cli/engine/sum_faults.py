"""Messages for columns that have no sum: they name the line, the column and its text."""

from __future__ import annotations

from gpumerge_cli.buffers import allocate
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.sum_writer import InvalidSumError
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.ranges import item_sources
from gpumerge_cli.native.sums import SumFault, Sums, SumSpec
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.sums import SumRules
from gpumerge_cli.units import quoted_value, visible

_BLOCK = 1 << 20
_SHOWN = 40
_SPARE = 64
_TYPES = {1: "uint", 2: "float"}


def sum_error(found: InvalidSumError, rules: SumRules, inputs: Inputs) -> InputError:
    """The error for the first item of the inputs whose column cannot be read; else for the sum that was found."""
    if rules.record:
        column = rules.columns[found.fault.column]
        what = f"--sum {column.name}: the sum of the items with key {_key(found.item, inputs.order)} does not fit"
        return InputError(what, way_out="convert the field to a wider type first")
    spec = SumSpec(rules)
    for source in item_sources(inputs.sources):
        fault = _first_fault(source, spec)
        if fault is not None:
            return _error(fault, rules, source.location(fault.position), source.item_at(fault.position))
    return _error(found.fault, rules, inputs.sources[0].name, found.item)


def _key(item: bytes, order: Order) -> str:
    number = order.number(item)
    return order.quoted(order.key_of(item)[:_SHOWN]) if number is None else number


def _first_fault(source: Source, spec: SumSpec) -> SumFault | None:
    """The first item of a source whose column cannot be read, at its position in the source."""
    sums = Sums(spec)
    try:
        start = 0
        while start < source.size:
            stop = min(source.size, max(source.item_end(start), source.item_start(min(source.size, start + _BLOCK))))
            data = allocate(stop - start + _SPARE)[: stop - start]
            source.read_into(start, data)
            try:
                sums.add(data, None, stop - start)
            except SumFault as fault:
                return SumFault(fault.kind, fault.column, start + fault.position, fault.text)
            start = stop
    finally:
        sums.close()
    return None


def _error(fault: SumFault, rules: SumRules, where: str, item: bytes) -> InputError:
    column = rules.columns[fault.column]
    name = column.name if column.name.startswith("--") else f"--sum {column.name}"
    text = item[slice(*fault.text)]
    shown = visible(text[:_SHOWN].decode(errors="backslashreplace")) + "..." * (len(text) > _SHOWN)
    if fault.kind == "NO_NUMBER_TO_SUM":
        point = chr(rules.separators[1] or ord("."))
        way_out = f"write it as 1234{point}5 or -1e3, or leave it empty"
        return InputError(f"{name}: {quoted_value(shown)} is not a number", where=where, way_out=way_out)
    if fault.kind == "NO_COLUMN_TO_SUM":
        what = f"{name}: it has no such column"
        return InputError(what, where=where, way_out="check the number of the column and -t, or write it there")
    what = f"{name}: {quoted_value(shown)} is a number of more than 10,000 digits"
    return InputError(what, where=where, way_out="write fewer digits")

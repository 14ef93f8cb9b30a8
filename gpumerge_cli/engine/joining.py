"""The part of a join that comes ahead of its tasks: its inputs are judged, and their headers joined."""

from __future__ import annotations

from dataclasses import replace

from gpumerge_cli.backends.cpu.joins import Joins, JoinWorker
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.request import MergeRequest
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order import Order
from gpumerge_cli.order.joins import Join


def prepared(request: MergeRequest, inputs: Inputs) -> tuple[MergeRequest, Inputs]:
    """The request with a join that goes with its opened inputs, and the inputs with the order and the header of it.

    Raises UsageError or InputError for inputs that cannot be joined.
    """
    assert request.join is not None
    if len(inputs.sources) != 2:
        raise UsageError(f"{len(inputs.sources)} files were named", way_out="a join takes two, A and B")
    if not all(isinstance(source, LineSource) for source in inputs.sources):
        raise UsageError("only lines and CSV can be joined", way_out="see gpumerge join --help")
    text = inputs.order.text
    assert text is not None
    if request.items.csv and not text.quoted:
        raise InputError(
            "its quotes do not enclose whole fields",
            where=inputs.sources[0].name,
            way_out="write both files with whole fields in quotes, and quotes in them twice",
        )
    join = replace(request.join, key=replace(request.join.key, terminator=text.terminator))
    if text.quoted:
        join = replace(join, quoted=True, separator=text.separator, between=text.separator or 0)
    firsts = [_first(source) for source in inputs.sources if isinstance(source, LineSource)]
    if join.auto:
        join = replace(join, columns=_all_columns(join, inputs, firsts))
    head = _joined_header(join, inputs, firsts) if request.items.header_lines else b""
    order = Order.lines(join.orders[0])
    return replace(request, join=join), replace(inputs, order=order, new_head=head)


def _first(source: LineSource) -> bytes | None:
    """The first line of a file, its header or an item, without the terminator; None if there is none."""
    header = source.header
    if header:
        return header[:-1]
    return source.item_at(0) if source.size else None


def _all_columns(join: Join, inputs: Inputs, firsts: list[bytes | None]) -> tuple[tuple[int, int], ...]:
    worker = JoinWorker(Joins(inputs.sources, join))
    try:
        first, second = (0 if line is None else worker.fields(number, line) for number, line in enumerate(firsts))
    finally:
        worker.close()
    return join.all_columns((first, second))


def _joined_header(join: Join, inputs: Inputs, firsts: list[bytes | None]) -> bytes:
    a, b = firsts
    if a is None and b is None:
        return b""
    worker = JoinWorker(Joins(inputs.sources, join))
    try:
        joined = worker.pair(a, b)
    finally:
        worker.close()
    return joined if inputs.format.shown is None else inputs.format.shown(joined)

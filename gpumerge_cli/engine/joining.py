"""The part of a join that comes ahead of its tasks: its inputs are checked, and their headers joined."""

from __future__ import annotations

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.differing import check_compared, prepared_diff
from gpumerge_cli.engine.inputs import Inputs, layouts_of
from gpumerge_cli.engine.job import Job
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.line_source import BOM, LineSource
from gpumerge_cli.formats.record_options import order_of
from gpumerge_cli.native.joins import Joins, JoinWorker
from gpumerge_cli.order.asof import FLOATS, NO_SCALE, NUMBERS, Asof, Measure, Scale, scale_of_kind, scale_of_unit
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.order.joins import Join
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.record_joins import JoinRules, RecordJoin, as_records, joined_type, parts_of, turned_alike
from gpumerge_cli.order.records import RecordOrder
from gpumerge_cli.order.row_joins import JoinRequest
from gpumerge_cli.urls import shown

_MEASURES_OF_RECORDS: dict[str, tuple[Measure, Scale]] = {
    "float": ("float", FLOATS), "bytes": ("bytes", NO_SCALE), "datetime": ("date", NUMBERS),
    "timedelta": ("date", NUMBERS),
}  # fmt: skip
"""By kind of key; all other kinds are whole numbers."""


def check_joined(job: Job) -> None:
    """Raise UsageError if the inputs are not two, or if their formats are not joined with each other."""
    if len(job.inputs) != 2:
        raise UsageError(f"{len(job.inputs)} files were named", way_out=f"a {job.operation.title} needs two")
    layouts = layouts_of(job.inputs, job.items)
    if isinstance(job.operation.join, DiffRequest):
        check_compared(job.operation.join, layouts)
        return
    for name, layout in zip(job.inputs, layouts, strict=True):
        if not layout.format.joins:
            raise UsageError(f"{shown(name)} holds {layout.format.word}", way_out="join lines, records or numbers")
    of_request = isinstance(job.operation.join, JoinRequest)
    are_alike = not of_request or layouts[0].format.holds == layouts[1].format.holds
    if are_alike and all(layout.format.joins_by_request == of_request for layout in layouts):
        return
    held = [f"{shown(name)} holds {one.format.word}" for name, one in zip(job.inputs, layouts, strict=True)]
    raise UsageError(", and ".join(held), way_out="join two tables, two files of JSON Lines or two of others")


def prepared(job: Job, inputs: Inputs) -> tuple[Job, Inputs]:
    """The job with a join that fits its opened inputs, and the inputs as their join is written.

    Raises UsageError or InputError for inputs that cannot be joined.
    """
    assert job.operation.join is not None
    if isinstance(job.operation.join, DiffRequest):
        diff, inputs = prepared_diff(job, job.operation.join, inputs)
        return _joined(job, diff), inputs
    if inputs.join is not None:
        return _joined(job, inputs.join), inputs
    of_lines = [isinstance(source, LineSource) for source in inputs.sources]
    if any(of_lines) and not all(of_lines):
        text, other = (source.name for _, source in sorted(zip(of_lines, inputs.sources, strict=True), key=_is_other))
        raise UsageError(f"{text} holds lines of text, and {other} does not", way_out="join two files of one kind")
    if isinstance(job.operation.join, RecordJoin):
        return _of_records(job, job.operation.join, inputs)
    assert isinstance(job.operation.join, Join), "of lines"
    return _of_lines(job, job.operation.join, inputs)


def _is_other(one: tuple[bool, object]) -> bool:
    return not one[0]


def _of_records(job: Job, join: RecordJoin, inputs: Inputs) -> tuple[Job, Inputs]:
    dtypes = [source.dtype for source in inputs.sources if source.dtype is not None]
    layouts = layouts_of(inputs.names, job.items)
    orders = [
        as_records(order_of(dtype, layout.key, descending=job.items.reverse))
        for dtype, layout in zip(dtypes, layouts, strict=True)
    ]
    a, b = (parts_of(order) for order in orders)
    if [(part.kind, part.width) for part in a] != [(part.kind, part.width) for part in b]:
        keys = [", ".join(part.key_location for part in parts) for parts in (a, b)]
        raise InputError(
            f"its key, {keys[1]}, has another type than the key of {inputs.sources[0].name}, {keys[0]}",
            where=inputs.sources[1].name,
            way_out="join by keys of the same types and sizes",
        )
    join = replace(join, orders=turned_alike(orders))
    if join.asof is not None:
        join = replace(join, asof=_of_record(join.asof, parts_of(join.orders[0])[-1], b[-1].unit))
    # Numbers come in native byte order, and go out in that of the output's file.
    first, second = (dtype if dtype.kind in "SV" else dtype.newbyteorder("=") for dtype in dtypes)
    joined = joined_type(first, second, b) if join.has_rest else first
    dtype = dtypes[0] if joined == first else joined
    return _joined(job, join), replace(inputs, order=join.orders[0], dtype=dtype)


def _of_lines(job: Job, join: Join, inputs: Inputs) -> tuple[Job, Inputs]:
    text = inputs.order.text
    assert text is not None
    format = inputs.layout.format
    sources = [source for source in inputs.sources if isinstance(source, LineSource)]
    format.check_join(sources, text, join.filler)
    join = join.within(text)
    if join.asof is not None:
        join = replace(join, asof=_of_line(join.asof, join))
    if join.key.is_timed:
        from gpumerge_cli.engine.times import read_first_times, with_years_of

        join = replace(join, key=with_years_of(inputs.sources, join.orders, join.key))
        inputs = replace(inputs, first_times=read_first_times(inputs.sources, join.orders))
    has_names = job.items.header_lines > 0 or (job.items.header_prefix != b"" and format.names_in_header)
    firsts = [source.first_line if has_names else source.first_item for source in sources]
    if join.auto:
        counts = _counts_of_fields(join, inputs, firsts)
        join = replace(join, columns=join.all_columns(counts), most=counts if join.refuses_more else (0, 0))
    if not join.filler and join.columns is not None and len(join.columns) == 1 and join.quotes != "none":
        join = replace(join, filler=format.empty_item)
    head = _mark(inputs) + _lines_ahead(sources[0], names=has_names)
    head += _joined_header(join, inputs, firsts) if has_names else b""
    order = Order.lines(join.rules[0])
    return _joined(job, join), replace(inputs, order=order, new_head=head)


def _of_line(asof: Asof, join: Join) -> Asof:
    """The as-of join by the last key of lines."""
    last, named = (order.keys[-1:] for order in (join.key, join.rules[0]))
    kind = last[0].compare if last else "bytes"
    descending = last[0].reverse if last else join.key.reverse
    return asof.by(named[0].option_text, "by kind", scale_of_kind(kind), descending=descending)


def _of_record(asof: Asof, last: RecordOrder, unit_of_b: str) -> Asof:
    """The as-of join by the last field of the keys of records."""
    name, descending = last.name or last.key_location, last.descending
    if last.unit != unit_of_b:
        what = f"--type asof: the last keys, {name}, have the units {last.unit} and {unit_of_b}"
        raise UsageError(what, way_out="write one of the files again with the unit of the other")
    measure, scale = _MEASURES_OF_RECORDS.get(last.kind, ("whole", NUMBERS))
    if measure == "date":
        scale = scale_of_unit(last.unit)
    return asof.by(name, measure, scale, descending=descending, width=last.width)


def _joined(job: Job, join: JoinRules) -> Job:
    return replace(job, operation=replace(job.operation, join=join))


def _mark(inputs: Inputs) -> bytes:
    """The byte order mark of the first input, b"" if it has none."""
    first = inputs.sources[0]
    return BOM if isinstance(first, LineSource) and (first.mark or first.header.startswith(BOM)) else b""


def _lines_ahead(first: LineSource, *, names: bool) -> bytes:
    """The lines of A's header that are written as they are. names: the last line has names, which are joined."""
    header = first.header.removeprefix(BOM)
    return header[: header.rfind(header[-1:], 0, -1) + 1] if names else header


def _counts_of_fields(join: Join, inputs: Inputs, firsts: list[bytes | None]) -> tuple[int, int]:
    """The fields of the first lines of A and B, those of B only if they are written."""
    worker = JoinWorker(Joins(inputs.sources, join))
    try:
        first, second = (0 if line is None else worker.fields(number, line) for number, line in enumerate(firsts))
    finally:
        worker.close()
    return first, 0 if join.header_of_a else second


def _joined_header(join: Join, inputs: Inputs, firsts: list[bytes | None]) -> bytes:
    a, b = firsts
    if a is None and (b is None or join.header_of_a):
        return b""
    worker = JoinWorker(Joins(inputs.sources, join))
    try:
        joined = worker.pair(a, None if join.header_of_a else b)
    finally:
        worker.close()
    if join.columns is not None:
        joined = inputs.layout.format.joined_header(joined, join)
    return joined

"""The part of a diff that comes ahead of its tasks: what its inputs hold, and how their items are written."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.margins import ahead_of_names, with_first_column
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order.differences import CHANGE_TITLE, MARKS, Diff, DiffRequest
from gpumerge_cli.suggestions import did_you_mean_column


def check_compared(diff: DiffRequest, layouts: Sequence[Layout]) -> None:
    """Raise UsageError for formats of inputs that a diff does not read, or options that mean nothing to them."""
    for layout in layouts:
        if layout.format.holds not in ("lines", "rows") or layout.format.named_by_path:
            option = "--ignore" if diff.ignored else "--changes" if diff.changes is not None else ""
            if option:
                what = f"{option}: the files hold {layout.format.word}, whose columns are not compared one by one"
                raise UsageError(what, way_out="leave it out")


def prepared_diff(job: Job, request: DiffRequest, inputs: Inputs) -> tuple[Diff, Inputs]:
    """The rules of the diff of opened inputs, and the inputs as they are written. Raises UsageError or InputError."""
    if isinstance(inputs.join, Diff):
        return inputs.join, inputs
    text = inputs.order.text
    if text is None:
        return _of_records(request, inputs)
    ignored: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    if request.ignored or request.changes is not None:
        sources = [source for source in inputs.sources if isinstance(source, LineSource)]
        inputs.layout.format.check_join(sources, text, b"")
        names = _names_of_columns(inputs)
        ignored = tuple(_field_of(word, names) for word in request.ignored)
    found = with_first_column(CHANGE_TITLE, MARKS, inputs)
    assert found is not None, "all formats of lines have such a column"
    marks, marked = found
    orders = (inputs.order, inputs.order)
    return Diff(request.shows, orders, marks, ignored, changes=request.changes, names=names), marked


def _names_of_columns(inputs: Inputs) -> tuple[str, ...]:
    """The names in the last line of the header; () without such a line. Bytes that are not UTF-8 are surrogates."""
    line = ahead_of_names(inputs)[1].rstrip(b"\r\n\0")
    if not inputs.layout.items.header or not line:
        return ()
    fields = inputs.layout.format.fields_of_header(line.split(inputs.order.end)[-1], inputs.layout.items)
    return tuple(name.decode("utf-8", "surrogateescape") for name in fields)


def _field_of(word: str, names: Sequence[str]) -> int:
    """The number of a column from 0, which a word names or counts from 1. Raises UsageError."""
    if word in names:
        return names.index(word)
    if word.isascii() and word.isdecimal() and int(word) > 0:
        return int(word) - 1
    choices = f"use {', '.join(names)}" if names else "count columns from 1, as 2"
    way_out = did_you_mean_column(word, {name: name for name in names}, choices)
    raise UsageError(f"--ignore {word}: there is no such column", way_out=way_out)


def _of_records(request: DiffRequest, inputs: Inputs) -> tuple[Diff, Inputs]:
    """The same for records and numbers."""
    from gpumerge_cli.order.record_joins import RecordJoin, as_records, marked_type

    order = as_records(inputs.order)
    by_key = RecordJoin(orders=(order, order))
    diff = Diff(
        request.shows,
        (inputs.order, inputs.order),
        tuple(mark.encode() for mark in MARKS),
        places=by_key.tables,
        by_key=by_key.compared,
    )
    assert inputs.dtype is not None
    return diff, replace(inputs, order=order, dtype=marked_type(CHANGE_TITLE, inputs.dtype))

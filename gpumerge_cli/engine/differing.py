"""The part of a diff that comes ahead of its tasks: what its inputs hold, and how their items are written."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.margins import titles_in_header, with_first_column
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.summed_fields import column_number
from gpumerge_cli.order.differences import CHANGE_TITLE, MARKS, Diff, DiffRequest


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
    # Where a record stands ahead of its fields, they are compared. Lines of JSON hold no fields but keys.
    ignored: tuple[int, ...] = (0,) * (text.has_fields and not inputs.layout.format.named_by_path)
    names: tuple[str, ...] = ()
    if request.ignored or request.changes is not None:
        names = titles_in_header(inputs)
        ignored += tuple(column_number("--ignore", word, names) + text.has_fields for word in request.ignored)
    found = with_first_column(CHANGE_TITLE, MARKS, inputs)
    assert found is not None, "all formats of lines have such a column"
    marks, marked = found
    orders = (inputs.order, inputs.order)
    return Diff(request.shows, orders, marks, ignored, changes=request.changes, names=names), marked


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

"""The conditions of sets, of text added to lines and of counts: for which items, to which file, by which processor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.formats.output import refuse_inputs, same_output
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.order.equals import SETS, TITLE, Equals, Margin
from gpumerge_cli.order.sums import COUNTED, SummedColumn, SumRequest, SumRules


def prepared_margin(margin: Margin, inputs: Inputs, equals: Equals) -> tuple[Margin, Inputs]:
    """The margin, and the inputs as they are written with it. Raises UsageError for items that take no text.

    equals: the items that go out.
    """
    if margin.sums_columns:
        return _summed(margin, inputs, last=equals is Equals.LAST), inputs
    if margin.title is not None:
        margin, inputs = _named(margin, margin.title, inputs)
    if margin.count == "apart" or not margin.groups:
        return margin, inputs
    format, name = inputs.layout.format, inputs.sources[0].name
    if margin.count is not None:
        comments, head = ahead_of_names(inputs)
        column = format.counted(margin, head, inputs.order, inputs.written)
        if column is None:
            what = f"--count has no place in this file, which is {format.word}"
            raise UsageError(what, where=name, way_out="write the counts to a file of their own with --count-to")
        return column.margin, replace(inputs, new_head=comments + column.head, written=column.written)
    placed = format.placed(margin, inputs.order, inputs.written)
    if placed is None:
        what = f"the columns have no place in this file, which is {format.word}"
        raise UsageError(what, where=name, way_out=f"use {', '.join(SETS[:-1])} or {SETS[-1]}")
    return placed.margin, replace(inputs, written=placed.written)


def _summed(margin: Margin, inputs: Inputs, *, last: bool) -> Margin:
    """The margin with the places of the columns that are summed. last: the last of equal items goes out."""
    format, order = inputs.layout.format, inputs.order
    if margin.counted:
        rules = SumRules("counts of lines", (SummedColumn(COUNTED),), end=order.end[0], last=last)
    else:
        request = SumRequest(margin.sums, titles_in_header(inputs), last, margin.separators)
        rules = format.summed(request, order, inputs.dtype, inputs.written)
        items = inputs.layout.items
        keys = (*items.line_order.keys, *items.kinds)
        if margin.separated_by and not rules.of_text and not any(key.kind.separated for key in keys):
            what = f"{margin.separated_by}: no key is a number in text, and --sum adds numbers that have a type"
            raise UsageError(what, where=inputs.sources[0].name, way_out="leave it out")
    return replace(margin, rules=rules)


def titles_in_header(inputs: Inputs) -> tuple[str, ...]:
    """The names in the last line of the header; () without such a line. Bytes that are not UTF-8 are surrogates."""
    line = ahead_of_names(inputs)[1].rstrip(b"\r\n\0")
    if not inputs.layout.items.header or not line:
        return ()
    last = line.split(inputs.order.end)[-1]
    record = last if inputs.order.text is None else inputs.order.text.record_of(last)
    fields = inputs.layout.format.fields_of_header(record, inputs.layout.items)
    return tuple(name.decode("utf-8", "surrogateescape") for name in fields)


def _named(margin: Margin, title: str, inputs: Inputs) -> tuple[Margin, Inputs]:
    """The same with a column of the names of inputs."""
    layout, names = inputs.layout, [source.name for source in inputs.sources]
    found = with_first_column(title, names, inputs)
    if found is None:
        what = f"--source has no place in this file, which is {layout.format.word}"
        raise UsageError(what, where=names[0], way_out="leave it out, or convert the files")
    if not title:
        raise UsageError("--source= names no column", way_out="write --source alone, or --source=NAME")
    if title != TITLE and not layout.items.header and not layout.format.has_titles:
        what = f"--source={title}: the files have no header, which would name the column"
        raise UsageError(what, way_out="write --source alone, or say how many lines the header has by --header")
    texts, inputs = found
    return replace(margin, names=texts), inputs


def with_first_column(title: str, values: Sequence[str], inputs: Inputs) -> tuple[tuple[bytes, ...], Inputs] | None:
    """For each value the bytes that write it ahead of an item, and the inputs with this column ahead of the others.

    None if the format of the inputs has no such column.
    """
    comments, head = ahead_of_names(inputs)
    found = inputs.layout.format.named(title, values, head, inputs.order, inputs.written)
    if found is None:
        return None
    return found.names, replace(inputs, new_head=comments + found.head, written=found.written)


def _comments(inputs: Inputs) -> tuple[bytes, bytes]:
    """The lines of a header with a prefix ahead of the one with the names of columns, and the rest of the header."""
    prefix, end = inputs.layout.items.header_prefix, inputs.order.end
    if not prefix or not end:
        return b"", inputs.head
    lines = inputs.head.split(end)
    last = max(0, len(lines) - 2)
    count = next((at for at, line in enumerate(lines[:last]) if not line.removeprefix(BOM).startswith(prefix)), last)
    comments = b"".join(line + end for line in lines[:count])
    return comments, inputs.head[len(comments) :]


def ahead_of_names(inputs: Inputs) -> tuple[bytes, bytes]:
    """The part of a header ahead of the names of columns, and these; b"" if no line names columns.

    The prefix of a line of columns belongs to the former, so that the line begins with it in the output, too.
    """
    comments, head = _comments(inputs)
    items, end = inputs.layout.items, inputs.order.end
    mark, line = BOM * head.startswith(BOM), head.removeprefix(BOM).removesuffix(end)
    if not items.header_prefix or items.header_lines or not line.startswith(items.header_prefix):
        return comments, head
    if not inputs.layout.format.names_in_header and not _has_fields_of_items(inputs, line):
        return comments + head, b""
    return comments + mark + items.header_prefix, head[len(mark) + len(items.header_prefix) :]


def _has_fields_of_items(inputs: Inputs, line: bytes) -> bool:
    """Whether a line of a header has one prefix, and as many fields as the first item has."""
    items, end = inputs.layout.items, inputs.order.end
    first = next((source.item_at(0).split(end)[0] for source in inputs.sources if source.size), None)
    if first is None or line.removeprefix(items.header_prefix).startswith(items.header_prefix):
        return False
    fields = partial(inputs.layout.format.fields_of_header, items=items)
    return len(fields(line)) == len(fields(first))


def side_files(job: Job) -> tuple[str, ...]:
    """The file beside the output, of counts or of changed columns, if the job has one.

    Raises UsageError or OutputError if it is the output, or an open file that holds an input.
    """
    operation = job.operation
    counts = None if operation.margin is None else operation.margin.file
    changes = operation.join.changes if isinstance(operation.join, DiffRequest) else None
    file = changes if counts is None else counts
    if file is None:
        return ()
    refuse_inputs(file, job.inputs)
    if same_output(file, job.output.name):
        what, option = ("counts", "--count-to") if changes is None else ("changes", "--changes")
        raise UsageError(f"the output and its {what} would go to one place", way_out=f"use another name with {option}")
    return (file,)


def by_cpu(job: Job) -> str:
    """Why the CPU does a job with a rule for equal items or a margin; "" if a GPU can do it, too."""
    if job.operation.join is not None:
        return made_by_cpu("joins")
    if job.items.lines is not None and not job.items.lines.gpu:
        return made_by_cpu("orders by a locale" if job.items.lines.by_locale else "orders by such keys")
    if job.operation.selects:
        return made_by_cpu("the first or last items of a sort")
    if job.operation.keep_order:
        return made_by_cpu("outputs in the order of the inputs")
    margin = job.operation.margin
    if margin is not None and margin.sums_columns:
        return made_by_cpu("sums")
    if margin is not None and job.operation.equals.is_for_cpu:
        return made_by_cpu("counts of last items, duplicates or singles")
    if margin is not None and margin.title is not None:
        return made_by_cpu("columns of sources")
    return made_by_cpu("columns") if margin is not None and margin.count is None else ""


def made_by_cpu(what: str) -> str:
    """The sentence that only the CPU makes such things."""
    return f"{what} are made by the CPU alone"

"""The conditions of sets, of text added to lines and of counts: for which items, to which file, by which processor."""

from __future__ import annotations

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.formats.output import refuse_inputs, same_output
from gpumerge_cli.order.equals import SETS, Margin


def prepared_margin(margin: Margin, inputs: Inputs) -> tuple[Margin, Inputs]:
    """The margin, and the inputs as they are written with it. Raises UsageError for items that take no text."""
    if margin.title is not None:
        margin, inputs = _named(margin, margin.title, inputs)
    if margin.count == "apart" or not margin.groups:
        return margin, inputs
    format, name = inputs.layout.format, inputs.sources[0].name
    if margin.count is not None:
        comments, head = _comments(inputs)
        column = format.counted(margin, head, inputs.order, inputs.written)
        if column is None:
            what = f"--count writes beside plain lines of text, and this file is {format.word}"
            raise UsageError(what, where=name, way_out="write the counts to a file of their own with --count-to")
        return column.margin, replace(inputs, new_head=comments + column.head, written=column.written)
    whole = inputs.order.text is not None and inputs.order.text.first_line  # records of lines are written as they are
    if not inputs.order.plain_lines and not whole:
        what = f"the columns hold plain lines of text, and this file is {format.word}"
        raise UsageError(what, where=name, way_out=f"use {', '.join(SETS[:-1])} or {SETS[-1]}")
    return margin, inputs


def _named(margin: Margin, title: str, inputs: Inputs) -> tuple[Margin, Inputs]:
    """The same with a column of the names of inputs."""
    layout, names = inputs.layout, [source.name for source in inputs.sources]
    comments, head = _comments(inputs)
    found = layout.format.named(title, names, head, inputs.order)
    if found is None:
        what = f"--source writes beside text, and this file is {layout.format.word}"
        raise UsageError(what, where=names[0], way_out="leave it out, or convert the files to text")
    return replace(margin, names=found.names), replace(inputs, new_head=comments + found.head)


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


def counts_file(margin: Margin, job: Job) -> tuple[str, ...]:
    """The file of counts, if the job has one.

    Raises UsageError or OutputError if it is the output, or an open file that holds an input.
    """
    if margin.file is None:
        return ()
    refuse_inputs(margin.file, job.inputs)
    if same_output(margin.file, job.output.name):
        raise UsageError("the output and its counts would go to one place", way_out="use another name with --count-to")
    return (margin.file,)


def by_cpu(job: Job) -> str:
    """Why the CPU does a job whose equal items lie in one chunk; "" if a GPU can do it, too."""
    if job.operation.join is not None:
        return made_by_cpu("joins")
    if job.items.lines is not None and not job.items.lines.gpu:
        return made_by_cpu("orders by a locale" if job.items.lines.by_locale else "orders by such keys")
    margin = job.operation.margin
    if margin is not None and margin.title is not None:
        return made_by_cpu("columns of sources")
    return made_by_cpu("columns") if margin is not None and margin.count is None else ""


def made_by_cpu(what: str) -> str:
    """The sentence that only the CPU makes such things."""
    return f"{what} are made by the CPU alone"

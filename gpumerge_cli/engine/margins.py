"""The conditions of text beside lines and of counts: which items can have them, where they go, and who makes them."""

from __future__ import annotations

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.request import MergeRequest, SortFilesRequest
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.output import refuse_inputs, same_place
from gpumerge_cli.order.equals import Margin


def judge_margin(margin: Margin | None, inputs: Inputs) -> None:
    """Raise UsageError for items that can have no text beside them."""
    if margin is None or margin.count == "apart":
        return
    if inputs.dtype is not None or inputs.format.csv:
        counts = "write the counts to a file of their own with --count-to"
        beside = "the columns hold" if margin.count is None else "--count writes beside"
        raise UsageError(
            f"{beside} plain lines of text, and this file is {'CSV' if inputs.format.csv else 'binary'}",
            where=inputs.sources[0].name,
            way_out="use union, intersect, difference or symmetric" if margin.count is None else counts,
        )


def counts_of(request: MergeRequest | SortFilesRequest) -> tuple[str, ...]:
    """The file of counts, if the request has one.

    Raises UsageError or OutputError if it is the output, or an open file that holds an input.
    """
    file = None if request.margin is None else request.margin.file
    if file is None:
        return ()
    refuse_inputs(file, request.inputs)
    if same_place(file, request.output):
        raise UsageError("the output and its counts would go to one place", way_out="give --count-to another name")
    return (file,)


def judge_place(made: str, backend: str, *, by_cluster: bool) -> str:
    """The reason why the CPU of this machine works alone. made: sets, joins or counts, which only it can make.

    Raises UsageError if another backend or a cluster was asked for.
    """
    if by_cluster:
        raise UsageError("sets, counts and joins are made by one machine", way_out="leave --cluster out")
    why = f"{made} by the CPU alone"
    if backend == "gpu":
        raise UsageError(why, way_out="leave --backend gpu out")
    return why

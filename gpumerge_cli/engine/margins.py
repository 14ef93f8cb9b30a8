"""The conditions of text beside lines: which items can have it, and who makes it."""

from __future__ import annotations

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Margin


def judge_margin(margin: Margin | None, inputs: Inputs) -> None:
    """Raise UsageError for items that can have no text beside them."""
    if margin is None:
        return
    if inputs.dtype is not None or inputs.format.csv:
        raise UsageError(
            "counts and columns stand beside lines of text, and these are other items",
            where=inputs.sources[0].name,
            way_out="use --unique, or union, intersect, difference or symmetric",
        )


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

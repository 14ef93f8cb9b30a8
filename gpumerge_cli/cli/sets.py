"""gpumerge union, intersect, difference, symmetric: sets of sorted files; compare: the columns of comm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpumerge_cli.cli import merge
from gpumerge_cli.cli.comparing import compare as compare_ways
from gpumerge_cli.cli.comparing import judge_comparison
from gpumerge_cli.cli.values import Values
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals, Margin

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job


def combine(values: Values) -> None:
    """Carry out the command line of a set. Raises GpumergeError."""
    judge_comparison(values)
    if values.compare and values.parts is not None:
        raise UsageError("--compare writes no parts", way_out="leave --parts out, or leave --compare out")
    job = merge.merge_of(values)
    if values.compare:
        compare_ways(job, values)
    else:
        merge.carry_out(job, values)


def compare(values: Values) -> None:
    """Carry out the command line of compare. Raises GpumergeError."""
    # As comm, it says nothing but what is asked for.
    values = values if values.verbose else values.saying(quiet=True)
    merge.carry_out(columns_of(values), values)


def columns_of(values: Values) -> Job:
    """The comparison of two inputs that options ask for. Raises GpumergeError."""
    job = merge.merge_of(values)
    inputs = job.inputs
    if len(inputs) != 2:
        files = "1 file" if len(inputs) == 1 else f"{len(inputs)} files"
        raise UsageError(
            f"compare takes two files, not {files}", way_out="name two, or use union and the like for more"
        )
    given = os.fsencode(values.output_delimiter).replace(b"\\t", b"\t")
    between = given or b"\0"  # as comm has it, but not between the numbers of --total
    hides = (values.without_first, values.without_second, values.without_both)
    total = given if values.total else None
    if hides.count(False) == 1 and total is None:
        equals = Equals.INTERSECT if not values.without_both else Equals.DIFFERENCE
        of_second = not values.without_second
        return replace(job, operation=replace(job.operation, equals=equals, name="compare", turned=of_second))
    ahead = [b"", between * (not hides[0]), between * ((not hides[0]) + (not hides[1]))]
    first, second, both = (None if hide else text for hide, text in zip(hides, ahead, strict=True))
    margin = Margin(columns=(both, first, second), total=total)
    return replace(job, operation=replace(job.operation, equals=Equals.UNION, margin=margin, name="compare"))

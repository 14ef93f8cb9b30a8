"""gpumerge union, intersect, difference, symmetric: sets of sorted files; compare: the columns of comm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpumerge_cli.cli import merge
from gpumerge_cli.cli.comparing import run_comparison
from gpumerge_cli.cli.job_parts import margin_of
from gpumerge_cli.cli.options.typed import CombineOptions, CompareOptions
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals, Margin

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job, Operation


def run_set(options: CombineOptions) -> None:
    """Carry out the command line of a set. Raises GpumergeError."""
    job = set_of(options)
    if options.compare:
        run_comparison(job, options)
    else:
        merge.run_and_report(job, options)


def set_of(options: CombineOptions) -> Job:
    """The set that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Operation

    equals = Equals.of_sets(options.command, distinct=options.distinct)
    operation = Operation(
        check=options.check, equals=equals, keys=merge.key_interval(options), margin=margin_of(options)
    )
    return merge.merge_job(options, operation)


def run_compare(options: CompareOptions) -> None:
    """Carry out the command line of compare. Raises GpumergeError."""
    # As comm, it says nothing but what is asked for.
    options = options if options.verbose else options.changed(quiet=True)
    merge.run_and_report(comparison_job(options), options)


def comparison_job(options: CompareOptions) -> Job:
    """The comparison of two inputs that options ask for. Raises GpumergeError."""
    job = merge.merge_job(options, _columns(options))
    if len(job.inputs) != 2:
        files = "1 file" if len(job.inputs) == 1 else f"{len(job.inputs)} files"
        raise UsageError(
            f"compare needs two files, not {files}", way_out="name two, or use union and the like for more"
        )
    return job


def _columns(options: CompareOptions) -> Operation:
    from gpumerge_cli.engine.job import Operation

    given = os.fsencode(options.output_delimiter).replace(b"\\t", b"\t")
    between = given or b"\0"  # as comm has it, but not between the numbers of --total
    hides = (options.without_first, options.without_second, options.without_both)
    total = given.replace(b"%", b"%%").join([b"%d", b"%d", b"%d", b"total"]) if options.total else None
    if hides.count(False) == 1 and total is None:
        equals = Equals.INTERSECT if not options.without_both else Equals.DIFFERENCE
        turned = not options.without_second
        margin = None if options.source is None else Margin(title=options.source)
        return Operation(check=options.check, equals=equals, margin=margin, name="compare", turned=turned)
    ahead = [b"", between * (not hides[0]), between * ((not hides[0]) + (not hides[1]))]
    first, second, both = (None if hide else text for hide, text in zip(hides, ahead, strict=True))
    margin = Margin(columns=(both, first, second), total=total, title=options.source)
    return Operation(check=options.check, equals=Equals.UNION, margin=margin, name="compare")

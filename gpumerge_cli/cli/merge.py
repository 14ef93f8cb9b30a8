"""gpumerge merge: sorted files to one sorted file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cli.comparing import compare, judge_comparison
from gpumerge_cli.cli.job_parts import counts_equals, file_names, items_of, launch_of, margin_of, resources
from gpumerge_cli.cli.perform import check_report_place, perform, progress
from gpumerge_cli.cli.said import say_merged
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import SETS, Equals

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job, RankRange
    from gpumerge_cli.order.equals import Margin


def merge(values: Values) -> None:
    """Carry out the command line. Raises GpumergeError."""
    judge_comparison(values)
    if values.plan and (values.compare or {"output", "report", "count_to"} & values.given):
        raise UsageError(
            "--plan only plans", way_out="leave -o, --count-to, --report and --compare out, or leave --plan out"
        )
    if values.parts is not None and (values.plan or values.compare):
        option = "--plan" if values.plan else "--compare"
        raise UsageError(f"{option} writes no parts", way_out=f"leave --parts out, or leave {option} out")
    if "cluster" in values.given and (values.plan or values.compare):
        option = "--plan" if values.plan else "--compare"
        raise UsageError(f"{option} is for this machine", way_out=f"leave --cluster out, or leave {option} out")
    job = job_of(values)
    if values.plan:
        _plan(job)
    elif values.compare:
        compare(job, values)
    else:
        carry_out(job, values)


def merge_of(values: Values, ranks: RankRange | None = None) -> Job:
    """The merge or set that options ask for. ranks: the items that go out, None for all. Raises GpumergeError."""
    from gpumerge_cli.formats.part_names import part_names

    names = file_names(values)
    output, parts = "-" if values.output is None else values.output, values.get("parts")
    files, counts = (*names, *part_names(output, parts)), values.get("count_to")
    check_report_place(counts, files, "--count-to")
    check_report_place(values.report, files if counts is None else (*files, counts))

    from gpumerge_cli.engine.job import Destination, Job, Operation

    return Job(
        names,
        items_of(values, names),
        Operation(
            check=values.check,
            equals=_equals(values),
            ranks=ranks,
            margin=_margin(values),
            launch=launch_of(values),
        ),
        Destination(output, parts, durable=values.fsync),
        resources(values),
        values.report,
    )


def job_of(values: Values) -> Job:
    """The merge that the options of gpumerge merge ask for. Raises GpumergeError."""
    return merge_of(values, _head_or_tail(values))


def _head_or_tail(values: Values) -> RankRange | None:
    """The ranks that --head or --tail names, None without them. Raises UsageError for options that contradict them."""
    given = [f"--{name}" for name in ("head", "tail") if values.get(name) is not None]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError("--head and --tail are both given", way_out="use one of them, or gpumerge rank --range A:B")
    for option in ("unique", "count", "count-to", "plan", "compare"):
        if values.get(option.replace("-", "_")):
            what = f"{given[0]} counts the items of a merge of all, so it does not go with --{option}"
            raise UsageError(what, way_out="leave one of them out")
    from gpumerge_cli.engine.job import RankRange

    if values.head is not None:
        return RankRange(0, values.head)
    return RankRange(-values.tail, None) if values.tail else RankRange(0, 0)


def _equals(values: Values) -> Equals:
    if values.command in SETS:
        return Equals.of_sets(values.command, distinct=values.distinct)
    return Equals.of(values.get("unique", False) or counts_equals(values))


def _margin(values: Values) -> Margin | None:
    for option in ("unique", "distinct"):
        if counts_equals(values) and values.get(option):
            given = "--count" if values.get("count") is not None else "--count-to"
            what = f"{given} counts equal items, and --{option} keeps one of them"
            raise UsageError(what, way_out="use one of the two")
    return margin_of(values)


def _plan(job: Job) -> None:
    from gpumerge_cli.engine.run import plan_files
    from gpumerge_cli.json_text import dumps

    print(dumps(plan_files(job).as_dict()))


def carry_out(job: Job, values: Values) -> None:
    """Do a merge, a set or a join, and say on standard error what was done. Raises GpumergeError."""
    from gpumerge_cli.engine.resources import seconds_since_start

    with progress(values.progress and not values.quiet and not _is_terminal(job.output.name)) as advance:
        measured = perform(job, since_start=seconds_since_start, advance=advance, settle=ignore_signals)
    if not values.quiet:
        say_merged(measured, stats=values.verbose)


def _is_terminal(output: str) -> bool:
    from gpumerge_cli.formats.output_stream import is_terminal

    return is_terminal(output)

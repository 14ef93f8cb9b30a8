"""gpumerge merge: sorted files to one sorted file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cli.comparing import run_comparison
from gpumerge_cli.cli.job_parts import (
    file_names,
    head_or_tail,
    items_of,
    job_to_output,
    launch_of,
    margin_of,
    resources,
    rule_of,
)
from gpumerge_cli.cli.messages import print_report
from gpumerge_cli.cli.options.groups import MergingOptions
from gpumerge_cli.cli.options.typed import CombineOptions, JoinOptions, MergeOptions
from gpumerge_cli.cli.perform import progress_bar, run_job, wants_bar
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.dataclass import replace

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job, KeyInterval, Operation
    from gpumerge_cli.results.run import MergeReport


def run_merge(options: MergeOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    job = job_of(options)
    if options.plan:
        _plan(job)
    elif options.compare:
        run_comparison(job, options)
    else:
        run_and_report(job, options)


def merge_job(options: MergingOptions, operation: Operation) -> Job:
    """The job of sorted files that the options name, with this operation on them. Raises GpumergeError."""
    names = file_names(options)
    output = "-" if options.output is None else options.output
    return job_to_output(names, items_of(options, names), operation, output, resources(options), options)


def job_of(options: MergeOptions) -> Job:
    """The merge that the options of gpumerge merge ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Operation

    operation = Operation(
        check=options.check,
        equals=rule_of(options),
        ranks=head_or_tail(options),
        keys=key_interval(options),
        margin=margin_of(options),
        launch=replace(launch_of(options), fan_in=options.fan_in, transfer=options.transfer),
    )
    return merge_job(options, operation)


def key_interval(options: MergeOptions | CombineOptions) -> KeyInterval | None:
    """The items that --from and --to name, None without them."""
    from gpumerge_cli.engine.job import KeyInterval

    return None if options.from_ is None and options.to is None else KeyInterval(options.from_, options.to)


def _plan(job: Job) -> None:
    from gpumerge_cli.engine.run import plan_files
    from gpumerge_cli.json_text import dumps

    print(dumps(plan_files(job).as_dict()))


def run_and_report(job: Job, options: MergingOptions | JoinOptions) -> MergeReport:
    """Do a merge, a set, a join or a diff, and print its report on standard error. Raises GpumergeError."""
    from gpumerge_cli.engine.resources import seconds_since_start
    from gpumerge_cli.results.run import MergeReport

    with progress_bar(wants_bar(job, options)) as progress:
        measured = run_job(
            job, report=options.report, since_start=seconds_since_start, progress=progress, settle=ignore_signals
        )
    assert isinstance(measured, MergeReport)
    if not options.quiet:
        print_report(measured, stats=options.verbose)
    return measured

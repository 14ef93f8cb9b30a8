"""Runs a job that has an output: a merge, a set, a join or a sort."""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.machines import Machines
from gpumerge_cli.engine.merge import merge_files
from gpumerge_cli.engine.merge import plan_files as plan_files
from gpumerge_cli.engine.stream import Advance
from gpumerge_cli.report.model import MergeReport


def run(
    job: Job,
    *,
    since_start: float = 0.0,
    advance: Advance | None = None,
    settle: Callable[[], None] = lambda: None,
    executor: Machines | None = None,
) -> MergeReport:
    """Merge or sort the inputs of the job to its output, which appears whole or not at all.

    since_start: seconds the process had run before the call, for the report. advance: called with (bytes written, bytes
    in all) after every chunk, from any thread but one at a time; a sort counts every byte twice, once sorted and once
    merged. settle: called once, before the output takes its place; an error after that must not say that there is no
    output. executor: does the work in place of this process. Raises UsageError, InputError, DisorderError,
    OutputError, DeviceError, ClusterError; the output is then as it was, and no temporary file is left.
    """
    if job.operation.kind == "sort":
        from gpumerge_cli.engine.sort import sort_files as work
    else:
        work = merge_files
    return work(job, since_start=since_start, advance=advance, settle=settle, machines=executor)

"""--compare of merges and sets: kernels beside libraries, on the same items in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cli.job_parts import counts_equals
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import GpumergeError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.compared import CompareReport

_REPEAT = 5


def judge_comparison(values: Values) -> None:
    """Raise UsageError for options that do not go with --compare, or not without it."""
    if not values.compare:
        if "repeat" in values.given:
            raise UsageError("--repeat is for comparisons", way_out="add --compare or leave --repeat out")
        return
    if values.get("unique"):
        raise UsageError("--compare merges all items", way_out="leave --unique out, or leave --compare out")
    if counts_equals(values):
        raise UsageError("--compare counts nothing", way_out="leave --count and --count-to out, or leave --compare out")
    if "output" in values.given:
        raise UsageError("--compare writes no output", way_out="leave -o out, or leave --compare out")


def compare(job: Job, values: Values) -> None:
    """Carry out a comparison. Raises GpumergeError, also if an output is wrong."""
    from gpumerge_cli.report.write import COMPARE_SUFFIXES, report_file

    with report_file(values.report, COMPARE_SUFFIXES) as write:
        measured = _measured(job, values.repeat or _REPEAT)
        write(measured)
    if not values.quiet:
        from gpumerge_cli.report.terminal import show

        show(measured)
    wrong = [row.name for row in measured.rows if not row.right]
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these kernels on this machine")


def _measured(job: Job, repeat: int) -> CompareReport:
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.contest import Effort
    from gpumerge_cli.compare.run import compare as compare_merges
    from gpumerge_cli.compare.run import compare_sets
    from gpumerge_cli.engine.load import load_runs
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.launch import SortRequest

    loaded = load_runs(job)
    # Start-up is not part of a comparison, so a GPU is worth it at any size.
    backend = select(job.resources.backend, job.resources.device, loaded.order, None).backend
    effort = Effort(repeat, job.resources.threads or cores(), version=__version__)
    if job.operation.equals.is_set:
        return compare_sets(loaded, backend, job.operation.equals, effort)
    assert not isinstance(job.operation.launch, SortRequest), "a merge asks for no sort"
    return compare_merges(loaded, backend, job.operation.launch, effort)

"""--compare: kernels beside libraries, on the same items in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.groups import ComparisonOptions
from gpumerge_cli.errors import GpumergeError

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.compared import CompareReport

_REPEAT = 5


def run_comparison(job: Job, options: ComparisonOptions) -> None:
    """Carry out a comparison. Raises GpumergeError, also if an output is wrong."""
    from gpumerge_cli.report.write import COMPARE_SUFFIXES, report_file

    with report_file(options.report, COMPARE_SUFFIXES) as write:
        measured = _measured(job, options.repeat or _REPEAT)
        write(measured)
    if not options.quiet:
        from gpumerge_cli.report.terminal import show_report

        show_report(measured)
    wrong = [row.name for row in measured.rows if not row.right]
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these on this machine")


def _measured(job: Job, repeat: int) -> CompareReport:
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.contest import Effort
    from gpumerge_cli.compare.run import compare_kernels, compare_sets, compare_sorts
    from gpumerge_cli.dataclass import replace
    from gpumerge_cli.engine.load import load_runs
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.launch import SortRequest

    operation = job.operation
    loaded = load_runs(replace(job, operation=replace(operation, check=operation.check and operation.kind != "sort")))
    # Start-up is not part of a comparison, so a GPU is worth it at any size.
    backend = select(job.resources.backend, job.resources.device, loaded.order, None).backend
    effort = Effort(repeat, job.resources.threads or cores(), version=__version__)
    if isinstance(operation.launch, SortRequest):
        return compare_sorts(loaded, backend, operation.launch, effort, job)
    if operation.equals.is_set:
        return compare_sets(loaded, backend, operation.equals, effort)
    return compare_kernels(loaded, backend, operation.launch, effort)

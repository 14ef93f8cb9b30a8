"""Tasks: command lines that were read and are yet to be done, at once or as jobs of a batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import DisorderError, GpumergeError, InputError, OutputError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.engine.machines import Machines
    from gpumerge_cli.engine.request import CheckRequest, MergeRequest, RankRequest, SortFilesRequest
    from gpumerge_cli.report.model import CheckReport, InputFile

    _Request = TypeVar("_Request", bound=MergeRequest | SortFilesRequest | CheckRequest | RankRequest)
else:
    _Request = TypeVar("_Request")


@dataclass(frozen=True)
class Task(Generic[_Request]):
    """A merge, sort, check or question with all that it needs. report: the file that its report goes to, if any."""

    request: _Request
    report: str | None = None

    @property
    def memory(self) -> int | None:
        """The bytes of memory that the task asks for, or None."""
        return self.request.memory

    @property
    def threads(self) -> int | None:
        """The host threads that the task asks for, or None."""
        return self.request.on.threads

    def within(self, memory: int, threads: int | None, sharing: int) -> Task[_Request]:
        """The task with this memory and these threads where it asks for none itself.

        sharing: how many tasks of this process share its start-up.
        """
        on = replace(self.request.on, threads=self.request.on.threads or threads, sharing=sharing)
        elsewhere = self.request.on.cluster is not None  # where machines have memory of their own
        chosen = memory if self.request.memory is None and not elsewhere else self.request.memory
        return replace(self, request=replace(self.request, on=on, memory=chosen))


@contextmanager
def progress(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar: the function to call with (bytes done, bytes in all), or None if nothing is shown."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from gpumerge_cli.cli.progress import bar

    with bar() as advance:
        yield advance


def perform(
    task: Task[Any],
    *,
    since_start: Callable[[], float] = lambda: 0.0,
    advance: Callable[[int, int], None] | None = None,
    settle: Callable[[], None] = lambda: None,
    told: Callable[[InputFile | InputError], None] | None = None,
) -> Any:
    """Do the task and return its report, which is also written to the task's report file. Raises GpumergeError.

    since_start: gives the seconds that the process has run. advance, settle: see merge_files. told: called with each
    file after its check, or with its error. The error raised for several files only counts the wrong ones then.
    """
    from gpumerge_cli.engine.request import CheckRequest, MergeRequest, RankRequest
    from gpumerge_cli.report.write import MERGE_SUFFIXES, report_file

    request = task.request
    if isinstance(request, CheckRequest):
        return _check(request, advance, told)
    if isinstance(request, RankRequest):
        from gpumerge_cli.cli.answers import put_out

        return put_out(request, settle)
    with report_file(task.report, MERGE_SUFFIXES) as write:
        with machines_of(request) as machines:
            if isinstance(request, MergeRequest):
                from gpumerge_cli.engine.merge import merge_files as do

                what = "merge"
            else:
                from gpumerge_cli.engine.sort import sort_files as do  # type: ignore[assignment]

                what = "sort"
            measured = do(request, since_start=since_start(), advance=advance, settle=settle, machines=machines)
        try:
            write(measured)
        except OutputError as error:
            done = f"{error.way_out}; the {what} itself is done".removeprefix("; ")
            raise OutputError(error.what, where=error.where, way_out=done) from error
    return measured


@contextmanager
def machines_of(request: MergeRequest | SortFilesRequest | CheckRequest) -> Iterator[Machines | None]:
    """The machines that are to do the work; None if this one is. Raises UsageError, InputError, ClusterError."""
    on = request.on
    if on.cluster is None:
        yield None
        return
    from gpumerge_cli.cluster.connect import shared
    from gpumerge_cli.cluster.machines import Machines
    from gpumerge_cli.cluster.seeing import judge_names, judge_output
    from gpumerge_cli.engine.request import MergeRequest, SortFilesRequest

    judge_names(request.inputs)
    if isinstance(request, MergeRequest | SortFilesRequest):
        judge_output(request.output, plain=request.items.plain)
    with shared(on.cluster, on.cluster_wait) as cluster:
        yield Machines(cluster.client, on.cluster_wait, here=cluster.workers is not None)


def _check(
    request: CheckRequest,
    advance: Callable[[int, int], None] | None,
    told: Callable[[InputFile | InputError], None] | None,
) -> CheckReport:
    import time

    from gpumerge_cli import __version__
    from gpumerge_cli.engine.check import check_each
    from gpumerge_cli.report.model import CheckReport, InputFile

    started = time.perf_counter()
    files: list[InputFile] = []
    wrong: list[InputError] = []
    with machines_of(request) as machines:
        for found in check_each(request, advance, machines):
            if isinstance(found, InputFile):
                files.append(found)
            else:
                wrong.append(found)
            if told is not None and (len(request.inputs) > 1 or not wrong):
                told(found)
    if wrong:
        raise _verdict(wrong, len(request.inputs), all_told=told is not None)
    return CheckReport(
        inputs=tuple(files),
        items=sum(file.items for file in files),
        nbytes=sum(file.nbytes for file in files),
        wall=time.perf_counter() - started,
        version=__version__,
    )


def _verdict(wrong: Sequence[InputError], checked: int, *, all_told: bool) -> GpumergeError:
    """The error that ends a check of `checked` files. all_told: each of the errors `wrong` has been printed already."""
    disorders = sum(isinstance(error, DisorderError) for error in wrong)
    first, unread = wrong[0], len(wrong) - disorders
    verdict: GpumergeError = first
    if checked > 1:
        of_files, told = f" of {checked} files", []
        if disorders:
            told.append(f"{disorders}{of_files} {'is' if disorders == 1 else 'are'} out of order")
        if unread:
            told.append(f"{unread}{of_files if not told else ''} could not be checked")
        verdict = GpumergeError("; ".join([", ".join(told), *([] if all_told else [str(first)])]))
    verdict.exit_code = 2 if unread else 1
    return verdict


def check_report_place(report: str | None, files: Sequence[str], option: str = "--report") -> None:
    """Raise UsageError if the file of an option would replace one of `files`, which a command reads or writes."""
    if report is None:
        return
    taken = {os.path.realpath(file): file for file in files if file != "-"}
    if os.path.realpath(report) in taken:
        raise UsageError(
            f"{option} {report} would replace {taken[os.path.realpath(report)]}", way_out="give it another name"
        )

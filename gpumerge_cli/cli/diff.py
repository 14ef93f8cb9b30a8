"""gpumerge diff: what was added, removed and changed between two files, by key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpumerge_cli.cli import merge
from gpumerge_cli.cli.job_parts import items_of
from gpumerge_cli.cli.options.typed import DiffOptions
from gpumerge_cli.cli.perform import check_report_place
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import DisorderError, GpumergeError, UsageError
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.run import Difference


def run_diff(options: DiffOptions) -> int:
    """Carry out the command line, and return 1 if the files differ, else 0. Raises GpumergeError."""
    # As diff, it says nothing but what is asked for.
    options = options if options.verbose else options.changed(quiet=True)
    with _sorted_inputs(job_of(options), options) as job:
        try:
            difference = merge.run_and_report(job, options).difference
        except DisorderError as error:
            error.way_out = re.sub(r"sort it (with .* )?first.*", "add --sort-inputs", error.way_out)
            raise
    assert difference is not None, "of a diff"
    if options.total:
        _write(difference)
    return int(not difference.is_none)


def job_of(options: DiffOptions) -> Job:
    """The diff that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Operation

    columns = tuple(word for text in options.ignore for word in text.split(","))
    request = DiffRequest(columns, options.multi, options.total, options.changes)
    operation = Operation(check=options.check, equals=Equals.JOIN, join=request, name="diff")
    options = options.changed(output=os.devnull) if options.total else options
    job = merge.merge_job(options, operation)
    check_report_place(options.changes, (*job.inputs, job.output.name, *filter(None, [options.report])), "--changes")
    if len(job.inputs) != 2:
        files = "1 file" if len(job.inputs) == 1 else f"{len(job.inputs)} files"
        raise UsageError(f"diff needs two files, not {files}", way_out="name the old one and the new one")
    return job


@contextmanager
def _sorted_inputs(job: Job, options: DiffOptions) -> Iterator[Job]:
    """The job, of sorted copies of its inputs if options ask for them."""
    if not options.sort_inputs:
        yield job
        return
    from tempfile import TemporaryDirectory

    from gpumerge_cli.cli.perform import run_job
    from gpumerge_cli.engine.job import Destination, Operation
    from gpumerge_cli.formats.compressed import suffix_of

    folder = job.resources.folders[0] if job.resources.folders else None
    with TemporaryDirectory(prefix="gpumerge-", dir=folder) as made:
        pairs = zip(("old", "new"), job.inputs, strict=True)
        names = tuple(os.path.join(made, f"{kind}{suffix_of(name)}") for kind, name in pairs)
        for name, output in zip(job.inputs, names, strict=True):
            run_job(replace(job, inputs=(name,), operation=Operation("sort"), output=Destination(output)))
        try:
            yield replace(job, inputs=names, items=items_of(options, names))
        except GpumergeError as error:  # about a copy, whose name says nothing
            for name, copy in zip(job.inputs, names, strict=True):
                error.where = error.where.replace(copy, f"{shown(name)} (sorted)")
                error.what = error.what.replace(copy, shown(name))
            raise


def _write(difference: Difference) -> None:
    print(f"added\t{difference.added}")
    print(f"removed\t{difference.removed}")
    print(f"changed\t{difference.changed}")
    print(f"unchanged\t{difference.unchanged}")

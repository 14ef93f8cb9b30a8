"""gpumerge check: are the files in order?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.cli.job_parts import file_names, items_of, resources
from gpumerge_cli.cli.messages import print_message
from gpumerge_cli.cli.options.typed import CheckOptions
from gpumerge_cli.cli.perform import progress_bar, run_job, wants_bar
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.units import format_bytes, format_counted, visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.run import InputFile


def run_check(options: CheckOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""

    def show_file(found: InputFile | InputError) -> None:
        if isinstance(found, InputError):
            print_message(found)
        elif options.verbose and sys.stderr is not None:
            holds = f"{format_counted(found.items, 'item')}, {format_bytes(found.nbytes)}"
            begins = f", {visible(found.first_time)}" if found.first_time else ""
            print(f"{visible(found.name)}: in order, {holds}{begins}", file=sys.stderr)

    job = job_of(options)
    with progress_bar(wants_bar(job, options)) as progress:
        run_job(job, progress=progress, on_file=show_file)


def job_of(options: CheckOptions) -> Job:
    """The check that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Job, Operation
    from gpumerge_cli.order.equals import Equals

    devices = options.device or ()
    if "device" in options.given and len(devices) > 1:
        raise UsageError(f"--device {','.join(map(str, devices))}: a check uses one GPU", way_out="name one")
    names = file_names(options)
    items = items_of(options, names)
    operation = Operation("check", equals=Equals.of(options.unique))
    return Job(names, items, operation, resources=resources(options))

"""gpumerge check: are the files in order?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.requests import backend_request, file_names, item_request
from gpumerge_cli.cli.said import say
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.units import format_bytes, format_counted, visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.request import CheckRequest
    from gpumerge_cli.report.model import InputFile


def check(values: Values) -> None:
    """Carry out the command line. Raises GpumergeError."""

    def told(found: InputFile | InputError) -> None:
        if isinstance(found, InputError):
            say(found)
        elif values.verbose and sys.stderr is not None:
            holds = f"{format_counted(found.items, 'item')}, {format_bytes(found.nbytes)}"
            print(f"{visible(found.name)}: in order, {holds}", file=sys.stderr)

    with tasks.progress(values.progress and not values.quiet) as advance:
        tasks.perform(task_of(values), advance=advance, told=told)


def task_of(values: Values) -> tasks.Task[CheckRequest]:
    """The check that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.request import CheckRequest

    if "device" in values.given and len(values.device or ()) > 1:
        raise UsageError(f"--device {','.join(map(str, values.device))}: a check takes one GPU", way_out="name one")
    names = file_names(values)
    items = item_request(values, names)
    request = CheckRequest(names, items, backend_request(values), unique=values.unique, memory=values.memory)
    return tasks.Task(request)

"""gpumerge check: are the files in order?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.requests import backend_request, file_names, item_request
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import InputError
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.request import CheckRequest


def check(values: Values) -> None:
    """Do what the command line asks for. Raises GpumergeError."""
    with tasks.progress(values.progress and not values.quiet) as advance:
        tasks.perform(task_of(values), advance=advance, told=_say)


def task_of(values: Values) -> tasks.Task[CheckRequest]:
    """The check that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.request import CheckRequest

    items = item_request(values)
    request = CheckRequest(
        file_names(values), items, backend_request(values), unique=values.unique, memory=values.memory
    )
    return tasks.Task(request)


def _say(error: InputError) -> None:
    if sys.stderr is not None:
        print("gpumerge:", visible(str(error).replace("\n", " ")), file=sys.stderr, flush=True)

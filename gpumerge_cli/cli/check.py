"""gpumerge check: are the files in order?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.requests import backend_request, file_names, item_request
from gpumerge_cli.cli.said import say
from gpumerge_cli.cli.values import Values
from gpumerge_cli.units import format_bytes, format_counted, visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.request import CheckRequest


def check(values: Values) -> None:
    """Do what the command line asks for. Raises GpumergeError."""
    with tasks.progress(values.progress and not values.quiet) as advance:
        measured = tasks.perform(task_of(values), advance=advance, told=say)
    if values.verbose and sys.stderr is not None:
        for file in measured.inputs:
            told = f"{visible(file.name)}: in order, {format_counted(file.items, 'item')}, {format_bytes(file.nbytes)}"
            print(told, file=sys.stderr)


def task_of(values: Values) -> tasks.Task[CheckRequest]:
    """The check that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.request import CheckRequest

    names = file_names(values)
    items = item_request(values, names)
    request = CheckRequest(names, items, backend_request(values), unique=values.unique, memory=values.memory)
    return tasks.Task(request)

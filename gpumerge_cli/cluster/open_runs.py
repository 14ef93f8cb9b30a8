"""Sorted runs in a shared folder, as sources of the merge that follows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpumerge_cli.engine.local_sorts import run_source
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def open_runs(
    paths: Iterable[str], dtype: Dtype | None, order: Order, stack: ExitStack, first: Source | None
) -> list[Source]:
    """The runs in files as sources, which the stack closes. dtype: see run_source. Raises InputError.

    first: the first input of the sort.
    """
    found: list[Source] = []
    for number, path in enumerate(paths):
        file = SeekableInput(path, plain=True)
        if isinstance(first, RangedSource):
            found.append(first.run(file, number, order))
        else:
            found.append(run_source(file, dtype, order.end))
        stack.callback(found[-1].close)
    return found

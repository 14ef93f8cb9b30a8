"""Sorted runs in a shared folder, as sources of the merge that follows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpumerge_cli.engine.local_sorts import run_source
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.input import SeekableInput

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def open_runs(paths: Iterable[str], dtype: Dtype | None, end: bytes, stack: ExitStack) -> list[Source]:
    """The runs in files as sources, which the stack closes. dtype, end: see run_source. Raises InputError."""
    found: list[Source] = []
    for path in paths:
        found.append(run_source(SeekableInput(path, plain=True), dtype, end))
        stack.callback(found[-1].close)
    return found

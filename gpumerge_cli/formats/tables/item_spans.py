"""The items of a large table: several threads make those of consecutive groups, each at its place in one file."""

from __future__ import annotations

import os
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import IO

from gpumerge_cli.formats.tables.apart import items_of_some
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.table import Table, reading

_LEAST = 1 << 20
"""The least rows of a span."""
_SPANS = 2
"""Spans of each thread: some take longer than others."""


def spans_of(table: Table, threads: int) -> list[range]:
    """The rows of a table in spans of whole groups, for so many threads; one if it is small or is read forward only."""
    number = min(_SPANS * threads, table.rows // _LEAST)
    if threads < 2 or number < 2 or table.reads_forward:
        return [range(table.rows)]
    starts = table.starts
    edges = {starts[bisect_left(starts, table.rows * at // number)] for at in range(number + 1)}
    return [range(low, high) for low, high in pairwise(sorted(edges | {0, table.rows}))]


def write_spans(
    out: IO[bytes],
    number: int,
    table: Table,
    columns: Sequence[str],
    form: Form,
    item_bytes: int,
    spans: Sequence[range],
    rows: int,
    threads: int,
    progress: Callable[[int], None],
) -> int:
    """Write the items of spans of table `number` to an empty file, and return their number. Raises InputError.

    form: of items of `item_bytes`, which is not 0. rows: the most that are decoded at once. progress: called with the
    rows done so far.
    """
    lock = threading.Lock()
    done = 0

    def write(span: range) -> int:
        nonlocal done
        opened, at = table.again(), span.start
        batches = lambda group: opened.batches(columns, group, rows)  # noqa: E731
        for items, count in reading(table.name, items_of_some(number, opened, batches, form, span, sys.maxsize)):
            _write_at(out.fileno(), memoryview(items).cast("B"), at * item_bytes)
            at += count
            with lock:
                done += count
                progress(done)
        return at - span.start

    with ThreadPoolExecutor(threads) as pool:
        made = [pool.submit(write, span) for span in spans]
        try:
            found = sum(future.result() for future in made)
        except BaseException:
            for future in made:
                future.cancel()
            raise
    out.seek(0, os.SEEK_END)
    return found


def _write_at(file: int, data: memoryview, position: int) -> None:
    while len(data):
        written = os.pwrite(file, data, position)
        data, position = data[written:], position + written

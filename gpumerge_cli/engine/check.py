"""Is a file in order? And if not, where first, and in which order would it be?"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.select import select
from gpumerge_cli.engine.inputs import Inputs, opened
from gpumerge_cli.engine.request import BackendRequest, ItemRequest
from gpumerge_cli.engine.resources import chunk_bytes_for, cores, default_memory
from gpumerge_cli.engine.stream import falls_at, read_chunk
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.csv import shown
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, blocks_of
from gpumerge_cli.report.model import InputFile

Advance = Callable[[int, int], None]

_SHOWN = 40
_SHORT_LINE = 8


def check_files(
    inputs: tuple[str, ...],
    items: ItemRequest,
    on: BackendRequest,
    *,
    unique: bool = False,
    memory: int | None = None,
    advance: Advance | None = None,
) -> tuple[InputFile, ...]:
    """Check every input by itself; raises DisorderError at the first disorder of the first input that has one.

    unique: an item that compares equal to the one ahead of it is disorder, too. memory: bytes for what is in flight;
    None takes a quarter of what is available. advance: called from any thread with (bytes done, bytes in all), those of
    the files as they lie on the disk; what it raises ends the check.
    """
    checked: list[InputFile] = []
    sizes = [_size(name) for name in inputs] if advance is not None else []
    for at, name in enumerate(inputs):

        def of_file(done: int, total: int, at: int = at) -> None:
            if advance is not None:
                advance(sum(sizes[:at]) + sizes[at] * done // max(1, total), sum(sizes))

        with opened((name,), items) as files:
            raise_disorder(files, on, unique=unique, memory=memory, advance=of_file)
            checked += files.files()
    return tuple(checked)


def _size(name: str) -> int:
    try:
        return os.path.getsize(name)
    except (OSError, ValueError):  # which opening it tells
        return 0


def raise_disorder(
    inputs: Inputs,
    on: BackendRequest,
    *,
    unique: bool = False,
    memory: int | None = None,
    advance: Advance = lambda done, total: None,
) -> None:
    """Raise DisorderError at the first disorder of the first input that has one. advance: see first_disorder."""
    backend = select(on.backend, on.device, inputs.order, inputs.nbytes, sharing=on.sharing).backend
    workers = on.threads or cores()
    for source in inputs.sources:
        offset = first_disorder(source, inputs.order, backend, workers, unique=unique, memory=memory, advance=advance)
        if offset is not None:
            raise disorder_error(source, offset, inputs.order, backend, workers, unique=unique)


def first_disorder(
    source: Source,
    order: Order,
    backend: Backend,
    workers: int,
    *,
    unique: bool = False,
    memory: int | None = None,
    advance: Advance = lambda done, total: None,
) -> int | None:
    """Position of the first item that sorts before the one ahead of it, or as it does if `unique`; or None.

    advance: called with (blocks done, blocks in all) ahead of each, from any thread; what it raises ends the search.
    """
    pace = backend.pace(order, 1, order.item_bytes or _SHORT_LINE)
    blocks = blocks_of(source, chunk_bytes_for(pace, source.size, 1, workers, memory or default_memory()))
    pending, counted = iter(blocks), count()
    lock = threading.Lock()
    found: list[int] = []

    def work() -> None:
        workspace = backend.workspace(order, max(stop - start for start, stop in blocks))
        try:
            while True:
                with lock:
                    advance(min(next(counted), len(blocks)), len(blocks))
                    start, stop = next(pending, (-1, -1))
                    if start < 0 or (found and min(found) <= start):
                        return
                if falls_at(source, start, order, unique=unique):
                    found.append(start)
                    continue
                read_chunk([source], Chunk(((start, stop),), start), workspace, Stopwatch())
                workspace.upload([stop - start])
                disorder = workspace.disorder(strict=unique)
                workspace.synchronize()
                if disorder is not None:
                    found.append(start + disorder.offset)
        finally:
            workspace.close()

    if blocks:
        number = min(workers, len(blocks))
        with ThreadPoolExecutor(number) as pool:
            for future in [pool.submit(work) for _ in range(number)]:
                future.result()
    return min(found, default=None)


def disorder_error(
    source: Source, offset: int, order: Order, backend: Backend, workers: int, *, unique: bool = False
) -> DisorderError:
    """The error for the disorder at `offset`: where it is, what stands there, and what order would hold.

    unique: equal items are in disorder, too.
    """
    here, ahead = source.item_at(offset), source.item_before(offset)
    way_out = "sort it with -u first" if unique else "sort it first"
    equal = order.key(here) == order.key(ahead)
    for other in () if equal else _others(order):
        if first_disorder(source, other, backend, workers, unique=unique) is None:
            way_out = f"the file is in {_options(other)} order: {_change(order, other)}"
            break
    error = DisorderError(
        f"disorder: {_shown(here, order)} comes after {_shown(ahead, order)}{', its equal' if equal else ''}",
        where=source.place(offset),
        way_out=way_out,
    )
    error.item = None if order.text is None else shown(here, order.text)
    return error


def _others(order: Order) -> list[Order]:
    """Orders that the user may have meant."""
    if order.text is None:
        return [replace(order, descending=not order.descending)]
    if not order.text.simple:
        return []
    numeric, descending = order.text.numeric, order.text.reverse
    wishes = ((not numeric, descending), (numeric, not descending), (not numeric, not descending))
    return [Order.lines(numeric=n, descending=d, stable=order.text.stable and n) for n, d in wishes]


def _ways(order: Order) -> tuple[bool, bool]:
    """(numeric, descending)."""
    return (False, order.descending) if order.text is None else (order.text.numeric, order.text.reverse)


def _options(order: Order) -> str:
    named = [name for name, on in zip(("-n", "-r"), _ways(order), strict=True) if on]
    return " ".join(named) or "ascending" + (" bytewise" if order.is_lines else "")


def _change(order: Order, other: Order) -> str:
    changes = []
    for option, before, after in zip(("-n", "-r"), _ways(order), _ways(other), strict=True):
        if before != after:
            changes.append(f"add {option}" if after else f"leave {option} out")
    return " and ".join(changes)


def _shown(item: bytes, order: Order) -> str:
    if not order.is_lines:
        import numpy as np

        key = order.keys(np.frombuffer(item, np.uint8))
        if order.kind != "bytes":
            return str(key[0])
        return repr(key.tobytes()[:_SHOWN])[1:] + ("..." if order.width > _SHOWN else "")
    line = item if order.text is None else shown(item, order.text)
    return repr(line[:_SHOWN].decode("utf-8", "replace")) + ("..." if len(line) > _SHOWN else "")

"""Is a file in order? And if not, where first, and in which order would it be?"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.cpu.comparison import Comparison, key_bounds
from gpumerge_cli.backends.select import select
from gpumerge_cli.engine.inputs import Inputs, formats_of, look_at, opened, same_headers
from gpumerge_cli.engine.request import BackendRequest, ItemRequest
from gpumerge_cli.engine.resources import chunk_bytes_for, cores, default_memory
from gpumerge_cli.engine.stream import falls_at, read_chunk
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.csv_records import between_fields, shown
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, blocks_of
from gpumerge_cli.report.model import InputFile

Advance = Callable[[int, int], None]

_SHOWN = 40
_BLOCK = 1 << 16
_SHORT_LINE = 8
_OPTIONS = ("-n", "-r", "-s")


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
    headers: list[tuple[str, bytes]] = []
    formats_of(inputs, items)
    look_at(inputs)
    sizes = [_size(name) for name in inputs] if advance is not None else []
    for at, name in enumerate(inputs):

        def of_file(done: int, total: int, at: int = at) -> None:
            if advance is not None:
                advance(sum(sizes[:at]) + sizes[at] * done // max(1, total), sum(sizes))

        with opened((name,), items) as files:
            if items.csv:  # whose keys may be names in the first header
                headers.append((name, files.shown_header(files.sources[0])))
                same_headers(headers, items)
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
        from concurrent.futures import ThreadPoolExecutor

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
    equal = Comparison(order)(here, ahead) == 0
    by = _deciding_key(here, ahead, order)
    for other in () if equal else _others(order, keys_equal=by is None):
        if first_disorder(source, other, backend, workers, unique=unique) is None:
            way_out = f"the file is in {_options(other)} order: {_change(order, other)}"
            break
    why = ", its equal" if equal else _why(here, ahead, order, by)
    told = " comes after ".join(_shown(_whole(here, order), _whole(ahead, order), order))
    error = DisorderError(f"disorder: {told}{why}", where=source.place(offset), way_out=way_out)
    error.item = None if order.text is None else shown(here, order.text)
    return error


def _whole(item: bytes, order: Order) -> bytes:
    """What is shown of an item: the record that a line of CSV was made of, a record's key, or all of it."""
    if order.text is not None:
        return shown(item, order.text)
    return order.keys(np.frombuffer(item, np.uint8)).tobytes() if order.kind == "bytes" else item


def _deciding_key(here: bytes, ahead: bytes, order: Order) -> int | None:
    """The number of the first of the keys of lines by which two of them differ; None if none does."""
    text = order.text
    if text is None:
        return None
    for number, key in enumerate(text.keys):
        alone = Order.lines(replace(text, keys=(key,), stable=True))
        if Comparison(alone)(here, ahead) != 0:
            return number
    return None


def _why(here: bytes, ahead: bytes, order: Order, by: int | None) -> str:
    """What of the lines says that they are out of order, where it is not all of both."""
    text = order.text
    if text is None or not text.keys:
        return ""
    if by is None:
        return ", with equal keys"
    key = text.keys[by]
    if (key.start_field, key.start_char, key.end_field) == (0, 0, None):
        return ""
    parts = [between_fields(line[slice(*key_bounds(order, by, line))], text) for line in (here, ahead)]
    said = (text.of_records or text).keys[by].describe()
    start = "" if said[:1].isdigit() else "1"  # of CSV's records from their first field on
    return f", {' after '.join(_shown(parts[0], parts[1], order))} by -k {start}{said}"


def _others(order: Order, *, keys_equal: bool) -> list[Order]:
    """Orders that the user may have meant. keys_equal: of lines, whether no key tells those out of order apart."""
    text = order.text
    if text is None:
        return [replace(order, descending=not order.descending)]
    stable = [Order.lines(replace(text, stable=True))] if keys_equal and text.keys else []
    if not text.simple:
        return stable
    numeric, descending = text.numeric, text.reverse
    wishes = ((not numeric, descending), (numeric, not descending), (not numeric, not descending))
    return stable + [Order.lines(numeric=n, descending=d, stable=text.stable and n) for n, d in wishes]


def _ways(order: Order) -> tuple[bool, bool, bool]:
    """(numeric, descending, stable)."""
    text = order.text
    return (False, order.descending, False) if text is None else (text.numeric, text.reverse, text.stable)


def _options(order: Order) -> str:
    named = [name for name, on in zip(_OPTIONS, _ways(order), strict=True) if on]
    return " ".join(named) or "ascending" + (" bytewise" if order.is_lines else "")


def _change(order: Order, other: Order) -> str:
    changes = []
    for option, before, after in zip(_OPTIONS, _ways(order), _ways(other), strict=True):
        if before != after:
            changes.append(f"add {option}" if after else f"leave {option} out")
    return " and ".join(changes)


def _shown(here: bytes, ahead: bytes, order: Order) -> tuple[str, str]:
    """Two items, keys of records or parts of lines in short, from a little ahead of where they differ."""
    if not order.is_lines and order.kind != "bytes":
        first, second = (order.keys(np.frombuffer(item, np.uint8))[0] for item in (here, ahead))
        return str(first), str(second)
    common = _common(here, ahead)
    start = common - _SHOWN // 4 if common > _SHOWN // 2 and max(len(here), len(ahead)) > _SHOWN else 0
    return _in_short(here, start, order), _in_short(ahead, start, order)


def _common(a: bytes, b: bytes) -> int:
    """How many bytes two items have in common at their start."""
    shorter = min(len(a), len(b))
    low = next((at for at in range(0, shorter, _BLOCK) if a[at : at + _BLOCK] != b[at : at + _BLOCK]), shorter)
    return next((at for at in range(low, min(shorter, low + _BLOCK)) if a[at] != b[at]), shorter)


def _in_short(item: bytes, start: int, order: Order) -> str:
    part = item[start : start + _SHOWN]
    said = repr(part.decode("utf-8", "replace")) if order.is_lines else repr(part)[1:]
    return "..." * (start > 0) + said + "..." * (len(item) > start + _SHOWN)

"""Checks of the order of files: whether each is in order, and where it first is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count

from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.select import device_numbers, select
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.disorder import Joining, disorder_error
from gpumerge_cli.engine.inputs import Inputs, formats_of, judge_memory, look_at, opened, same_headers
from gpumerge_cli.engine.machines import Machines
from gpumerge_cli.engine.opening import is_packed
from gpumerge_cli.engine.request import BackendRequest, CheckRequest, ItemRequest
from gpumerge_cli.engine.resources import ITEM_COPIES, chunk_bytes_for, cores, default_memory
from gpumerge_cli.engine.steps import falls_at, read_chunk
from gpumerge_cli.errors import DisorderError, InputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.naming import size_told
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, blocks_of
from gpumerge_cli.report.model import InputFile
from gpumerge_cli.urls import is_url

Advance = Callable[[int, int], None]

_SHORT_LINE = 8
_MOST_LOOKED_AT = 16
"""Files that are looked at for each file that is out of order."""


def check_files(request: CheckRequest, machines: Machines | None = None) -> tuple[InputFile, ...]:
    """The inputs as they were read. Raises the first InputError that check_each gives, and what that raises."""
    found = []
    for one in check_each(request, machines=machines):
        if isinstance(one, InputError):
            raise one
        found.append(one)
    return tuple(found)


def check_each(
    request: CheckRequest, advance: Advance | None = None, machines: Machines | None = None
) -> Iterator[InputFile | InputError]:
    """Check every input by itself: for each in turn the input as it was read, or what is wrong with it.

    An error is the DisorderError of the first disorder, or the InputError that kept the input from being read. Raises
    UsageError before it reads any input if the inputs and the items of the request do not go together.
    advance: called from any thread with (bytes done, bytes in all), those of the files as they lie on the disk; what it
    raises ends the check. machines: do the work in place of this one.
    """
    inputs, items = request.inputs, request.items
    headers: list[tuple[str, bytes]] = []
    formats_of(inputs, items)
    sizes = [size_told(name) for name in inputs] if advance is not None else []
    copier = None if machines is None else machines.copier("", items.folders, request.on)
    troubles = _troubles(inputs)
    for at, name in enumerate(inputs):
        if name in troubles:
            yield troubles[name]
            continue

        def of_file(done: int, total: int, at: int = at) -> None:
            if advance is not None:
                advance(sum(sizes[:at]) + sizes[at] * done // max(1, total), sum(sizes))

        try:
            with opened((name,), items, copier=copier) as one, ExitStack() as stack:
                files = replace(
                    one, others=partial(_others, (*inputs[:at], *inputs[at + 1 :]), items, one.order, stack)
                )
                if items.csv:  # whose keys may be names in the first header
                    head = files.shown_header(files.sources[0])
                    same_headers([*headers, (name, head)], items)
                    headers = headers or [(name, head)] * bool(head)
                if machines is None:
                    raise_disorder(files, request.on, unique=request.unique, memory=request.memory, advance=of_file)
                    (checked,) = files.files()
                else:
                    (checked,) = files.files(machines.check(files, replace(request, inputs=(name,)), of_file))
        except InputError as error:
            yield error
        else:
            yield checked


def _others(names: Sequence[str], items: ItemRequest, order: Order, stack: ExitStack) -> Sequence[Source] | None:
    """See Inputs.others. They are opened until the stack closes; None as well where that could take a while."""
    if not names:
        return ()
    if len(names) > _MOST_LOOKED_AT or not all(map(os.path.isfile, names)):
        return None
    try:
        if any(map(is_packed, names, formats_of(names, items))):
            return None
        others = stack.enter_context(opened(names, items, silent=True))
    except (InputError, UsageError):
        return None
    return others.sources if others.order == order else None


def _troubles(names: Sequence[str]) -> dict[str, InputError]:
    """The names that cannot be read, and why; if there are any, also those of no files, whose reading may not end."""
    troubles: dict[str, InputError] = {}
    for name in names:
        try:
            look_at((name,))
        except InputError as error:
            troubles[name] = error
    for name in names if troubles else ():
        if name not in troubles and not is_url(name) and not os.path.isfile(name):
            troubles[name] = InputError(
                "not checked, since it may have no end and another input cannot be read",
                where=name,
                way_out="give only inputs that are there",
            )
    return troubles


def raise_disorder(
    inputs: Inputs,
    on: BackendRequest,
    *,
    unique: bool = False,
    memory: int | None = None,
    advance: Advance = lambda done, total: None,
) -> None:
    """Raise DisorderError at the first disorder of the first input that has one.

    unique, memory: see CheckRequest. advance: see Search.
    """
    judge_memory(inputs, memory or default_memory())
    device = 0 if on.backend == "cpu" else device_numbers(on.devices)[0]
    backend = select(on.backend, device, inputs.order, inputs.nbytes, sharing=on.sharing).backend
    search = Search(backend, on.threads or cores(), unique, memory)
    for source in inputs.sources:
        error = search.error_in(source, inputs.order, advance, beside=inputs.all_sources)
        if error is not None:
            raise error


@dataclass(frozen=True)
class Search:
    """A search for the first item of a source that sorts before the one ahead of it.

    backend: compares items. workers: threads that search, a block each. unique, memory: see CheckRequest. The methods
    take `advance`, which is called with (blocks done, blocks in all) ahead of each block, from any thread; what it
    raises ends the search.
    """

    backend: Backend
    workers: int
    unique: bool = False
    memory: int | None = None

    def error_in(
        self,
        source: Source,
        order: Order,
        advance: Advance = lambda done, total: None,
        *,
        beside: Callable[[], Sequence[Source] | None] = tuple,
        join: Joining | None = None,
    ) -> DisorderError | None:
        """The error for the first disorder of a source, None if it is in order.

        beside: gives the inputs that an order which the error proposes must fit, too. join: see disorder_error.
        """
        offset = self.first_in(source, order, advance)
        if offset is None:
            return None
        first_in = partial(self.first_in, source)
        return disorder_error(source, offset, order, first_in, unique=self.unique, beside=beside(), join=join)

    def first_in(self, source: Source, order: Order, advance: Advance = lambda done, total: None) -> int | None:
        """The position of the first item out of order, None if there is none."""
        pace = self.backend.pace(order, 1, order.item_bytes or _SHORT_LINE)
        memory = self.memory or default_memory()
        workers = max(1, min(self.workers, memory // (max(1, order.item_bytes) * ITEM_COPIES)))
        blocks = blocks_of(source, chunk_bytes_for(pace, source.size, 1, workers, memory))
        pending, counted = iter(blocks), count()
        lock = threading.Lock()
        found: list[int] = []

        def work() -> None:
            workspace = self.backend.workspace(order, max(stop - start for start, stop in blocks))
            try:
                while True:
                    with lock:
                        advance(min(next(counted), len(blocks)), len(blocks))
                        start, stop = next(pending, (-1, -1))
                        if start < 0 or (found and min(found) <= start):
                            return
                    disorder = disorder_between(source, (start, stop), order, workspace, unique=self.unique)
                    if disorder is not None:
                        found.append(disorder)
            finally:
                workspace.close()

        if blocks:
            from concurrent.futures import ThreadPoolExecutor

            from gpumerge_cli.engine.parallel import started

            number = min(workers, len(blocks))
            with ThreadPoolExecutor(number) as pool:
                for future in started(pool, work, number):
                    future.result()
        return min(found, default=None)


def disorder_between(
    source: Source, block: tuple[int, int], order: Order, workspace: Workspace, *, unique: bool = False
) -> int | None:
    """The position of the first item of a block that is out of order, None if there is none.

    block: two positions. unique: an item that equals the one ahead of it is out of order, too. workspace: has room for
    the block.
    """
    start, stop = block
    if falls_at(source, start, order, unique=unique):
        return start
    read_chunk([source], Chunk(((start, stop),), start), workspace)
    workspace.upload([stop - start])
    disorder = workspace.disorder(strict=unique)
    workspace.synchronize()
    return None if disorder is None else start + disorder.offset

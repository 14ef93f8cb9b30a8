"""Steps of a chunk that several kinds of work share: reading it, and comparing it with the items ahead of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpumerge_cli.backends.base import Workspace
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.measure import Span
from gpumerge_cli.native.comparison import Comparison, key_by
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk


class FoundDisorderError(DisorderError):
    """A chunk is not in order, or has an invalid key. Only a scan of the file can say which of those comes first."""

    def __init__(self, source: int) -> None:
        super().__init__("out of order")
        self.source = source


def read_chunk(sources: Sequence[Source], chunk: Chunk, workspace: Workspace) -> Span:
    """Read the chunk's ranges into the workspace's staging memory, back to back; the span that this took."""
    start = time.perf_counter()
    staging = workspace.staging(chunk.nbytes)
    position = 0
    for source, (low, high) in zip(sources, chunk.ranges, strict=True):
        if high > low:
            source.read_into(low, staging[position : position + high - low])
            position += high - low
    return Span("read", time.perf_counter() - start, chunk.nbytes)


def check_beginnings(sources: Sequence[Source], chunk: Chunk, order: Order) -> None:
    """Raise FoundDisorderError if the first item of a range sorts before the item ahead of the range."""
    for number, (start, stop) in enumerate(chunk.ranges):
        if stop > start and is_out_of_order(sources[number], start, order):
            raise FoundDisorderError(number)


def is_out_of_order(source: Source, start: int, order: Order, *, unique: bool = False) -> bool:
    """Whether the item at `start` sorts before the one ahead of it; with `unique`, also whether it equals that one."""
    if start == 0:
        return False
    compared = Comparison(order)(source.item_at(start), source.item_before(start))
    return compared < (1 if unique else 0)


def places_beside(sources: Sequence[Source], chunk: Chunk, order: Order, equals: Equals) -> Equals:
    """A rule of places for a chunk, whose first and last item may equal items ahead of it and behind it.

    The items ahead of the chunk are those ahead of its ranges, so the last of them is the greatest of their last ones.
    The first item behind it is the least of those directly behind its ranges.
    """
    ranges = list(zip(sources, chunk.ranges, strict=True))
    key = key_by(order)
    filled = [(source, low, high) for source, (low, high) in ranges if high > low]
    if not filled:
        return equals
    before = max((source.item_before(low) for source, (low, _) in ranges if low > 0), key=key, default=None)
    ahead = before is not None and not key(before) < key(min((one.item_at(low) for one, low, _ in filled), key=key))
    if equals.beside(ahead=False, behind=True) is equals:
        return equals.beside(ahead=ahead, behind=False)
    after = min((source.item_at(high) for source, (_, high) in ranges if high < source.size), key=key, default=None)
    behind = after is not None and not key(max((one.item_before(high) for one, _, high in filled), key=key)) < key(
        after
    )
    return equals.beside(ahead=ahead, behind=behind)


def disorder_between(
    source: Source, block: tuple[int, int], order: Order, workspace: Workspace, *, unique: bool = False
) -> int | None:
    """The position of the first item of a block that is out of order or has an invalid key, None if there is none.

    block: two positions. unique: an item that equals the one ahead of it is out of order, too. workspace: has room for
    the block.
    """
    start, stop = block
    if is_out_of_order(source, start, order, unique=unique):
        return start  # if its key is invalid too, the error will say that
    read_chunk([source], Chunk(((start, stop),), start), workspace)
    workspace.upload([stop - start])
    found = [workspace.disorder(strict=unique), workspace.fault() if order.checks_values else None]
    workspace.synchronize()
    return min((start + one.offset for one in found if one is not None), default=None)


def fault_between(source: Source, block: tuple[int, int], workspace: Workspace) -> int | None:
    """The position of the first line of a block with an invalid key, or None. See disorder_between."""
    start, stop = block
    read_chunk([source], Chunk(((start, stop),), start), workspace)
    workspace.upload([stop - start])
    found = workspace.fault()
    workspace.synchronize()
    return None if found is None else start + found.offset


def named_sort(span: Span) -> Span:
    """The span, named "sort" if it is that of a kernel."""
    return replace(span, name="sort") if span.name == "kernel" else span

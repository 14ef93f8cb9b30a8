"""The memory that a job may take, and how its workers share it."""

from __future__ import annotations

from gpumerge_cli.backends.base import Backend, ChunkSizes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.resources import available_memory, cores
from gpumerge_cli.errors import InputError
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.units import format_bytes

# Cutting and reading cost per input and chunk: chunks grow with the inputs so that each gives this much, up to a size
# that still stays near the cores, and beyond that so that each gives the least that is not mostly overhead.
_GOOD_READ = 512 << 10
_LARGE_CHUNK = 16 << 20
_LEAST_READ = 16 << 10
LEAST_CHUNK = 64 << 10
"""Bytes of the smallest chunk that is worth it. A device without memory for one has none for the merge."""
# Whatever the memory: every cut reads from every input, so a chunk must be some bytes of each.
_LEAST_ITEMS = 1 << 10
# Allocators and the interpreter add to a workspace's own count, and chunks may come out larger than requested.
_SLACK = 1.5
_PROCESS_BYTES = 96 << 20
"""Bytes of the interpreter and its libraries, with room to spare: small sorts take half of it in all."""
LARGE_ITEM = 1 << 20
"""Bytes of an item from which the memory is checked item by item. Smaller ones fit any limit's slack."""
ITEM_COPIES = 4
"""Copies of an item that one worker may hold: as read, as written, and two to compare."""


def memory_of(job: Job, own: int | None = None) -> int:
    """Bytes of host memory that a job may take in one process. See Resources.memory.

    own: the bytes that a worker of a cluster may use; None in this process, whose share depends on the job.
    """
    if job.resources.memory is not None:
        return job.resources.memory
    if own is not None:
        return own
    return available_memory() // (2 if job.operation.kind == "sort" else 4)


def memory_for_items(job: Job) -> int:
    """Those that its items may take. The memory that is given to a sort is that of the whole process."""
    memory = memory_of(job)
    return max(memory // 4, memory - _PROCESS_BYTES) if job.operation.kind == "sort" else memory


def check_memory(job: Job, inputs: Inputs) -> None:
    """Raise InputError if the memory of a job is too small for the copies of one item."""
    item = inputs.order.item_bytes
    if item <= LARGE_ITEM:
        return
    memory = memory_of(job)
    for source in inputs.sources:
        if source.size and item * ITEM_COPIES > memory:
            room = format_bytes(memory)
            raise InputError(
                f"an item has {format_bytes(item)}, and {ITEM_COPIES} of them exceed the memory of {room}",
                where=source.name,
                way_out=f"allow {-(-item * ITEM_COPIES // (1 << 20))}M with -S",
            )


@dataclass(frozen=True)
class ChunkBudget:
    """A pass's share of the machine."""

    workers: int
    """Chunks in flight at once."""
    chunk_bytes: int
    """Bytes of a chunk."""


def chunk_budget(
    sizes: ChunkSizes,
    nbytes: int,
    inputs: int,
    threads: int | None,
    memory: int,
    device_memory: int | None = None,
    *,
    item: int = 0,
) -> ChunkBudget:
    """Chunks in flight and their size for a merge of `nbytes` in all; `threads` is the user's choice for the first.

    One more chunk than cores, since one may wait for its turn to write; fewer if chunks would become too small for the
    number of inputs, or if the memory has room for fewer large items. See chunk_bytes_for.

    item: bytes of an item. A chunk has one of each input, as a rule, which is read and written.
    """
    workers = threads or min(sizes.workers or cores() + 1, cores() + 1)
    while True:
        size = chunk_bytes_for(sizes, nbytes, inputs, workers, memory, device_memory)
        wanted = min(max(sizes.least, inputs * _LEAST_READ), nbytes // workers)
        if threads or workers == 1 or size >= wanted:
            break
        workers -= 1
    if item > LARGE_ITEM:
        workers = max(1, min(workers, memory // (item * (ITEM_COPIES + 2 * (inputs - 1)))))
    return ChunkBudget(workers, size)


def chunk_bytes_for(
    sizes: ChunkSizes, nbytes: int, inputs: int, workers: int, memory: int, device_memory: int | None = None
) -> int:
    """Bytes a chunk should have: of `nbytes` in all every worker gets some, and all workspaces fit the memory given.

    memory, device_memory: bytes on the host and on the device.
    """
    best = max(sizes.chunk, min(inputs * _GOOD_READ, _LARGE_CHUNK), inputs * _LEAST_READ)
    fair = max(sizes.least, -(-nbytes // workers))
    room = int(memory / (workers * sizes.footprint * _SLACK))
    if device_memory is not None and sizes.device_footprint:
        room = min(room, int(device_memory / (workers * sizes.device_footprint * _SLACK)))
    return max(LEAST_CHUNK, inputs * _LEAST_ITEMS, min(best, fair, room))


def checking_threads(order: Order, threads: int | None, memory: int) -> int:
    """The threads that check blocks of a source at once, each of which may hold a large item."""
    return max(1, min(threads or cores(), memory // (max(1, order.item_bytes) * ITEM_COPIES)))


def piece_footprint(backend: Backend, inputs: Inputs) -> float:
    """Bytes of memory for each byte of a piece that is sorted to a run."""
    order, item = inputs.order, inputs.mean_bytes
    return backend.chunk_sizes(order, 1, item).footprint + 1 + backend.piece_sizes(order, item).room

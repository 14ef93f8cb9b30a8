"""The share of the machine that a run takes: cores, workers, bytes in flight."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from contextlib import suppress

from gpumerge_cli import BEGUN
from gpumerge_cli.backends.base import Pace
from gpumerge_cli.dataclass import dataclass

# Cutting and reading cost per input and chunk: chunks grow with the inputs so that each gives this much, up to a size
# that still stays near the cores, and beyond that so that each gives the least that is not mostly overhead.
_GOOD_READ = 512 << 10
_LARGE_CHUNK = 16 << 20
_LEAST_READ = 16 << 10
_LEAST_CHUNK = 64 << 10
# Whatever the memory: every cut looks at every input, so a chunk must be some bytes of each.
_LEAST_ITEMS = 1 << 10
# Allocators and the interpreter add to a workspace's own count, and chunks may come out larger than asked for.
_SLACK = 1.5
_M_MMAP_THRESHOLD = -3  # of <malloc.h>
_LARGE_BLOCK = 1 << 20
LARGE_ITEM = 1 << 20
"""Bytes of an item from which the memory is judged item by item. Smaller ones fit any limit's slack."""
ITEM_COPIES = 4
"""Copies of an item that one worker may hold: as it comes in, as it goes out, and two to compare."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Shares:
    """A merge's share of the machine: chunks in flight at once, and bytes of each."""

    workers: int
    chunk_bytes: int


def shares(
    pace: Pace, nbytes: int, inputs: int, threads: int | None, memory: int, device_memory: int | None = None
) -> Shares:
    """Chunks in flight and their size for a merge of `nbytes` in all; `threads` is the user's wish for the first.

    One more chunk than cores, since one may wait for its turn to write; fewer if chunks would become too small for the
    number of inputs. See chunk_bytes_for.
    """
    workers = threads or min(pace.workers or cores() + 1, cores() + 1)
    while True:
        size = chunk_bytes_for(pace, nbytes, inputs, workers, memory, device_memory)
        wanted = min(max(pace.least, inputs * _LEAST_READ), nbytes // workers)
        if threads or workers == 1 or size >= wanted:
            return Shares(workers, size)
        workers -= 1


def with_room_for(item: int, inputs: int, given: Shares, memory: int) -> Shares:
    """The share with no more workers than the memory has room for.

    item: bytes of an item. A chunk has one of each input, as a rule, which comes in and goes out.
    """
    if item <= LARGE_ITEM:
        return given
    return Shares(max(1, min(given.workers, memory // (item * (ITEM_COPIES + 2 * (inputs - 1))))), given.chunk_bytes)


def chunk_bytes_for(
    pace: Pace, nbytes: int, inputs: int, workers: int, memory: int, device_memory: int | None = None
) -> int:
    """Bytes a chunk should have: of `nbytes` in all every worker gets some, and all workspaces fit the memory given.

    memory, device_memory: bytes on the host and on the device.
    """
    best = max(pace.chunk, min(inputs * _GOOD_READ, _LARGE_CHUNK), inputs * _LEAST_READ)
    fair = max(pace.least, -(-nbytes // workers))
    room = int(memory / (workers * pace.footprint * _SLACK))
    if device_memory is not None and pace.device_footprint:
        room = min(room, int(device_memory / (workers * pace.device_footprint * _SLACK)))
    return max(_LEAST_CHUNK, inputs * _LEAST_ITEMS, min(best, fair, room))


def default_memory() -> int:
    """A quarter of the memory that is available, in bytes."""
    return available_memory() // 4


def available_memory() -> int:
    """Bytes of memory that can be had without swapping; 4 GiB if the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            sizes = {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":", 1) for line in file)}
        return min(sizes["MemAvailable"], _left_in_group())
    except (OSError, KeyError, ValueError, IndexError):
        return 4 << 30


def _left_in_group(root: str = "/sys/fs/cgroup") -> int:
    """Bytes that the process's control group still allows, as containers set it; a great deal if it sets no limit."""
    try:
        with open("/proc/self/cgroup") as file:
            path = next(line.rstrip("\n").partition("::")[2] for line in file if line.startswith("0::"))
        numbers = []
        for name in ("memory.max", "memory.current"):
            with open(f"{root}/{path}/{name}") as file:
                numbers.append(int(file.read()))
        return max(0, numbers[0] - numbers[1])
    except (OSError, ValueError, StopIteration):  # "max" is no number
        return 1 << 60


def keep_no_freed_memory() -> None:
    """Make the C library return large blocks to the system when they are freed, for the rest of the process.

    By default glibc, after some frees, keeps blocks of up to 32 MiB for each thread: up to 100 MB with -S 256M. With
    other C libraries this does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


def peak_memory() -> int:
    """The most bytes of memory the process has held so far."""
    with suppress(OSError, ValueError, StopIteration), open("/proc/self/status") as file:
        return 1024 * int(next(line.split()[1] for line in file if line.startswith("VmHWM:")))
    # This may be what a large parent held when it forked.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds_since_start() -> float:
    """Seconds since this program began, interpreter start-up included.

    Not since the process did: a shell may have worked in it before it became this program.
    """
    return time.perf_counter() - BEGUN

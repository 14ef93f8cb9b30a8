"""How much of the machine a run takes: cores, workers, bytes in flight."""

from __future__ import annotations

import os
import resource
import time

from gpumerge_cli.backends.base import Pace

# Cutting and reading cost per input and chunk: chunks grow with the inputs so that each gives this much, up to a size
# that still stays near the cores, and beyond that so that each gives the least that is not mostly overhead.
_GOOD_READ = 512 << 10
_LARGE_CHUNK = 16 << 20
_LEAST_READ = 16 << 10
_LEAST_CHUNK = 64 << 10
# What allocators and interpreter add to a workspace's own count, and chunks that come out larger than asked for.
_SLACK = 1.5


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def workers_for(pace: Pace, threads: int | None) -> int:
    """Chunks in flight at once; `threads` is the user's wish.

    One more than cores, since one may wait for its turn to write.
    """
    return threads or min(pace.workers or cores() + 1, cores() + 1)


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
    return max(_LEAST_CHUNK, min(best, fair, room))


def default_memory() -> int:
    """A quarter of the memory that is available, in bytes."""
    try:
        with open("/proc/meminfo") as file:
            sizes = {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":", 1) for line in file)}
        return sizes["MemAvailable"] // 4
    except (OSError, KeyError, ValueError, IndexError):
        return 1 << 30


def peak_memory() -> int:
    """The most bytes of memory the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds_since_start() -> float:
    """Seconds since the process was started, interpreter start-up included."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()

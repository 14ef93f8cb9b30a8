"""How much of the machine a run takes: cores, workers, bytes in flight."""

from __future__ import annotations

import os
import resource
import time

from gpumerge_cli.backends.base import Backend

# A chunk's input, output and temporaries stay in a core's share of cache, and writers take short turns at the file's
# lock: 2 MiB was the fastest of 0.5 to 128 MiB for 2 x 1 GB on two cores.
_CPU_CHUNK = 2 << 20
_CPU_LEAST = 1 << 20
# Large enough for the link's full speed, small enough that stages overlap. One file takes one writer at a time, so more
# workers would only queue at it: of 4 to 16 workers and 16 to 64 MiB these were the fastest for 2 x 4 GB on an H200.
_GPU_CHUNK = 16 << 20
_GPU_WORKERS = 4


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def chunk_bytes_for(backend: Backend, nbytes: int, inputs: int, workers: int) -> int:
    """Bytes a chunk should have, so that every worker has several of `nbytes` in all."""
    if backend.name == "gpu":
        return _GPU_CHUNK
    if backend.name == "reference":
        return max(1, nbytes)
    return max(_CPU_LEAST, min(_CPU_CHUNK, -(-nbytes // max(1, workers))))


def workers_for(backend: Backend, threads: int | None) -> int:
    """Chunks in flight at once."""
    if backend.name == "reference":
        return 1
    if threads is not None:
        return max(1, threads)
    return min(_GPU_WORKERS, cores()) if backend.name == "gpu" else cores()


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

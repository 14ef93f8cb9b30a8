"""The machine that a run works on, and what the run has taken of it."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from contextlib import suppress

from gpumerge_cli import BEGUN

_M_MMAP_THRESHOLD = -3  # of <malloc.h>
_LARGE_BLOCK = 1 << 20


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def default_memory() -> int:
    """A quarter of the memory that is available, in bytes."""
    return available_memory() // 4


def available_memory() -> int:
    """Bytes of memory that are available without swapping; 4 GiB if the system does not say."""
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
    except (OSError, ValueError, StopIteration):  # "max" is not a number
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
    with suppress(OSError, ValueError, IndexError), open("/proc/self/status", "rb", buffering=0) as file:
        return 1024 * int(file.read().partition(b"VmHWM:")[2].split(maxsplit=1)[0])
    # This may be what a large parent held when it forked.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds_since_start() -> float:
    """Seconds since this program began, interpreter start-up included.

    Not since the process did: a shell may have worked in it before it became this program.
    """
    return time.perf_counter() - BEGUN

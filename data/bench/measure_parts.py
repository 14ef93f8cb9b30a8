"""Time the parts of a merge of files, each alone: reading and writing page cache, and the link to the GPU.

usage: python data/bench/measure_parts.py FOLDER OUT.md [--gigabytes N] [--repeat N]

FOLDER is on the disk to measure and needs room for twice N gigabytes. Best of the repeats, in GB/s.
"""

from __future__ import annotations

import argparse
import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from measured_on import commit

CHUNK = 16 << 20
CALL = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    nbytes = arguments.gigabytes << 30
    arguments.folder.mkdir(parents=True, exist_ok=True)
    source, target = arguments.folder / "read", arguments.folder / "written"
    rows = []
    write(source, 1, nbytes)
    for threads in sorted({1, 2, 4, len(os.sched_getaffinity(0))}):
        rows.append(row(f"read, {threads} threads", nbytes, arguments.repeat, partial(read, source, threads, nbytes)))
    for threads in sorted({1, 2, 4, len(os.sched_getaffinity(0))}):
        rows.append(row(f"write, {threads} threads", nbytes, arguments.repeat, partial(write, target, threads, nbytes)))
    source.unlink()
    target.unlink()
    rows += link(arguments.repeat)
    text = "| part | GB/s |\n|---|---|\n" + "\n".join(rows) + "\n"
    arguments.out.write_text(
        f"{arguments.gigabytes} GiB each, best of {arguments.repeat}; commit {commit()}.\n\n{text}"
    )
    print(arguments.out.read_text())


def row(name: str, nbytes: int, repeat: int, work: Callable[[], None]) -> str:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return f"| {name} | {nbytes / best / 1e9:.2f} |"


def shared_out(threads: int, nbytes: int, work: Callable[[int, memoryview], None]) -> None:
    """work(position, buffer) for every chunk of nbytes; every thread has a buffer of its own."""
    positions = iter(range(0, nbytes, CHUNK))
    lock = threading.Lock()

    def run() -> None:
        buffer = memoryview(bytearray(b"\7" * CHUNK))
        while True:
            with lock:
                position = next(positions, -1)
            if position < 0:
                return
            work(position, buffer[: min(CHUNK, nbytes - position)])

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(run) for _ in range(threads)]:
            future.result()


def read(path: Path, threads: int, nbytes: int) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    shared_out(threads, nbytes, lambda position, buffer: ignore(os.preadv(descriptor, [buffer], position)))
    os.close(descriptor)


def write(path: Path, threads: int, nbytes: int) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, nbytes)

    def put(position: int, buffer: memoryview) -> None:
        for start in itertools.takewhile(lambda at: at < len(buffer), itertools.count(0, CALL)):
            os.pwrite(descriptor, buffer[start : start + CALL], position + start)

    shared_out(threads, nbytes, put)
    os.close(descriptor)


def ignore(_: object) -> None: ...


def link(repeat: int) -> list[str]:
    """Pinned memory to the device and back, alone and both at once; nothing without a GPU."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return []
    size = 1 << 30
    runtime = cupy.cuda.runtime
    host = [cupy.cuda.alloc_pinned_memory(size) for _ in range(2)]
    device = [cupy.cuda.alloc(size) for _ in range(2)]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def copy(there: bool, back: bool) -> None:
        for _ in range(4):
            if there:
                runtime.memcpyAsync(device[0].ptr, host[0].ptr, size, runtime.memcpyHostToDevice, streams[0].ptr)
            if back:
                runtime.memcpyAsync(host[1].ptr, device[1].ptr, size, runtime.memcpyDeviceToHost, streams[1].ptr)
        for stream in streams:
            stream.synchronize()

    return [
        row("link, to the device", 4 * size, repeat, lambda: copy(True, False)),
        row("link, from the device", 4 * size, repeat, lambda: copy(False, True)),
        row("link, both ways", 8 * size, repeat, lambda: copy(True, True)),
    ]


if __name__ == "__main__":
    main()

"""Time two ways to read chunks of a file from page cache: pread into memory that is used again, and a mapping.

python data/bench/bench_reading.py FILE [--threads 1,2] [--out data/results/epyc/reading.md]

FILE is read, not written; it should be a GB or more and fit into memory. Each chunk is summed once it is there, as a
merge reads it once. Prints GB/s, the medians of runs in turns.
"""

from __future__ import annotations

import argparse
import mmap
import os
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

Reader = Callable[[int, int, int], int]  # (descriptor, start, stop) -> sum of the words there


def by_pread(chunk: int) -> Reader:
    room = threading.local()

    def read(descriptor: int, start: int, stop: int) -> int:
        if not hasattr(room, "buffer"):
            room.buffer = np.zeros(chunk, np.uint8)
        view = room.buffer[: stop - start]
        done = 0
        while done < len(view):
            done += os.preadv(descriptor, [view[done:]], start + done)
        return int(view.view(np.int64).sum())

    return read


def by_mapping(chunk: int, advice: int | None) -> Reader:
    def read(descriptor: int, start: int, stop: int) -> int:
        with mmap.mmap(descriptor, stop - start, prot=mmap.PROT_READ, offset=start) as mapped:
            if advice is not None:
                mapped.madvise(advice)
            words = np.frombuffer(mapped, np.int64)
            total = int(words.sum())
            del words
        return total

    return read


def took(read: Reader, descriptor: int, size: int, chunk: int, threads: int) -> tuple[float, int]:
    """(seconds, sum) of all chunks, dealt to the threads in turn."""
    sums = [0] * threads

    def work(number: int) -> None:
        for start in range(number * chunk, size, threads * chunk):
            sums[number] += read(descriptor, start, min(size, start + chunk))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    begun = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begun, sum(sums)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--out")
    parser.add_argument("--repeat", type=int, default=7)
    wish = parser.parse_args()
    size = os.path.getsize(wish.file) // mmap.PAGESIZE * mmap.PAGESIZE
    lines = [
        f"{size / 1e9:.2f} GB from page cache, GB/s, medians of {wish.repeat} runs in turns; {platform.machine()},"
        f" {os.cpu_count()} cores, Linux {platform.release()}. Made by `python data/bench/bench_reading.py FILE`.",
        "",
        "| chunk | threads | pread | mapping | mapping, populated |",
        "|---|---|---|---|---|",
    ]
    descriptor = os.open(wish.file, os.O_RDONLY)
    for chunk in (1 << 20, 8 << 20, 32 << 20):
        ways = [by_pread(chunk), by_mapping(chunk, None), by_mapping(chunk, 22)]  # 22: MADV_POPULATE_READ
        for threads in map(int, wish.threads.split(",")):
            seconds: list[list[float]] = [[] for _ in ways]
            sums = set()
            for _ in range(wish.repeat):
                for way, read in enumerate(ways):
                    second, total = took(read, descriptor, size, chunk, threads)
                    seconds[way].append(second)
                    sums.add(total)
            assert len(sums) == 1, "the ways read different bytes"
            shown = " | ".join(f"{size / 1e9 / median(each):.2f}" for each in seconds)
            lines.append(f"| {chunk >> 20} MiB | {threads} | {shown} |")
    os.close(descriptor)
    text = "\n".join(lines) + "\n"
    print(text)
    if wish.out:
        Path(wish.out).write_text(text)


if __name__ == "__main__":
    main()

"""Files that are mapped to be written: the same bytes as calls write, and no harm when the file loses its bytes."""

from __future__ import annotations

import ctypes as c
import errno
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.cpu import harness
from tests.cpu.harness import DONE, I64, WRITE_FAILED, SinkSpec, memory_source, spec_of
from tests.cpu.test_chunk import Items, merged
from tests.cpu.test_cuts import draw_keys, draw_lines

PAGE = os.sysconf("SC_PAGESIZE")
MOST = 64


@contextmanager
def file_of(path: Path, nbytes: int) -> Iterator[int]:
    """The descriptor of a new file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.posix_fallocate(descriptor, 0, nbytes)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def mapped(library: c.CDLL, descriptor: int, nbytes: int) -> Iterator[int]:
    """The address of the file's first byte."""
    address = library.gm_map(I64(descriptor), I64(nbytes))
    assert address
    try:
        yield address
    finally:
        library.gm_unmap(c.c_void_p(address))


def write(library: c.CDLL, address: int, position: int, data: bytes) -> int:
    return int(library.gm_map_write(c.c_void_p(address), I64(position), data, I64(len(data))))


def put_out(
    library: c.CDLL, order: Order, items: Items, sink: SinkSpec, size: int, *, sorts: bool, capacity: int
) -> None:
    """Write chunks of about `size` bytes."""
    spec, first = spec_of(order), sink.start
    sources = [memory_source(b"".join(run)) for run in items]
    sizes = [source.size for source in sources]
    status, cuts, _ = harness.cut(library, spec, sources, list(range(size, sum(sizes), size)))
    assert status == DONE
    workspace = library.gm_open(c.byref(spec), I64(capacity), I64(1))
    for low, high in pairwise([[0] * len(items), *cuts.tolist(), sizes]):
        sink.start = first + sum(low)
        ranges = list(zip(low, high, strict=True))
        status, result, _ = harness.chunk(library, workspace, sources, ranges, sink, sorts=sorts)
        assert (status, result.nbytes) == (DONE, sum(high) - sum(low))
    library.gm_close(c.c_void_p(workspace))


def draw_records(rng: np.random.Generator, order: Order, runs: int) -> Items:
    rows = [[rng.integers(0, 3, order.record, np.uint8).tobytes() for _ in range(200)] for _ in range(runs)]
    return [sorted(run, key=lambda row: row[2:7]) for run in rows]


@pytest.mark.one_of_each
@pytest.mark.parametrize("sorts", [False, True])
@pytest.mark.parametrize("head", [0, 128, 11])
def test_mappings_get_the_same_bytes(
    library: c.CDLL, tmp_path: Path, rng: np.random.Generator, sorts: bool, head: int
) -> None:
    """Outputs begin at aligned and at odd bytes. Their runs are few enough for one pass, or more."""
    random_ = random.Random(int(rng.integers(1 << 32)))
    cases: list[tuple[Order, Items, int]] = [
        (Order.of(dtype), draw_keys(rng, dtype, runs, 800, values), swap)
        for dtype, swap in (("uint8", 0), ("int16", 2), ("float32", 4), ("int64", 0), ("float64", 8))
        for runs in (1, 2, 9)
        for values in (2, 30_000)
    ]
    lines = draw_lines(random_, Order.lines().text, 3, 200, 50)
    lines[1] = sorted([*lines[1], b"m" * 40_000 + b"\n"])
    cases.append((Order.lines(), [sorted(run) for run in lines], 0))
    records = Order.records(9, 2, 5)
    cases.append((records, draw_records(rng, records, 3), 0))
    for order, items, swap in cases:
        expected = merged(order, items)
        if swap:
            expected = np.frombuffer(expected, f"u{swap}").byteswap().tobytes()
        total = head + len(expected)
        for size in (max(8, total // 3), max(8, total // 20)):
            with (
                file_of(tmp_path / "out", total + 64) as descriptor,
                mapped(library, descriptor, total + 64) as address,
            ):
                os.pwrite(descriptor, b"h" * head, 0)
                os.pwrite(descriptor, b"t" * 64, total)
                sink = SinkSpec(descriptor, head, 4096, swap, None, address)
                put_out(library, order, items, sink, size, sorts=sorts, capacity=size // 3)
            assert (tmp_path / "out").read_bytes() == b"h" * head + expected + b"t" * 64


def test_what_is_left_out_leaves_what_follows(library: c.CDLL, tmp_path: Path) -> None:
    """The length of such a result is not known ahead. So nothing goes beyond it."""
    for order, unit in ((Order.of("int32"), 4), (Order.lines(), 2)):
        runs = [b"a\n" * 500 if unit == 2 else np.zeros(500, np.int32).tobytes()] * 2
        sources, spec = [memory_source(run) for run in runs], spec_of(order)
        workspace = library.gm_open(c.byref(spec), I64(4000), I64(1))
        with file_of(tmp_path / "out", 4000) as descriptor, mapped(library, descriptor, 4000) as address:
            os.pwrite(descriptor, b"t" * 4000, 0)
            ranges = [(0, source.size) for source in sources]
            sink = SinkSpec(descriptor, 0, 4096, 0, None, address)
            status, result, _ = harness.chunk(library, workspace, sources, ranges, sink, equals=Equals.FIRST)
            assert (status, result.nbytes, result.dropped) == (DONE, unit, 999)
        assert (tmp_path / "out").read_bytes() == runs[0][:unit] + b"t" * (4000 - unit)
        library.gm_close(c.c_void_p(workspace))


@pytest.mark.one_of_each
@pytest.mark.parametrize("kept", [0, 3 * PAGE])
@pytest.mark.parametrize("sorts", [False, True])
@pytest.mark.parametrize("runs", [2, 40])
def test_a_file_that_loses_its_bytes(library: c.CDLL, tmp_path: Path, kept: int, sorts: bool, runs: int) -> None:
    """The chunk fails, and whoever comes later; other mappings do not."""
    data = np.arange(50_000, dtype=np.int32).tobytes()
    total = runs * len(data)
    sources = [memory_source(data) for _ in range(runs)]
    ranges = [(0, source.size) for source in sources]
    spec = spec_of(Order.of("int32"))
    workspace = library.gm_open(c.byref(spec), I64(total), I64(1))
    with (
        file_of(tmp_path / "out", total) as descriptor,
        file_of(tmp_path / "other", PAGE) as second,
        mapped(library, descriptor, total) as address,
        mapped(library, second, PAGE) as other,
    ):
        os.ftruncate(descriptor, kept)
        sink = SinkSpec(descriptor, 0, 4096, 0, None, address)
        assert library.gm_map_lost(c.c_void_p(address)) == 0
        for _ in range(2):
            status, _, failure = harness.chunk(library, workspace, sources, ranges, sink, sorts=sorts)
            assert (status, failure.error, failure.input) == (WRITE_FAILED, errno.EIO, -1)
        assert library.gm_map_lost(c.c_void_p(address)) == 1
        assert write(library, address, 0, b"x") == WRITE_FAILED
        assert library.gm_map_lost(c.c_void_p(other)) == 0
        assert write(library, other, 5, b"x") == DONE
    # Without a mapping the workspace does its work as ever.
    with file_of(tmp_path / "out", total) as descriptor:
        status, result, _ = harness.chunk(
            library, workspace, sources, ranges, SinkSpec(descriptor, 0, 4096), sorts=sorts
        )
    assert (status, result.nbytes) == (DONE, total)
    assert np.array_equal(np.fromfile(tmp_path / "out", np.int32), np.repeat(np.arange(50_000, dtype=np.int32), runs))
    library.gm_close(c.c_void_p(workspace))


def test_many_threads_lose_bytes_at_once(library: c.CDLL, tmp_path: Path) -> None:
    threads, each = 8, 64 * PAGE
    statuses: list[int] = []
    with (
        file_of(tmp_path / "out", threads * each) as descriptor,
        mapped(library, descriptor, threads * each) as address,
    ):
        assert write(library, address, 0, b"x" * each) == DONE

        def work(number: int) -> None:
            while write(library, address, number * each, b"y" * each) == DONE:
                statuses.append(DONE)
            statuses.append(WRITE_FAILED)

        crew = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for thread in crew:
            thread.start()
        os.ftruncate(descriptor, 0)
        for thread in crew:
            thread.join()
        assert write(library, address, 0, b"x" * each) == WRITE_FAILED
    assert statuses.count(WRITE_FAILED) == threads


def test_mappings_end_when_nobody_writes_to_them(library: c.CDLL, tmp_path: Path) -> None:
    statuses: list[int] = []
    begun = threading.Barrier(5)
    with file_of(tmp_path / "out", 256 * PAGE) as descriptor, mapped(library, descriptor, 256 * PAGE) as address:
        data = b"z" * (256 * PAGE)

        def work() -> None:
            statuses.append(write(library, address, 0, data))
            begun.wait()
            while statuses[-1] == DONE:
                statuses.append(write(library, address, 0, data))

        crew = [threading.Thread(target=work) for _ in range(4)]
        for thread in crew:
            thread.start()
        begun.wait()
        library.gm_unmap(c.c_void_p(address))
        for thread in crew:
            thread.join()
    assert set(statuses) == {DONE, WRITE_FAILED}
    assert (tmp_path / "out").read_bytes() == data


def test_only_so_many_files_are_mapped(library: c.CDLL, tmp_path: Path) -> None:
    with file_of(tmp_path / "out", PAGE) as descriptor:
        found = [library.gm_map(I64(descriptor), I64(100)) for _ in range(MOST + 1)]
        assert [bool(address) for address in found] == [True] * MOST + [False]
        for address in found[:MOST]:
            library.gm_unmap(c.c_void_p(address))
        with mapped(library, descriptor, 100) as address:
            assert write(library, address, 7, b"seven") == DONE
            assert os.pread(descriptor, 5, 7) == b"seven"
        assert write(library, address, 7, b"seven") == WRITE_FAILED
        assert write(library, 0, 7, b"seven") == WRITE_FAILED
        assert not library.gm_map(I64(1 << 20), I64(100))


def test_pages_ahead_keep_what_they_hold(library: c.CDLL, tmp_path: Path) -> None:
    ids = (I64 * 3)()
    with file_of(tmp_path / "out", 4 * PAGE) as descriptor, mapped(library, descriptor, 4 * PAGE) as address:
        os.pwrite(descriptor, b"q" * (4 * PAGE), 0)
        assert library.gm_map_ahead(c.c_void_p(address), I64(4 * PAGE), I64(3), ids) == 3
        assert write(library, address, PAGE, b"one") == DONE
        os.ftruncate(descriptor, 0)
        assert library.gm_map_ahead(c.c_void_p(address), I64(4 * PAGE), I64(0), ids) == 0
        library.gm_map_ahead_end(ids, I64(3))
        for one in ids:
            with pytest.raises(ProcessLookupError):
                os.kill(one, 0)


def test_processes_that_bring_pages_end_with_the_program(tmp_path: Path) -> None:
    """They do not outlive a program that is killed, even if the file is large."""
    code = (
        "import os, sys\n"
        "from gpumerge_cli.native.mapping import Mapping\n"
        "number = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "os.posix_fallocate(number, 0, 1 << 30)\n"
        "mapping = Mapping(number, 1 << 30)\n"
        "mapping.populate(4)\n"
        "print(*mapping._ahead, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True)
    ids = [int(one) for one in done.stdout.split()]
    assert len(ids) == 4, done.stderr
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not [one for one in ids if Path(f"/proc/{one}/maps").exists() and str(tmp_path) in _maps_of(one)]:
            return
        time.sleep(0.01)
    raise AssertionError(f"{ids} are still there")


def _maps_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/maps").read_text()
    except OSError:
        return ""


def resident(address: int) -> int:
    """Bytes of the mapping at `address` that count as memory of the process."""
    with open("/proc/self/smaps", encoding="utf-8") as file:
        lines = iter(file)
        next(line for line in lines if line.startswith(f"{address:x}-"))
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("Rss:")))


@pytest.mark.parametrize("piece", [100_001, 64 << 20])
def test_what_is_written_does_not_stay_mapped(library: c.CDLL, tmp_path: Path, piece: int) -> None:
    """Otherwise a limit on memory could not hold where the output is large."""
    nbytes, data = 64 << 20, b"m" * piece
    with file_of(tmp_path / "out", nbytes) as descriptor, mapped(library, descriptor, nbytes) as address:
        for start in range(0, nbytes, piece):
            assert write(library, address, start, data[: nbytes - start]) == DONE
        assert resident(address) <= 24 << 20
    assert (tmp_path / "out").read_bytes() == b"m" * nbytes

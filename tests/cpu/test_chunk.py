"""Chunks: read, checked, merged or sorted, and written in one call, with the place of whatever goes wrong."""

from __future__ import annotations

import ctypes as c
import errno
import os
import random
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order, TextOrder
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu import harness
from tests.cpu.harness import DONE, SinkSpec, memory_source, spec_of
from tests.cpu.test_cuts import draw_keys, draw_lines
from tests.linekeys import item_key

NOWHERE = SinkSpec(-1)
Items = list[list[bytes]]


def merged(order: Order, items: Items, *, unique: bool = False) -> bytes:
    trim = int(isinstance(order, TextOrder))
    rows = sorted((item for run in items for item in run), key=lambda item: item_key(order, item[: len(item) - trim]))
    if unique:
        keys = [item_key(order, item[: len(item) - trim]) for item in rows]
        rows = [row for at, row in enumerate(rows) if at == 0 or keys[at] != keys[at - 1]]
    return b"".join(rows)


def in_chunks(library: c.CDLL, order: Order, items: Items, size: int, **options: Any) -> tuple[bytes, int, int]:
    """(bytes, items, dropped) of all chunks of about `size` bytes."""
    spec = spec_of(order)
    sources = [memory_source(b"".join(run)) for run in items]
    sizes = [source.size for source in sources]
    status, cuts, _ = harness.cut(library, spec, sources, list(range(size, sum(sizes), size)))
    assert status == DONE
    workspace = library.gm_open(c.byref(spec), size, 1)
    out, count, dropped = b"", 0, 0
    edges = [[0] * len(items), *cuts.tolist(), sizes]
    for low, high in pairwise(edges):
        ranges = list(zip(low, high, strict=True))
        status, result, failure = harness.chunk(library, workspace, sources, ranges, NOWHERE, **options)
        assert status == DONE, (status, failure.input, failure.position)
        out += harness.result_of(library, workspace, result.nbytes)
        count += result.items
        dropped += result.dropped
    library.gm_close(c.c_void_p(workspace))
    return out, count, dropped


@pytest.mark.one_of_each
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("sorts", [False, True])
def test_chunks_are_the_merge(library: c.CDLL, unique: bool, sorts: bool, rng: np.random.Generator) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    by_field = LineOrder((LineKey("numeric"),), stable=True)
    cases = [
        (Order.of(dtype), draw_keys(rng, dtype, runs, most, values))
        for dtype in ("int16", "float32", "int64")
        for runs, most in ((2, 2000), (9, 100))
        for values in (2, 30_000)
    ]
    cases += [(Order.lines(order), draw_lines(random_, order, 3, 200, 50)) for order in (LineOrder(), by_field)]
    for order, items in cases:
        total = sum(len(item) for run in items for item in run)
        for size in (max(1, total // 3), max(1, total // 40)):
            out, count, dropped = in_chunks(library, order, items, size, sorts=sorts, equals=Equals.of(unique))
            assert out == merged(order, items, unique=unique)
            assert count + dropped == sum(map(len, items))


def test_disorder_is_told_with_its_place(library: c.CDLL) -> None:
    """Within a range, at its border, and not where it is not asked for."""
    lines = [b"a\n", b"c\n", b"b\n", b"d\n"]
    sources = [memory_source(b"a\nb\n"), memory_source(b"".join(lines))]
    spec = spec_of(Order.lines())
    workspace = library.gm_open(c.byref(spec), 64, 1)
    for ranges in ([(0, 2), (0, 8)], [(2, 4), (2, 8)], [(4, 4), (4, 8)]):
        status, _, failure = harness.chunk(library, workspace, sources, ranges, NOWHERE)
        assert (status, failure.input, failure.position) == (harness.DISORDER, 1, 4)
        status, result, _ = harness.chunk(library, workspace, sources, ranges, NOWHERE, check=False)
        assert (status, result.items) == (DONE, sum((stop - start) // 2 for start, stop in ranges))
    library.gm_close(c.c_void_p(workspace))


def test_what_went_out_before_counts_among_equals(library: c.CDLL) -> None:
    sources = [memory_source(b"a\nb\nb\n"), memory_source(b"b\nb\nc\n"), memory_source(b"")]
    spec = spec_of(Order.lines())
    workspace = library.gm_open(c.byref(spec), 64, 1)
    for ranges, expected in (
        ([(0, 4), (0, 0), (0, 0)], b"a\nb\n"),
        ([(4, 6), (0, 2), (0, 0)], b""),
        ([(6, 6), (2, 6), (0, 0)], b"c\n"),
        ([(6, 6), (4, 6), (0, 0)], b"c\n"),
        ([(6, 6), (6, 6), (0, 0)], b""),
    ):
        status, result, _ = harness.chunk(library, workspace, sources, ranges, NOWHERE, equals=Equals.FIRST)
        assert status == DONE
        assert harness.result_of(library, workspace, result.nbytes) == expected
    library.gm_close(c.c_void_p(workspace))


def test_long_lines_at_borders(library: c.CDLL) -> None:
    head = b"m" * 300_000
    runs = [[head + b"1\n", head + b"2\n", head + b"3\n"], [head + b"2\n", head + b"2\n"]]
    out, count, dropped = in_chunks(library, Order.lines(), runs, 1000, equals=Equals.FIRST)
    assert out == merged(Order.lines(), runs, unique=True)
    assert (count, dropped) == (3, 2)


@pytest.mark.parametrize("swap", [0, 4])
def test_results_go_to_their_place_in_files(library: c.CDLL, tmp_path: Path, swap: int) -> None:
    """Many threads write pieces of the result behind the file's header, also in foreign byte order."""
    runs = [np.arange(number, 300_000, 3, dtype=np.int32) for number in range(3)]
    sources = [memory_source(run.tobytes()) for run in runs]
    spec = spec_of(Order.of("int32"))
    sizes = [source.size for source in sources]
    status, cuts, _ = harness.cut(library, spec, sources, list(range(100_000, sum(sizes), 100_000)))
    assert status == DONE
    edges = [[0] * 3, *cuts.tolist(), sizes]
    gate = library.gm_gate_open(c.c_int64(1))
    statuses = []
    with open(tmp_path / "out", "w+b") as file:

        def work(first: int) -> None:
            workspace = library.gm_open(c.byref(spec), 100_000, 1)
            for low, high in list(pairwise(edges))[first::3]:
                sink = SinkSpec(file.fileno(), 10 + sum(low), 4096, swap, gate)
                statuses.append(harness.chunk(library, workspace, sources, list(zip(low, high)), sink)[0])  # noqa: B905
            library.gm_close(c.c_void_p(workspace))

        threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    library.gm_gate_close(c.c_void_p(gate))
    assert set(statuses) == {DONE}
    found = np.frombuffer((tmp_path / "out").read_bytes()[10:], ">i4" if swap else "<i4")
    assert np.array_equal(found, np.arange(300_000))


def test_inputs_that_fail(library: c.CDLL, tmp_path: Path) -> None:
    spec = spec_of(Order.of("int32"))
    data = np.arange(1000, dtype=np.int32).tobytes()
    (tmp_path / "a").write_bytes(data[:2500])
    workspace = library.gm_open(c.byref(spec), 8000, 1)
    good = memory_source(data)
    with open(tmp_path / "a", "rb") as file:
        shrunk = harness.file_source(file.fileno(), 0, 4000)
        status, _, failure = harness.chunk(library, workspace, [good, shrunk], [(0, 4000), (400, 4000)], NOWHERE)
        assert (status, failure.input, failure.position) == (harness.INPUT_SHRANK, 1, 2500)
    bad = harness.file_source(1 << 20, 0, 4000)
    status, _, failure = harness.chunk(library, workspace, [bad], [(0, 4000)], NOWHERE)
    assert (status, failure.input, failure.error) == (harness.READ_FAILED, 0, errno.EBADF)
    failing = harness.callback_source(4000, lambda *_: -errno.EIO)
    status, _, failure = harness.chunk(library, workspace, [good, failing], [(0, 4), (8, 12)], NOWHERE)
    assert (status, failure.input, failure.error, failure.position) == (harness.CALLBACK_FAILED, 1, errno.EIO, 8)
    lost = harness.callback_source(4000, lambda *_: 0)  # as ctypes returns for an exception
    status, _, failure = harness.chunk(library, workspace, [good, lost], [(0, 4), (8, 12)], NOWHERE)
    assert (status, failure.input, failure.error) == (harness.CALLBACK_FAILED, 1, 0)
    status, _, _ = harness.chunk(library, workspace, [good], [(0, 4000)], NOWHERE)
    assert status == DONE
    library.gm_close(c.c_void_p(workspace))


@contextmanager
def small_files() -> Iterator[None]:
    """Files end at 4096 bytes; the signal for more is ignored, as Python has it.

    Print nothing meanwhile: the tests' own output may be a longer file.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_outputs_that_fail(library: c.CDLL, tmp_path: Path) -> None:
    spec = spec_of(Order.of("int32"))
    good = memory_source(np.arange(5000, dtype=np.int32).tobytes())
    workspace = library.gm_open(c.byref(spec), 8000, 1)
    gate = library.gm_gate_open(c.c_int64(1))
    full = os.open("/dev/full", os.O_WRONLY)
    limited = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    for descriptor, error, place in ((full, errno.ENOSPC, 100), (limited, errno.EFBIG, 4096)):
        for _ in range(2):  # the permit is given back
            sink = SinkSpec(descriptor, 100, 1 << 20, 0, gate)
            with small_files():
                status, _, failure = harness.chunk(library, workspace, [good], [(0, 20_000)], sink)
            assert (status, failure.error, failure.input) == (harness.WRITE_FAILED, error, -1)
            assert failure.position == place
        os.close(descriptor)
    library.gm_gate_close(c.c_void_p(gate))
    library.gm_close(c.c_void_p(workspace))

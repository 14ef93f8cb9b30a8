"""Chunks of rows that are far larger than foreseen."""

from __future__ import annotations

import ctypes as c
from pathlib import Path

import pytest

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.cpu import harness
from tests.cpu.harness import DONE, SinkSpec, memory_source, spec_of
from tests.cpu.rows_library import loaded


@pytest.mark.one_of_each
@pytest.mark.parametrize("sorts", [False, True])
@pytest.mark.parametrize("unique", [False, True])
def test_a_long_line_is_written_by_parts(tmp_path: Path, sorts: bool, unique: bool) -> None:
    """The result of such a chunk is never in one place, because that would double its memory."""
    library, order = loaded(), Order.lines()
    library.gm_result.restype = c.c_void_p
    long = b"m" * (17 << 20)
    runs = [[b"a", long, long + b"z", b"zz"], [b"", b"b", long, b"x"]]
    if sorts:
        runs = [run[::-1] for run in runs]
    rows = sorted(row for run in runs for row in run)
    if unique:
        rows = sorted(set(rows))
    expected = b"".join(row + b"\n" for row in rows)
    sources = [memory_source(b"".join(row + b"\n" for row in run)) for run in runs]
    spec = spec_of(order)
    workspace = library.gm_open(c.byref(spec), c.c_int64(1 << 20), c.c_int64(1))
    with (tmp_path / "out").open("w+b") as file:
        sink = SinkSpec(file.fileno(), 100, 1 << 20, 0, None)
        ranges = [(0, source.size) for source in sources]
        status, result, _ = harness.chunk(
            library, workspace, sources, ranges, sink, check=not sorts, sorts=sorts, equals=Equals.of(unique)
        )
        assert (status, result.nbytes, result.items) == (DONE, len(expected), len(rows))
        assert library.gm_result(c.c_void_p(workspace), None, None) is None
        file.seek(100)
        assert file.read() == expected
    library.gm_close(c.c_void_p(workspace))

"""A device out of memory: chunks are cut until they fit, and the report says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend, ChunkSizes, Workspace
from gpumerge_cli.backends.select import Choice, ChosenGpu
from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.memory import chunk_bytes_for
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import DeviceMemoryError
from gpumerge_cli.native.calls import ChunkWork
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, Planner
from gpumerge_cli.results.run import MergeReport
from tests.jobs_of import merge_job
from tests.oracles import first_keys, items_of, merged_keys
from tests.strategies import as_text

Write = Callable[[str, Any], str]


class _Small:
    """The CPU's workspaces, without memory for chunks beyond a size."""

    def __init__(self, most: int) -> None:
        self._backend = backends_select.host()
        self._most = most
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def chunk_workers(self, work: ChunkWork, *_: Any) -> None:
        return None

    def workspace(self, order: Order, capacity: int) -> Workspace:
        workspace = self._backend.workspace(order, capacity)
        upload = workspace.upload

        def refuse(lengths: Sequence[int]) -> None:
            if sum(lengths) > self._most:
                self.refused += 1
                raise DeviceMemoryError("the device is out of memory", way_out="close others")
            upload(lengths)

        workspace.upload = refuse  # type: ignore[method-assign]
        return workspace


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], _Small]:
    def make(most: int) -> _Small:
        device = _Small(most)
        choice = Choice(None, (ChosenGpu("gpu 0", lambda: device),), "a test")  # type: ignore[arg-type,return-value]
        monkeypatch.setattr(engine_local, "choose", lambda *arguments, **options: choice)
        return device

    return make


def merge(inputs: list[str], output: str, **options: Any) -> MergeReport:
    items = items_of(**options.pop("items", {}))
    return run(merge_job(inputs, output, items, Resources(threads=3), **options))


@pytest.mark.one_of_each
@pytest.mark.parametrize("output", ["out.i64", "/dev/fd"])
@pytest.mark.parametrize("unique", [False, True])
def test_chunks_shrink(
    small: Callable[[int], _Small],
    write: Write,
    tmp_path: Path,
    rng: np.random.Generator,
    output: str,
    unique: bool,
) -> None:
    device = small(150_000)
    runs = [np.sort(rng.integers(0, 10**5, 300_000)) for _ in range(3)]
    names = [write(f"{number}.i64", run) for number, run in enumerate(runs)]
    expected = merged_keys(runs)
    with open(tmp_path / "stream", "wb") as stream:
        target = str(tmp_path / output) if output == "out.i64" else f"/dev/fd/{stream.fileno()}"
        report = merge(names, target, equals=Equals.of(unique))
    written = tmp_path / ("out.i64" if output == "out.i64" else "stream")
    assert written.read_bytes() == (first_keys(expected) if unique else expected).tobytes()
    assert device.refused > 0
    # A group of equals is not cut, so a chunk may be longer than what fits by the largest one at each end.
    groups = 2 * int(np.unique(expected, return_counts=True)[1].max()) * 8 if unique else 0
    assert 64 << 10 <= report.shrunk_to <= 150_000 + groups
    assert report.chunk_bytes <= 150_000 + groups
    assert [file.items for file in report.inputs] == [300_000] * 3


def test_lines_shrink_too(small: Callable[[int], _Small], write: Write, tmp_path: Path) -> None:
    small(100_000)
    runs = [sorted(b"%d" % x for x in range(start, 60_000, 2)) for start in (0, 1)]
    names = [write(f"{number}.txt", as_text(run)) for number, run in enumerate(runs)]
    report = merge(names, str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_bytes() == as_text(sorted(runs[0] + runs[1]))
    assert 0 < report.shrunk_to <= 100_000


def test_memory_for_nothing_is_an_error(small: Callable[[int], _Small], write: Write, tmp_path: Path) -> None:
    device = small(100)
    name = write("a.i64", np.arange(100_000))
    with pytest.raises(DeviceMemoryError, match="out of memory"):
        merge([name], str(tmp_path / "out.i64"))
    assert device.refused < 40
    assert not (tmp_path / "out.i64").exists()


def test_one_long_line_is_not_cut(small: Callable[[int], _Small], write: Write, tmp_path: Path) -> None:
    small(300_000)
    lines = [b"a", b"b" * 250_000, b"c" * 100_000]
    report = merge([write("a.txt", as_text(lines))], str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_bytes() == as_text(lines)
    assert report.shrunk_to > 0


def test_device_memory_bounds_the_chunks() -> None:
    sizes = ChunkSizes(16 << 20, 16 << 20, 4, 2.0, 3.0)
    free = chunk_bytes_for(sizes, 1 << 34, 2, 4, 1 << 34)
    bound = chunk_bytes_for(sizes, 1 << 34, 2, 4, 1 << 34, 64 << 20)
    assert free == 16 << 20
    assert 4 * 3.0 * bound <= 64 << 20
    host_only = ChunkSizes(16 << 20, 16 << 20, 4, 2.0)
    assert chunk_bytes_for(host_only, 1 << 34, 2, 4, 1 << 34, 1) == 16 << 20


def test_split_partitions_a_chunk(write: Write, rng: np.random.Generator) -> None:
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.registry import layout_of, open_source

    runs = [np.sort(rng.integers(0, 50, 5000).astype(np.int16)) for _ in range(4)]
    names = [write(f"{number}.i16", run) for number, run in enumerate(runs)]
    sources = [open_source(name, layout_of(name, Items())) for name in names]
    whole = Chunk(((100, 9000), (0, 0), (10, 10_000), (9990, 10_000)), 10_100)
    planner = Planner(sources, Order.of("int16"))
    parts = planner.split(whole, 3000)
    assert len(parts) > 5
    assert parts[0].offset == whole.offset
    for number, (start, stop) in enumerate(whole.ranges):
        edges = [part.ranges[number] for part in parts]
        assert edges[0][0] == start
        assert edges[-1][1] == stop
        assert all(one[1] == two[0] for one, two in pairwise(edges))
    assert [part.offset for part in parts[1:]] == [part.offset + part.nbytes for part in parts[:-1]]
    assert max(part.nbytes for part in parts) < 3600
    assert planner.split(parts[0], 10**6) == [parts[0]]
    for source in sources:
        source.close()


@pytest.mark.gpu
def test_a_full_gpu(
    gpu_backend: Backend, write: Write, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With next to no memory left on the device, a merge goes on in small pieces.

    The memory is refused, not taken: other tests may run on the device at the same time.
    """
    import cupy

    class Scarce(cupy.cuda.Memory):  # type: ignore[misc]
        held = 0

        def __init__(self, size: int) -> None:
            if Scarce.held + size > 40 << 20:
                raise cupy.cuda.memory.OutOfMemoryError(size, Scarce.held, 40 << 20)
            super().__init__(size)
            self.taken = size
            Scarce.held += size

        def __del__(self) -> None:
            Scarce.held -= getattr(self, "taken", 0)

    runs = [np.sort(rng.integers(0, 10**9, 20_000_000)) for _ in range(2)]
    names = [write(f"{number}.i64", run) for number, run in enumerate(runs)]
    output = tmp_path / "out.i64"
    monkeypatch.setattr(cupy.cuda, "Memory", Scarce)
    report = run(merge_job(names, str(output), backend="gpu"))
    assert output.read_bytes() == merged_keys(runs).tobytes()
    assert report.shrunk_to > 0


@pytest.mark.gpu
def test_device_memory_is_kept_to(gpu_backend: Backend, write: Write, tmp_path: Path) -> None:
    names = [write(f"{number}.i64", np.arange(4_000_000)) for number in range(2)]
    output = str(tmp_path / "out.i64")
    report = run(merge_job(names, output, backend="gpu", device_memory=16 << 20))
    assert report.workers * report.chunk_bytes * 3 <= 16 << 20
    assert report.shrunk_to == 0

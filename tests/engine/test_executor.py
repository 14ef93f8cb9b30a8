"""The executor: the last worker's error is the run's, nobody waits for a device that starts, all threads end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.select import Choice, ChosenGpu
from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.supply import ChunkSupply
from gpumerge_cli.engine.workers import PassSetup
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk
from tests.engine.fake_workers import Chance, FakeDevice, Trouble
from tests.jobs_of import merge_job

Write = Callable[[str, Any], str]


@pytest.fixture
def names(write: Write) -> tuple[str, ...]:
    return tuple(write(f"{number}.i32", np.arange(100_000, dtype=np.int32)) for number in range(2))


def chosen(monkeypatch: pytest.MonkeyPatch, *devices: Callable[[], Any], host: bool = False) -> None:
    found = tuple(ChosenGpu(f"gpu {number}", create) for number, create in enumerate(devices))
    choice = Choice(backends_select.host if host else None, found, "a test")
    monkeypatch.setattr(engine_local, "choose", lambda *arguments, **options: choice)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("trouble", "error", "message"),
    [
        ("no start", DeviceError, "no GPU can be used"),
        ("refuses", UsageError, "--block-size 7"),
        ("fails", DeviceError, "the device is lost"),
        ("no memory at all", DeviceError, "out of memory"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_the_last_workers_error_is_the_runs(
    names: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Trouble,
    error: type[Exception],
    message: str,
    count: int,
) -> None:
    chosen(monkeypatch, *[lambda: FakeDevice(trouble, Chance(7))] * count)
    with pytest.raises(error, match=message):
        run(merge_job(names, str(tmp_path / "out.i32")))
    assert not (tmp_path / "out.i32").exists()


def test_a_device_that_is_still_starting_is_not_waited_for(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = threading.Event()

    def slow() -> FakeDevice:
        begin.wait(30)
        return FakeDevice("none", Chance(1))

    threads = threading.active_count()
    chosen(monkeypatch, slow, host=True)
    report = run(merge_job(names, str(tmp_path / "out.i32")))
    assert not begin.is_set()
    begin.set()
    assert report.items == 200_000
    assert report.worker_reports[-1].note == "had not started when the work was done"
    for _ in range(100):
        if threading.active_count() <= threads:
            break
        time.sleep(0.05)
    assert threading.active_count() <= threads


@pytest.mark.usefixtures("small_chunks")
def test_nor_is_it_where_lines_are_disordered_early(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines from the first disorder on are merged one by one on the CPU, so no chunk is left for the device."""
    begin = threading.Event()
    came: list[bool] = []

    def slow() -> FakeDevice:
        came.append(begin.wait(10))
        return FakeDevice("none", Chance(1))

    chosen(monkeypatch, slow, host=True)
    lines = b"".join(b"%05d\n" % number for number in (5, 1, *range(6, 30_000)))
    names = tuple(write(f"{number}.txt", lines) for number in range(2))
    run(merge_job(names, str(tmp_path / "out.txt"), lenient=True))
    waited = bool(came)
    begin.set()
    assert not waited
    assert (tmp_path / "out.txt").stat().st_size == 2 * len(lines)


@pytest.mark.usefixtures("small_chunks")
def test_a_device_that_comes_late_takes_larger_chunks(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = ChunkSupply.take

    def slowly(supply: ChunkSupply, nbytes: int) -> Any:
        found = take(supply, nbytes)
        taken.append(0 if found is None else found[2].nbytes)
        if threading.current_thread().name.startswith("gpumerge cpu"):
            time.sleep(0.005)
        return found

    monkeypatch.setattr(ChunkSupply, "take", slowly)
    chosen(monkeypatch, lambda: FakeDevice("none", Chance(1)), host=True)
    report = run(merge_job(names, str(tmp_path / "out.i32")))
    assert set(report.backend.split("+")) == {"cpu", "gpu"}
    assert sum(taken) == report.nbytes
    assert [one.backend for one in report.kinds] == ["cpu", "gpu"]


def test_loading_code_is_start_up_and_not_the_first_chunk(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = PassSetup.warm_up

    def slow(setup: PassSetup) -> None:
        time.sleep(0.3)
        really(setup)

    monkeypatch.setattr(PassSetup, "warm_up", slow)
    chosen(monkeypatch, lambda: FakeDevice("none", Chance(1)))
    report = run(merge_job(names, str(tmp_path / "out.i32")))
    assert report.start_up >= 0.3
    assert report.wall >= report.start_up


def test_a_supply_joins_neighbours() -> None:
    chunks = [Chunk(((10 * n, 10 * n + 10), (5 * n, 5 * n + 5)), 15 * n) for n in range(20)]
    supply = ChunkSupply(lambda nbytes: iter([[chunks[:9]], [chunks[9:]]]), 4, Stopwatch())
    assert supply.take(15) == (0, 0, chunks[0])
    assert supply.take(46) == (1, 0, Chunk(((10, 40), (5, 20)), 15))
    assert supply.take(1) == (2, 0, chunks[4])
    found = [supply.take(100) for _ in range(9)]
    joined = [one for one in found if one is not None]
    assert [number for number, _, _ in joined] == list(range(3, 3 + len(joined)))
    assert sum(chunk.nbytes for _, _, chunk in joined) == 15 * 15
    assert all(a.ranges[0][1] == b.ranges[0][0] for (*_, a), (*_, b) in pairwise(joined))
    assert supply.is_over


def test_a_supply_takes_the_parts_in_turn_and_joins_nothing_across_their_edges() -> None:
    chunks = [Chunk(((10 * n, 10 * n + 10),), 10 * n) for n in range(30)]
    stretches = [[chunks[:3], chunks[10:12], chunks[20:29]], [chunks[3:10], [], chunks[29:]]]
    supply = ChunkSupply(lambda nbytes: iter(stretches), 3, Stopwatch())
    found = []
    while (taken := supply.take(20)) is not None:
        found.append(taken)
    assert [part for _, part, _ in found[:4]] == [0, 1, 2, 0]
    assert [number for number, _, _ in found] == list(range(len(found)))
    for part, (low, high) in enumerate([(0, 10), (10, 12), (20, 30)]):
        ranges = [chunk.ranges[0] for _, one, chunk in found if one == part]
        assert (ranges[0][0], ranges[-1][1]) == (10 * low, 10 * high)
        assert all(a[1] == b[0] for a, b in pairwise(ranges))

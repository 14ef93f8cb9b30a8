"""Spans: the sums are exact, and the stretches that are kept are bounded and true."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from gpumerge_cli.measure import Span, Stopwatch


def test_a_span_has_its_place_in_time() -> None:
    origin = time.perf_counter()
    stopwatch = Stopwatch(origin)
    with stopwatch.span("read"):
        time.sleep(0.002)
    (stretch,) = stopwatch.timeline()
    assert (stretch.stage, stretch.lane, stretch.nbytes, stretch.spans) == ("read", "thread 0", 0, 1)
    assert 0 <= stretch.start < stretch.stop <= time.perf_counter() - origin + 1e-6
    assert stretch.seconds == pytest.approx(stretch.stop - stretch.start, abs=2e-6)


def test_few_spans_are_all_kept() -> None:
    stopwatch = Stopwatch(most=100)
    for number in range(100):
        stopwatch.add(Span("kernel", 0.25, number, stopped=number + 1.0))
    timeline = stopwatch.timeline()
    assert [(one.start, one.stop, one.nbytes) for one in timeline] == [(n + 0.75, n + 1.0, n) for n in range(100)]


@pytest.mark.parametrize("stages", [1, 3, 50])
@pytest.mark.parametrize("gap", [1e-6, 1e-3, 5.0])
def test_many_spans_become_few_stretches_that_add_up(stages: int, gap: float) -> None:
    most, count = 40, 5000
    stopwatch = Stopwatch(most=most)
    for number in range(count):
        stopwatch.add(Span(f"stage {number % stages}", gap / 2, 3, stopped=(number + 1) * gap))
        assert len(stopwatch.timeline() if number % 500 == 0 else ()) <= max(most, stages)
    timeline = stopwatch.timeline()
    assert stages <= len(timeline) <= max(most, stages)
    assert sum(one.spans for one in timeline) == count
    for stage in {one.stage for one in timeline}:
        mine = [one for one in timeline if one.stage == stage]
        total = stopwatch.total(stage)
        assert sum(one.nbytes for one in mine) == total.nbytes
        assert sum(one.seconds for one in mine) == pytest.approx(total.seconds, rel=1e-3, abs=2e-6 * len(mine))
        assert all(one.seconds <= one.stop - one.start + 2e-6 for one in mine)
        assert all(a.stop <= b.start + 2e-6 for a, b in pairwise(mine))
    assert max(one.stop for one in timeline) == pytest.approx(count * gap, abs=2e-6)


def test_what_began_before_the_run_begins_with_it() -> None:
    stopwatch = Stopwatch(origin=100.0, most=1)
    for _ in range(10):
        stopwatch.add(Span("read", 5.0, 1, stopped=101.0))
    (stretch,) = stopwatch.timeline()
    assert (stretch.start, stretch.stop, stretch.spans) == (0.0, 1.0, 10)


def test_each_thread_has_a_lane() -> None:
    stopwatch = Stopwatch()
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait(timeout=10)
        for _ in range(50):
            stopwatch.add(Span("read", 0.0, 1), Span("write", 0.0, 1))
        barrier.wait(timeout=10)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for _ in range(4)]:
            future.result()
    timeline = stopwatch.timeline()
    lanes = {f"thread {number}" for number in range(4)}
    assert {one.lane for one in timeline} == lanes
    for lane in lanes:
        assert sum(one.spans for one in timeline if one.lane == lane) == 100
    assert stopwatch.total("read").nbytes == 200


def test_threads_of_one_worker_share_its_lane() -> None:
    stopwatch = Stopwatch()
    barrier = threading.Barrier(3)

    def work(lane: str) -> None:
        stopwatch.name_lane(lane)
        barrier.wait(timeout=10)
        stopwatch.add(Span("read", 0.5, 1, stopped=1.0), Span("read", 0.5, 1, stopped=2.0))
        barrier.wait(timeout=10)

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(work, lane) for lane in ("gpu 0", "gpu 0", "cpu 0")]:
            future.result()
    assert sorted(one.lane for one in stopwatch.timeline()) == ["cpu 0"] * 2 + ["gpu 0"] * 4

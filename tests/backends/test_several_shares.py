"""The division of a sort over several GPUs: cuts, shares, and the bytes that go between them."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.gpu import shares
from tests.backends.team import SHAPES, Runs, drawn


@pytest.mark.one_of_each
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("devices", range(1, 9))
def test_cuts_are_those_of_a_stable_sort(rng: np.random.Generator, shape: str, devices: int) -> None:
    for most in (1, 5, 3000, 60_000):
        counts = rng.integers(0, most + 1, devices)
        counts[rng.integers(devices)] = most
        runs = Runs([np.sort(drawn(rng, SHAPES[rng.integers(4)] if n % 2 else shape, n)) for n in counts])
        total = int(counts.sum())
        for rank in {0, total, total // 2, *rng.integers(0, total + 1, 5).tolist()}:
            assert shares.exact_cuts(runs.read, counts.tolist(), rank) == runs.cuts(rank), (counts, rank)


@given(runs=st.lists(st.lists(st.integers(0, 5), max_size=8).map(sorted), min_size=1, max_size=8))
def test_every_rank_of_small_runs(runs: list[list[int]]) -> None:
    held = Runs([np.array(run, np.uint8) for run in runs])
    counts = [len(run) for run in runs]
    for rank in range(sum(counts) + 1):
        assert shares.exact_cuts(held.read, counts, rank) == held.cuts(rank)


def test_searches_read_little(rng: np.random.Generator) -> None:
    counts = [600_000] * 4
    runs = Runs([np.sort(drawn(rng, "uniform", count)) for count in counts])
    shares.exact_cuts(runs.read, counts, 1_200_000)
    assert runs.rounds <= 3
    assert runs.keys <= len(counts) * 3 * 2048
    step = 1 << 8
    shuffled = [rng.permutation(run) for run in runs.runs]
    about = shares.estimates([run[::step] for run in shuffled], step, counts, 1_200_000)
    off = shares.slack(step, counts)
    exact = runs.cuts(1_200_000)
    assert all(abs(a - b) <= off for a, b in zip(about, exact, strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_estimates_know_ties_by_run(rng: np.random.Generator, shape: str) -> None:
    counts = [200_000, 0, 50_000, 100_000]
    parts = [drawn(rng, shape, count) for count in counts]
    step = 64
    runs = Runs([np.sort(part) for part in parts])
    for rank in (0, 100_000, 175_000, 350_000):
        about = shares.estimates([part[::step] for part in parts], step, counts, rank)
        exact = runs.cuts(rank)
        assert all(abs(a - b) <= shares.slack(step, counts) for a, b in zip(about, exact, strict=True)), (about, exact)


@given(total=st.integers(0, 10**12), weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=8))
def test_shares_are_all_there_is(total: int, weights: list[float]) -> None:
    ranges = shares.fair(total, weights)
    assert [ranges[0][0], *(stop for _, stop in ranges)] == [start for start, _ in ranges] + [total]
    assert all(start <= stop for start, stop in ranges)
    for (start, stop), weight in zip(ranges, weights, strict=True):
        assert abs(stop - start - total * weight / sum(weights)) <= 1 + total * 1e-9


@given(
    cuts=st.tuples(st.integers(0, 100), st.integers(0, 100)),
    slack=st.integers(0, 20),
    wanted=st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda pair: (min(pair), max(pair))),
)
def test_what_is_missing_is_sent_once(cuts: shares.Range, slack: int, wanted: shares.Range) -> None:
    landing = shares.landing(cuts, slack, 100)
    missing = landing.missing(wanted)
    if missing is None:
        assert wanted[0] < landing.room[0] or wanted[1] > landing.room[1]
        return
    there = [*range(*landing.sent), *(item for part in missing for item in range(*part))]
    assert len(there) == len(set(there)) or not set(range(*wanted)) & set(range(*landing.sent))
    assert set(range(*wanted)) <= set(there)
    assert all(landing.room[0] <= start < stop <= landing.room[1] for start, stop in missing)


@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8), start=st.integers(0, 99), count=st.integers(0, 99))
def test_bytes_are_located(sizes: list[int], start: int, count: int) -> None:
    everything = [(device, byte) for device, size in enumerate(sizes) for byte in range(size)]
    found = shares.located(list(accumulate(sizes)), start, start + count)
    assert [(d, first + k) for d, first, n in found for k in range(n)] == everything[start : start + count]
    assert all(a[0] < b[0] for a, b in pairwise(found))

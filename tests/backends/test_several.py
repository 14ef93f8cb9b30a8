"""Several GPUs in one sort, by a team of devices in name only."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.exchange import even, sort_shares
from gpumerge_cli.backends.gpu.team_interface import DeviceItems, ExchangePlan
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.order.kinds import Order
from tests.backends.team import PAIRS, PLANS, SHAPES, Stand, Workers, drawn


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.one_of_each
@pytest.mark.parametrize("members", [1, 2, 8, 3])
@pytest.mark.parametrize("linked", [True, False])
def test_shares_are_sorted_as_one(rng: np.random.Generator, shape: str, members: int, linked: bool) -> None:
    for most in (0, 1, 40, 3000):
        for plan in PLANS:
            counts = rng.integers(0, most + 1, members).tolist()
            records = np.arange(3 * sum(counts), dtype=np.uint32).reshape(-1, 3)
            records[:, 1] = drawn(rng, shape, len(records))
            expected = records[np.argsort(records[:, 1], kind="stable")]
            lay = [int(rng.integers(members))] * members if rng.random() < 0.3 else list(range(members))
            ends = np.cumsum([0, *counts])
            parts = [np.ascontiguousarray(records[a:b]) for a, b in pairwise(ends)]
            given_ = [DeviceItems(lay[k], part.ctypes.data, len(part)) for k, part in enumerate(parts)]
            out = np.zeros_like(records)
            ranges = even(len(records), members)
            takers = list(range(members))
            if lay[0] == lay[-1] and rng.random() < 0.7:
                ranges, takers = [(0, len(records))], lay[:1]
            targets = [
                DeviceItems(to, out.ctypes.data + 12 * a, b - a) for to, (a, b) in zip(takers, ranges, strict=True)
            ]
            team = Stand(rng, members, linked)
            workers = Workers(PAIRS, team, fan_in=int(rng.choice([2, 16])), most_cut=int(rng.choice([1, 16])))
            sort_shares(team, workers, given_, targets, plan)
            assert (out == expected).all(), (counts, plan, lay)
            again = np.concatenate(parts)
            assert (again == records).all()


def test_what_changes_hands_is_little_more_than_must(rng: np.random.Generator) -> None:
    """Three quarters of what two devices exchange are under way before the last quarter is sorted."""
    values = rng.permutation(200_000).astype(np.uint32)
    out = np.zeros_like(values)
    team = Stand(rng, 2, linked=True)
    halves = [DeviceItems(k, values.ctypes.data + 400_000 * k, 100_000) for k in range(2)]
    targets = [DeviceItems(k, out.ctypes.data + 400_000 * k, 100_000) for k in range(2)]
    sort_shares(team, Workers(Order.of("uint32"), team), halves, targets, ExchangePlan(overlapped=1))
    assert (out == np.arange(200_000)).all()
    assert all(source != to for source, to, _ in team.fetched)
    assert sum(nbytes for _, _, nbytes in team.fetched) < 1.05 * 400_000
    assert sum(nbytes for _, _, nbytes in sorted(team.fetched[:2])) > 0.7 * 400_000


def test_a_device_that_fails_ends_the_sort(rng: np.random.Generator) -> None:
    team = Stand(rng, 2, linked=True)
    workers = Workers(Order.of("uint32"), team)

    def fail(member: int, items: Run, out: int) -> None:
        raise MemoryError("no room")

    workers.sort = fail  # type: ignore[method-assign]
    values = np.zeros(100, np.uint32)
    halves = [DeviceItems(k, values.ctypes.data + 200 * k, 50) for k in range(2)]
    with pytest.raises(MemoryError, match="no room"):
        sort_shares(team, workers, halves, halves, ExchangePlan(overlapped=1))

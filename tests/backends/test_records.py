"""Records on every backend: the output is the stable merge by the key, and no record changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.backends.test_merge import _SHAPES, merged, requests
from tests.backends.test_unique import unique_merge
from tests.oracles import first_records, merged_records, record_ranks
from tests.strategies import RECORD_SIZES, Records, record_runs


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60)
@given(case=record_runs(), shape=_SHAPES, tile_load=st.sampled_from(["full", "exact"]))
def test_merges_equal_a_stable_sort(backend: Backend, kernel: str, case: Records, shape: Any, tile_load: str) -> None:
    workspace = backend.workspace(case.order, 1)
    policy = backend.resolve(requests(kernel, shape, tile_load), case.order)
    result = merged(workspace, [b"".join(run) for run in case.runs], policy)
    assert workspace.counts == [len(run) for run in case.runs]
    workspace.close()
    assert result == b"".join(case.merged)


@settings(max_examples=40)
@given(case=record_runs(most_runs=9, sizes=(3, 12, 100)))
def test_many_runs(backend: Backend, case: Records) -> None:
    workspace = backend.workspace(case.order, 1, threads=3)
    policy = backend.resolve(LaunchRequest(), case.order)
    assert merged(workspace, [b"".join(run) for run in case.runs], policy) == b"".join(case.merged)
    workspace.close()


@pytest.mark.parametrize("size", RECORD_SIZES)
def test_every_key_at_every_kind_of_place(backend: Backend, size: int, rng: np.random.Generator) -> None:
    keys: list[Any] = [width for width in range(1, 21) if width <= size]
    numbers = [np.dtype(name) for name in DTYPES if np.dtype(name).itemsize <= size]
    keys += numbers + [dtype.newbyteorder() for dtype in numbers]
    if size > 300:
        keys.append(300)
    layouts = [
        (key, width, offset, descending)
        for key, width in ((key, key if isinstance(key, int) else key.itemsize) for key in keys)
        for offset in sorted({0, min(1, size - width), min(5, size - width), size - width})
        for descending in (False, True)
    ]
    if backend.name == "gpu":  # which compiles its kernels for each
        layouts = [layouts[at] for at in rng.permutation(len(layouts))[:12]]
    for key, width, offset, descending in layouts:
        records = rng.integers(0, 256, (20, size), np.uint8)
        records[:, offset : offset + width - 1] &= 0x80
        data = [record.tobytes() for record in records]
        runs = [merged_records(part, offset, key, descending=descending) for part in (data[:9], data[9:])]
        case = Records(runs, size, offset, key, descending)
        workspace = backend.workspace(case.order, 1)
        policy = backend.resolve(LaunchRequest(), case.order)
        result = merged(workspace, [b"".join(run) for run in runs], policy)
        assert workspace.disorder() is None
        workspace.close()
        assert result == b"".join(case.merged), (key, offset, descending)


@pytest.mark.parametrize("size", [1, 3, 16, 100, 101])
def test_larger_runs_on_several_threads(backend: Backend, size: int, rng: np.random.Generator) -> None:
    order = Order.records(size, size // 3, max(1, size // 2))
    runs = []
    for count in (90_001, 0, 70_000):
        run = rng.integers(0, 256, (count, size), np.uint8)
        run[:, size // 3 : size // 3 + 2] &= 1
        runs.append(run[np.argsort(order.image(order.keys(run.reshape(-1))), kind="stable")])
    both = np.concatenate(runs)
    expected = both[np.argsort(order.image(order.keys(both.reshape(-1))), kind="stable")]
    workspace = backend.workspace(order, both.nbytes, threads=3)
    for kernel in KERNELS:
        result = merged(workspace, [run.tobytes() for run in runs], backend.resolve(LaunchRequest(kernel), order))
        assert result == expected.tobytes(), kernel
    workspace.close()


@settings(max_examples=80)
@given(case=record_runs(), data=st.data())
def test_first_disorder(backend: Backend, case: Records, data: st.DataObject) -> None:
    runs = [list(run) for run in case.runs]
    if data.draw(st.booleans()):
        run = runs[data.draw(st.integers(0, len(runs) - 1))]
        wrong = data.draw(st.sampled_from([b"\0", b"\xff", b"\x7f"])) * case.size
        run.insert(data.draw(st.integers(0, len(run))), wrong)
    expected = None
    for number, run in enumerate(runs):
        ranks = record_ranks(run, case.offset, case.key) * (-1 if case.descending else 1)
        falls = np.flatnonzero(ranks[1:] < ranks[:-1])
        if falls.size:
            expected = (number, (int(falls[0]) + 1) * case.size)
            break
    workspace = backend.workspace(case.order, 1)
    whole = b"".join(record for run in runs for record in run)
    workspace.staging(len(whole))[:] = np.frombuffer(whole, np.uint8)
    workspace.upload([len(run) * case.size for run in runs])
    found = workspace.disorder()
    workspace.close()
    assert (found and (found.run, found.offset)) == expected


@settings(max_examples=60)
@given(case=record_runs())
def test_unique(backend: Backend, case: Records) -> None:
    expected = first_records(case.merged, case.offset, case.key)
    runs = [b"".join(run) for run in case.runs]
    for equals, there in ((Equals.FIRST, expected), (Equals.FIRST_CONTINUED, expected[1:])):
        data, dropped = unique_merge(backend, case.order, runs, equals)
        assert data == b"".join(there)
        assert dropped == len(case.all) - len(there)


def test_a_workspace_serves_chunk_after_chunk(backend: Backend, rng: np.random.Generator) -> None:
    order = Order.records(5, 1, 2)
    workspace = backend.workspace(order, 64)
    policy = backend.resolve(LaunchRequest(), order)
    for count in (10, 0, 5000, 3):
        runs = [
            merged_records([bytes(record) for record in rng.integers(0, 9, (length, 5), np.uint8)], 1, 2)
            for length in (count, count // 2, 7)
        ]
        expected = merged_records([record for run in runs for record in run], 1, 2)
        assert merged(workspace, [b"".join(run) for run in runs], policy) == b"".join(expected)
    workspace.close()

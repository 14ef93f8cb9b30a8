"""Plans: chunks that partition inputs and output exactly, for any keys, ties and lengths."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.registry import layout_of, open_source
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, Plan, Planner, item_blocks
from tests.oracles import merged_keys, merged_records, sorted_lines
from tests.strategies import Records, as_text, key_runs, line_runs, record_runs


def open_runs(
    folder: Path,
    runs: list[bytes],
    format: str,
    dtype: str | None = None,
    records: RecordRequest = RecordRequest(),  # noqa: B008 - frozen
) -> list[Source]:
    sources = []
    for number, run in enumerate(runs):
        path = folder / f"{number}"
        path.write_bytes(run)
        sources.append(open_source(str(path), layout_of(str(path), Items(format, dtype, records=records))))
    return sources


def plan_in_spans(sources: list[Any], order: Order, chunk_bytes: int) -> Plan:
    """Chunks as a merge works on them."""
    return Plan(tuple(chunk for (span,) in Planner(sources, order).spans(chunk_bytes) for chunk in span))


def plan_at_once(sources: list[Source], order: Order, chunk_bytes: int) -> Plan:
    """The merge of `sources` in chunks of about `chunk_bytes`, without cutting it into spans first."""
    planner = Planner(sources, order)
    return Plan(tuple(planner.split(planner.whole(), chunk_bytes)))


def pieces(plan: Plan, runs: list[bytes]) -> list[list[bytes]]:
    """The bytes of every chunk, run by run; asserts that the chunks partition runs and output."""
    floor = [0] * len(runs)
    offset = 0
    found = []
    for chunk in plan.chunks:
        assert chunk.offset == offset
        assert [start for start, _ in chunk.ranges] == floor
        assert all(start <= stop for start, stop in chunk.ranges)
        floor = [stop for _, stop in chunk.ranges]
        offset += chunk.nbytes
        found.append([run[start:stop] for run, (start, stop) in zip(runs, chunk.ranges, strict=True)])
    assert floor == [len(run) for run in runs]
    return found


@given(
    case=key_runs(most_runs=6),
    chunk_bytes=st.sampled_from([8, 64, 500]),
    grid=st.sampled_from([(64, 0), (64, 8), (128, 80), (4096, 0)]),
)
def test_chunks_begin_where_blocks_of_the_output_do(
    tmp_path_factory: pytest.TempPathFactory, case: Any, chunk_bytes: int, grid: tuple[int, int]
) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    data = [run.tobytes() for run in runs]
    planner = Planner(open_runs(tmp_path_factory.mktemp("runs"), data, "raw", runs[0].dtype.name), order, grid)
    plan = Plan(tuple(planner.split(planner.whole(), chunk_bytes)))
    merged = [
        merged_keys([np.frombuffer(part, order.dtype) for part in parts], descending=descending)
        for parts in pieces(plan, data)
    ]
    assert b"".join(chunk.tobytes() for chunk in merged) == merged_keys(runs, descending=descending).tobytes()
    block, start = grid
    assert all((chunk.offset + start) % block == 0 for chunk in plan.chunks if chunk.offset)


@given(case=key_runs(most_runs=6), chunk_bytes=st.sampled_from([1, 8, 64, 500, 10**6]), in_spans=st.booleans())
def test_merged_chunks_are_the_merge(
    tmp_path_factory: pytest.TempPathFactory, case: Any, chunk_bytes: int, in_spans: bool
) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    data = [run.tobytes() for run in runs]
    sources = open_runs(tmp_path_factory.mktemp("runs"), data, "raw", runs[0].dtype.name)
    plan = (plan_in_spans if in_spans else plan_at_once)(sources, order, chunk_bytes)
    merged = [
        merged_keys([np.frombuffer(part, order.dtype) for part in parts], descending=descending)
        for parts in pieces(plan, data)
    ]
    expected = merged_keys(runs, descending=descending)
    assert b"".join(chunk.tobytes() for chunk in merged) == expected.tobytes()
    if chunk_bytes >= 64:
        assert max((chunk.nbytes for chunk in plan.chunks), default=0) <= 1.4 * chunk_bytes + len(runs) * order.width
    for source in sources:
        source.close()


@given(case=line_runs(most_runs=4), chunk_bytes=st.sampled_from([1, 20, 200]))
def test_merged_chunks_of_lines(tmp_path_factory: pytest.TempPathFactory, case: Any, chunk_bytes: int) -> None:
    runs, numeric, descending = case
    order = Order.lines(numeric=numeric, descending=descending)
    data = [as_text(run) for run in runs]
    sources = open_runs(tmp_path_factory.mktemp("runs"), data, "text")
    merged: list[bytes] = []
    for parts in pieces(plan_in_spans(sources, order, chunk_bytes), data):
        assert all(part[-1:] in (b"", b"\n") for part in parts)
        lines = [line for part in parts for line in part.split(b"\n")[:-1]]
        merged += sorted_lines(lines, numeric=numeric, descending=descending)
    every = [line for run in runs for line in run]
    assert merged == sorted_lines(every, numeric=numeric, descending=descending)
    for source in sources:
        source.close()


@given(case=key_runs(most_runs=6), number=st.integers(1, 40), chunk_bytes=st.sampled_from([1, 64, 10**6]))
def test_parts_of_keys_are_equal_but_for_one(
    tmp_path_factory: pytest.TempPathFactory, case: Any, number: int, chunk_bytes: int
) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    sources = open_runs(tmp_path_factory.mktemp("runs"), [run.tobytes() for run in runs], "raw", runs[0].dtype.name)
    planner = Planner(sources, order)
    parts = planner.parts(number)
    items = sum(map(len, runs))
    assert [part.offset // order.width for part in parts] == [items * at // number for at in range(number)]
    assert all(planner.is_cut([start for start, _ in part.ranges]) for part in parts)
    chunks: list[list[Chunk]] = [[] for _ in parts]
    for stretch in planner.spans(chunk_bytes, parts):
        assert len(stretch) == number
        for part, more in zip(chunks, stretch, strict=True):
            part += more
    for part, found in zip(parts, chunks, strict=True):
        assert (found[0].joined(found[-1]) if found else part).ranges == part.ranges
        assert all(low.joined(high).nbytes == low.nbytes + high.nbytes for low, high in pairwise(found))
    for source in sources:
        source.close()


@given(case=line_runs(most_runs=4), number=st.integers(1, 40))
def test_parts_of_lines_end_at_the_nearest_edges(
    tmp_path_factory: pytest.TempPathFactory, case: Any, number: int
) -> None:
    runs, numeric, descending = case
    order = Order.lines(numeric=numeric, descending=descending)
    sources = open_runs(tmp_path_factory.mktemp("runs"), [as_text(run) for run in runs], "text")
    every = sorted_lines([line for run in runs for line in run], numeric=numeric, descending=descending)
    edges = np.cumsum([0, *(len(line) + 1 for line in every)])
    targets = [edges[-1] * at // number for at in range(number)]
    found = [part.offset for part in Planner(sources, order).parts(number)]
    assert found == [edges[np.argmin(abs(edges - target))] for target in targets]  # of two as near the first
    for source in sources:
        source.close()


@given(case=record_runs(most_runs=4), chunk_bytes=st.sampled_from([1, 64, 500, 5000, 10**6]), in_spans=st.booleans())
def test_merged_chunks_of_records(
    tmp_path_factory: pytest.TempPathFactory, case: Records, chunk_bytes: int, in_spans: bool
) -> None:
    data = [b"".join(run) for run in case.runs]
    folder = tmp_path_factory.mktemp("runs")
    sources = open_runs(folder, data, "raw", records=RecordRequest(case.size))
    plan = (plan_in_spans if in_spans else plan_at_once)(sources, case.order, chunk_bytes)
    merged: list[bytes] = []
    for parts in pieces(plan, data):
        assert all(len(part) % case.size == 0 for part in parts)
        records = [part[at : at + case.size] for part in parts for at in range(0, len(part), case.size)]
        merged += merged_records(records, case.offset, case.key, descending=case.descending)
    assert merged == case.merged
    for source in sources:
        source.close()


def test_one_value_in_every_file_is_still_cut(tmp_path: Path) -> None:
    data = [np.full(10_000, 7, np.int32).tobytes()] * 3
    sources = open_runs(tmp_path, data, "raw", "int32")
    plan = plan_at_once(sources, Order.of("int32"), 4_000)
    assert len(plan.chunks) >= 25
    assert max((chunk.nbytes for chunk in plan.chunks), default=0) <= 5_000
    # Equal keys come out by run, so the first chunks take from the first run alone.
    assert plan.chunks[0].lengths[1:] == (0, 0)
    for source in sources:
        source.close()


@pytest.mark.parametrize("plan", [plan_at_once, plan_in_spans])
@pytest.mark.parametrize("chunk_bytes", [1, 700, 3_000])
def test_disorder_cannot_break_the_partition(
    tmp_path: Path, rng: np.random.Generator, plan: Callable[..., Plan], chunk_bytes: int
) -> None:
    data = [rng.integers(0, 1000, 500).astype(np.int64).tobytes() for _ in range(3)]
    sources = open_runs(tmp_path, data, "raw", "int64")
    for chunk in pieces(plan(sources, Order.of("int64"), chunk_bytes), data):
        assert all(len(piece) % 8 == 0 for piece in chunk)
    for source in sources:
        source.close()


@pytest.mark.one_of_each
@pytest.mark.parametrize("plan", [plan_at_once, plan_in_spans])
@pytest.mark.parametrize("chunk_bytes", [1, 700, 3_000])
def test_lines_out_of_order_stay_whole(
    tmp_path: Path, rng: np.random.Generator, plan: Callable[..., Plan], chunk_bytes: int
) -> None:
    data = []
    for _ in range(4):
        lengths = np.where(rng.random(300) < 0.03, rng.integers(0, 9_000, 300), rng.integers(0, 12, 300))
        data.append(b"".join(bytes(rng.integers(48, 60, length).astype(np.uint8)) + b"\n" for length in lengths))
    sources = open_runs(tmp_path, data, "text")
    for order in (Order.lines(), Order.lines(numeric=True, descending=True)):
        for chunk in pieces(plan(sources, order, chunk_bytes), data):
            assert all(piece[-1:] in (b"", b"\n") for piece in chunk)
    for source in sources:
        source.close()


def test_a_plan_is_pure_data(tmp_path: Path) -> None:
    sources = open_runs(tmp_path, [b"a\nb\n", b"b\nc\n"], "text")
    plan = plan_at_once(sources, Order.lines(), 2)
    assert pickle.loads(pickle.dumps(plan)) == plan
    read = json.loads(json.dumps(plan.as_dict()))
    assert read["nbytes"] == 8
    assert [chunk["offset"] for chunk in read["chunks"]] == [chunk.offset for chunk in plan.chunks]
    for source in sources:
        source.close()


@pytest.mark.parametrize("block", [1, 3, 10, 1000])
def test_blocks_hold_whole_lines(tmp_path: Path, block: int) -> None:
    data = b"\n\nlong line with words\nx\n" * 3
    (source,) = open_runs(tmp_path, [data], "text")
    blocks = item_blocks(source, block)
    assert b"".join(data[start:stop] for start, stop in blocks) == data
    assert all(data[stop - 1 : stop] == b"\n" for _, stop in blocks)
    source.close()


def test_an_error_of_a_source_is_raised_whichever_thread_read_it() -> None:
    """Cuts of many sources are made by several threads, of which Python knows only the caller's."""

    class Failing:
        dtype = np.dtype("int64")
        extent = None
        size = 1 << 20

        def __init__(self, number: int) -> None:
            self.name = f"source {number}"

        def read_into(self, start: int, out: memoryview) -> None:
            if self.name == "source 390":
                raise InputError("cannot be read", where=self.name)
            np.asarray(out).view(np.int64)[:] = np.arange(start // 8, (start + len(out)) // 8)

    sources: list[Any] = [Failing(number) for number in range(400)]
    planner = Planner(sources, Order.of("int64"))
    with pytest.raises(InputError, match="source 390"):
        planner.split(planner.whole(), 100 << 20)

"""Kernels that NumPy stands for: prepared calls run with them on arrays in the host's memory.

They check that the right launches go out for the right addresses, and work out the results. Other tests show that the
kernels do what the launches say.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pytest

from gpumerge_cli.backends.gpu import launching, prepared, streams
from gpumerge_cli.backends.gpu.launching import Launch
from gpumerge_cli.backends.gpu.policy import own_cuts_of_dependents, partition_stretch
from gpumerge_cli.backends.gpu.sort_policy import RANK_MERGING_THREADS
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.backends.variants.rung4_path import path_tile
from tests.fake_driver import FakeDriver, Kernel, put_driver
from tests.fake_groups import check_blocks, groups_of, write_words

STREAM = 77


def memory(address: int, nbytes: int) -> Any:
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


def items(address: int, count: int, size: int) -> Any:
    return memory(address, count * size).reshape(count, size)


def images(order: Any, rows: Any) -> Any:
    return order.image(order.keys(rows.reshape(-1)))


def in_order(order: Any, rows: Any) -> Any:
    """Items, a row of bytes each, in their stable order."""
    return rows[np.argsort(images(order, rows), kind="stable")]


def merged_ranks(order: Any, runs: list[Any]) -> Any:
    """The numbers of all items as they come in the merge of runs, which must be in order."""
    for run in runs:
        keys = images(order, run)
        assert (keys[:-1] <= keys[1:]).all()
    return np.argsort(images(order, np.concatenate(runs)), kind="stable")


def merged(order: Any, runs: list[Any]) -> Any:
    """The merge of runs, which must be in order."""
    return np.concatenate(runs)[merged_ranks(order, runs)]


class FakeColumns:
    """Columns as kernels are told of them: their macros, and the words that end the arguments."""

    def __init__(self, order: Any, named: Any) -> None:
        self.reads, self.writes = bool(named.get("FROM_COLUMNS")), bool(named.get("TO_COLUMNS"))
        self.words = 2 * named["COLUMNS"] + 3 if "COLUMNS" in named else 0
        self._runs, self._value, self._unit = (named.get(name, 0) for name in ("COLUMNS", "VALUE_SIZE", "VALUE_UNIT"))
        self._order = order
        self._key = order.width

    def read(self, addresses: Any, counts: Any, told: Any) -> list[Any]:
        """The records of each run."""
        found, start = [], 0
        for keys, values, count in zip(addresses, told, counts, strict=False):
            records = np.zeros((count, self._order.item_bytes), np.uint8)
            if count:
                records[:, : self._key] = items(keys, count, self._key)
                payload = records[:, max(4, self._key) :]
                if self._value:
                    payload[:, : self._value] = items(values, count, self._value)
                else:
                    numbers = np.arange(start, start + count, dtype=np.uint32)
                    payload[:] = numbers.view(np.uint8).reshape(count, 4)
            found.append(records)
            start += count
        return found

    def write(self, records: Any, told: Any) -> None:
        *sources, keys, moved, units = told
        total = len(records)
        if keys:
            items(keys, total, self._key)[:] = records[:, : self._key]
        payload = np.ascontiguousarray(records[:, max(4, self._key) :])
        if self._value:
            items(moved, total, self._value)[:] = payload[:, : self._value]
            return
        numbers = payload.view(np.uint32)[:, 0].astype(np.int64)
        if not self._unit:
            items(moved, total, 8)[:] = numbers.view(np.uint8).reshape(total, 8)
            return
        row = units * self._unit
        places = list(zip(sources[: self._runs], sources[self._runs :], strict=True))
        assert not any(values % self._unit for values, count in places if count)
        both = np.concatenate([items(values, count, row) for values, count in places if count])
        items(moved, total, row)[:] = both[numbers]


class FakeKernels:
    """Stands for Kernels: its launches are NumPy's."""

    driver: FakeDriver

    def __init__(self, device: int, order: Any, limits: Any) -> None:
        self.order, self.limits = order, limits

    def ready(self, name: str, threads: int, macros: Any = (), shared: int = 0, *, file: str = "") -> Launch:
        run = getattr(self, name)(dict(macros), threads)

        def checked(blocks: int, stream: int, given: list[int], dependent: bool) -> None:
            assert stream == STREAM
            run(blocks, stream, given, dependent)

        return Launch(lambda: self.driver.kernel(checked), threads, shared)

    def merge_path(self, macros: Any, threads: int) -> Kernel:
        size, columns, fan_in = self.order.item_bytes, FakeColumns(self.order, macros), macros["RUNS"]
        tile = path_tile(threads, macros["ITEMS_PER_THREAD"], fan_in)
        ahead = 2 * fan_in
        if macros.get("GROUPED"):
            return partial(self._merge_groups, fan_in, tile)

        def merge(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            (out, cuts, own, text, starts), told = given[ahead : ahead + 5], given[ahead + 5 :]
            assert (len(told), text, starts) == (columns.words, 0, 0)
            assert own == (own_cuts_of_dependents(TUNED_ON) if cuts else blocks)
            assert dependent == (cuts != 0)
            addresses, counts = given[:fan_in], given[fan_in:ahead]
            if columns.reads:
                runs = columns.read(addresses, counts, told)
            else:
                runs = [items(*run, size) for run in zip(addresses, counts, strict=True)]
            both = merged(self.order, runs)
            assert blocks == -(-len(both) // tile)
            if columns.writes:
                columns.write(both, told)
            else:
                items(out, len(both), size)[:] = both

        return merge

    def _merge_groups(self, fan_in: int, tile: int, blocks: int, stream: int, given: Any, dependent: bool) -> None:
        out, cuts, own, text, starts = given[3:]
        assert (text, starts) == (0, 0)
        assert own == (own_cuts_of_dependents(TUNED_ON) if cuts else blocks)
        assert dependent == (cuts != 0)
        size, groups = self.order.item_bytes, groups_of(given, fan_in, tile)
        check_blocks(given, [-(-group.total // tile) for group in groups], blocks)
        results = [merged(self.order, [items(*run, size) for run in group.runs]) for group in groups]
        for group, both in zip(groups, results, strict=True):
            items(out + group.start * size, group.total, size)[:] = both

    def write_words(self, macros: Any, threads: int) -> Kernel:
        return write_words

    def merge_by_rank(self, macros: Any, threads: int) -> Kernel:
        size, columns = self.order.item_bytes, FakeColumns(self.order, macros)
        assert not columns.reads

        def merge(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            at, length, total, out, fan_in, *told = given
            assert (len(told), dependent, blocks) == (columns.words, True, -(-total // RANK_MERGING_THREADS))
            assert length % RANK_MERGING_THREADS == 0
            assert 2 <= fan_in <= RANK_MERGING_THREADS // 2
            group = fan_in * length
            assert out + total * size <= at or at + total * size <= out or columns.writes
            everything = items(at, total, size)
            groups = [everything[start : start + group] for start in range(0, total, group)]
            runs = [[each[at : at + length] for at in range(0, len(each), length)] for each in groups]
            both = np.concatenate([merged(self.order, each) for each in runs])
            if columns.writes:
                assert total <= group
                columns.write(both, told)
            else:
                items(out, total, size)[:] = both

        return merge

    def merge_columns(self, macros: Any, threads: int) -> Kernel:
        size, value_bytes = self.order.width, macros["VALUE_SIZE"]

        def merge(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            addresses, counts, (_, cuts, own, text, starts), told = given[:2], given[2:4], given[4:9], given[9:]
            assert (told[2:4], text, starts) == (counts, 0, 0)
            assert own == (own_cuts_of_dependents(TUNED_ON) if cuts else blocks)
            assert dependent == (cuts != 0)
            total, there = sum(counts), [run for run in range(2) if counts[run]]
            assert blocks == -(-total // (threads * macros["ITEMS_PER_THREAD"]))
            keys = np.concatenate([items(addresses[run], counts[run], size) for run in there])
            values = np.concatenate([items(told[run], counts[run], value_bytes) for run in there])
            both = merged_ranks(self.order, [items(addresses[run], counts[run], size) for run in there])
            items(told[4], total, size)[:] = keys[both]
            items(told[5], total, value_bytes)[:] = values[both]

        return merge

    def partition(self, macros: Any, threads: int) -> Kernel:
        fan_in = macros["RUNS"]

        def cut_groups(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            cuts, edges, stretch, tile, *_ = given[3:]
            each = [-(-group.total // tile) + 1 for group in groups_of(given, fan_in, tile)]
            assert (sum(each), stretch) == (edges, partition_stretch(edges, fan_in, TUNED_ON, groups=True))
            check_blocks(given, [-(-edges // stretch) for edges in each], blocks)
            memory(cuts, edges * fan_in * 8)[:] = 0xFF

        if macros.get("GROUPED"):
            return cut_groups

        def cut(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            cuts, edges, stretch, tile, *_ = given[2 * fan_in :]
            assert stretch == partition_stretch(edges, fan_in, TUNED_ON)
            assert blocks == -(-edges // stretch)
            assert (edges - 2) * tile < sum(given[fan_in : 2 * fan_in]) <= (edges - 1) * tile
            memory(cuts, edges * fan_in * 8)[:] = 0xFF

        return cut

    def sort_by_rank(self, macros: Any, threads: int) -> Kernel:
        return self._sorting_tiles(macros, lambda total, tile: -(-total // tile) * -(-tile // 32))

    def sort_tile(self, macros: Any, threads: int) -> Kernel:
        def blocks(total: int, tile: int) -> int:
            assert tile <= threads * macros["ITEMS_PER_THREAD"]
            return -(-total // tile)

        return self._sorting_tiles(macros, blocks)

    def _sorting_tiles(self, macros: Any, blocks_of: Callable[[int, int], int]) -> Kernel:
        size, columns = self.order.item_bytes, FakeColumns(self.order, macros)

        def tiles(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            at, total, tile, out, text, starts, *told = given
            assert (blocks, len(told), text, starts) == (blocks_of(total, tile), columns.words, 0, 0)
            assert columns.writes == (columns.reads and tile >= total)
            everything = columns.read([at], [total], told)[0] if columns.reads else items(at, total, size)
            parts = [everything[start : start + tile] for start in range(0, total, tile)]
            both = np.concatenate([in_order(self.order, part) for part in parts])
            if columns.writes:
                columns.write(both, told)
            else:
                items(out, total, size)[:] = both

        return tiles

    def any_disorder(self, macros: Any, threads: int) -> Kernel:
        def check(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            at, total, answer, *_ = given
            keys = images(self.order, items(at, total, self.order.item_bytes))
            if (keys[1:] < keys[:-1]).any():
                memory(answer, 8)[:] = np.frombuffer(struct.pack("q", 1), np.uint8)

        return check


def put_on_host(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """Give prepared calls these kernels, a driver of them, and the host's memory in place of a device's."""

    def room(nbytes: int) -> Any:
        array = np.full(nbytes, 0xA5, np.uint8)
        return SimpleNamespace(ptr=array.ctypes.data, array=array)

    runtime = SimpleNamespace(
        streamIsCapturing=lambda stream: False, streamSynchronize=lambda stream: None, memsetAsync=lambda *given: None
    )
    stream = SimpleNamespace(ptr=STREAM)
    cuda = SimpleNamespace(
        alloc=room, alloc_pinned_memory=room, runtime=runtime, get_current_stream=lambda: stream, driver=None
    )
    for module in (prepared, launching, streams):
        monkeypatch.setattr(module, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(prepared, "gpu_kernels", FakeKernels)
    driver = put_driver(monkeypatch)
    monkeypatch.setattr(FakeKernels, "driver", driver, raising=False)
    return driver


def driver_error(what: str) -> BaseException:
    """The driver's error, which CuPy makes from a number."""
    error = cupy.cuda.driver.CUDADriverError
    made: BaseException = error.__new__(error)
    made.args = (what,)
    return made


def call(kind: tuple[Any, ...], runs: list[Any], out: Any, values: list[Any], moved: Any) -> bool:
    """Prepare a call and make it. kind: the first arguments of `prepare`.

    Returns its answer, and False if it does not take so many items.
    """
    ready = prepared.prepare(*kind, device=0, limits=TUNED_ON)
    assert ready is not None
    counts = [len(run) for run in runs]
    if not ready.takes(sum(counts)):
        return False
    addresses = [run.ctypes.data for run in runs]
    if kind[0] != "is_sorted":
        addresses.append(out.ctypes.data)
    if moved is not None:
        addresses += [*(each.ctypes.data for each in values), moved.ctypes.data]
    ready(addresses, counts, sum(counts))
    for array in (out, moved):
        if array is not None and kind[0] != "is_sorted":
            array.view(np.uint8).reshape(-1)[:] = 0xA5
    return ready(addresses, counts, sum(counts))  # the steps of the first call are queued one by one, then recorded


def some(rng: np.random.Generator, dtype: str, count: int) -> Any:
    """Random keys with many equal ones."""
    return rng.integers(0, 90, count).astype(dtype)

"""Prepared calls without a device: their launches are worked out by NumPy, in the host's memory.

What is shown: that the right launches go out for the right addresses. Whether the kernels do what the launches say is
shown elsewhere.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the launches are CuPy's", exc_type=ImportError)

from gpumerge_cli.backends.gpu import joining, launching, many_runs, prepared, prepared_digits
from gpumerge_cli.backends.gpu.policy import own_cuts_beside, partition_stretch
from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.errors import DeviceMemoryError, UsageError
from gpumerge_cli.order import Order

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


def merged(order: Any, runs: list[Any]) -> Any:
    """The merge of runs, which must be in order."""
    for run in runs:
        keys = images(order, run)
        assert (keys[:-1] <= keys[1:]).all()
    return in_order(order, np.concatenate(runs))


class FakeColumns:
    """Columns as kernels are told of them: their macros, and the words that end the arguments."""

    def __init__(self, order: Any, macros: Any) -> None:
        named = dict(macros)
        self.reads, self.writes = bool(named.get("FROM_COLUMNS")), bool(named.get("TO_COLUMNS"))
        self.words = 2 * named.get("COLUMNS", 0) + 3 if named else 0
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

    def __init__(self, device: int, order: Any, limits: Any) -> None:
        self.order = self._order = order

    def merging(self, policy: Any, *, batched: bool = False, macros: Any = (), words: int = 0) -> Callable[..., None]:
        size, columns = self._order.item_bytes, FakeColumns(self._order, macros)
        ahead = 3 if batched else 2 * policy.fan_in
        assert columns.words == words

        def merge(blocks: int, stream: int, given: list[int], *, beside: bool = False) -> None:
            (out, cuts, own, text, starts), told = given[ahead : ahead + 5], given[ahead + 5 :]
            assert (len(told), text, starts) == (words, 0, 0)
            assert own == (own_cuts_beside(policy.fan_in, TUNED_ON) if cuts else blocks)
            assert beside == (cuts != 0)
            if batched:
                at, length, total = given[:3]
                everything, group = items(at, total, size), policy.fan_in * length
                groups = [everything[start : start + group] for start in range(0, total, group)]
                runs = [[each[at : at + length] for at in range(0, len(each), length)] for each in groups]
            else:
                addresses, counts = given[: policy.fan_in], given[policy.fan_in : ahead]
                if columns.reads:
                    runs = [columns.read(addresses, counts, told)]
                else:
                    runs = [[items(*run, size) for run in zip(addresses, counts, strict=True)]]
            found = [merged(self._order, each) for each in runs]
            assert blocks == sum(-(-len(each) // policy.tile_size) for each in found)
            both = np.concatenate(found)
            if columns.writes:
                columns.write(both, told)
            else:
                items(out, len(both), size)[:] = both

        return merge

    def partitioning(self, policy: Any, *, batched: bool = False, macros: Any = ()) -> Callable[..., None]:
        assert not (batched and macros)

        def cut(blocks: int, stream: int, given: list[int]) -> None:
            cuts, edges, stretch, tile, *_ = given[3 if batched else 2 * policy.fan_in :]
            assert stretch == partition_stretch(edges, policy.fan_in, TUNED_ON)
            assert tile == policy.tile_size
            groups = blocks // -(-edges // stretch)
            memory(cuts, groups * edges * policy.fan_in * 8)[:] = 0xFF

        return cut

    def tiling(self, policy: Any, *, shape: Any = None, macros: Any = (), words: int = 0) -> Callable[..., None]:
        size, columns = self._order.item_bytes, FakeColumns(self._order, macros)
        assert columns.words == words

        def tiles(blocks: int, stream: int, given: list[int]) -> None:
            at, total, tile, out, text, starts, *told = given
            assert (blocks, tile, len(told), text, starts) == (-(-total // tile), policy.tile, words, 0, 0)
            assert shape is None or tile <= shape.room
            everything = columns.read([at], [total], told)[0] if columns.reads else items(at, total, size)
            parts = [everything[start : start + tile] for start in range(0, total, tile)]
            both = np.concatenate([in_order(self._order, part) for part in parts])
            if columns.writes:
                columns.write(both, told)
            else:
                items(out, total, size)[:] = both

        return tiles

    def checking(self) -> Callable[..., None]:
        def check(blocks: int, stream: int, given: list[int]) -> None:
            at, total, answer, *_ = given
            keys = images(self._order, items(at, total, self._order.item_bytes))
            if (keys[1:] < keys[:-1]).any():
                memory(answer, 8)[:] = np.frombuffer(struct.pack("q", 1), np.uint8)

        return check


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def room(nbytes: int) -> Any:
        array = np.full(nbytes, 0xA5, np.uint8)
        return SimpleNamespace(ptr=array.ctypes.data, array=array)

    runtime = SimpleNamespace(streamIsCapturing=lambda stream: False, streamSynchronize=lambda stream: None)
    stream = SimpleNamespace(ptr=STREAM)
    cuda = SimpleNamespace(
        alloc=room, alloc_pinned_memory=room, runtime=runtime, get_current_stream=lambda: stream, driver=None
    )
    for module in (prepared, launching):
        monkeypatch.setattr(module, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(prepared, "Kernels", FakeKernels)


def call(kind: prepared.Kind, runs: list[Any], out: Any, values: list[Any], moved: Any) -> bool:
    ready = prepared.prepare(kind, 0, TUNED_ON)
    assert ready is not None
    counts = [len(run) for run in runs]
    if not ready.takes(sum(counts)):
        return False
    places = [each.ctypes.data for each in values]
    at = 0 if moved is None else moved.ctypes.data
    return ready([run.ctypes.data for run in runs], counts, sum(counts), out.ctypes.data, places, at)


def some(rng: np.random.Generator, dtype: str, count: int) -> Any:
    return rng.integers(0, 90, count).astype(dtype)


ROWS = [("uint8", ()), ("int16", ()), ("float32", ()), ("int64", ()), ("uint8", (3,)), ("int32", (4,)), ("int16", (5,))]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
@pytest.mark.parametrize("count", [1, 1300, 12_000, 70_000])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(rng: np.random.Generator, dtype: str, count: int, descending: bool) -> None:
    order = Order.of(dtype, descending=descending)
    keys = some(rng, dtype, count)
    expected = np.argsort(order.image(keys), kind="stable")
    out = np.empty_like(keys)
    assert call(prepared.Kind("sort", order), [keys], out, [], None)
    assert (out == keys[expected]).all()
    ranks = np.empty(count, np.int64)
    assert call(prepared.Kind("argsort", order), [keys], ranks, [], None)
    assert (ranks == expected).all()
    kind, row = ROWS[int(rng.integers(len(ROWS)))]
    values = np.frombuffer(rng.bytes(count * prod(row) * np.dtype(kind).itemsize), kind).reshape(count, *row)
    moved = np.empty_like(values)
    nbytes = values.itemsize * prod(row)
    assert call(prepared.Kind("sort", order, 1, nbytes), [keys], out, [values], moved)
    assert (out == keys[expected]).all()
    assert moved.tobytes() == values[expected].tobytes()
    for run in (keys, out):
        told = call(prepared.Kind("is_sorted", order), [run], out, [], None)
        assert told == bool((order.image(run)[1:] >= order.image(run)[:-1]).all())


@pytest.mark.parametrize("number", [17, 40, 300])
def test_merges_of_many_runs_by_passes(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, number: int) -> None:
    copies: list[int] = []

    def copy(source: int, to: int, nbytes: int) -> None:
        memory(to, nbytes)[:] = memory(source, nbytes)
        copies.append(nbytes)

    monkeypatch.setattr(many_runs, "pays", lambda *given: False)
    monkeypatch.setattr(prepared, "copy_on_device", copy)
    for dtype in ("uint8", "int64"):
        runs = [np.sort(some(rng, dtype, int(rng.integers(0, 300)))) for _ in range(number)]
        out = np.empty(sum(map(len, runs)), dtype)
        assert call(prepared.Kind("merge", Order.of(dtype), number), runs, out, [], None)
        assert (out == np.sort(np.concatenate(runs))).all()


@pytest.mark.parametrize("number", [1, 2, 3, 16])
@pytest.mark.parametrize("shape", range(len(ROWS)))
def test_merges(rng: np.random.Generator, number: int, shape: int) -> None:
    order = Order.of("int32")
    runs = [np.sort(some(rng, "int32", int(rng.integers(0, 30_000)))) for _ in range(number)]
    runs[0] = np.sort(some(rng, "int32", 5))
    both = np.concatenate(runs)
    expected = np.argsort(both, kind="stable")
    out = np.empty_like(both)
    assert call(prepared.Kind("merge", order, number), runs, out, [], None)
    assert (out == both[expected]).all()
    kind, row = ROWS[shape]
    values = [
        np.frombuffer(rng.bytes(len(run) * prod(row) * np.dtype(kind).itemsize), kind).reshape(len(run), *row)
        for run in runs
    ]
    moved = np.concatenate(values)
    out[:] = 0
    nbytes = moved.itemsize * prod(row)
    assert call(prepared.Kind("merge", order, number, nbytes), runs, out, values, moved)
    assert (out == both[expected]).all()
    assert moved.tobytes() == np.concatenate(values)[expected].tobytes()


def test_long_merges_and_sorts_are_cut_beforehand(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    cuts = 0
    partitioning = FakeKernels.partitioning

    def counted(self: Any, policy: Any, **how: Any) -> Callable[..., None]:
        launch = partitioning(self, policy, **how)

        def cut(*arguments: Any) -> None:
            nonlocal cuts
            cuts += 1
            launch(*arguments)

        return cut

    monkeypatch.setattr(FakeKernels, "partitioning", counted)
    monkeypatch.setattr("gpumerge_cli.backends.gpu.passes.OWN_CUTS", 0)
    order = Order.of("int64")
    keys = some(rng, "int64", 100_000)
    out = np.empty_like(keys)
    assert call(prepared.Kind("sort", order), [keys], out, [], None)
    assert (out == np.sort(keys)).all()
    assert cuts >= 2
    runs = [np.sort(part) for part in np.split(keys, [30_000])]
    assert call(prepared.Kind("merge", order, 2), runs, out, [], None)
    assert (out == np.sort(keys)).all()


def test_what_no_call_is_prepared_for() -> None:
    order = Order.of("int64")
    assert prepared.prepare(prepared.Kind("merge", order, 17, 4), 0, TUNED_ON) is None
    many = prepared.prepare(prepared.Kind("merge", order, 17), 0, TUNED_ON)
    assert many is not None
    assert not many.takes(0)
    assert many.takes(1 << 28)  # by passes or by digits
    assert prepared.prepare(prepared.Kind("sort", order, 1, 0), 0, TUNED_ON) is None
    for kind in (prepared.Kind("merge", order, 2), prepared.Kind("argsort", order), prepared.Kind("is_sorted", order)):
        ready = prepared.prepare(kind, 0, TUNED_ON)
        assert ready is not None
        assert not ready.takes(0)
    ready = prepared.prepare(prepared.Kind("merge", order, 2, 16), 0, TUNED_ON)
    assert ready is not None
    assert ready.takes((1 << 32) - 1)
    assert not ready.takes(1 << 32)  # the number of an item has 32 bits


@pytest.mark.parametrize("what", ["keys", "values", "numbers"])
def test_many_keys_are_sorted_by_digits(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """They are launched as radix.py decides, with the same arguments."""
    from gpumerge_cli.backends.gpu import radix
    from gpumerge_cli.backends.gpu.sort_policy import pair_order

    launched: list[tuple[Any, ...]] = []

    begun: list[str] = []

    def ready(self: Any, name: str, threads: int, words: int, macros: Any, shared: int) -> Callable[..., None]:
        def launch(blocks: int, stream: int, given: list[int]) -> None:
            assert len(given) == words
            launched.append((name, blocks, threads, tuple(given), macros, shared))

        return launch

    monkeypatch.setattr(FakeKernels, "ready", ready, raising=False)
    monkeypatch.setattr(FakeKernels, "begin", lambda self, name, macros: begun.append(name), raising=False)
    rooms = iter([1 << 30, 1 << 32] * 2)
    for module in (radix, prepared_digits):
        monkeypatch.setattr(module, "scratch", lambda nbytes, stream: SimpleNamespace(ptr=next(rooms)))
        monkeypatch.setattr(module, "current_stream", lambda: STREAM)
    zeroed: list[tuple[int, ...]] = []
    runtime = SimpleNamespace(memsetAsync=lambda *given: zeroed.append(given))
    monkeypatch.setattr(radix, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    order, count = Order.of("float32"), 1_000_000
    kind = {
        "keys": prepared.Kind("sort", order), "values": prepared.Kind("sort", order, 1, 8),
        "numbers": prepared.Kind("argsort", order),
    }[what]  # fmt: skip
    call = prepared.prepare(kind, 0, TUNED_ON)
    assert call is not None
    assert call.takes(count)
    call([4096], [count], count, 8192, [1 << 20] if what == "values" else [], 1 << 21 if what == "values" else 0)
    found, launched = launched, []
    assert begun == ["count_digits", "sort_radix"]  # side by side
    items, at = order if what == "keys" else pair_order(order, 8 if what == "values" else 4), 1 << 30
    size = -(-count * items.item_bytes // 16) * 16
    ends = {"keys": None, "values": radix.Ends(1 << 20, 8192, 1 << 21), "numbers": radix.Ends(0, 0, 8192)}[what]
    expected = []

    def launch(name: str, blocks: int, threads: int, arguments: Any, *, macros: Any, shared: int) -> None:
        words = [word for each in arguments for word in (each.tolist() if hasattr(each, "tolist") else [each])]
        flat = np.frombuffer(words[-1], np.int64).tolist() if isinstance(words[-1], bytes) else words[-1:]
        expected.append((name, blocks, threads, (*words[:-1], *flat), macros, shared))

    next(rooms)
    buffers = (8192, at) if what == "keys" else (at, at + size)
    radix.sort_by_digits(launch, items, TUNED_ON, (4096, count), buffers, ends)
    assert found == expected
    assert len(found) == 1 + order.width
    assert zeroed[0] == zeroed[1]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_many_runs_are_laid_together_and_sorted(monkeypatch: pytest.MonkeyPatch, dtype: str, apart: bool) -> None:
    """Every second one touches the one ahead of it, which may be another allocation: no copy by the driver is made."""
    order, lengths = Order.of(dtype), [500 + number for number in range(900)]
    total, width = sum(lengths), np.dtype(dtype).itemsize
    addresses = [4096 + width * (sum(lengths[:number]) + apart * (number // 2)) for number in range(900)]
    told: list[Any] = []
    laid: list[tuple[int, int, int]] = []

    def join(blocks: int, stream: int, words: list[int]) -> None:
        (*table, to), at = words, 0
        assert len(words) == joining.WORDS
        assert blocks == -(-(to % 16 + table[-1]) // 32768)
        for address, end in zip(table[: joining.MOST], table[joining.MOST :], strict=True):
            if end > at:
                laid.append((to + at, address, end - at))
            at = end

    monkeypatch.setattr(prepared, "scratch", lambda nbytes, stream: SimpleNamespace(ptr=1 << 30))
    monkeypatch.setattr(prepared_digits, "current_stream", lambda: STREAM)
    monkeypatch.setattr(FakeKernels, "joining", lambda self: join, raising=False)
    monkeypatch.setattr(prepared_digits.DigitPasses, "_sort", lambda self, *given: told.append(given))
    call = prepared.prepare(prepared.Kind("merge", order, 900), 0, TUNED_ON)
    assert call is not None
    assert call.takes(total)
    call(addresses, lengths, total, 1 << 29, [], 0)
    begin = (1 << 30 if width % 2 else 1 << 29) if apart else 4096
    assert told == [((begin, total), (1 << 29, 1 << 30), STREAM, None)]
    starts = [begin + width * sum(lengths[:number]) for number in range(0, 900, 2)]
    pairs = [width * (lengths[number] + lengths[number + 1]) for number in range(0, 900, 2)]
    assert laid == (list(zip(starts, addresses[::2], pairs, strict=True)) if apart else [])


def test_the_host_and_the_kernel_agree_on_joins() -> None:
    text = flatten("join_runs.cu")
    assert f"constexpr int RUNS = {joining.MOST};" in text
    assert f"constexpr long long STRETCH = {joining._STRETCH};" in text
    assert f"#define BLOCK_SIZE {joining.THREADS}" in text
    assert 8 * joining.WORDS <= 4096  # bytes of arguments that every driver takes


def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Records the launches that the driver is asked for, with their arguments as words."""
    told: list[tuple[Any, ...]] = []

    def launch(*arguments: int) -> None:
        pointer, address, size, at, end = struct.unpack("5q", memory(arguments[-1], 40).tobytes())
        assert (pointer, size, end, arguments[-2]) == (1, 2, 0, 0)
        nbytes = struct.unpack("q", memory(at, 8).tobytes())[0]
        told.append((*arguments[:-2], struct.unpack(f"{nbytes // 8}q", memory(address, nbytes).tobytes())))

    monkeypatch.setattr(launching, "_launch_kernel", launch)
    return told


def test_arguments_as_the_driver_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told = launches(monkeypatch)
    launch = launching.Launch(SimpleNamespace(ptr=9), 256, 3, shared=48)
    for turn in range(3):
        launch(7, STREAM, [1 << 47, -1, turn])
    assert told == [(9, 7, 1, 1, 256, 1, 1, 48, STREAM, (1 << 47, -1, turn)) for turn in range(3)]
    with pytest.raises(struct.error):
        launch(7, STREAM, [1, 2])


def test_a_launch_inside_a_launch_has_arguments_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another thread came in while the driver reads the arguments of the first one."""
    told = launches(monkeypatch)
    launch = launching.Launch(SimpleNamespace(ptr=9), 256, 1)
    plain = launching._launch_kernel
    depth = 0

    def nested(*arguments: int) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            launch(1, STREAM, [22])
        plain(*arguments)

    monkeypatch.setattr(launching, "_launch_kernel", nested)
    launch(1, STREAM, [11])
    assert [words for *_, words in told] == [(22,), (11,)]


def test_a_graph_that_is_captured_has_scratch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = launching.cupy.cuda.runtime
    freed = []
    monkeypatch.setattr(runtime, "streamIsCapturing", lambda stream: stream == STREAM)
    monkeypatch.setattr(runtime, "mallocAsync", lambda nbytes, stream: 4096, raising=False)
    monkeypatch.setattr(runtime, "freeAsync", lambda *given: freed.append(given), raising=False)
    room = launching.scratch(100, STREAM)
    assert room.ptr == 4096
    assert not freed
    del room
    assert freed == [(4096, STREAM)]
    assert launching.scratch(100, 0).ptr != 4096
    with pytest.raises(UsageError, match="is_sorted waits for its answer, and a graph that is captured cannot"):
        launching.judge_waiting(STREAM, "is_sorted")


def test_a_stream_of_another_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver refuses it by a number; the contexts tell what is wrong."""
    current = [100]
    driver = SimpleNamespace(
        ctxGetCurrent=lambda: current[0],
        ctxSetCurrent=lambda context: current.__setitem__(0, context),
        ctxGetDevice=lambda: current[0] // 100 - 1,
        streamGetCtx=lambda stream: 200,
    )
    monkeypatch.setattr(launching.cupy.cuda, "driver", driver)
    with pytest.raises(UsageError, match="the current stream is one of GPU 1, and the arrays lie on GPU 0"):
        launching.judge_stream()
    assert current == [100]
    driver.streamGetCtx = lambda stream: 100
    launching.judge_stream()

    def lost(stream: int) -> int:
        raise _driver_error("CUDA_ERROR_MISALIGNED_ADDRESS")

    driver.streamGetCtx = lost
    launching.judge_stream()  # another error says what is wrong


def _driver_error(what: str) -> BaseException:
    """The driver's error, which CuPy makes from a number."""
    import cupy

    error = cupy.cuda.driver.CUDADriverError
    made: BaseException = error.__new__(error)
    made.args = (what,)
    return made


class Memory:
    """Stands for CuPy's allocators, and for those of a graph that is captured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.captured, self.taken, self.freed = True, [], []  # type: ignore[var-annotated]
        self.current: Any = self.of_pool
        runtime = SimpleNamespace(
            streamIsCapturing=lambda stream: self.captured and stream == STREAM,
            mallocAsync=self.of_graph, freeAsync=lambda *given: self.freed.append(given), getDevice=lambda: 0,
        )  # fmt: skip
        cuda = SimpleNamespace(
            runtime=runtime, get_current_stream=lambda: SimpleNamespace(ptr=STREAM), get_allocator=lambda: self.current,
            using_allocator=self.using,
            UnownedMemory=lambda ptr, size, owner, device: SimpleNamespace(ptr=ptr, of=owner),
            MemoryPointer=lambda memory, offset: SimpleNamespace(ptr=memory.ptr, memory=memory),
        )  # fmt: skip
        monkeypatch.setattr(launching, "cupy", SimpleNamespace(cuda=cuda))

    def of_pool(self, nbytes: int) -> Any:
        self.taken.append(("pool", nbytes))
        return SimpleNamespace(ptr=64)

    def of_graph(self, nbytes: int, stream: int) -> int:
        self.taken.append(("graph", nbytes))
        return 4096

    @contextmanager
    def using(self, allocator: Any) -> Iterator[None]:
        before, self.current = self.current, allocator
        yield
        self.current = before


def test_temporaries_of_a_captured_call_belong_to_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results do not, and without a capture nothing does."""
    memory = Memory(monkeypatch)
    with launching.temporaries():
        room = memory.current(100)
        assert room.ptr == 4096
        with launching.lasting() as is_temporary:
            assert is_temporary
            assert memory.current(50).ptr == 64
        memory.current(0)
        assert not memory.freed
        del room
        assert memory.freed == [(4096, STREAM)]
        late = memory.current(25)
    assert memory.taken == [("graph", 100), ("pool", 50), ("pool", 0), ("graph", 25)]
    memory.captured = False
    del late
    assert memory.freed == [(4096, STREAM)]  # the capture has ended
    with launching.temporaries(), launching.lasting() as is_temporary:
        assert not is_temporary
        assert memory.current == memory.of_pool


def test_errors_of_a_launch_are_the_programs_own(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    import cupy

    def refused(*arguments: Any) -> None:
        raise cupy.cuda.memory.OutOfMemoryError(1, 2)

    keys = some(rng, "int32", 3)
    monkeypatch.setattr(FakeKernels, "tiling", lambda self, policy, **how: refused)
    monkeypatch.setattr(prepared, "judge_stream", lambda: None)
    with pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        call(prepared.Kind("sort", Order.of("int32")), [keys], np.empty_like(keys), [], None)
    monkeypatch.setattr(prepared.cupy.cuda, "alloc", refused)
    with pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        prepared.Prepared.room(5)

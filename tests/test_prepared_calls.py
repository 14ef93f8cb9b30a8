"""Prepared calls without a device: which launches go out, and what they make of arrays in the host's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import joining, many_runs, merging, prepared, recording, source, streams
from gpumerge_cli.backends.gpu.launching import Launch, queue
from gpumerge_cli.backends.gpu.sort_policy import counting_bytes, digit_shape, pair_order
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.errors import DeviceMemoryError, UsageError
from gpumerge_cli.order.kinds import KeyOrder, Order
from tests.fake_driver import FakeDriver
from tests.fake_kernels import STREAM, FakeKernels, call, put_on_host, some


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return put_on_host(monkeypatch)


ROWS = [("uint8", ()), ("int16", ()), ("float32", ()), ("int64", ()), ("uint8", (3,)), ("int32", (4,)), ("int16", (5,))]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
@pytest.mark.parametrize("count", [1, 1300, 8000, 12_000, 70_000])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, dtype: str, count: int, descending: bool
) -> None:
    monkeypatch.setattr(prepared, "most_by_rank", lambda order, columns: count)
    order = Order.of(dtype, descending=descending)
    keys = some(rng, dtype, count)
    expected = np.argsort(order.image(keys), kind="stable")
    out = np.empty_like(keys)
    assert call(("sort", order), [keys], out, [], None)
    assert (out == keys[expected]).all()
    ranks = np.empty(count, np.int64)
    assert call(("argsort", order), [keys], ranks, [], None)
    assert (ranks == expected).all()
    kind, row = ROWS[int(rng.integers(len(ROWS)))]
    values = np.frombuffer(rng.bytes(count * prod(row) * np.dtype(kind).itemsize), kind).reshape(count, *row)
    moved = np.empty_like(values)
    nbytes = values.itemsize * prod(row)
    assert call(("sort", order, 1, nbytes), [keys], out, [values], moved)
    assert (out == keys[expected]).all()
    assert moved.tobytes() == values[expected].tobytes()
    for run in (keys, out):
        told = call(("is_sorted", order), [run], out, [], None)
        assert told == bool((order.image(run)[1:] >= order.image(run)[:-1]).all())


@pytest.mark.parametrize("descending", [False, True])
def test_dates(rng: np.random.Generator, descending: bool) -> None:
    """NaT is last, or first in descending order. The unit of dates is not told to kernels."""
    order = KeyOrder("datetime", 8, descending)
    keys = rng.choice(np.array([np.iinfo(np.int64).min, -1, 0, 5]), 1300)
    expected = np.argsort(-np.unique(keys.view("M8[s]"), return_inverse=True)[1] * (2 * descending - 1), kind="stable")
    out, ranks = np.empty_like(keys), np.empty_like(keys)
    assert call(("sort", order), [keys], out, [], None)
    assert (out == keys[expected]).all()
    assert call(("argsort", order), [keys], ranks, [], None)
    assert (ranks == expected).all()
    merged, moved = np.empty(2600, np.int64), np.empty(2600, np.uint16)
    assert call(("merge", order, 2, 2), [out, out], merged, [np.arange(1300, dtype=np.uint16)] * 2, moved)
    assert (np.sort(merged) == np.sort(np.concatenate([out, out]))).all()
    assert call(("is_sorted", order), [merged], out, [], None)


@pytest.mark.parametrize("number", [17, 40, 300])
@pytest.mark.parametrize("own_cuts", [merging.OWN_CUTS, 0])
def test_merges_of_many_runs_by_passes(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, number: int, own_cuts: int
) -> None:
    monkeypatch.setattr(many_runs, "pays", lambda *given: False)
    monkeypatch.setattr(merging, "OWN_CUTS", own_cuts)
    for dtype in ("uint8", "int64"):
        runs = [np.sort(some(rng, dtype, int(rng.integers(0, 300)))) for _ in range(number)]
        runs[-1] = np.sort(some(rng, dtype, 50_000))
        out = np.empty(sum(map(len, runs)), dtype)
        assert call(("merge", Order.of(dtype), number), runs, out, [], None)
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
    assert call(("merge", order, number), runs, out, [], None)
    assert (out == both[expected]).all()
    kind, row = ROWS[shape]
    values = [
        np.frombuffer(rng.bytes(len(run) * prod(row) * np.dtype(kind).itemsize), kind).reshape(len(run), *row)
        for run in runs
    ]
    moved = np.concatenate(values)
    out[:] = 0
    nbytes = moved.itemsize * prod(row)
    assert call(("merge", order, number, nbytes), runs, out, values, moved)
    assert (out == both[expected]).all()
    assert moved.tobytes() == np.concatenate(values)[expected].tobytes()


def test_long_merges_are_cut_beforehand(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    cuts = 0
    partition = FakeKernels.partition

    def counted(self: Any, macros: Any, threads: int) -> Callable[..., None]:
        launch = partition(self, macros, threads)

        def cut(*arguments: Any) -> None:
            nonlocal cuts
            cuts += 1
            launch(*arguments)

        return cut

    monkeypatch.setattr(FakeKernels, "partition", counted)
    monkeypatch.setattr("gpumerge_cli.backends.gpu.merging.OWN_CUTS", 0)
    order = Order.of("int64")
    keys = some(rng, "int64", 100_000)
    out = np.empty_like(keys)
    runs = [np.sort(part) for part in np.split(keys, [30_000])]
    assert call(("merge", order, 2), runs, out, [], None)
    assert (out == np.sort(keys)).all()
    assert cuts == 2  # one for each call


def test_what_no_call_is_prepared_for() -> None:
    order = Order.of("int64")
    assert prepared.prepare("merge", order, 17, 4, device=0, limits=TUNED_ON) is None
    many = prepared.prepare("merge", order, 17, device=0, limits=TUNED_ON)
    assert many is not None
    assert not many.takes(0)
    assert many.takes(1 << 28)  # by passes or by digits
    assert prepared.prepare("sort", order, 1, 0, device=0, limits=TUNED_ON) is None
    for kind in (("merge", order, 2), ("argsort", order), ("is_sorted", order)):
        ready = prepared.prepare(*kind, device=0, limits=TUNED_ON)
        assert ready is not None
        assert not ready.takes(0)
    ready = prepared.prepare("merge", order, 2, 16, device=0, limits=TUNED_ON)
    assert ready is not None
    assert ready.takes((1 << 32) - 1)
    assert not ready.takes(1 << 32)  # the number of an item has 32 bits


def digit_launches(
    order: Order, count: int, places: tuple[int, int, int], plan: int, ends: tuple[int, ...] = ()
) -> list[tuple[Any, ...]]:
    """The plain form of a sort by digits: (name, blocks, threads, words, macros, shared) of each launch.

    places: addresses of the items and of two buffers. plan: address of what is counted. ends: addresses of values, of
    sorted keys and of sorted values, or none.
    """
    shape, passes, wide = digit_shape(order, TUNED_ON), order.prefix_bytes, count >= 1 << 30
    tiles = -(-count // shape.room)
    where = 1 + places[1:].index(places[0]) if places[0] in places[1:] else 0
    shared = (plan, plan + 8 * (passes * 257 + 1))
    macros = source.digit_macros(passes, wide=wide, pairs=bool(ends))
    counting = (places[0], count, where, *shared, tiles * 256)
    blocks = min(4 * TUNED_ON.multiprocessors, -(-count * order.width // (64 * 512)))
    launches: list[tuple[Any, ...]] = [("count_digits", blocks, 512, counting, macros, counting_bytes(passes))]
    macros = (*macros, *source.shape_macros(shape.block_size, shape.items_per_thread, shape.resident))
    blocks = min(tiles, shape.resident * TUNED_ON.multiprocessors)
    for digit in range(passes):
        words = (*places, count, digit, *shared, *ends)
        launches.append(
            ("sort_radix", blocks, shape.block_size, words, macros, shape.shared_bytes(order, wide=wide))
        )  # fmt: skip
    return launches


@pytest.mark.parametrize("what", ["keys", "values", "numbers"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_many_keys_are_sorted_by_digits(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, rng: np.random.Generator, what: str, dtype: str
) -> None:
    """What is decided once is what would be decided each time: the same launches with the same arguments."""
    launched: list[tuple[Any, ...]] = []
    begun: list[str] = []
    took: list[int] = []

    def ready(self: Any, name: str, threads: int, macros: Any, shared: int) -> Launch:
        begun.append(name)

        def launch(blocks: int, stream: int, given: list[int], dependent: bool) -> None:
            small = name == "sort_radix" and blocks <= TUNED_ON.multiprocessors // 4
            assert (stream, dependent) == (STREAM, small)
            launched.append((name, blocks, threads, tuple(given), macros, shared))

        return Launch(lambda: driver.kernel(launch), threads, shared)

    def take(nbytes: int) -> Any:
        took.append(nbytes)
        return SimpleNamespace(ptr=len(took) << 40)

    monkeypatch.setattr(FakeKernels, "ready", ready)
    for module in (prepared, recording):
        monkeypatch.setattr(module, "scratch", take)
    order = Order.of(dtype, descending=bool(rng.integers(2)))
    kind = {
        "keys": ("sort", order), "values": ("sort", order, 1, 8),
        "numbers": ("argsort", order),
    }[what]  # fmt: skip
    call = prepared.prepare(*kind, device=0, limits=TUNED_ON)
    assert call is not None
    items = order if what == "keys" else pair_order(order, 8 if what == "values" else 4)
    ends_of_values = [1 << 20, 1 << 21] if what == "values" else []
    for count in (*rng.integers(300_000, 1 << 30, 3).tolist(), (1 << 30) - 1, 1 << 30, (1 << 31) + 5):
        assert call.takes(count)
        for _ in range(2):  # as the steps are queued one by one, and by a recording
            for noted in (launched, driver.filled, took):
                noted.clear()
            call([4096, 8192, *ends_of_values], [count], count)
            size = -(-count * items.item_bytes // 16) * 16
            buffers = (8192, 1 << 40) if what == "keys" else (1 << 40, (1 << 40) + size)
            ends = {"keys": (), "values": (1 << 20, 8192, 1 << 21), "numbers": (0, 0, 8192)}[what]
            assert launched == digit_launches(items, count, (4096, *buffers), 2 << 40, ends)
            plan = 8 * (order.width * 257 + 1)
            said = -(-count // digit_shape(items, TUNED_ON).room) * 256 * min(order.width, 2)
            assert took == [size * (1 if what == "keys" else 2), plan + said * (4 if count < 1 << 30 else 8)]
            assert driver.filled == [(2 << 40, plan, STREAM)]
    by_digits = [name for name in begun if name in ("count_digits", "sort_radix")]
    assert by_digits == ["count_digits", "sort_radix"] * 2  # for fewer items than 2^30 and for more


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_many_runs_are_laid_together_and_sorted(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, dtype: str, apart: bool
) -> None:
    """Every second one touches the one ahead of it, which may be another allocation: no copy by the driver is made."""
    order, lengths = Order.of(dtype), [500 + number for number in range(900)]
    total, width = sum(lengths), np.dtype(dtype).itemsize
    addresses = [4096 + width * (sum(lengths[:number]) + apart * (number // 2)) for number in range(900)]
    told: list[Any] = []
    laid: list[tuple[int, int, int]] = []

    def join(blocks: int, stream: int, words: list[int], dependent: bool) -> None:
        (*table, to), at = words, 0
        assert len(words) == 2 * joining.MAX_RUNS + 1
        assert blocks == -(-(to % 16 + table[-1]) // 32768)
        for address, end in zip(table[: joining.MAX_RUNS], table[joining.MAX_RUNS :], strict=True):
            if end > at:
                laid.append((to + at, address, end - at))
            at = end

    def sorted_(self: Any, *given: Any) -> Any:
        told.append(given[:2])
        return ()

    monkeypatch.setattr(prepared, "scratch", lambda nbytes: SimpleNamespace(ptr=1 << 30))
    monkeypatch.setattr(FakeKernels, "ready", lambda self, name, *rest: Launch(lambda: driver.kernel(join), 1))
    monkeypatch.setattr(many_runs.SortByDigits, "steps", sorted_)
    monkeypatch.setattr(many_runs, "pays", lambda *given: True)
    call = prepared.prepare("merge", order, 900, device=0, limits=TUNED_ON)
    assert call is not None
    assert call.takes(total)
    call([*addresses, 1 << 29], lengths, total)
    begin = (1 << 30 if width % 2 else 1 << 29) if apart else 4096
    assert told == [((begin, total), (1 << 29, 1 << 30))]
    starts = [begin + width * sum(lengths[:number]) for number in range(0, 900, 2)]
    pairs = [width * (lengths[number] + lengths[number + 1]) for number in range(0, 900, 2)]
    assert laid == (list(zip(starts, addresses[::2], pairs, strict=True)) if apart else [])


@pytest.mark.parametrize("operation", ["merge", "sort", "argsort", "is_sorted"])
def test_recorded_steps_are_those_that_the_addresses_give(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, rng: np.random.Generator, operation: str
) -> None:
    """Also of runs without items, of values, and at later calls, whose addresses are others."""
    names: list[tuple[Any, ...]] = []

    def ready(self: Any, *kernel: Any, **more: Any) -> Launch:
        names.append((self.order, *kernel))
        found = SimpleNamespace(ptr=len(names))
        return Launch(lambda: found, 256, 16)

    def take(nbytes: int) -> Any:
        rooms.append(nbytes)
        return SimpleNamespace(ptr=(len(rooms) << 40) + start)

    monkeypatch.setattr(FakeKernels, "ready", ready)
    for module in (prepared, recording):
        monkeypatch.setattr(module, "scratch", take)
    for dtype in ("uint8", "int16", "float32", "int64"):
        number = int(rng.integers(1, 17)) if operation == "merge" else 1
        row = None if operation in ("argsort", "is_sorted") else [None, 1, 4, 8, 24][int(rng.integers(5))]
        ready_call = prepared.prepare(operation, Order.of(dtype), number, row, device=0, limits=TUNED_ON)
        assert ready_call is not None
        for count in (1, *(1 << rng.integers(0, [13, 18, 26], 3)).tolist()):
            counts = [int(rng.integers(0, 2)) * count for _ in range(number - 1)] + [count]
            if not ready_call.takes(sum(counts)):
                continue
            addressed = number + (operation != "is_sorted") + (0 if row is None else number + 1)
            for _ in range(3):
                addresses, start = (rng.integers(1, 1 << 43, addressed) * 16).tolist(), int(rng.integers(1 << 30)) * 16
                rooms: list[int] = []
                ready_call(addresses, counts, sum(counts))
                if operation == "is_sorted":
                    addresses.append(driver.launched[-1].words[2])
                told, taken = driver.told(), rooms
                assert told
                rooms = []
                queue(ready_call._at(addresses, counts, sum(counts), take), STREAM)
                assert (driver.told(), rooms) == (told, taken)


def test_threads_call_at_once(rng: np.random.Generator) -> None:
    """Also while they record the same counts, and while recordings are dropped."""
    sort = prepared.prepare("sort", Order.of("int32"), device=0, limits=TUNED_ON)
    check = prepared.prepare("is_sorted", Order.of("int32"), device=0, limits=TUNED_ON)
    assert sort is not None
    assert check is not None
    inputs = [some(rng, "int32", 100 + number % 70) for number in range(140)]
    meeting = threading.Barrier(8)

    def work(number: int) -> bool:
        meeting.wait(20)
        good = True
        for turn in range(200):
            keys = inputs[(number + turn) % 140]
            out = np.empty_like(keys)
            sort([keys.ctypes.data, out.ctypes.data], [len(keys)], len(keys))
            good &= bool((out == np.sort(keys)).all()) and check([out.ctypes.data], [len(keys)], len(keys))
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_recordings_are_bounded(driver: FakeDriver) -> None:
    ready = prepared.prepare("is_sorted", Order.of("int32"), device=0, limits=TUNED_ON)
    assert ready is not None
    keys = np.arange(300, dtype=np.int32)
    for count in range(2, 300):
        for _ in range(2):
            assert ready([keys.ctypes.data], [count], count)
        assert len(ready._recordings) <= prepared._MOST_RECORDINGS


def test_no_answer_is_waited_for_while_a_graph_is_captured(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, rng: np.random.Generator
) -> None:
    ready = prepared.prepare("is_sorted", Order.of("int32"), device=0, limits=TUNED_ON)
    assert ready is not None
    keys = some(rng, "int32", 3000)
    for _ in range(3):
        driver.captured = set()
        monkeypatch.setattr(streams.cupy.cuda.runtime, "streamIsCapturing", lambda stream: False)
        assert not ready([keys.ctypes.data], [3000], 3000)
        driver.captured = {STREAM}
        monkeypatch.setattr(streams.cupy.cuda.runtime, "streamIsCapturing", lambda stream: True)
        launched = len(driver.launched)
        with pytest.raises(UsageError, match="is_sorted waits for its answer"):
            ready([keys.ctypes.data], [3000], 3000)
        assert len(driver.launched) == launched
    assert driver.waited == [STREAM, STREAM]  # the first call waits by CuPy


def test_every_driver_takes_the_arguments_of_joins() -> None:
    assert 8 * (2 * joining.MAX_RUNS + 1) <= 4096  # bytes of arguments that every driver takes


def test_errors_of_a_launch_are_the_programs_own(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    import cupy

    def refused(*arguments: Any) -> None:
        raise cupy.cuda.memory.OutOfMemoryError(1, 2)

    keys = some(rng, "int32", 3)
    monkeypatch.setattr(FakeKernels, "sort_by_rank", lambda self, macros, threads: refused)
    monkeypatch.setattr(prepared, "check_stream", lambda: None)
    with pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        call(("sort", Order.of("int32")), [keys], np.empty_like(keys), [], None)
    monkeypatch.setattr(prepared.cupy.cuda, "alloc", refused)
    with pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        prepared.PreparedCall.room(5)

"""Launches and scratch memory of a GPU, with a driver that only writes down what it is asked for."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import compiled, launching, many_runs, merging, module, streams
from gpumerge_cli.backends.gpu import driver as driver_module
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.launching import Launch
from gpumerge_cli.backends.gpu.many_runs import MergeOfMany
from gpumerge_cli.backends.gpu.merging import Merge
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.radix import PairAddresses, SortByDigits
from gpumerge_cli.backends.gpu.rank_sort import RankSort
from gpumerge_cli.backends.gpu.recording import Recording
from gpumerge_cli.backends.gpu.walks import Walk
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.fake_driver import FakeDriver
from tests.fake_kernels import STREAM, driver_error, put_on_host


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return put_on_host(monkeypatch)


def run(steps: Iterable[launching.Step]) -> None:
    launching.queue(steps, STREAM)


def room(nbytes: int) -> Any:
    return SimpleNamespace(ptr=1 << 20)


def launch_of(pointer: int = 9, threads: int = 256, shared: int = 0) -> Launch:
    return Launch(lambda: SimpleNamespace(ptr=pointer), threads, shared)


@pytest.mark.parametrize("dependent", [False, True])
def test_arguments_as_the_driver_takes_them(driver: FakeDriver, dependent: bool) -> None:
    launch = launch_of(shared=48)
    for words in ((1 << 47, -1, 0), (), tuple(range(512))):
        run([(launch, 7, words, dependent)])
        assert driver.launched.pop() == (9, (7, 1, 1), (256, 1, 1), 48, STREAM, words, dependent)
        assert not driver.launched


def test_fills_and_copies_as_the_driver_takes_them(driver: FakeDriver) -> None:
    run([(launching.zeros, 40, [1 << 47], False), (launching.copy, 1 << 40, [1 << 46, 1 << 47], False)])
    assert (driver.filled, driver.copied) == ([(1 << 47, 40, STREAM)], [(1 << 47, 1 << 46, 1 << 40, STREAM)])


def failure_of(monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    """The class of the driver's errors, which hold their number. CuPy's own asks the driver for their names."""

    class DriverError(Exception):
        pass

    given = driver_module.cupy.cuda.runtime
    cuda = SimpleNamespace(driver=SimpleNamespace(CUDADriverError=DriverError), runtime=given)
    monkeypatch.setattr(driver_module, "cupy", SimpleNamespace(cuda=cuda))
    return DriverError


@pytest.mark.parametrize("action", ["launch", "dependent launch", "fill", "copy"])
def test_the_error_of_a_step_is_the_drivers(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, action: str) -> None:
    """Nothing behind it is queued."""
    failure = failure_of(monkeypatch)
    driver.status = 700
    step = {
        "launch": (launch_of(), 7, [1], False), "dependent launch": (launch_of(), 7, [1], True),
        "fill": (launching.zeros, 8, [4096], False), "copy": (launching.copy, 8, [4096, 8192], False),
    }[action]  # fmt: skip
    asked = []
    for _ in range(2):
        with pytest.raises(failure, match="700"):
            run([step, (launch_of(5), 1, [1], False)])
        asked.append((len(driver.launched), len(driver.filled), len(driver.copied)))
    assert asked[0] == (0, action == "fill", action == "copy")
    recording = Recording(lambda at, allocate: [step, (launch_of(5), 1, [1], False)], 0)
    with pytest.raises(failure, match="700"):
        recording.queue([])
    assert not driver.launched


def test_no_program_has_more_arguments_than_a_driver_takes(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> None:
    failure = failure_of(monkeypatch)
    with pytest.raises(failure, match=r"^1$"):
        run([(launch_of(), 1, range(513), False)])
    assert not driver.launched


def test_a_thread_that_never_used_the_device_gets_its_context(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver
) -> None:
    """The driver's functions need one, and CuPy's cheap ones make none."""
    used: list[int] = []

    def use(device: int) -> None:
        used.append(device)
        driver.status = 0

    runtime = SimpleNamespace(getDevice=lambda: 3, setDevice=use)
    monkeypatch.setattr(driver_module, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    step = (launch_of(), 7, [1], False)
    recording, answering = (Recording(lambda at, allocate: [step], number) for number in range(2))
    for act in (lambda: run([step]), lambda: recording.queue([]), lambda: answering.answer([], 0)):
        driver.status = 201
        act()
    assert used == [3, 3, 3]
    assert len(driver.launched) == 3


def test_threads_launch_at_once(driver: FakeDriver) -> None:
    """Each has its own arguments, though all use one recording, and the library does not hold Python's lock."""
    meeting = threading.Barrier(4, timeout=20)
    seen: list[int] = []

    def work(blocks: int, stream: int, words: list[int], dependent: bool) -> None:
        meeting.wait()
        seen.append(words[0])
        meeting.wait()

    launch = Launch(lambda: driver.kernel(work), 1)
    recording = Recording(lambda at, allocate: [(launch, 1, [at[0]], False)], 1)
    threads = [threading.Thread(target=recording.queue, args=([number],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1, 2, 3]


def test_threads_that_find_the_driver_at_once_get_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings hold its address, so it is made once and stays."""
    loads: list[int] = []
    meeting = threading.Barrier(2)

    def load(name: str) -> Any:
        loads.append(1)
        with suppress(threading.BrokenBarrierError):
            meeting.wait(0.2)  # for a thread that would load it, too
        return SimpleNamespace(**dict.fromkeys(driver_module._FUNCTIONS, 4096))

    monkeypatch.setattr(driver_module, "_tables", [])
    monkeypatch.setattr(driver_module.ctypes, "CDLL", load)
    monkeypatch.setattr(driver_module.ctypes, "cast", lambda function, kind: function)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: driver_module.driver_functions(), range(4)))
    assert (len(set(found)), len(loads)) == (1, 1)


def test_a_driver_without_a_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_tables", [])
    monkeypatch.setattr(driver_module.ctypes, "CDLL", lambda name: SimpleNamespace())
    with pytest.raises(DeviceError, match=r"the GPU's driver does not load: .*cuLaunchKernel"):
        driver_module.driver_functions()


def test_a_kernel_is_found_once_at_its_first_launch(driver: FakeDriver) -> None:
    found: list[int] = []
    launch = Launch(lambda: found.append(1) or SimpleNamespace(ptr=9), 256)
    assert not found
    for _ in range(2):
        run([(launch, 1, [11], False)])
    assert (len(driver.launched), len(found)) == (2, 1)


def test_threads_that_find_a_kernel_at_once_keep_it_loaded_for_each_other(driver: FakeDriver) -> None:
    found: list[weakref.ref[Function]] = []

    class Function:
        ptr = 9

    def find() -> Function:
        function = Function()
        found.append(weakref.ref(function))
        if len(found) == 1:
            run([(launch, 1, [11], False)])  # as if another thread came in meanwhile, and found another copy
        return function

    launch = Launch(find, 256)
    run([(launch, 1, [22], False)])
    assert [function() is not None for function in found] == [True, True]


def test_kernels_stay_loaded_whatever_else_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a graph that has captured a launch may run later. A call ahead of the capture has loaded all that it needs."""
    loaded: list[weakref.ref[Module]] = []

    class Module:
        """CuPy's, which unloads its kernels when nothing refers to it."""

        def __init__(self) -> None:
            loaded.append(weakref.ref(self))

        def load(self, code: bytes) -> None: ...

        def get_function(self, name: str) -> Any:
            return SimpleNamespace(ptr=9, module=self)

    cuda = SimpleNamespace(
        function=SimpleNamespace(Module=Module), Device=lambda: SimpleNamespace(compute_capability="90")
    )
    monkeypatch.setattr(compiled, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(compiled, "image", lambda *unit: b"")
    monkeypatch.setattr(compiled, "_loaded", [])
    monkeypatch.setattr(module, "begin_compiling", lambda *unit: None)
    module._function.cache_clear()
    kernels = module.Kernels(0, Order.of("int32"), TUNED_ON)
    for number in (*range(1000), 0):
        run([(kernels.ready("hold", 1, (("NUMBER", number),)), 1, [11], False)])
    module._function.cache_clear()
    assert len(loaded) == 1000
    assert all(each() for each in loaded)


class TestCompiling:
    """The kernels that are begun in the background, and those that are waited for."""

    @pytest.fixture
    def events(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        found: list[str] = []

        def function(device: int, file: str, *rest: Any) -> SimpleNamespace:
            found.append(f"wait for {file}")
            return SimpleNamespace(ptr=9)

        monkeypatch.setattr(module, "begin_compiling", lambda file, *rest: found.append(f"begin {file}"))
        monkeypatch.setattr(module, "_function", function)
        return found

    def test_a_large_merge_compiles_its_kernels_side_by_side(self, events: list[str]) -> None:
        order = Order.of("int32")
        policy = resolve(LaunchRequest(), order, TUNED_ON, 2)
        few, many = 1000, (merging.OWN_CUTS * TUNED_ON.multiprocessors + 1) * policy.tile_size
        run(Merge(module.Kernels(0, order, TUNED_ON), policy).table([(0, few)], 0, room))
        assert events == ["begin merge_path.cu", "wait for merge_path.cu"]
        events.clear()
        run(Merge(module.Kernels(0, order, TUNED_ON), policy).table([(0, many)], 0, room))
        begun = ["begin merge_path.cu", "begin partition.cu"]
        assert events == [*begun, "wait for partition.cu", "wait for merge_path.cu"]

    def test_narrow_integers_compile_only_what_merges_them(self, events: list[str]) -> None:
        order = Order.of("int16")
        policy = resolve(LaunchRequest(), order, TUNED_ON, 2)
        few, some, many = 1000, (1 << 26) - 1, 1 << 26  # the last are merged value by value
        by_values = ["begin merge_values.cu", "wait for merge_values.cu"]
        by_path = ["begin merge_path.cu", "wait for merge_path.cu"]
        both = ["begin merge_path.cu", "begin partition.cu", "wait for partition.cu", "wait for merge_path.cu"]
        for totals, expected in (
            ([many, many], by_values),
            ([few, few], by_path),
            ([some], both),
            ([many, few], by_values + by_path),
            ([few, some], [*by_path, "begin partition.cu", "wait for partition.cu"]),
        ):
            merge = Merge(module.Kernels(0, order, TUNED_ON), policy)
            for total in totals:
                run(merge.table([(0, total)], 0, room))
            assert events == expected
            events.clear()

    @pytest.mark.parametrize(("count", "file"), [(10_000, "sort_by_rank.cu"), (100_000, "sort_tile.cu")])
    def test_a_sort_by_rank_compiles_its_kernels_side_by_side(self, count: int, file: str, events: list[str]) -> None:
        sort = RankSort(module.Kernels(0, Order.of("int32"), TUNED_ON), None, 1 << 20)
        run(sort.array_steps([0], [count], count, 0, [], 0, room))
        begun = [f"begin {file}", "begin merge_by_rank.cu"]
        assert events == [*begun, f"wait for {file}", "wait for merge_by_rank.cu"]

    def test_so_do_sets(self, events: list[str]) -> None:
        Walk(module.Kernels(0, Order.of("int32"), TUNED_ON), Equals.UNION)
        assert events == ["begin partition.cu", "begin walk.cu"]

    def test_sorts_by_digits_find_their_kernels_once(self, events: list[str]) -> None:
        found = [f"{step} {file}.cu" for step in ("begin", "wait for") for file in ("count_digits", "sort_radix")]
        kernels = module.Kernels(0, Order.of("int32"), TUNED_ON)
        for ends in (None, PairAddresses(0, 0, 0)):
            sort = SortByDigits(kernels, pairs=ends is not None)
            for count in (5, 1 << 30):  # their kernels count in 32 and in 64 bits
                for expected in (found, []):
                    events.clear()
                    run(sort.steps((4096, count), (8192, 16384), room, ends))
                    assert events == expected

    def test_the_kernel_that_lays_runs_together_compiles_beside_those_that_sort_them(
        self, events: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(many_runs, "pays", lambda *given: True)
        order = Order.of("int32")
        policy = replace(resolve(LaunchRequest(), order, TUNED_ON, 900), runs=900)
        merge = MergeOfMany(module.Kernels(0, order, TUNED_ON), policy)
        run(merge.steps([(1024 * number, 7) for number in range(900)], 1 << 30, room))
        assert events[:4] == [
            "begin join_runs.cu", "begin count_digits.cu", "begin sort_radix.cu", "wait for join_runs.cu"
        ]  # fmt: skip

    @pytest.mark.parametrize("dtype", ["int16", "int32"])
    def test_what_is_waited_for_is_what_was_begun(self, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same options for the same capability: otherwise everything would be compiled twice."""
        begun, waited = [], []
        monkeypatch.setattr(module, "begin_compiling", lambda *unit: begun.append(unit))
        monkeypatch.setattr(
            module, "kernel", lambda file, options, *rest: waited.append((file, options)) or SimpleNamespace(ptr=9)
        )
        module._function.cache_clear()
        kernels = module.Kernels(0, Order.of(dtype), TUNED_ON)
        policy = resolve(LaunchRequest(), kernels.order, TUNED_ON, 2)
        for count in (10, 1 << 25, 1 << 27):
            run(Merge(kernels, policy).table([(0, count)], 0, room))
            run(SortByDigits(kernels).steps((4096, count), (8192, 16384), room))
            run(Checks(kernels).any_disorder(0, count, 0))
        module._function.cache_clear()
        assert len(begun) == len(set(begun)) == (6 if dtype == "int16" else 5)
        assert sorted((*unit, TUNED_ON.capability) for unit in waited) == sorted(begun)


def test_a_graph_that_is_captured_has_scratch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = streams.cupy.cuda.runtime
    freed = []
    monkeypatch.setattr(runtime, "streamIsCapturing", lambda stream: stream == STREAM)
    monkeypatch.setattr(runtime, "mallocAsync", lambda nbytes, stream: 4096, raising=False)
    monkeypatch.setattr(runtime, "freeAsync", lambda *given: freed.append(given), raising=False)
    room = streams.scratch(100)
    assert room.ptr == 4096
    assert not freed
    del room
    assert freed == [(4096, STREAM)]
    monkeypatch.setattr(streams, "current_stream", lambda: 0)
    assert streams.scratch(100).ptr != 4096
    with pytest.raises(UsageError, match="is_sorted waits for its answer, which is impossible while"):
        streams.check_waiting(STREAM, "is_sorted")


def test_a_stream_of_another_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver refuses it by a number; the contexts tell what is wrong."""
    current = [100]
    driver = SimpleNamespace(
        ctxGetCurrent=lambda: current[0],
        ctxSetCurrent=lambda context: current.__setitem__(0, context),
        ctxGetDevice=lambda: current[0] // 100 - 1,
        streamGetCtx=lambda stream: 200,
    )
    monkeypatch.setattr(streams.cupy.cuda, "driver", driver)
    with pytest.raises(UsageError, match="the current stream is of GPU 1, and the arrays lie on GPU 0"):
        streams.check_stream()
    assert current == [100]
    driver.streamGetCtx = lambda stream: 100
    streams.check_stream()

    def lost(stream: int) -> int:
        raise driver_error("CUDA_ERROR_MISALIGNED_ADDRESS")

    driver.streamGetCtx = lost
    streams.check_stream()  # another error says what is wrong


class Allocators:
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
        monkeypatch.setattr(streams, "cupy", SimpleNamespace(cuda=cuda))

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
    allocators = Allocators(monkeypatch)
    with streams.temporaries():
        room = allocators.current(100)
        assert room.ptr == 4096
        with streams.lasting() as is_temporary:
            assert is_temporary
            assert allocators.current(50).ptr == 64
        allocators.current(0)
        assert not allocators.freed
        del room
        assert allocators.freed == [(4096, STREAM)]
        late = allocators.current(25)
    assert allocators.taken == [("graph", 100), ("pool", 50), ("pool", 0), ("graph", 25)]
    allocators.captured = False
    del late
    assert allocators.freed == [(4096, STREAM)]  # the capture has ended
    with streams.temporaries(), streams.lasting() as is_temporary:
        assert not is_temporary
        assert allocators.current == allocators.of_pool

"""Launches and scratch memory of a GPU, with a driver that only writes down what it is asked for."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import compiled, dependent, launching, many_runs, merging, module, streams
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.many_runs import MergeOfMany
from gpumerge_cli.backends.gpu.merging import Merge
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.radix import PairAddresses, SortByDigits
from gpumerge_cli.backends.gpu.rank_sort import RankSort
from gpumerge_cli.backends.gpu.walks import Walk
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.fake_kernels import STREAM, driver_error, memory, put_on_host


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_host(monkeypatch)


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


def run(steps: Iterable[launching.Step]) -> None:
    launching.queue(steps, STREAM)


def room(nbytes: int) -> Any:
    return SimpleNamespace(ptr=1 << 20)


def test_arguments_as_the_driver_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told = launches(monkeypatch)
    launch = launching.launch(lambda: SimpleNamespace(ptr=9), 256, shared=48)
    for turn in range(3):
        launch(7, STREAM, [1 << 47, -1, turn], False)
    assert told == [(9, 7, 1, 1, 256, 1, 1, 48, STREAM, (1 << 47, -1, turn)) for turn in range(3)]
    with pytest.raises(struct.error):
        launch(7, STREAM, [1, 2], False)


def test_launches_beside_others_as_the_driver_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of CUlaunchConfig: grid, block, shared memory, stream, attributes and their number."""
    told, plain = [], launches(monkeypatch)

    def launcher(config: dependent.DependentLaunch, pointer: int, none: None, words: int) -> int:
        fields = struct.unpack("7I4xQQI", memory(ctypes.addressof(config), 52).tobytes())
        assert struct.unpack("3i", memory(fields[-2], 12).tobytes()) == (6, 0, 1)
        told.append((pointer, none, *fields[:8], fields[-1]))
        return status

    status = 0
    monkeypatch.setattr(dependent, "_launcher", lambda: launcher)
    launch = launching.launch(lambda: SimpleNamespace(ptr=9), 256, shared=48)
    for blocks in (7, 8):
        launch(blocks, STREAM, [11], True)
    assert told == [(9, None, blocks, 1, 1, 256, 1, 1, 48, STREAM, 1) for blocks in (7, 8)]
    status = 1
    with pytest.raises(RuntimeError):
        launch(7, STREAM, [11], True)
    monkeypatch.setattr(dependent, "_launcher", lambda: None)  # a driver without such launches
    monkeypatch.setattr(dependent.cupy.cuda.driver, "launchKernel", lambda *given: launching._launch_kernel(*given))
    launch(7, STREAM, [11], True)
    assert plain == [(9, 7, 1, 1, 256, 1, 1, 48, STREAM, (11,))]


def test_a_launch_inside_a_launch_has_arguments_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another thread came in while the driver reads the arguments of the first one."""
    told = launches(monkeypatch)
    launch = launching.launch(lambda: SimpleNamespace(ptr=9), 256)
    plain = launching._launch_kernel
    depth = 0

    def nested(*arguments: int) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            launch(1, STREAM, [22], False)
        plain(*arguments)

    monkeypatch.setattr(launching, "_launch_kernel", nested)
    launch(1, STREAM, [11], False)
    assert [words for *_, words in told] == [(22,), (11,)]


def test_a_kernel_is_found_once_at_its_first_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    told, found = launches(monkeypatch), []
    launch = launching.launch(lambda: found.append(1) or SimpleNamespace(ptr=9), 256)
    assert not found
    for _ in range(2):
        launch(1, STREAM, [11], False)
    assert (len(told), len(found)) == (2, 1)


def test_threads_that_find_a_kernel_at_once_keep_it_loaded_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    launches(monkeypatch)
    found: list[weakref.ref[Function]] = []

    class Function:
        ptr = 9

    def find() -> Function:
        function = Function()
        found.append(weakref.ref(function))
        if len(found) == 1:
            launch(1, STREAM, [11], False)  # as if another thread came in meanwhile, and found another copy
        return function

    launch = launching.launch(find, 256)
    launch(1, STREAM, [22], False)
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
    launches(monkeypatch)
    module._function.cache_clear()
    kernels = module.Kernels(0, Order.of("int32"), TUNED_ON)
    for number in (*range(1000), 0):
        kernels.ready("hold", 1, (("NUMBER", number),))(1, STREAM, [11], False)
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
        monkeypatch.setattr(launching, "launch_dependent", lambda *given: None)
        launches(monkeypatch)
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
        launches(monkeypatch)
        monkeypatch.setattr(launching, "launch_dependent", lambda *given: None)
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

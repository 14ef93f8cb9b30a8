"""Calls from Python on CuPy arrays: what a second call of a kind does, and that nobody waits."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.options import check_out, same_side
from gpumerge_cli.errors import UsageError

_DTYPES = ["int32", "int64", "uint8", "float32", "float64", "float16", "bool"]


class FakeArray:
    """Stands for a CuPy array where there is no GPU."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, memory: Any, contiguous: bool = True) -> None:
        self.dtype, self.size, self.ndim, self.shape = np.dtype(dtype), int(np.prod(shape)), len(shape), shape
        self.itemsize = self.dtype.itemsize
        self.nbytes, self.strides = self.size * self.itemsize, ((1 if contiguous else 2) * self.itemsize,)
        self.data = memory
        self.device = SimpleNamespace(id=memory.device_id)
        self.flags = SimpleNamespace(c_contiguous=contiguous)

    def __len__(self) -> int:
        return self.shape[0]


def fake(at: int, size: int, dtype: str = "int32", device: int = 0, contiguous: bool = True) -> FakeArray:
    return FakeArray((size,), dtype, SimpleNamespace(ptr=at, device_id=device), contiguous)


class Recorder:
    """Stands for a prepared call: keeps what it is called with."""

    unit, direct = 4, None

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def takes(self, total: int) -> bool:
        return 0 < total < 100

    def room(self, nbytes: int) -> Any:
        return SimpleNamespace(ptr=1 << 20, device_id=0)

    def describe(self, *kind: Any) -> None:
        pass

    def __call__(self, *arguments: Any) -> bool:
        self.calls.append(arguments)
        return True


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    runtime = SimpleNamespace(getDevice=lambda: 0, pointerGetAttributes=lambda address: SimpleNamespace(device=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=FakeArray, cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(prepared_calls, "_ready", {})
    prepared = Recorder()
    one = fake(0, 1)
    row = FakeArray((1, 3), "int16", one.data)
    for operation, number, values in (
        ("merge", 2, None), ("merge", 2, [one, one]), ("merge", 2, [row, row]), ("sort", 1, None), ("sort", 1, [one]),
        ("argsort", 1, None), ("is_sorted", 1, None),
    ):  # fmt: skip
        prepared_calls.keep_prepared(prepared_calls.kind_of(operation, [one] * number, False, values, 0), prepared)  # type: ignore[arg-type]
    return prepared


def test_a_known_kind_is_launched_at_once(recorder: Recorder) -> None:
    out = fake(4096, 7)
    runs = [fake(400, 3), fake(800, 4)]
    assert prepared_calls.run_prepared("merge", runs, False, out) is out
    assert prepared_calls.run_prepared("merge", runs, False).size == 7
    assert recorder.calls == [([400, 800, 4096], [3, 4], 7), ([400, 800, 1 << 20], [3, 4], 7)]


@pytest.mark.parametrize(
    ("runs", "out"),
    [
        ([fake(400, 3)], None),  # another number
        ([fake(400, 3), fake(800, 4, "uint32")], None),
        ([fake(400, 3), fake(802, 4)], None),  # misaligned
        ([fake(400, 3), fake(800, 4, device=1)], None),
        ([fake(400, 3), fake(800, 4, contiguous=False)], None),
        ([fake(400, 3), fake(800, 4)], fake(4098, 7)),  # misaligned
        ([fake(400, 3), np.arange(4, dtype=np.int32)], None),
        ([fake(400, 0), fake(800, 0)], None),  # nothing to launch
        ([fake(400, 3), fake(800, 4)], fake(812, 7)),  # overlaps by an item
        ([fake(400, 3), fake(800, 4)], fake(376, 7)),
        ([fake(400, 3), fake(800, 4)], fake(4096, 8)),
        ([fake(400, 3), fake(800, 4)], fake(4096, 7, "float32")),
        ([fake(400, 3), fake(800, 4)], np.empty(7, np.int32)),
    ],
)
def test_all_else_goes_the_long_way(recorder: Recorder, runs: list[Any], out: Any) -> None:
    assert prepared_calls.run_prepared("merge", runs, False, out) is None
    assert not recorder.calls


def test_empty_runs_overlap_nothing(recorder: Recorder) -> None:
    out = fake(4096, 7)
    inside = fake(4100, 0)
    assert prepared_calls.run_prepared("merge", [inside, fake(400, 7)], False, out) is out
    assert prepared_calls.run_prepared("merge", [inside, fake(400, 7)], False, out, [inside, fake(800, 7)]) is not None
    assert [call[1] for call in recorder.calls] == [[0, 7]] * 2
    assert prepared_calls.run_prepared("merge", [fake(4100, 1), fake(400, 6)], False, out) is None


def test_one_item_is_contiguous(recorder: Recorder) -> None:
    """Whatever its stride, as a view of every second item has it."""
    assert (
        prepared_calls.run_prepared(
            "merge", [fake(400, 1, contiguous=False), fake(800, 0, contiguous=False)], False
        ).size
        == 1
    )
    assert prepared_calls.run_prepared("merge", [fake(400, 2, contiguous=False), fake(800, 1)], False) is None
    assert len(recorder.calls) == 1


@pytest.mark.parametrize("bad", [[], {}, "yes", None, 2, 0.5, np.arange(2)])
def test_what_is_no_direction(recorder: Recorder, bad: Any) -> None:
    for array in (fake(400, 3), np.arange(3)):
        for function in (gpumerge_cli.sort, gpumerge_cli.merge, gpumerge_cli.argsort, gpumerge_cli.is_sorted):
            with pytest.raises(UsageError, match=r"descending=.* is neither true nor false; give True or False"):
                function(array, descending=bad)
    assert not recorder.calls


@pytest.mark.parametrize("ascending", [False, 0, np.False_, np.int64(0)])
def test_directions_of_other_types(recorder: Recorder, ascending: Any) -> None:
    assert gpumerge_cli.sort(fake(400, 3), descending=ascending).size == 3
    assert len(recorder.calls) == 1
    assert gpumerge_cli.sort(np.array([1, 3, 2]), descending=not ascending).tolist() == [3, 2, 1]
    assert gpumerge_cli.sort(np.array([1, 3, 2]), descending=np.bool_(not ascending)).tolist() == [3, 2, 1]


@pytest.mark.usefixtures("recorder")
def test_outputs_that_a_gpu_cannot_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items of 4 bytes lie at multiples of 4. A store elsewhere would lose the device's context."""
    monkeypatch.setattr(sys.modules["cupy"], "may_share_memory", lambda a, b: False, raising=False)
    keys = fake(400, 3)
    for at in (4097, 4098, 4099):
        with pytest.raises(UsageError, match="out does not start at a multiple of its items' size; give a copy of it"):
            check_out(fake(at, 3), keys.dtype, 3, [keys])
        with pytest.raises(UsageError, match="out does not start at a multiple"):
            gpumerge_cli.sort(keys, values=fake(800, 3), out=fake(at, 3))
        with pytest.raises(UsageError, match="an array does not start at a multiple of its items' size"):
            Call.of([keys, fake(at, 3)], CallOptions())
    check_out(fake(4100, 3), keys.dtype, 3, [keys])
    check_out(fake(4097, 0), keys.dtype, 0, [fake(400, 0)])


@pytest.mark.usefixtures("recorder")
def test_a_direction_is_a_kind_of_its_own() -> None:
    assert prepared_calls.run_prepared("merge", [fake(400, 3), fake(800, 4)], True) is None


def test_every_operation_is_launched_at_once(recorder: Recorder) -> None:
    """The functions that users call make nothing else of arrays of a known kind: no copy, no array, no launch."""
    keys, values, out = fake(400, 3), fake(800, 3), fake(4096, 3)
    assert gpumerge_cli.sort(keys, out=out) is out
    assert gpumerge_cli.sort(keys).dtype == np.int32
    found, moved = gpumerge_cli.sort(keys, values=values, out=out)
    assert found is out
    assert (moved.shape, moved.dtype) == ((3,), np.int32)
    assert gpumerge_cli.argsort(keys).dtype == np.int64
    assert gpumerge_cli.is_sorted(keys) is True
    assert [call[1:] for call in recorder.calls] == [([3], 3)] * 5
    assert [call[0] for call in recorder.calls] == [
        [400, 4096], [400, 1 << 20], [400, 4096, 800, 1 << 20], [400, 1 << 20], [400]
    ]  # fmt: skip
    recorder.calls.clear()
    rows = [FakeArray((count, 3), "int16", fake(at, 1).data) for at, count in ((1600, 3), (2000, 4))]
    found, moved = gpumerge_cli.merge(keys, fake(1200, 4), values=rows, out=fake(4096, 7))
    assert moved.shape == (7, 3)
    assert gpumerge_cli.merge(keys, fake(1200, 4), values=tuple(rows))[0].size == 7
    assert recorder.calls[0] == ([400, 1200, 4096, 1600, 2000, 1 << 20], [3, 4], 7)


@pytest.mark.parametrize(
    ("values", "out"),
    [
        ([fake(800, 3)], None),  # one too few
        ([fake(800, 3), fake(1200, 5)], None),
        ([fake(800, 3), fake(1200, 4, "float32")], None),
        ([fake(800, 3), fake(1202, 4)], None),  # not a multiple of the unit
        ([fake(800, 3), fake(1200, 4, device=1)], None),
        ([fake(800, 3), fake(1200, 4, contiguous=False)], None),
        ([fake(800, 3), np.arange(4, dtype=np.int32)], None),
        ((fake(800, 3), fake(1200, 4)), fake(1212, 7)),  # overlaps values
        (iter([fake(800, 3), fake(1200, 4)]), None),
        ([fake(800, 3, "int64"), fake(1200, 4, "int64")], None),  # another kind
        ([], None),
    ],
)
def test_values_that_go_the_long_way(recorder: Recorder, values: Any, out: Any) -> None:
    assert prepared_calls.run_prepared("merge", [fake(400, 3), fake(600, 4)], False, out, values) is None
    assert not recorder.calls


def test_arrays_of_others_are_taken_once(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tensor:
        __cuda_array_interface__: ClassVar[dict[str, Any]] = {"data": (400, False), "stream": None}

    monkeypatch.setattr(sys.modules["cupy"], "asarray", lambda given: fake(400, 3), raising=False)
    assert gpumerge_cli.argsort(Tensor()).dtype == np.int64
    _, moved = gpumerge_cli.merge(Tensor(), fake(800, 2), values=[Tensor(), fake(900, 2)])
    assert moved.size == 5
    assert (recorder.calls[1][0][:2], recorder.calls[1][1]) == ([400, 800], [3, 2])


@pytest.mark.usefixtures("recorder")
def test_too_many_items_go_the_long_way() -> None:
    assert prepared_calls.run_prepared("sort", [fake(400, 200)], False) is None


@pytest.mark.usefixtures("recorder")
def test_other_gpus_are_named() -> None:
    here, there = fake(400, 3), fake(800, 3, device=1)
    with pytest.raises(UsageError, match="arrays lie on different devices: GPUs 0 and 1; move them to one"):
        gpumerge_cli.merge(here, there)
    with pytest.raises(UsageError, match="arrays lie on different devices: GPUs 0, 1 and 2; move them to one"):
        same_side([here, there, fake(0, 1, device=2)])
    with pytest.raises(UsageError, match="out lies on GPU 1, and the arrays on GPU 0; give an array on the arrays"):
        check_out(there, here.dtype, 3, [here])


def test_functions_are_looked_up_once() -> None:
    """Else every call would pay for the look-up."""
    found = gpumerge_cli.merge
    assert vars(gpumerge_cli)["merge"] is found


def test_the_first_of_two_threads_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_calls, "_ready", {})
    kind = prepared_calls.kind_of("sort", [np.zeros(1)], False, None, 0)  # type: ignore[arg-type]
    for prepared in ("first", "second"):
        prepared_calls.keep_prepared(kind, prepared)
    assert prepared_calls.find_prepared(kind) == "first"

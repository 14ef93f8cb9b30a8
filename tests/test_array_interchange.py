"""Arrays of other libraries, by the protocols that they offer."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import ColumnArray, DeviceError, UsageError
from gpumerge_cli.arrays.interchange import as_array
from gpumerge_cli.backends.gpu import presence
from tests import needs

DAYS = [datetime.datetime(2020, 1, 2), datetime.datetime(2019, 1, 2)]


class OffersArray:
    def __init__(self, items: Any) -> None:
        self.items = items

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.items


class OffersDlpack:
    def __init__(self, items: Any, device: int = 1) -> None:
        self.items = items
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.items.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class OffersArrow:
    def __init__(self, items: Any) -> None:
        self.items = items

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.items.__arrow_c_array__(requested_schema)


class OffersStream:
    def __init__(self, items: Any) -> None:
        self.items = items

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.items.__arrow_c_stream__(requested_schema)


class LiesOnGpu:
    __cuda_array_interface__ = {"shape": (1,), "typestr": "<i4", "data": (0, False), "version": 3}  # noqa: RUF012


class Fails:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no such memory.\nA second line.")


def needs_no_gpu() -> None:
    if presence.is_present():
        pytest.skip("needs a machine without a GPU")


def same_memory(given: Any) -> bool:
    return bool(np.shares_memory(as_array(given), as_array(given)))


@pytest.mark.parametrize("offer", [OffersArray, OffersDlpack])
def test_protocols_of_the_host(offer: Callable[[Any], Any]) -> None:
    items = np.array([3, 1, 2], np.int16)
    assert gpumerge_cli.sort(offer(items)).tolist() == [1, 2, 3]
    assert gpumerge_cli.argsort(offer(items)).tolist() == [1, 2, 0]
    assert not gpumerge_cli.is_sorted(offer(items))
    assert gpumerge_cli.merge(offer(items[1:]), np.array([2, 9], np.int16)).tolist() == [1, 2, 2, 9]
    assert np.shares_memory(as_array(offer(items)), items)
    items.flags.writeable = False
    assert gpumerge_cli.sort(offer(items)).tolist() == [1, 2, 3]
    _, moved = gpumerge_cli.sort(items, values=offer(items))
    assert moved.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "given", [3, None, "ab", range(3), memoryview(b"ab"), {1, 2}], ids=lambda given: type(given).__name__
)
def test_no_arrays(given: Any) -> None:
    with pytest.raises(
        UsageError, match=f"^expected an array, got {type(given).__name__}; give a list, a NumPy or CuPy array, or"
    ):
        gpumerge_cli.sort(given)


def test_errors_of_a_library_become_one_line() -> None:
    with pytest.raises(
        UsageError, match=r"^tests.Fails cannot be read as an array: no such memory; give a NumPy or a CuPy array$"
    ):
        gpumerge_cli.sort(Fails())


def test_other_devices() -> None:
    with pytest.raises(UsageError, match="DLPack's type 8, which no backend reaches; move it to the host"):
        gpumerge_cli.sort(OffersDlpack(np.arange(3), 8))


@pytest.mark.parametrize("given", [LiesOnGpu(), OffersDlpack(np.arange(3), 2)], ids=["interface", "DLPack"])
def test_memory_of_a_gpu_needs_cupy(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"lies on a GPU, and CuPy cannot be imported .*; install gpumerge"):
        gpumerge_cli.merge(given)


@pytest.mark.parametrize("given", [LiesOnGpu(), OffersDlpack(np.arange(3), 2)], ids=["interface", "DLPack"])
def test_memory_of_a_gpu_needs_a_gpu(given: Any) -> None:
    needs.library("cupy")
    needs_no_gpu()
    with pytest.raises(DeviceError, match=r"^the GPU failed: cuda\w+: [^\n]+; use the backend cpu$"):
        gpumerge_cli.merge(given)


def test_columns_move_to_usable_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    column = ColumnArray.of(["b", None])
    for wrong in (-1, "0", True, 1.0):
        with pytest.raises(UsageError, match=r"^device=.* is not the number of a GPU; give 0 or more$"):
            column.on_gpu(wrong)
    needs_no_gpu()
    for device in (None, 0, 3):
        with pytest.raises(DeviceError, match=r"^(no GPU can be used|CuPy cannot be imported) ?[^\n]+; in"):
            column.on_gpu(device)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"^CuPy cannot be imported [^\n]+; install gpumerge"):
        column.on_gpu()


def test_columns_become_arrays_of_arrow_with_pyarrow_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"made by pyarrow, which is not installed; pip install 'gpumerge\[tables\]'"):
        ColumnArray.of(["b", None]).to_arrow()


def test_masks_of_a_gpu_are_nulls(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.library("cupy")
    monkeypatch.setattr(LiesOnGpu, "__cuda_array_interface__", {"mask": object()})
    with pytest.raises(UsageError, match="LiesOnGpu has nulls, and a null has no order"):
        gpumerge_cli.merge(LiesOnGpu())


class FakeDevices:
    """Stands for CuPy on two GPUs, whose current streams are `streams`. waits: (the GPU, its stream, the other one)."""

    def __init__(self, current: int, streams: dict[int, int], captured: tuple[int, ...], lies_on: int) -> None:
        self.current, self.streams, self.captured, self.lies_on = current, streams, captured, lies_on
        self.waits: list[tuple[int, int, int]] = []
        self.ndarray = type(None)
        self.offered: Any = None
        runtime = SimpleNamespace(
            getDevice=lambda: self.current,
            streamIsCapturing=lambda stream: stream in captured,
            eventRecord=self.record,
            pointerGetAttributes=lambda address: SimpleNamespace(device=lies_on),
        )
        self.cuda = SimpleNamespace(
            runtime=runtime, get_current_stream=self.stream, Device=self.on, Event=lambda disable_timing: self
        )
        self.ptr = 8192

    @contextmanager
    def on(self, number: int) -> Iterator[None]:
        before, self.current = self.current, number
        yield
        self.current = before

    def stream(self) -> Any:
        number, stream = self.current, self.streams[self.current]
        waits = lambda event: self.waits.append((number, stream, event.made_by))  # noqa: E731
        return SimpleNamespace(ptr=stream, wait_event=waits)

    def record(self, event: int, stream: int) -> None:
        self.made_by = stream

    def asarray(self, given: Any) -> Any:
        assert self.current == self.lies_on, "CuPy would copy it to the current device"
        self.offered = given.__cuda_array_interface__
        return SimpleNamespace(size=3, data=SimpleNamespace(device_id=self.lies_on))

    def from_dlpack(self, given: Any) -> Any:
        assert given.__dlpack_device__() == (2, self.lies_on)
        with self.on(self.lies_on):
            return given.__dlpack__(stream=self.stream().ptr or 1, copy=None)


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("lies_on", [0, 1])
@pytest.mark.parametrize(
    ("stream", "captured", "waits"),
    [
        (None, (), False),
        (1, (), False),
        (2, (), True),
        (4096, (), True),
        (777, (777, 4096), False),
        (4096, (777,), False),  # a graph that is captured cannot wait for what is ahead of it
        (1, (777,), False),
        (4096, (777, 4096), True),  # both are parts of the graph
    ],
)
def test_streams_wait_for_streams(
    monkeypatch: pytest.MonkeyPatch, current: int, lies_on: int, stream: int | None, captured: tuple[int, ...],
    waits: bool,
) -> None:  # fmt: skip
    """The host does not wait for items that another stream makes. The stream that gets the work does."""
    here = 777 if captured else 0
    cupy = FakeDevices(current, {lies_on: here, 1 - lies_on: 555}, captured, lies_on)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    offer = LiesOnGpu()
    monkeypatch.setattr(LiesOnGpu, "__cuda_array_interface__", {"data": (4096, False), "stream": stream})
    as_array(offer)
    assert cupy.offered == {"data": (4096, False), "stream": None}
    assert cupy.waits == ([(lies_on, here, stream)] if waits else [])
    assert cupy.current == current


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("lies_on", [0, 1])
def test_libraries_of_dlpack_are_told_the_stream(monkeypatch: pytest.MonkeyPatch, captured: bool, lies_on: int) -> None:
    """None if a graph captures it, which runs later."""
    cupy = FakeDevices(0, {lies_on: 777, 1 - lies_on: 555}, (777,) if captured else (), lies_on)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    offer = SimpleNamespace(__dlpack_device__=lambda: (2, lies_on), __dlpack__=lambda **told: told)
    assert as_array(offer) == {"stream": -1 if captured else 777, "copy": None}


def test_arrow_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for offer in (OffersArrow, OffersStream):
        with pytest.raises(UsageError, match=r"offers Arrow's C interface, which pyarrow reads; .*; install pyarrow"):
            gpumerge_cli.sort(offer(None))


def test_pyarrow() -> None:
    pa = needs.library("pyarrow")
    whole, parts = pa.array([3, 1, 2]), pa.chunked_array([[3, 1], [2]])
    for given in (whole, parts, OffersArrow(whole), OffersStream(parts)):
        found = gpumerge_cli.sort(given)
        assert isinstance(found, np.ndarray)
        assert found.dtype == np.int64
        assert found.tolist() == [1, 2, 3]
    assert same_memory(whole)
    assert same_memory(OffersArrow(whole))
    holey, holes = pa.array([1, None, 2, None]), pa.chunked_array([[1], [None]])
    for given, count in ((holey, "2 nulls"), (OffersArrow(holey), "2 nulls"), (OffersStream(holes), "1 null")):
        with pytest.raises(UsageError, match=f"has {count}, and a null has no order; drop or fill them first"):
            gpumerge_cli.sort(given)
        with pytest.raises(UsageError, match=r"has nulls, which an array of|a null has no order"):
            gpumerge_cli.sort(np.arange(4), values=given)
    assert gpumerge_cli.sort(pa.array(DAYS)).tolist() == DAYS[::-1]
    assert gpumerge_cli.sort(pa.array([True, False])).tolist() == [False, True]
    _, moved = gpumerge_cli.sort(whole, values=pa.array(["three", "one", "two"]))
    assert moved.tolist() == ["one", "two", "three"]
    with pytest.raises(UsageError, match="OffersStream is a table; give one of its columns"):
        gpumerge_cli.sort(OffersStream(pa.table({"a": [1]})))


def test_polars() -> None:
    pl = needs.library("polars")
    series = pl.Series([3, 1, 2], dtype=pl.Int32)
    found = gpumerge_cli.sort(series)
    assert found.dtype == np.int32
    assert found.tolist() == [1, 2, 3]
    assert same_memory(series)
    assert gpumerge_cli.merge(series.sort(), pl.Series([2], dtype=pl.Int32)).tolist() == [1, 2, 2, 3]
    keys, moved = gpumerge_cli.sort(series, values=pl.Series(["three", "one", "two"]))
    assert keys.tolist() == [1, 2, 3]
    assert moved.tolist() == ["one", "two", "three"]
    assert gpumerge_cli.sort(pl.Series(DAYS)).tolist() == DAYS[::-1]
    assert gpumerge_cli.sort(pl.Series([True, False])).tolist() == [False, True]
    with pytest.raises(UsageError, match=r"polars\.Series has 1 null, and a null has no order"):
        gpumerge_cli.sort(pl.Series([1, None, 2]))


def test_pandas() -> None:
    pd = needs.library("pandas")
    for kind in ("int64", "Int64"):
        found = gpumerge_cli.sort(pd.Series([3, 1, 2], dtype=kind))
        assert found.dtype == np.int64
        assert found.tolist() == [1, 2, 3]
    assert same_memory(pd.Series([3, 1, 2]))
    assert gpumerge_cli.sort(pd.Index([2, 1])).tolist() == [1, 2]
    nan = gpumerge_cli.sort(pd.Series([np.nan, 1.0]))
    assert nan[0] == 1
    assert np.isnan(nan[1])
    dates = gpumerge_cli.sort(pd.Series(pd.to_datetime(["2020-01-02", None, "2019-01-02"])))
    assert dates.dtype.kind == "M"
    assert np.isnat(dates).tolist() == [False, False, True]
    with pytest.raises(UsageError, match=r"pandas\.Series has 1 null, and a null has no order"):
        gpumerge_cli.sort(pd.Series([1, None], dtype="Int64"))
    mixed = pd.Series([1, "a"], dtype=object)
    with pytest.raises(UsageError, match=r"an array of objects \(int, str\) cannot be keys"):
        gpumerge_cli.sort(mixed)
    assert gpumerge_cli.sort(np.array([2, 1]), values=mixed)[1].tolist() == ["a", 1]


def test_pandas_dates_with_a_zone_are_instants() -> None:
    pd = needs.library("pandas")
    needs.library("pyarrow")
    zoned = pd.Series(DAYS).dt.tz_localize("Europe/Rome")
    found = gpumerge_cli.sort(zoned)
    assert found.dtype.kind == "M"
    assert found[1] == np.datetime64("2020-01-01T23:00")


def test_torch(rng: np.random.Generator) -> None:
    torch = needs.library("torch")
    tensor = torch.from_numpy(rng.integers(0, 9, 1000))
    assert np.shares_memory(as_array(tensor), tensor.numpy())
    expected = np.argsort(tensor.numpy(), kind="stable")
    assert gpumerge_cli.argsort(tensor[:]).tolist() == expected.tolist()
    _, moved = gpumerge_cli.sort(tensor, values=torch.arange(2000).reshape(1000, 2))
    assert moved[:, 0].tolist() == (2 * expected).tolist()
    with pytest.raises(UsageError, match=r"torch\.Tensor cannot be read as an array: Can't call numpy"):
        gpumerge_cli.sort(torch.zeros(2, requires_grad=True))


def test_jax() -> None:
    jax = needs.library("jax")
    array = jax.numpy.array([3, 1, 2])
    assert gpumerge_cli.sort(array).tolist() == [1, 2, 3]
    assert same_memory(array)
    # NumPy knows this dtype as one of raw bytes.
    with pytest.raises(UsageError, match="'bfloat16' is not a dtype of keys"):
        gpumerge_cli.sort(array.astype(jax.numpy.bfloat16))


def test_nanoarrow() -> None:
    na = needs.library("nanoarrow")
    needs.library("pyarrow")
    assert gpumerge_cli.sort(na.Array([3, 1, 2], na.int16())).tolist() == [1, 2, 3]


@pytest.mark.gpu
def test_tensors_on_a_gpu_stay_there(gpu_backend: Any, rng: np.random.Generator) -> None:
    cupy, torch = needs.library("cupy"), needs.library("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a PyTorch that finds a GPU; pip install a build for CUDA on a machine with one")
    items = rng.integers(0, 9, 1000)
    tensor = torch.from_numpy(items).cuda()
    assert as_array(tensor).data.ptr == tensor.data_ptr()
    found = gpumerge_cli.sort(tensor)
    assert isinstance(found, cupy.ndarray)
    assert found.get().tolist() == np.sort(items).tolist()


@pytest.mark.gpu
def test_protocols_of_a_gpu(gpu_backend: Any, rng: np.random.Generator) -> None:
    cupy = needs.library("cupy")
    items = cupy.asarray(rng.integers(0, 9, 1000))

    class Interface:
        __cuda_array_interface__ = items.__cuda_array_interface__

    other = cupy.cuda.Stream(non_blocking=True)

    class OfStream:
        __cuda_array_interface__ = {**items.__cuda_array_interface__, "stream": other.ptr}  # noqa: RUF012

    for given in (Interface(), OfStream(), OffersDlpack(items, 2)):
        assert as_array(given).data.ptr == items.data.ptr
        found = gpumerge_cli.sort(given)
        assert isinstance(found, cupy.ndarray)
        assert (found == cupy.sort(items)).all()


def test_values_with_nulls_are_told_in_words_of_values() -> None:
    class Nullable:
        null_count = 1

        def __array__(self) -> Any:
            return np.array([None, 1])

    keys = np.array([2, 1])
    told = "values: .*Nullable has nulls, which an array of its dtype cannot hold"
    with pytest.raises(UsageError, match=told) as one:
        gpumerge_cli.sort(keys, values=Nullable())
    assert "order" not in str(one.value)
    with pytest.raises(UsageError, match=told) as one:
        gpumerge_cli.merge(keys[:1], keys[:1], values=[Nullable(), Nullable()])
    assert "order" not in str(one.value)

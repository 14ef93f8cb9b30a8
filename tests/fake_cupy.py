"""CuPy in host memory: arrays and functions of NumPy that refuse the dtypes that CuPy refuses, and a backend of them.

CuPy's arrays hold any dtype, but its kernels know numbers and bools alone: they copy, compare and gather no others.
Tests of calls on a GPU's arrays run with it where there is no GPU.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.backends import select
from gpumerge_cli.backends.gpu import access
from gpumerge_cli.order.kinds import Order
from tests.columns import shared_bytes

_KNOWN = "biufc"


class _Device:
    id = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Device)

    __hash__ = None  # type: ignore[assignment]


class _Pointer:
    device_id = 0

    def __init__(self, ptr: int, owner: Any) -> None:
        self.ptr, self.owner = ptr, owner


class DeviceArray(np.ndarray):  # type: ignore[type-arg]
    """An array of the stand-in."""

    def __new__(cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> Any:
        dtype = np.dtype(dtype)
        if memptr is None:
            return np.empty(shape, dtype).view(cls)
        made = np.ndarray((), np.uint8, (ctypes.c_uint8 * 1).from_address(memptr.ptr))
        made = np.lib.stride_tricks.as_strided(made.view(np.ndarray).reshape(1), (1,), (1,))
        interface = {"data": (memptr.ptr, False), "shape": tuple(shape), "typestr": "|u1", "version": 3}
        assert dtype == np.uint8, "the stand-in makes views of bytes alone"
        found = np.asarray(SimpleNamespace(__array_interface__={**interface, "strides": strides}, owner=memptr.owner))
        return found.view(cls)

    data = property(lambda self: _Pointer(self.__array_interface__["data"][0], self))  # type: ignore[assignment]
    device = property(lambda self: _Device())  # type: ignore[assignment]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.__array_interface__, "stream": None}

    def get(self) -> Any:
        """The items as an array of NumPy."""
        assert self.flags.c_contiguous or self.dtype.kind in _KNOWN
        return np.array(self.view(np.ndarray))

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(map(_bare, options["out"]))
        return _wrapped(getattr(ufunc, method)(*map(_checked, given), **options))

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        raise TypeError(f"NumPy's {function.__name__} of an array on the device")

    def __getitem__(self, index: Any) -> Any:
        if any(isinstance(each, np.ndarray) for each in (index if isinstance(index, tuple) else (index,))):
            return _wrapped(_checked(self)[_bare(index)])
        return _wrapped(self.view(np.ndarray)[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        assert not (isinstance(value, np.ndarray) and not isinstance(value, DeviceArray) and value.ndim)
        _checked(self)[_bare(index)] = _checked(value)

    def copy(self) -> Any:  # type: ignore[override]
        """A new array with the same items."""
        return _wrapped(_checked(self).copy())

    def astype(self, dtype: Any, copy: bool = True) -> Any:  # type: ignore[override]
        """The items in another dtype."""
        return _wrapped(_checked(self).astype(dtype, copy=copy))

    def __getattribute__(self, name: str) -> Any:
        if name in ("any", "all", "sum", "min", "max", "argmax", "clip", "cumsum"):
            method = getattr(_checked(self), name)
            return lambda *given, **options: _wrapped(method(*map(_bare, given), **options))
        return super().__getattribute__(name)


def _bare(given: Any) -> Any:
    return given.view(np.ndarray) if isinstance(given, DeviceArray) else given


def _checked(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return type(given)(map(_checked, given))
    if isinstance(given, np.ndarray) and given.dtype.kind not in _KNOWN:
        raise ValueError(f"Unsupported dtype {given.dtype}")
    return _bare(given)


def _wrapped(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_wrapped, found))
    return np.asarray(found).view(DeviceArray) if isinstance(found, np.ndarray | np.generic) else found


def _asarray(given: Any) -> Any:
    if isinstance(given, DeviceArray):
        return given
    interface = getattr(given, "__cuda_array_interface__", None)
    if interface is None:
        return _wrapped(_checked(np.array(given)))
    made = np.asarray(SimpleNamespace(__array_interface__={**interface, "version": 3}, given=given))
    return _wrapped(_checked(made))


class _Module:
    """The functions of NumPy on arrays of the stand-in."""

    ndarray = DeviceArray
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDevice=lambda: 0, pointerGetAttributes=lambda _: SimpleNamespace(device=0)),
        Device=lambda number: _Device(),
        UnownedMemory=lambda address, nbytes, owner: _Pointer(address, owner),
        MemoryPointer=lambda memory, offset: memory,
    )
    asarray = staticmethod(lambda given: _asarray(given))
    may_share_memory = staticmethod(lambda a, b: np.may_share_memory(_bare(a), _bare(b)))

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type):
            return found

        def function(*given: Any, **options: Any) -> Any:
            for each in given:
                for one in each if isinstance(each, list | tuple) else (each,):
                    assert type(one) is not np.ndarray, f"cupy.{name} of an array of NumPy"
            made = found(*map(_checked, given), **{key: _bare(value) for key, value in options.items()})
            if isinstance(made, np.ndarray) and made.dtype.kind not in _KNOWN:
                raise ValueError(f"Unsupported dtype {made.dtype}")
            return _wrapped(made)

        return function


class FakeBackend:
    """The part of a GPU's backend that calls use, by NumPy's functions on images."""

    def __init__(self, number: int = 0) -> None:
        self.resolve, self.resolve_sort = select.host().resolve, select.host().resolve_sort

    def prepared(self, *_: Any) -> None:
        """None: no call of any kind is prepared."""

    def sort_ranks(self, items: Any, order: Order, policy: Any, *, threads: int = 1) -> Any:
        """See GpuBackend."""
        return _wrapped(np.argsort(_images(items, order), kind="stable"))

    def sort_array(self, items: Any, order: Order, policy: Any, out: Any) -> None:
        """See GpuBackend."""
        out[:] = items[self.sort_ranks(items, order, policy)]

    def sort_pairs(self, items: Any, order: Order, values: Any, out: Any) -> Any:
        """See GpuBackend."""
        ranks = self.sort_ranks(items, order, None)
        out[:] = items[ranks]
        return values[ranks]

    def merge_arrays(self, runs: Any, order: Order, policy: Any, out: Any) -> None:
        """See GpuBackend."""
        self.sort_array(_Module().concatenate(runs), order, policy, out)

    def first_disorder(self, run: Any, order: Order) -> int | None:
        """See GpuBackend."""
        images = _images(run, order)
        wrong = np.flatnonzero(images[1:] < images[:-1])
        return int(wrong[0]) + 1 if len(wrong) else None

    def groups(self, items: Any) -> Any:
        """See GpuBackend."""
        images = _images(items, Order.of(items.dtype))
        first = np.flatnonzero(np.append(True, images[1:] != images[:-1]))
        return items[_wrapped(first)], _wrapped(first)

    def ranks_of(self, runs: Any, items: Any, order: Order, through: bool, out: Any) -> None:
        """See GpuBackend."""
        side: Any = "right" if through else "left"
        found = sum(np.searchsorted(_images(run, order), _images(items, order), side) for run in runs)
        out.reshape(-1)[:] = _wrapped(found)

    def strings(self) -> Any:
        """See GpuBackend."""
        return FakeStrings()

    def prepared_set(self, order: Order, equals: Any) -> Any:
        """See GpuBackend."""

        def combined(addresses: list[int], counts: list[int], dtype: Any) -> Any:
            assert np.dtype(dtype).kind in _KNOWN
            return self.combined(_runs_at(addresses, counts, _stored(order)), order, equals)[0].view(dtype)

        return combined

    def prepared_ranks(self, order: Order) -> Any:
        """See GpuBackend."""
        return _FakeRanks(self, order)

    def combined(self, runs: Any, order: Order, equals: Any, values: Any = None, out: Any = None) -> Any:
        """See GpuBackend."""
        kept = [np.arange(len(run)) + at for run, at in zip(runs, [0, len(runs[0])], strict=False)]
        function = getattr(gpumerge_cli, equals.name_of_set)
        _, ranks = function(*(_images(run, order) for run in runs), values=kept, distinct=equals.is_distinct)
        found = _Module().concatenate(runs)[_wrapped(ranks)]
        if out is not None:
            out[: len(ranks)] = found
            found = out[: len(ranks)]
        return found, None if values is None else _Module().concatenate(values)[_wrapped(ranks)]


class FakeStrings:
    """The part of DeviceStrings that calls use, text by text."""

    @staticmethod
    def words(texts: Any, some: Any, at: Any) -> tuple[Any, Any]:
        """See DeviceStrings."""
        rests = [text[begin:] for text, begin in zip(_some_texts(texts, some), _bare(at).tolist(), strict=True)]
        words = np.array([int.from_bytes(rest[:8].ljust(8, b"\0"), "big") for rest in rests], np.uint64)
        return _wrapped(words), _wrapped(np.array([min(len(rest), 9) for rest in rests], np.uint8))

    @staticmethod
    def compared(texts: Any, some: Any, pivots: Any, at: Any, most: int) -> Any:
        """See DeviceStrings."""
        codes = []
        pairs = zip(_some_texts(texts, some), _some_texts(texts, pivots), _bare(at).tolist(), strict=True)
        for text, pivot, begin in pairs:
            assert text[:begin] == pivot[:begin]
            shared = shared_bytes(text[begin:], pivot[begin:])
            codes.append(most if text == pivot else shared if text < pivot else 2 * most - shared)
        return _wrapped(np.array(codes, np.int64))

    @staticmethod
    def gathered(texts: Any, indices: Any, starts: Any) -> Any:
        """See DeviceStrings."""
        found = b"".join(_some_texts(texts, indices))
        assert len(found) == int(_bare(starts)[-1])
        return _wrapped(np.frombuffer(found, np.uint8).copy())


def _some_texts(texts: Any, some: Any) -> list[bytes]:
    data, starts = (_bare(each) for each in texts)
    assert (data.dtype, starts.dtype, _bare(some).dtype) == (np.uint8, np.int64, np.int64)
    return [data[starts[one] : starts[one + 1]].tobytes() for one in _bare(some).tolist()]


class _FakeRanks:
    def __init__(self, backend: FakeBackend, order: Any) -> None:
        self._backend, self._order = backend, order

    @staticmethod
    def takes(nbytes: int, items: int) -> bool:
        return items > 0

    def __call__(self, addresses: list[int], counts: list[int], items: Any, through: bool) -> Any:
        out, dtype = _Module().empty(items.shape, np.int64), _stored(self._order)
        self._backend.ranks_of(_runs_at(addresses, counts, dtype), items.view(dtype), self._order, through, out)
        return out


def _stored(order: Any) -> Any:
    return np.int64 if order.is_dated else order.dtype


def _runs_at(addresses: list[int], counts: list[int], dtype: Any) -> list[Any]:
    sizes = [count * np.dtype(dtype).itemsize for count in counts]
    return [
        DeviceArray((size,), np.uint8, _Pointer(at, None), (1,)).view(dtype)
        for at, size in zip(addresses, sizes, strict=True)
    ]


def _images(items: Any, order: Any) -> Any:
    assert isinstance(items, DeviceArray)
    assert items.flags.c_contiguous
    assert items.dtype == _stored(order)
    return order.image_of_bits(_bare(items).view(order.unsigned))


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that stands for CuPy, with the backend that stands for a GPU's."""
    return installed(monkeypatch)


def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """See fake_cupy. Skips a test without CuPy, whose errors are used."""
    streams = pytest.importorskip("gpumerge_cli.backends.gpu.streams", exc_type=ImportError)
    pytest.importorskip("gpumerge_cli.arrays.device_selection", exc_type=ImportError)
    module = _Module()
    monkeypatch.setitem(__import__("sys").modules, "cupy", module)
    monkeypatch.setattr(access, "create", FakeBackend)
    monkeypatch.setattr(prepared_calls, "_ready", {})
    for name, value in (
        ("calls_on", lambda device: nullcontext()),
        ("temporaries", nullcontext),
        ("lasting", lambda: nullcontext(False)),
        ("current_stream", lambda: 0),
        ("is_captured", lambda stream: False),
        ("check_waiting", lambda stream, what: None),
    ):
        monkeypatch.setattr(streams, name, value)
    return module


def there(cupy: Any, array: Any) -> Any:
    """A copy of a NumPy array of any dtype on the device of a module, CuPy or the stand-in."""
    flat = np.ascontiguousarray(array).reshape(-1)
    known = flat.dtype.kind in _KNOWN
    return (cupy.asarray(flat) if known else cupy.asarray(flat.view(np.uint8)).view(array.dtype)).reshape(array.shape)


def back(found: Any) -> Any:
    """The items of an array on a device, of any dtype, in host memory; anything else as it is."""
    if not hasattr(found, "get"):
        return found
    known = found.dtype.kind in _KNOWN or found.size == 0
    return np.asarray((found if known else found.view(np.uint8)).get()).view(found.dtype)

"""The library's keys for tests: arrays in, arrays out, with guards around all memory that the library is given."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.native import library as native
from gpumerge_cli.native.declarations import parse
from gpumerge_cli.order.kinds import Order
from tests.cpu import libraries

Array = NDArray[Any]
_GUARD = 64
_KINDS = {"uint": 0, "int": 1, "float": 2, "bool": 0, "datetime": 5, "timedelta": 5}


@cache
def library() -> Any:
    """The library that these tests hold, as the program has it."""
    loaded = ctypes.CDLL(str(libraries.path()))
    declared = parse(Path(native.entries_file()).read_text("utf-8"))
    found: dict[str, Any] = {**declared.constants, **declared.structures}
    for name, (result, arguments) in declared.functions.items():
        if hasattr(loaded, name):
            found[name] = getattr(loaded, name)
            found[name].restype, found[name].argtypes = result, arguments
    return SimpleNamespace(**found, kernels=native.kernels_of(loaded))


def spec_of(order: Order) -> Any:
    return library().OrderSpec(kind=_KINDS[order.kind], width=order.width, descending=order.descending)


def launch(kernel: str = "path", algorithm: str = "SORT_RADIX", **fields: int) -> Any:
    shape = {"block_size": 4, "items": 0, "tile": 4096, "sort_tile": 64, **fields}
    return library().LaunchSpec(kernel=library().kernels[kernel], algorithm=getattr(library(), algorithm), **shape)


class Guarded:
    """An array of so many items in memory of its own, `shift` bytes off an even address, with guards on both sides."""

    def __init__(self, like: Array | np.dtype[Any], count: int | None = None, shift: int = 0) -> None:
        dtype = like.dtype if isinstance(like, np.ndarray) else like
        count = len(like) if isinstance(like, np.ndarray) else count
        assert count is not None
        self._first = _GUARD + shift
        self._nbytes = count * dtype.itemsize
        room = np.empty(self._nbytes + 3 * _GUARD, np.uint8)
        self._room = room[-room.ctypes.data % 16 :]
        self._room[:] = 0xA5
        self.items = self._room[self._first : self._first + self._nbytes].view(dtype)
        if isinstance(like, np.ndarray):
            self.items[:] = like
        self.address = self._room.ctypes.data + self._first

    def judge(self) -> None:
        assert (self._room[: self._first] == 0xA5).all()
        assert (self._room[self._first + self._nbytes :] == 0xA5).all()


def merged(runs: Sequence[Array], order: Order, spec: Any, threads: int = 1, shift: int = 0) -> Array:
    total = sum(map(len, runs))
    given = [Guarded(run, shift=shift) for run in runs]
    out = Guarded(order.dtype, total, shift)
    addresses = (ctypes.c_void_p * max(1, len(runs)))(*(one.address for one in given))
    counts = np.array([len(run) for run in runs], np.int64)
    status = library().gm_merge_arrays(
        spec_of(order), spec, addresses, counts.ctypes.data, len(runs), out.address, threads
    )
    assert status == 0
    for one, run in zip(given, runs, strict=True):
        one.judge()
        assert one.items.tobytes() == run.tobytes()
    out.judge()
    return out.items


def merged_pairs(
    runs: Sequence[Array], values: Sequence[Array], order: Order, spec: Any, threads: int = 1, shift: int = 0
) -> tuple[Array, Array]:
    """Keys and their values, merged."""
    total = sum(map(len, runs))
    given, beside = ([Guarded(each, shift=shift) for each in arrays] for arrays in (runs, values))
    out, out_values = Guarded(order.dtype, total, shift), Guarded(values[0].dtype, total, shift)
    addresses, of_values = ((ctypes.c_void_p * len(runs))(*(one.address for one in all)) for all in (given, beside))
    counts = np.array([len(run) for run in runs], np.int64)
    to = (values[0].itemsize, out.address, out_values.address, threads)
    arguments = (addresses, of_values, counts.ctypes.data, len(runs))
    assert library().gm_merge_pairs(spec_of(order), spec, *arguments, *to) == 0
    for one in (*given, *beside, out, out_values):
        one.judge()
    return out.items, out_values.items


def sorted_by(items: Array, order: Order, spec: Any, threads: int = 1, shift: int = 0) -> Array:
    given, out = Guarded(items, shift=shift), Guarded(items.dtype, len(items), shift)
    assert library().gm_sort_array(spec_of(order), spec, given.address, len(items), out.address, threads) == 0
    given.judge()
    assert given.items.tobytes() == items.tobytes()
    out.judge()
    return out.items


def ranks_of(items: Array, order: Order, spec: Any, threads: int = 1, shift: int = 0) -> Array:
    given, out = Guarded(items, shift=shift), Guarded(np.dtype(np.int64), len(items), shift)
    assert library().gm_sort_ranks(spec_of(order), spec, given.address, len(items), out.address, threads) == 0
    out.judge()
    return out.items


def first_disorder(items: Array, order: Order, strict: bool, shift: int = 0) -> int:
    given = Guarded(items, shift=shift)
    return int(library().gm_first_disorder(spec_of(order), given.address, len(items), strict))


def selected(
    items: Array, order: Order, bound: Array, selects: int, room: int, threads: int, shift: int = 0
) -> tuple[Array, int]:
    """(the first `room` indices of selected items, the number of all)."""
    given, edge = Guarded(items, shift=shift), Guarded(bound, shift=shift)
    out, found = Guarded(np.dtype(np.int64), room), ctypes.c_int64()
    arguments = (spec_of(order), given.address, len(items), edge.address, selects, out.address, room)
    assert library().gm_select(*arguments, ctypes.byref(found), threads) == 0
    given.judge()
    out.judge()
    return out.items[: found.value], found.value


@contextmanager
def workspace(order: Order, runs: Sequence[Array], threads: int = 1) -> Iterator[Any]:
    """A workspace that the runs are uploaded to."""
    data = b"".join(run.tobytes() for run in runs)
    opened = library().gm_open(spec_of(order), 0, threads)
    try:
        ctypes.memmove(library().gm_staging(opened, len(data)), data, len(data))
        lengths = np.array([run.nbytes for run in runs], np.int64)
        assert library().gm_upload(opened, lengths.ctypes.data, len(runs)) == 0
        yield opened
    finally:
        library().gm_close(opened)


def result(opened: Any, dtype: np.dtype[Any]) -> Array:
    nbytes, items = ctypes.c_int64(), ctypes.c_int64()
    address = library().gm_result(opened, ctypes.byref(nbytes), ctypes.byref(items))
    assert nbytes.value == items.value * dtype.itemsize
    return np.frombuffer(ctypes.string_at(address, nbytes.value), dtype)

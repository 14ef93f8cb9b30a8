"""Calls of a kind that the library carries out alone: it checks the arrays, and queues a recording of their counts.

See gm_py_call in kernels/cpu/entries.h. Whatever it does not know goes the usual way.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.recording import Recording
from gpumerge_cli.backends.gpu.streams import scratch
from gpumerge_cli.native.library import library

_API = (
    "PyObject_GetAttr", "PyObject_Type", "PyLong_AsLongLong", "PyLong_FromLongLong", "PySequence_GetItem",
    "PyTuple_Size", "PyTuple_GetItem", "PyTuple_Pack", "PyObject_CallFunctionObjArgs", "Py_IncRef", "Py_DecRef",
    "PyErr_Occurred", "PyErr_Clear", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
_NAMES = tuple(map(sys.intern, ("dtype", "strides", "size", "data", "ptr", "device_id")))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_FASTCALL = 0x80  # METH_FASTCALL
_referred: list[Any] = []
"""Structures that the library and the interpreter refer to. A second thread may add other ones, which do as well."""


@cache
def _method() -> Callable[[int], Any]:
    """Makes gm_py_call a method of an integer: calls of ctypes take longer."""
    loaded = library()
    api = loaded.PythonApi(*(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _API))
    method = _Method(b"gm_py_call", ctypes.cast(loaded.gm_py_call, ctypes.c_void_p), _FASTCALL, None)
    _referred.append((api, method))
    loaded.gm_py_open(ctypes.byref(api))
    made = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    new = made(("PyCFunction_NewEx", ctypes.pythonapi))
    return lambda number: new(ctypes.addressof(method), number, None)


class DirectCall:
    """Calls of one kind on one device.

    runs: the number of arrays. kinds: the dtypes of keys, of the result, None if an answer is in its place, and of
    values, which have one dimension, None without any. unit: the alignment of the values' addresses. most: the most
    recordings that are added.
    """

    __slots__ = ("_adding", "_held", "_most", "_rows", "_struct", "_table", "run")

    def __init__(self, runs: int, device: int, kinds: tuple[Any, Any, Any], unit: int, most: int) -> None:
        loaded = library()
        dtype, result, value_dtype = kinds
        row = loaded.GPU_ROW_WORDS + runs
        self._table = (ctypes.c_int64 * (most * row))()
        self._most, self._adding = most, threading.Lock()
        self._rows: list[Recording] = []
        makers = _maker(result), _maker(value_dtype)
        held = (cupy.ndarray, dtype, value_dtype, None, *_NAMES, *makers, scratch, cupy.cuda.get_current_stream)
        self._held = held  # the library refers to them
        width = 1 if value_dtype is None else value_dtype.itemsize
        self._struct = loaded.ArrayCall(
            *map(id, held), runs, device, dtype.itemsize, width, unit, 0,
            ctypes.addressof(self._table),
        )  # fmt: skip
        self.run: Callable[[Any, Any, Any], Any] = _method()(ctypes.addressof(self._struct))
        """See gm_py_call: a function of the arrays, of their values or None, and of the array for the keys or None."""

    def add(self, counts: list[int], recording: Recording) -> None:
        """From now on, calls with these counts are carried out by a recording."""
        rooms = recording.rooms
        spare = library().GPU_MOST_ROOMS - len(rooms)
        if spare < 0:
            return
        words = [id(recording), recording.address, len(rooms), *rooms, *[0] * spare, *counts]
        with self._adding:
            at = len(self._rows) * len(words)
            if len(self._rows) < self._most:
                self._table[at : at + len(words)] = words
                self._rows.append(recording)
                self._struct.rows = len(self._rows)  # in the end, as other threads read the table

    def clear(self) -> None:
        """Forget all recordings."""
        with self._adding:
            self._struct.rows = 0
            self._rows.clear()


def _maker(dtype: Any) -> Callable[[int], Any] | None:
    """Makes an array of so many items, as cupy.empty, which takes longer; None without a dtype."""
    if dtype is None:
        return None
    ndarray, alloc, width = cupy.ndarray, cupy.cuda.alloc, dtype.itemsize
    return lambda count: ndarray((count,), dtype, alloc(count * width))

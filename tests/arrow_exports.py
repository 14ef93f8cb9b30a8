"""Objects that offer columns in the memory of a GPU by Arrow's C device data interface, as cuDF's do."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gpumerge_cli.arrays.arrow_columns import _Array, _DeviceArray
from tests.fake_cupy import there

_KEPT: list[Any] = []
"""The structs of all capsules: a test makes few."""
_CUDA = 2


class _WholeSchema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
    ]  # fmt: skip


class DeviceColumn:
    """A column of Arrow on a device, with the buffers of an array of pyarrow."""

    def __init__(self, cupy: Any, array: Any, *, device_type: int = _CUDA, event: Any = None) -> None:
        """event: of CuPy, behind which the buffers have their values."""
        import pyarrow as pa

        schema, found = array.__arrow_c_array__()
        self._type, self._event = device_type, event
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        told = ctypes.cast(get(found, b"arrow_array"), ctypes.POINTER(_Array)).contents
        self._format = ctypes.cast(get(schema, b"arrow_schema"), ctypes.POINTER(_WholeSchema)).contents.format
        assert isinstance(array, pa.Array)
        self.memory = [None if each is None else there(cupy, np.frombuffer(each, np.uint8)) for each in array.buffers()]
        addresses = [None if each is None or not each.size else each.data.ptr for each in self.memory]
        self._array = _Array(
            told.length, told.null_count, told.offset, len(addresses), 0,
            (ctypes.c_void_p * len(addresses))(*addresses), None, told.dictionary, None, None,
        )  # fmt: skip

    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> tuple[Any, Any]:
        schema = _WholeSchema(self._format)
        event = None if self._event is None else ctypes.pointer(ctypes.c_void_p(self._event.ptr))
        array = _DeviceArray(self._array, 0, self._type, event, (ctypes.c_int64 * 3)())
        _KEPT.extend((schema, array, self.memory, event))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(schema), b"arrow_schema", None), make(
            ctypes.addressof(array), b"arrow_device_array", None
        )


class CudfSeries:
    """A Series as far as cuDF's is read. Its columns of texts offer no array."""

    def __init__(self, column: DeviceColumn, dtype: Any = None) -> None:
        self._column, self.dtype = column, dtype

    @property
    def __cuda_array_interface__(self) -> Any:
        raise NotImplementedError("dtype object is not supported via `__cuda_array_interface__`")

    def to_pylibcudf(self) -> tuple[Any, dict[str, Any]]:
        """The column, and what pylibcudf does not hold."""
        return self._column, {}

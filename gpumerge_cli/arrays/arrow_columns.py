"""Reads columns of Arrow: in host memory with pyarrow, on a GPU by Arrow's C device data interface alone.

Source: the Arrow C data interface and C device data interface, https://arrow.apache.org/docs/format/.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from gpumerge_cli.arrays.interchange import is_table, name_of
from gpumerge_cli.errors import DeviceError, UsageError

_CPU, _OF_CUDA = 1, (2, 3, 13)
"""Device types of the interface, which are DLPack's: CUDA's memory, pinned and managed memory, too."""
_WIDTHS = {"u": np.int32, "z": np.int32, "U": np.int64, "Z": np.int64}
"""The dtype of offsets of texts, by the format of a schema."""
_NUMBERS = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4",
    "g": "f8", "tdD": "M8[D]", "tdm": "M8[ms]", "tDs": "m8[s]", "tDm": "m8[ms]", "tDu": "m8[us]", "tDn": "m8[ns]",
    "tss": "M8[s]", "tsm": "M8[ms]", "tsu": "M8[us]", "tsn": "M8[ns]",
}  # fmt: skip
_WAY_OUT = "give a column of texts, numbers, dates or bytes"


class ArrowColumn(NamedTuple):
    """The arrays of a column: see ColumnArray, whose fields these are."""

    values: Any
    offsets: Any
    valid: Any
    binary: bool


class _Array(ctypes.Structure):
    """struct ArrowArray."""


_Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))), ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


class _DeviceArray(ctypes.Structure):
    """struct ArrowDeviceArray."""

    _fields_ = [
        ("array", _Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.POINTER(ctypes.c_void_p)), ("reserved", ctypes.c_int64 * 3),
    ]  # fmt: skip


class _Schema(ctypes.Structure):
    """struct ArrowSchema, as far as it is read."""

    _fields_ = [("format", ctypes.c_char_p)]


def offers_device_column(given: Any) -> bool:
    """Whether an object offers a column in the memory of a GPU by Arrow's interface, and no array of NumPy."""
    kind = type(given)
    if is_table(given):
        return False
    if hasattr(kind, "to_pylibcudf"):
        return True
    return hasattr(kind, "__arrow_c_device_array__") and not hasattr(kind, "__array__") and _device_type(given) != _CPU


def device_column(given: Any) -> ArrowColumn:
    """The column of an object for which offers_device_column holds; its memory is shared.

    Raises UsageError for columns of other types, DeviceError if CuPy is missing, and CuPy's errors. Work on the
    column waits, on the device, until its owner has made it.
    """
    if type(getattr(given, "dtype", None)).__name__ == "CategoricalDtype":  # cuDF would give their codes alone
        raise UsageError(f"{name_of(given)} holds categories", way_out="give their texts, as series.astype(str)")
    exported = given.to_pylibcudf() if hasattr(type(given), "to_pylibcudf") else given
    exported = exported[0] if isinstance(exported, tuple) else exported  # a Series of cuDF gives metadata, too
    capsules = exported.__arrow_c_device_array__()
    schema, found = _struct(capsules[0], b"arrow_schema", _Schema), _device_array(capsules[1])
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"{name_of(given)} lies on a GPU, and CuPy cannot be imported ({error})",
            way_out="install gpumerge[cuda13] or gpumerge[cuda12], or move it to the host",
        ) from error
    if found.device_type not in _OF_CUDA:
        what = f"{name_of(given)} lies on a device of Arrow's type {found.device_type}, which no backend reaches"
        raise UsageError(what, way_out="move it to the host")
    device = cupy.cuda.Device(found.device_id) if found.device_id >= 0 else nullcontext()
    with device:
        if found.sync_event and found.sync_event[0]:
            cupy.cuda.runtime.streamWaitEvent(cupy.cuda.get_current_stream().ptr, found.sync_event[0])

        def memory(address: int, nbytes: int) -> Any:
            owned = cupy.cuda.UnownedMemory(address, nbytes, capsules)
            return cupy.ndarray((nbytes,), cupy.uint8, cupy.cuda.MemoryPointer(owned, 0))

        return column_of(name_of(given), schema.format.decode(), found.array, cupy, memory)


def column_of(name: str, form: str, array: Any, xp: Any, memory: Any) -> ArrowColumn:
    """The column of an ArrowArray. name: of the object, for messages. form: the format of its schema.

    xp: the module of the arrays, NumPy or CuPy. memory: gives the uint8 array of so many bytes at an address.
    """
    length, start = array.length, array.offset
    if array.dictionary:
        raise UsageError(f"{name} is a dictionary", way_out="decode it first, or give its codes")
    zone = form.startswith("ts")
    dtype = _NUMBERS.get(form.partition(":")[0] if zone else form)
    width = int(form[2:]) if form.startswith("w:") else 0
    if form not in _WIDTHS and form != "b" and dtype is None and not width:
        raise UsageError(f"{name}: columns of Arrow's format {form!r} cannot be keys", way_out=_WAY_OUT)

    def part(number: int, kind: Any, first: int, count: int) -> Any:
        """`count` items of a dtype from number `first` on in a buffer."""
        address, kind = array.buffers[number] or 0, np.dtype(kind)
        if not count or not address:
            return xp.empty(0, np.uint8).view(kind)
        return memory(address + first * kind.itemsize, count * kind.itemsize).view(kind)

    def bits(number: int) -> Any:
        whole = part(number, np.uint8, start // 8, -(-(start % 8 + length) // 8))
        return xp.unpackbits(whole, bitorder="little")[start % 8 : start % 8 + length].astype(bool)

    valid = bits(0) if array.n_buffers and array.buffers[0] and array.null_count != 0 else None
    if form in _WIDTHS:
        offsets = part(1, _WIDTHS[form], start, length + 1) if length else xp.zeros(1, _WIDTHS[form])
        return ArrowColumn(part(2, np.uint8, 0, int(offsets[-1])), offsets, valid, form in "zZ")
    if form == "b":
        return ArrowColumn(bits(1), None, valid, False)
    if form == "tdD":  # days of 32 bits
        days = part(1, np.int32, start, length).astype(np.int64)
        return ArrowColumn(days.view("M8[D]"), None, valid, False)
    return ArrowColumn(part(1, f"V{width}" if width else dtype, start, length), None, valid, False)


def host_column(given: Any) -> ArrowColumn | None:
    """The column of an Arrow array, or of a Series that offers one, in host memory; None for other objects.

    Raises UsageError for types that are no keys, and without pyarrow for objects that need it.
    """
    kind = type(given)
    if not any(hasattr(kind, name) for name in ("__arrow_c_array__", "__arrow_c_stream__")):
        return None
    try:
        import pyarrow as pa
    except ImportError as error:
        what = f"{name_of(given)} offers Arrow's C interface, which pyarrow reads; it is not installed"
        raise UsageError(what, way_out="install pyarrow, or give a NumPy array") from error
    try:
        capsules = _one_array(pa, given).__arrow_c_array__()
    except pa.ArrowException as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"{name_of(given)} cannot be read as a column: {what}", way_out=_WAY_OUT) from error
    schema, found = _struct(capsules[0], b"arrow_schema", _Schema), _struct(capsules[1], b"arrow_array", _Array)

    def memory(address: int, nbytes: int) -> Any:
        bytes_at = _Owned(capsules, {"data": (address, True), "shape": (nbytes,), "typestr": "|u1", "version": 3})
        return np.asarray(bytes_at)

    return column_of(name_of(given), schema.format.decode(), found, np, memory)


def _one_array(pa: Any, given: Any) -> Any:
    """The items of an Arrow array, or of a stream of them, as one array. One with 32-bit offsets keeps them."""
    chunks = pa.chunked_array(given if hasattr(type(given), "__arrow_c_stream__") else [pa.array(given)])
    is_coded = pa.types.is_dictionary(chunks.type)
    value = chunks.type.value_type if is_coded else chunks.type
    large = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if len(chunks.chunks) > 1:  # 32-bit offsets may not reach over all of them
        large |= {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    kind = large.get(value, value)
    parts = chunks.chunks or [pa.array([], chunks.type)]
    if is_coded:
        parts = [part.dictionary.cast(kind).take(part.indices) for part in parts]
    elif kind != value:
        parts = [part.cast(kind) for part in parts]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


class _Owned:
    """Memory of an Arrow array for NumPy. It keeps the owner alive."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _device_type(given: Any) -> int:
    return int(_device_array(given.__arrow_c_device_array__()[1]).device_type)


def _device_array(capsule: Any) -> Any:
    return _struct(capsule, b"arrow_device_array", _DeviceArray)


def _struct(capsule: Any, name: bytes, kind: Any) -> Any:
    """The struct that a capsule of this name holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, name), ctypes.POINTER(kind)).contents

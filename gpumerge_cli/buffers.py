"""Memory by its address, and objects that hold bytes, for calls of compiled code: bytes, memoryviews, arrays.

They replace NumPy's arrays where loading NumPy would take longer than merging small files.
"""

from __future__ import annotations

import ctypes
import mmap
from contextlib import suppress
from typing import Any

Bytes = Any
"""A memoryview of bytes, or an array of uint8: only its length, items, slices and `tobytes` are used."""
_LARGE = 4 << 20
"""Bytes from which memory comes in large pages, whose first use is faster."""
_WRITABLE = 0x200  # PyBUF_WRITE


class _Buffer(ctypes.Structure):
    """Py_buffer of Python's C interface."""

    _fields_ = (
        ("address", ctypes.c_void_p), ("owner", ctypes.c_void_p), ("nbytes", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("others", ctypes.c_void_p * 5),
    )  # fmt: skip


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes, _release.restype = (ctypes.POINTER(_Buffer),), None
_new_bytes = ctypes.pythonapi.PyByteArray_FromStringAndSize
_new_bytes.argtypes, _new_bytes.restype = (ctypes.c_void_p, ctypes.c_ssize_t), ctypes.py_object
_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_from_memory.argtypes, _from_memory.restype = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int), ctypes.py_object


def address_of(held: Any) -> int:
    """The address of the bytes that an object holds, for as long as it lives and keeps its size."""
    buffer = _Buffer()
    _get_buffer(held, buffer, 0)
    address: int | None = buffer.address
    _release(buffer)
    return address or 0


def memory_at(address: int | None, nbytes: int) -> memoryview:
    """`nbytes` at an address, without a copy. The memory must outlive the view."""
    if not nbytes or address is None:
        return memoryview(bytearray())
    found: memoryview = _from_memory(address, nbytes, _WRITABLE)
    return found


def uncleared(nbytes: int) -> memoryview:
    """New memory of `nbytes`, which hold anything. Raises MemoryError."""
    return memoryview(_new_bytes(None, nbytes))


def allocate(nbytes: int) -> memoryview:
    """New memory of `nbytes`, all zero. Raises MemoryError."""
    if nbytes < _LARGE:
        return memoryview(bytearray(nbytes))
    try:
        memory = mmap.mmap(-1, nbytes)
    except OSError:
        raise MemoryError from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)

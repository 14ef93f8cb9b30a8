"""Memory that is taken once and grown on request: on the device, and pinned on the host.

Neither goes through CuPy's pools, which would round pinned memory up to powers of two and keep what is freed.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.failures import pinning_errors
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.buffers import Bytes


class DeviceBuffer:
    """Bytes on the current device, in whole vectors: kernels read the aligned words that hold the last bytes.

    Growing loses their content, and waits for the device.
    """

    def __init__(self) -> None:
        self._pointer: cupy.cuda.MemoryPointer | None = None
        self._size = 0

    def reserve(self, nbytes: int) -> DeviceBuffer:
        """Room for at least `nbytes`."""
        if nbytes > self._size or self._pointer is None:
            self.free()
            self._pointer = cupy.cuda.MemoryPointer(cupy.cuda.Memory(whole_vectors(max(nbytes, 1))), 0)
            self._size = nbytes
        return self

    @property
    def address(self) -> int:
        assert self._pointer is not None
        return int(self._pointer.ptr)

    def view(self, count: int, dtype: np.dtype[np.generic]) -> cupy.ndarray:
        """The first `count` items as an array."""
        assert self._pointer is not None
        return cupy.ndarray((count,), dtype, memptr=self._pointer)

    def free(self) -> None:
        self._pointer = None
        self._size = 0


class OwnedStream:
    """A stream that does not wait for the default one. `close` destroys it.

    The destructors of CuPy's streams print errors if there was no memory to create them.
    """

    def __init__(self) -> None:
        self._pointer = int(cupy.cuda.runtime.streamCreateWithFlags(cupy.cuda.runtime.streamNonBlocking))
        self.stream = cupy.cuda.Stream.from_external(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._pointer

    def close(self) -> None:
        if self._pointer:
            cupy.cuda.runtime.streamDestroy(self._pointer)
            self._pointer = 0


class PinnedBuffer:
    """Page-locked host bytes, which the device copies from and to at the full speed of its link."""

    def __init__(self) -> None:
        self._array: Bytes | None = None

    def reserve(self, nbytes: int, capacity: int) -> Bytes:
        """`nbytes` of memory. If there is too little, room for `capacity` is taken."""
        if self._array is None or nbytes > len(self._array):
            self._array = None
            size = max(nbytes, capacity, 16)
            with pinning_errors(size):
                memory = cupy.cuda.PinnedMemoryPointer(cupy.cuda.PinnedMemory(size), 0)
            self._array = np.frombuffer(memory, np.uint8)
        return self._array[:nbytes]

    def free(self) -> None:
        self._array = None


def device_view(address: int, count: int, dtype: np.dtype[Any]) -> cupy.ndarray:
    """Items at an address of the current device as an array, which does not keep the memory alive."""
    memory = cupy.cuda.UnownedMemory(address, max(1, count * dtype.itemsize), None, cupy.cuda.Device().id)
    return cupy.ndarray((count,), dtype, memptr=cupy.cuda.MemoryPointer(memory, 0))

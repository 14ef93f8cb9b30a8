"""Ways between host and device for threads that each bring and fetch their own part of a chunk."""

from __future__ import annotations

import threading

import cupy

from gpumerge_cli.backends.base import Bytes
from gpumerge_cli.backends.gpu.buffers import OwnedStream, PinnedBuffer
from gpumerge_cli.backends.gpu.failures import device_errors


class Lane:
    """One thread's pinned memory and stream. Copies return when they are done."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._pinned = PinnedBuffer()
        with device_errors(), device:
            self._owned = OwnedStream()

    def memory(self, nbytes: int) -> Bytes:
        """Pinned memory, the same at every call unless it has to grow."""
        with device_errors(), self._device:
            return self._pinned.reserve(nbytes, nbytes)

    def send(self, to: int, nbytes: int) -> None:
        """Copy the first `nbytes` of the memory to an address on the device."""
        self._copy(to, self.memory(nbytes).ctypes.data, nbytes, cupy.cuda.runtime.memcpyHostToDevice)

    def receive(self, source: int, nbytes: int) -> Bytes:
        """The `nbytes` from an address on the device, in the memory."""
        memory = self.memory(nbytes)
        if nbytes:
            self._copy(memory.ctypes.data, source, nbytes, cupy.cuda.runtime.memcpyDeviceToHost)
        return memory

    def close(self) -> None:
        """Give memory and stream back."""
        self._pinned.free()
        with device_errors(), self._device:
            self._owned.close()

    def _copy(self, to: int, source: int, nbytes: int, kind: int) -> None:
        with device_errors(), self._device:
            cupy.cuda.runtime.memcpyAsync(to, source, nbytes, kind, self._owned.stream.ptr)
            self._owned.stream.synchronize()


class Lanes:
    """A lane for each thread that asks."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._of_threads: dict[int, Lane] = {}
        self._lock = threading.Lock()

    def mine(self) -> Lane:
        """The calling thread's lane."""
        with self._lock:
            lane = self._of_threads.get(threading.get_ident())
            if lane is None:
                lane = self._of_threads[threading.get_ident()] = Lane(self._device)
            return lane

    def close(self) -> None:
        """Close all of them."""
        for lane in self._of_threads.values():
            lane.close()
        self._of_threads.clear()

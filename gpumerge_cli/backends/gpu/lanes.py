"""Copies between host and devices by several threads, each of which sends and receives parts of a chunk."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import cupy

from gpumerge_cli.backends.gpu.buffers import OwnedStream, PinnedBuffer
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.buffers import Bytes


class Lane:
    """One thread's pinned memory, and its stream on each device. Copies return when they are done.

    Devices are numbered as in the list that the lane was made for.
    """

    def __init__(self, devices: Sequence[cupy.cuda.Device]) -> None:
        self._devices = devices
        self._pinned = PinnedBuffer()
        self._owned: list[OwnedStream | None] = [None] * len(devices)

    def memory(self, nbytes: int) -> Bytes:
        """Pinned memory, the same at every call unless it has to grow."""
        with device_errors(), self._devices[0]:
            return self._pinned.reserve(nbytes, nbytes)

    def send(self, to: int, nbytes: int, offset: int = 0, device: int = 0) -> None:
        """Copy `nbytes` from byte `offset` of the memory to an address on a device."""
        memory = self.memory(offset + nbytes)
        self._copy(device, to, memory.ctypes.data + offset, nbytes, cupy.cuda.runtime.memcpyHostToDevice)

    def receive(self, source: int, nbytes: int, offset: int = 0, device: int = 0) -> Bytes:
        """The memory, with the `nbytes` from an address on a device from byte `offset` on."""
        memory = self.memory(offset + nbytes)
        if nbytes:
            self._copy(device, memory.ctypes.data + offset, source, nbytes, cupy.cuda.runtime.memcpyDeviceToHost)
        return memory

    def close(self) -> None:
        """Give memory and streams back."""
        self._pinned.free()
        for device, owned in zip(self._devices, self._owned, strict=True):
            if owned is not None:
                with device_errors(), device:
                    owned.close()

    def _copy(self, device: int, to: int, source: int, nbytes: int, kind: int) -> None:
        with device_errors(), self._devices[device]:
            owned = self._owned[device]
            if owned is None:
                owned = self._owned[device] = OwnedStream()
            cupy.cuda.runtime.memcpyAsync(to, source, nbytes, kind, owned.stream.ptr)
            owned.stream.synchronize()


class Lanes:
    """A lane for each thread that uses one."""

    def __init__(self, devices: Sequence[cupy.cuda.Device]) -> None:
        self._devices = devices
        self._of_threads: dict[int, Lane] = {}
        self._lock = threading.Lock()

    def mine(self) -> Lane:
        """The calling thread's lane."""
        with self._lock:
            lane = self._of_threads.get(threading.get_ident())
            if lane is None:
                lane = self._of_threads[threading.get_ident()] = Lane(self._devices)
            return lane

    def close(self) -> None:
        """Close all of them."""
        for lane in self._of_threads.values():
            lane.close()
        self._of_threads.clear()

"""Several devices that work together: a stream for each, streams for copies, and access to each other's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import cupy
import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.gpu.buffers import OwnedStream, device_view
from gpumerge_cli.backends.gpu.failures import device_errors

_ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled, which CuPy does not name


class ArrayMemory:
    """See team_interface.Memory."""

    def __init__(self, memory: cupy.ndarray) -> None:
        self._memory = memory

    @property
    def address(self) -> int:
        return int(self._memory.data.ptr)


class DeviceTeam:
    """Devices, numbered from 0. A device may be in the team twice, so tests need only one device."""

    def __init__(self, devices: Sequence[cupy.cuda.Device]) -> None:
        self.devices = list(devices)
        self._linked = link([device.id for device in devices])
        self._work: list[OwnedStream] = []
        self._copy_streams: dict[tuple[int, int], OwnedStream] = {}
        self._lock = threading.Lock()
        for device in devices:
            with device_errors(), device:
                self._work.append(OwnedStream())

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def linked(self) -> bool:
        """Whether kernels of each device can read what `room` gives on all others.

        Other devices cannot read memory from another allocator of CuPy. Copies need no link: without one, the driver
        copies through host memory.
        """
        pool = getattr(cupy.cuda.get_allocator(), "__self__", None)
        return self._linked and isinstance(pool, cupy.cuda.MemoryPool)

    def stream(self, member: int) -> cupy.cuda.Stream:
        """The stream that a device works on."""
        return self._work[member].stream

    @contextmanager
    def on(self, member: int) -> Iterator[cupy.cuda.Stream]:
        """Make a device and its stream the current ones, and turn their errors into DeviceError."""
        with device_errors(), self.devices[member], self.stream(member) as stream:
            yield stream

    @contextmanager
    def copies(self, source: int, to: int) -> Iterator[cupy.cuda.Stream]:
        """Make device `to`, and its stream that fetches from `source`, the current ones.

        The stream waits for no work of either device. Memory taken here was never freed by such work.
        """
        with device_errors(), self.devices[to]:
            with self._lock:
                if (source, to) not in self._copy_streams:
                    self._copy_streams[source, to] = OwnedStream()
            with self._copy_streams[source, to].stream as stream:
                yield stream

    def fetch(self, source: int, address: int, to: int, target: int, nbytes: int) -> None:
        """Copy bytes from an address on device `source` to one on device `to`, on the current stream."""
        runtime = cupy.cuda.runtime
        stream = cupy.cuda.get_current_stream().ptr
        runtime.memcpyPeerAsync(target, self.devices[to].id, address, self.devices[source].id, nbytes, stream)

    def copy(self, address: int, target: int, nbytes: int) -> None:
        """Copy bytes to the current device from a linked device that holds them."""
        runtime = cupy.cuda.runtime
        runtime.memcpyAsync(target, address, nbytes, runtime.memcpyDefault, cupy.cuda.get_current_stream().ptr)

    def room(self, nbytes: int) -> ArrayMemory:
        """Memory of the current device."""
        return ArrayMemory(cupy.empty(nbytes, cupy.uint8))

    def packed(self, address: int, size: int, items: range) -> Callable[[], NDArray[np.uint8]]:
        """Pack some items of `size` bytes at an address of the current device. Gives a function that returns them."""
        rows = device_view(address, items.stop * size, np.dtype(np.uint8)).reshape(items.stop, size)
        chosen = cupy.ascontiguousarray(rows[items.start : items.stop : items.step])
        device, stream = cupy.cuda.Device(), cupy.cuda.get_current_stream()

        def read() -> NDArray[np.uint8]:
            with device_errors(), device:
                found: NDArray[np.uint8] = chosen.get(stream=stream).reshape(-1)
            return found

        return read

    def wait(self, event: cupy.cuda.Event) -> None:
        """Have the current stream wait for an event of any device."""
        cupy.cuda.get_current_stream().wait_event(event)

    def event(self) -> cupy.cuda.Event:
        """An event after all work that is queued on the current stream so far."""
        event = cupy.cuda.Event(disable_timing=True)
        event.record(cupy.cuda.get_current_stream())
        return event

    def synchronize(self) -> None:
        """Wait until all work of all devices is done."""
        for device, owned in zip(self.devices, self._work, strict=True):
            with device_errors(), device:
                owned.stream.synchronize()
        for (_, to), owned in self._copy_streams.items():
            with device_errors(), self.devices[to]:
                owned.stream.synchronize()

    def close(self) -> None:
        """Give streams and unused memory back."""
        for (_, to), owned in self._copy_streams.items():
            with device_errors(), self.devices[to]:
                owned.close()
        for device, owned in zip(self.devices, self._work, strict=True):
            with device_errors(), device:
                owned.close()
                cupy.get_default_memory_pool().free_all_blocks()
        self._copy_streams.clear()


def can_read_peer(device: int, other: int) -> bool:
    """Whether kernels of a device can read the memory of another."""
    return device == other or bool(cupy.cuda.runtime.deviceCanAccessPeer(device, other))


def link(numbers: Sequence[int]) -> bool:
    """Let devices read each other's memory; whether all of them can."""
    runtime = cupy.cuda.runtime
    with device_errors():
        pairs = [(one, other) for one in set(numbers) for other in set(numbers) if one != other]
        if not all(can_read_peer(one, other) for one, other in pairs):
            return False
        for one, other in pairs:
            with cupy.cuda.Device(one):
                try:
                    runtime.deviceEnablePeerAccess(other)
                except runtime.CUDARuntimeError as error:
                    if error.status != _ALREADY_ENABLED:
                        raise
    return True

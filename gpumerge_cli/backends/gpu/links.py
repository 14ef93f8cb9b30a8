"""All GPUs of the machine: which of them read each other's memory, and how each is linked to the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cupy

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer, OwnedStream, PinnedBuffer
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.team import can_read_peer, link
from gpumerge_cli.dataclass import dataclass

_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""The generations of PCIe by their GT/s."""
_BYTES, _TURNS = 256 << 20, 3


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    number: int
    name: str
    memory: int
    """In bytes."""
    link: str
    """The link to the host, as in "PCIe 5.0 x16"; "" if the system does not report it."""
    peers: tuple[int, ...]
    """The GPUs whose memory it can read."""
    rates: dict[str, float]
    """Measured bytes a second, by the direction of the copy: "from host", "to host", "from GPU 1"."""


def gpus(*, measure: bool = False) -> list[Gpu]:
    """All GPUs that the driver shows. measure: copies are timed, a second for each GPU. Raises DeviceError."""
    with device_errors():
        numbers = range(cupy.cuda.runtime.getDeviceCount())
        found = []
        for number in numbers:
            properties = cupy.cuda.runtime.getDeviceProperties(number)
            peers = tuple(other for other in numbers if other != number and can_read_peer(number, other))
            found.append(
                Gpu(
                    number,
                    properties["name"].decode(),
                    properties["totalGlobalMem"],
                    host_link(cupy.cuda.runtime.deviceGetPCIBusId(number)),
                    peers,
                    _rates(number, peers) if measure else {},
                )
            )
    return found


def host_link(bus: str, devices: Path = Path("/sys/bus/pci/devices")) -> str:
    """The link of a device on the PCI bus, as in "PCIe 5.0 x16"; "" if the system does not say."""
    try:
        speed = (devices / bus.lower() / "current_link_speed").read_text().split()[0]
        width = int((devices / bus.lower() / "current_link_width").read_text())
    except (OSError, ValueError, IndexError):
        return ""
    generation = _GENERATIONS.get(speed)
    return f"PCIe {generation}.0 x{width}" if generation and width else ""


def _rates(number: int, peers: tuple[int, ...]) -> dict[str, float]:
    runtime = cupy.cuda.runtime
    rates = {}
    with cupy.cuda.Device(number):
        pinned, here, owned = PinnedBuffer(), DeviceBuffer().reserve(_BYTES), OwnedStream()
        host = pinned.reserve(_BYTES, _BYTES).ctypes.data
        stream = owned.stream

        def copy(to: int, source: int, kind: int) -> Callable[[], None]:
            return lambda: runtime.memcpyAsync(to, source, _BYTES, kind, stream.ptr)

        rates["from host"] = _rate(stream, copy(here.address, host, runtime.memcpyHostToDevice))
        rates["to host"] = _rate(stream, copy(host, here.address, runtime.memcpyDeviceToHost))
        for peer in peers:
            link([number, peer])
            with cupy.cuda.Device(peer):
                there = DeviceBuffer().reserve(_BYTES)

            def fetch(there: DeviceBuffer = there, peer: int = peer) -> None:
                runtime.memcpyPeerAsync(here.address, number, there.address, peer, _BYTES, stream.ptr)

            rates[f"from GPU {peer}"] = _rate(stream, fetch)
            there.free()
        here.free()
        pinned.free()
        owned.close()
    return rates


def _rate(stream: cupy.cuda.Stream, copy: Callable[[], None]) -> float:
    """Bytes a second of the fastest of some copies."""
    seconds = []
    for _ in range(1 + _TURNS):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        copy()
        end.record(stream)
        end.synchronize()
        seconds.append(float(cupy.cuda.get_elapsed_time(start, end)) / 1000)
    return _BYTES / min(seconds[1:])

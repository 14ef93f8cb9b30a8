"""The fastest copy on the device. Merges are compared with it.

The speed of a copy depends on the places of its two ends, because they may share channels of memory. So several places
are tried, and the fastest counts.
"""

from __future__ import annotations

from statistics import median

import cupy

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer, OwnedStream

_PAIRS = 4
_REPEATS = 7
_KEEP_FREE = 256 << 20
_BETWEEN = 2 << 20
"""The bytes between the two ends of a copy within one allocation: a page of device memory."""


def copy_ceiling(nbytes: int) -> float:
    """The seconds of the fastest copy of `nbytes` (at least 1) on the current device, by events.

    Each place counts with the median of a few repeats. The places are fresh buffers, which exist at the same time so
    that they differ, and two ends of one allocation. There are fewer places if memory is short. Raises CuPy's
    OutOfMemoryError if there is no room for one.
    """
    owned = OwnedStream()
    try:
        with owned.stream:
            return min(_apart(nbytes, owned.stream), _within_one(nbytes, owned.stream))
    finally:
        owned.close()


def _apart(nbytes: int, stream: cupy.cuda.Stream) -> float:
    free, _ = cupy.cuda.runtime.memGetInfo()
    pairs = max(1, min(_PAIRS, (free - _KEEP_FREE) // (2 * nbytes)))
    buffers = [DeviceBuffer().reserve(nbytes) for _ in range(2 * pairs)]
    try:
        ends = [(a.address, b.address) for a, b in zip(buffers[::2], buffers[1::2], strict=True)]
        # Neighbours, and buffers that lie far from each other.
        ends += [(a.address, b.address) for a, b in zip(buffers, buffers[pairs:], strict=False) if pairs > 1]
        return min(_seconds(a, b, nbytes, stream) for a, b in ends)
    finally:
        for buffer in buffers:
            buffer.free()


def _within_one(nbytes: int, stream: cupy.cuda.Stream) -> float:
    room = -(-nbytes // _BETWEEN) * _BETWEEN
    buffer = DeviceBuffer()
    try:
        start = buffer.reserve(2 * room + _BETWEEN).address
    except cupy.cuda.memory.OutOfMemoryError:
        return float("inf")
    try:
        return min(_seconds(start, start + room + gap, nbytes, stream) for gap in (0, _BETWEEN))
    finally:
        buffer.free()


def _seconds(source: int, target: int, nbytes: int, stream: cupy.cuda.Stream) -> float:
    found: list[float] = []
    kind = cupy.cuda.runtime.memcpyDeviceToDevice
    for _ in range(_REPEATS + 1):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        cupy.cuda.runtime.memcpyAsync(target, source, nbytes, kind, stream.ptr)
        end.record(stream)
        end.synchronize()
        found.append(float(cupy.cuda.get_elapsed_time(start, end)) / 1000)
    return median(found[1:])

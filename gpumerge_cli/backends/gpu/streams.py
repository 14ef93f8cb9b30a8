"""The current stream: whether a graph captures it, and memory for what is queued on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.failures import CUPY_ERRORS, device_errors
from gpumerge_cli.errors import DeviceError, UsageError


class _CapturedMemory:
    """Memory of a graph that is being captured: taken and freed whenever the graph runs."""

    def __init__(self, nbytes: int, stream: int) -> None:
        self.ptr: int = cupy.cuda.runtime.mallocAsync(nbytes, stream)
        self.nbytes = nbytes
        self._stream = stream

    def __del__(self) -> None:
        if is_captured(self._stream):  # otherwise an error has ended the capture, and no graph frees it
            cupy.cuda.runtime.freeAsync(self.ptr, self._stream)

    def pointer(self) -> Any:
        """The memory as CuPy's arrays take it."""
        owned = cupy.cuda.UnownedMemory(self.ptr, self.nbytes, self, cupy.cuda.runtime.getDevice())
        return cupy.cuda.MemoryPointer(owned, 0)


class _GraphAllocator:
    """An allocator for temporaries of a graph that is being captured. default: the allocator for all others."""

    def __init__(self, stream: int, default: Any) -> None:
        self._stream, self.default = stream, default

    def __call__(self, nbytes: int) -> Any:
        return _CapturedMemory(nbytes, self._stream).pointer() if nbytes else self.default(nbytes)


def current_stream() -> int:
    """The address of the current stream of the current device."""
    return cupy.cuda.get_current_stream().ptr  # type: ignore[no-any-return]


def is_captured(stream: int) -> bool:
    """Whether a graph captures what is queued on a stream of the current device."""
    return bool(cupy.cuda.runtime.streamIsCapturing(stream))


@contextmanager
def temporaries() -> Iterator[None]:
    """Arrays that are made in the body are temporaries of what is queued on the current stream: see scratch.

    An array that is used after the body must be made inside `lasting`.
    """
    stream, captured = current_stream(), False
    with suppress(*CUPY_ERRORS):  # a stream of another device is refused where it is used
        captured = is_captured(stream)
    if not captured:
        yield
        return
    with cupy.cuda.using_allocator(_GraphAllocator(stream, cupy.cuda.get_allocator())):
        yield


@contextmanager
def lasting() -> Iterator[bool]:
    """Arrays that are made in the body may outlive the body of `temporaries` around it.

    Gives whether it is inside such a body.
    """
    allocator = cupy.cuda.get_allocator()
    if not isinstance(allocator, _GraphAllocator):
        yield False
        return
    with cupy.cuda.using_allocator(allocator.default):
        yield True


def scratch(nbytes: int) -> Any:
    """Memory for what is queued on the current stream while the result lives; `ptr` is its address.

    Later work on the stream may reuse it. A graph runs later, so it gets separate memory.
    """
    stream = current_stream()
    if is_captured(stream):
        return _CapturedMemory(nbytes, stream)
    return cupy.cuda.alloc(nbytes)


def scratch_array(count: int, dtype: Any) -> Any:
    """The memory of `scratch` as an array of `count` items."""
    size = count * cupy.dtype(dtype).itemsize
    if not size:
        return cupy.empty(count, dtype)
    memory = scratch(size)
    return cupy.ndarray(count, dtype, memory.pointer() if isinstance(memory, _CapturedMemory) else memory)


@contextmanager
def calls_on(device: Any) -> Iterator[None]:
    """A context in which a device is the current one, for calls that use its current stream.

    CuPy's errors become a DeviceError, or a UsageError if the stream is one of another device.
    """
    with device_errors(), device:
        try:
            yield
        except (DeviceError, *CUPY_ERRORS):
            check_stream()
            raise


def check_stream() -> None:
    """Raises UsageError if the current stream is one of another device than the current one."""
    driver = cupy.cuda.driver
    current = stream_device = 0
    with suppress(*CUPY_ERRORS):  # a device that has failed does not answer
        here = driver.ctxGetCurrent()
        there = driver.streamGetCtx(current_stream())
        if here == there:
            return
        current = driver.ctxGetDevice()
        driver.ctxSetCurrent(there)
        stream_device = driver.ctxGetDevice()
        driver.ctxSetCurrent(here)
    if current == stream_device:
        return
    raise UsageError(
        f"the current stream is of GPU {stream_device}, and the arrays lie on GPU {current}",
        way_out="make a stream of the arrays' GPU the current one",
    )


def check_waiting(stream: int, what: str) -> None:
    """Raises UsageError if a stream is captured by a graph, which cannot hold the wait for an answer."""
    if is_captured(stream):
        raise UsageError(
            f"{what} waits for its answer, which is impossible while a graph is captured",
            way_out="call it outside of the capture",
        )

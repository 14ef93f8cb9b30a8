"""A driver in the host's memory: the library calls it for each step of a program, as it calls CUDA's.

Kernels are functions of Python, which get the arguments of a launch as words. Without one, a launch is only noted.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from gpumerge_cli.backends.gpu import driver, launching, recording
from gpumerge_cli.native.library import library

Kernel = Callable[[int, int, list[int], bool], None]
"""It takes the blocks, the stream, the arguments, and whether the launch is dependent."""
_RAISED, _INVALID_CONTEXT = 999, 201
_INT, _WORD, _PLACE = ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, *[_INT] * 7, _PLACE, _PLACE, _PLACE)
LAUNCH_EX = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, _PLACE, _PLACE, _PLACE)
FILL = ctypes.CFUNCTYPE(ctypes.c_int, _WORD, ctypes.c_ubyte, _WORD, _PLACE)
COPY = ctypes.CFUNCTYPE(ctypes.c_int, _WORD, _WORD, _WORD, _PLACE)
IS_CAPTURED = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE, ctypes.POINTER(ctypes.c_int))
WAIT = ctypes.CFUNCTYPE(ctypes.c_int, _PLACE)


class Launched(NamedTuple):
    """What cuLaunchKernel was asked for."""

    kernel: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    words: tuple[int, ...]
    dependent: bool


def _words(extra: int) -> tuple[int, ...]:
    """The arguments that the parameter `extra` gives."""
    pointer, address, size, at, end = struct.unpack("5q", ctypes.string_at(extra, 40))
    assert (pointer, size, end) == (1, 2, 0)  # as cuda.h numbers them
    nbytes = struct.unpack("q", ctypes.string_at(at, 8))[0]
    return struct.unpack(f"{nbytes // 8}q", ctypes.string_at(address, nbytes))


class FakeDriver:
    """The functions of a GpuDriver. status: what they return, except waits. moves: fills and copies are carried out."""

    def __init__(self) -> None:
        self.moves = False
        self.launched: list[Launched] = []
        self.filled: list[tuple[int, int, int]] = []
        self.copied: list[tuple[int, int, int, int]] = []
        self.waited: list[int] = []
        self.captured: set[int] = set()
        self.status = 0
        self.raised: BaseException | None = None
        self._kernels: dict[int, Kernel] = {}
        self._functions = (
            LAUNCH(self._launch), LAUNCH_EX(self._launch_ex), FILL(self._fill), COPY(self._copy),
            IS_CAPTURED(self._is_captured), WAIT(self._wait),
        )  # fmt: skip
        self._table = library().GpuDriver(*(ctypes.cast(each, ctypes.c_void_p) for each in self._functions))
        self.address = ctypes.addressof(self._table)

    def kernel(self, run: Kernel) -> Any:
        """A kernel, as CuPy has it, whose launches call `run`."""
        self._kernels[number := 1000 + len(self._kernels)] = run
        return SimpleNamespace(ptr=number)

    def told(self) -> list[tuple[Any, ...]]:
        """The launches, fills and copies since the last time, each kind in its order."""
        found = [*self.launched, *self.filled, *self.copied]
        for noted in (self.launched, self.filled, self.copied):
            noted.clear()  # type: ignore[attr-defined]
        return found

    def _launches(self, launched: Launched) -> int:
        if self.status:
            return self.status
        self.launched.append(launched)
        run = self._kernels.get(launched.kernel)
        if run is not None:
            try:
                run(launched.grid[0], launched.stream, list(launched.words), launched.dependent)
            except BaseException as error:  # it would end in C
                self.raised = error
                return _RAISED
        return 0

    def _launch(self, kernel: int, *rest: Any) -> int:
        *sizes, stream, parameters, extra = rest
        assert parameters is None
        shape = (tuple(sizes[:3]), tuple(sizes[3:6]), sizes[6])
        return self._launches(Launched(kernel, *shape, stream or 0, _words(extra), dependent=False))

    def _launch_ex(self, config: int, kernel: int, parameters: Any, extra: int) -> int:
        *sizes, stream, attributes, count = struct.unpack("7I4xQQI", ctypes.string_at(config, 52))
        assert (parameters, count) == (None, 1)
        # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, which is allowed
        assert struct.unpack("3i", ctypes.string_at(attributes, 12)) == (6, 0, 1)
        shape = (tuple(sizes[:3]), tuple(sizes[3:6]), sizes[6])
        return self._launches(Launched(kernel, *shape, stream, _words(extra), dependent=True))

    def _fill(self, address: int, value: int, nbytes: int, stream: int | None) -> int:
        assert value == 0
        self.filled.append((address, nbytes, stream or 0))
        if self.moves:
            ctypes.memset(address, 0, nbytes)
        return self.status

    def _copy(self, target: int, source: int, nbytes: int, stream: int | None) -> int:
        self.copied.append((target, source, nbytes, stream or 0))
        if self.moves:
            ctypes.memmove(target, source, nbytes)
        return self.status

    def _is_captured(self, stream: int | None, answer: Any) -> int:
        answer[0] = int((stream or 0) in self.captured)
        return self.status

    def _wait(self, stream: int | None) -> int:
        self.waited.append(stream or 0)
        return 0


def put_driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """The driver that launches of the test are asked of. What a kernel raises, its launch raises."""
    fake = FakeDriver()

    def settled(status: int, *call: Any) -> int:
        if status == _RAISED and fake.raised is not None:
            raised, fake.raised = fake.raised, None
            raise raised
        return driver.settled(status, *call)

    for module in (launching, recording):
        monkeypatch.setattr(module, "settled", settled)
    monkeypatch.setattr(launching, "driver_functions", lambda: fake.address)
    return fake

"""The search for the fastest copy on a GPU, simulated without one."""

from __future__ import annotations

from typing import Any

import pytest

from tests import needs

ceiling: Any = pytest.importorskip(
    "gpumerge_cli.backends.gpu.ceiling", reason=needs.reason("cupy"), exc_type=ImportError
)


class Memory:
    """Device memory of `size` bytes. Buffers take it from the front."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.held = 0
        self.copies: list[tuple[int, int, int]] = []


class Buffer:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._nbytes = 0

    def reserve(self, nbytes: int) -> Buffer:
        if self._memory.held + nbytes > self._memory.size:
            raise ceiling.cupy.cuda.memory.OutOfMemoryError(nbytes, self._memory.held, 0)
        self.address = self._memory.taken
        self._nbytes = nbytes
        self._memory.taken += nbytes
        self._memory.held += nbytes
        return self

    def free(self) -> None:
        self._memory.held -= self._nbytes
        self._nbytes = 0


class Stream:
    ptr = 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class Owned:
    stream = Stream()

    def close(self) -> None:
        pass


class Event:
    now = 0.0

    def record(self, stream: Stream) -> None:
        self.at = Event.now

    def synchronize(self) -> None:
        pass


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """4 GiB; a copy takes 2 ms, but 1 ms to the end of the one that lies furthest from its source."""
    memory = Memory(4 << 30)

    def copy(target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        assert source + nbytes <= target or target + nbytes <= source
        memory.copies.append((source, target, nbytes))
        Event.now += 1.0 if target - source == 3 * (200 << 20) else 2.0

    runtime = ceiling.cupy.cuda.runtime
    monkeypatch.setattr(ceiling, "DeviceBuffer", lambda: Buffer(memory))
    monkeypatch.setattr(ceiling, "OwnedStream", Owned)
    monkeypatch.setattr(ceiling.cupy.cuda, "Event", Event)
    monkeypatch.setattr(ceiling.cupy.cuda, "get_elapsed_time", lambda start, end: end.at - start.at)
    monkeypatch.setattr(runtime, "memGetInfo", lambda: (memory.size - memory.held, memory.size))
    monkeypatch.setattr(runtime, "memcpyAsync", copy)
    return memory


def test_the_best_of_several_places(memory: Memory) -> None:
    memory.size = 6 * (200 << 20) + (256 << 20)
    assert ceiling.copy_ceiling(200 << 20) == pytest.approx(1e-3)
    places = {(source, target) for source, target, _ in memory.copies}
    assert len(places) == 3 + 3 + 2
    assert memory.held == 0


def test_fewer_places_where_memory_is_short(memory: Memory) -> None:
    memory.size = 2 * (1 << 30)
    assert ceiling.copy_ceiling(1 << 30) == pytest.approx(2e-3)
    assert len({(source, target) for source, target, _ in memory.copies}) == 1
    assert memory.held == 0


def test_no_place_is_out_of_memory(memory: Memory) -> None:
    with pytest.raises(ceiling.cupy.cuda.memory.OutOfMemoryError):
        ceiling.copy_ceiling(3 << 30)

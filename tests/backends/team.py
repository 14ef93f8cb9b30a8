"""A team of devices in name only: memory, streams and kernels in NumPy, run late and in any order that events allow."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpumerge_cli.backends.gpu import shares
from gpumerge_cli.backends.gpu.team_interface import ExchangePlan
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.order.kinds import Order

Keys = np.ndarray[Any, np.dtype[Any]]


class Runs:
    """Sorted runs that are read as a device's are. rounds, keys: how often, and how many."""

    def __init__(self, runs: Sequence[Keys]) -> None:
        self.runs = runs
        self.rounds = 0
        self.keys = 0

    def read(self, slices: Sequence[shares.RunSlice]) -> list[Keys]:
        self.rounds += 1
        found = [self.runs[run][start:stop:step] for run, start, stop, step in slices]
        assert all(len(keys) for keys in found)
        self.keys += sum(map(len, found))
        return found

    def cuts(self, rank: int) -> list[int]:
        """Slowly: the runs of the first `rank` items of a stable sort of all."""
        owners = np.repeat(np.arange(len(self.runs)), [len(run) for run in self.runs])
        first = np.argsort(np.concatenate(self.runs), kind="stable")[:rank]
        return np.bincount(owners[first], minlength=len(self.runs)).tolist()


def drawn(rng: np.random.Generator, shape: str, count: int) -> Keys:
    if shape == "equal":
        return np.full(count, 7, np.uint32)
    if shape == "few":
        return rng.integers(0, 3, count).astype(np.uint32)
    if shape == "skewed":
        return (rng.random(count) ** 20 * 2**32).astype(np.uint32)
    return rng.integers(0, 2**32, count, dtype=np.uint32)


SHAPES = ("uniform", "equal", "few", "skewed")


class Event:
    done = False


class Memory:
    """Bytes of a device that are spoiled as soon as nobody refers to them."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, 0xA5, np.uint8)
        self.address = self.bytes.ctypes.data

    def __del__(self) -> None:
        self.bytes[:] = 0x5A
        OLD.append(self.bytes)  # so that late writers spoil nothing else


OLD: list[Any] = []


class Stand:
    """A team without devices. Streams run late, one step at a time, in any order that events allow."""

    def __init__(self, rng: np.random.Generator, members: int, linked: bool) -> None:
        self.linked = linked
        self.fetched: list[tuple[int, int, int]] = []
        self._rng, self._members = rng, members
        self._streams: dict[object, list[Callable[[], bool]]] = {}
        self._own = threading.local()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return self._members

    @contextmanager
    def on(self, member: int) -> Iterator[None]:
        before, self._own.stream = getattr(self._own, "stream", None), member
        with self._lock:
            self._streams.setdefault(member, [])
        yield
        self._own.stream = before

    def copies(self, source: int, to: int) -> Any:
        return self.on((source, to))  # type: ignore[arg-type]

    def queue(self, step: Callable[[], object]) -> None:
        with self._lock:
            self._streams[self._own.stream].append(lambda: step() is not False)

    def room(self, nbytes: int) -> Memory:
        return Memory(nbytes)

    def event(self) -> Event:
        event = Event()
        self.queue(lambda: setattr(event, "done", True))
        return event

    def wait(self, event: Event) -> None:
        self.queue(lambda: event.done)

    def fetch(self, source: int, address: int, to: int, target: int, nbytes: int) -> None:
        self.fetched.append((source, to, nbytes))
        self.queue(lambda: ctypes.memmove(target, address, nbytes))

    def copy(self, address: int, target: int, nbytes: int) -> None:
        self.queue(lambda: ctypes.memmove(target, address, nbytes))

    def packed(self, address: int, size: int, items: range) -> Callable[[], Any]:
        found: list[Any] = []
        rows = at(address, items.stop * size, np.uint8).reshape(items.stop, size)
        self.queue(lambda: found.append(rows[items.start : items.stop : items.step].copy().reshape(-1)))
        stream = self._own.stream

        def bytes_() -> Any:
            self.run(stream)
            return found[0]

        return bytes_

    def synchronize(self) -> None:
        for stream in list(self._streams):
            self.run(stream)

    def run(self, last: object) -> None:
        """Let streams run until one has nothing left to do."""
        with self._lock:
            while self._streams.get(last):
                waiting = [stream for stream, steps in self._streams.items() if steps]
                steps = self._streams[waiting[self._rng.integers(len(waiting))]]
                if steps[0]():
                    del steps[0]


class Workers:
    """Does in NumPy what the kernels do on the GPUs of a team."""

    def __init__(self, order: Order, team: Stand, fan_in: int = 16, most_cut: int = 16) -> None:
        self.order, self.fan_in, self.most_cut = order, fan_in, most_cut
        self._team = team
        self._item = np.dtype((np.void, order.item_bytes))

    def sort(self, member: int, items: Run, out: int) -> None:
        self._team.queue(lambda: self._sorted([items], out))

    def merge(self, member: int, runs: Sequence[Run], out: int) -> None:
        assert len(runs) <= self.fan_in

        def step() -> None:
            for run in runs:
                keys = self._keys(run)
                assert (keys[1:] >= keys[:-1]).all()
            self._sorted(runs, out)

        self._team.queue(step)

    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]:
        found: list[list[int]] = []
        self._team.queue(lambda: found.append(Runs([self._keys(run) for run in runs]).cuts(rank)))
        stream = member

        def cuts() -> list[int]:
            self._team.run(stream)
            return found[0]

        return cuts

    def _keys(self, run: Run) -> Keys:
        return self.order.image(self.order.keys(at(run[0], run[1] * self._item.itemsize, np.uint8)))

    def _sorted(self, runs: Sequence[Run], out: int) -> None:
        items = np.concatenate([at(run[0], run[1] * self._item.itemsize, self._item) for run in runs])
        keys = np.concatenate([self._keys(run) for run in runs])
        at(out, items.nbytes, self._item)[:] = items[np.argsort(keys, kind="stable")]


def at(address: int, nbytes: int, dtype: Any) -> Any:
    if nbytes == 0:
        return np.empty(0, dtype)
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), dtype)


PAIRS = Order.records(12, 4, np.dtype(np.uint32))
PLANS = (
    ExchangePlan(overlapped=1),
    ExchangePlan(overlapped=1 << 30),
    ExchangePlan(pieces=(0.5, 0.3, 0.2), direct=True, overlapped=1),
    ExchangePlan(pieces=(1.0,), returned=(1.0,), overlapped=1),
)

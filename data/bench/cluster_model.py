"""A sort on many machines as a simulation: runs, cuts, merges, a window of tasks, stragglers, deaths and skew.

A task reads from shared storage, works, and writes to it. Each machine does each of these for one task at a time, and
holds a few tasks, so that one reads while another works. One client submits tasks, never more than a window of them.
simulate_cluster.py makes the tables and the figure.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STAGES = ("read", "work", "write")
DATA = 100e12


@dataclass(frozen=True)
class Machine:
    """Rates in bytes a second. slots: tasks held at once. latency: seconds of a small read. readers: reads at once."""

    network: float = 9.375e9 / 8
    sort: float = 8 * 0.58e9
    merge: float = 8 * 0.49e9
    slots: int = 3
    latency: float = 0.02
    readers: int = 64


@dataclass(frozen=True)
class Setting:
    """A sort. Sizes in bytes, times in seconds.

    window: tasks that are submitted and not done, for each slot of all machines. schedule: the client's time for a
    task. cuts: who makes them: "workers", or "client" with `cut` for a read of the client. reads: small reads for each
    cut and run. sigma: of the logarithm of a task's time. slow: the share of machines that take twice as long. dying:
    the share that ends within a phase. splitters: "exact", or the keys sampled for each part. heavy: the share of the
    data that one key has.
    """

    name: str
    machines: int = 40
    machine: Machine = Machine()
    run: float = 10e9
    piece: float = 10e9
    window: float = 2.0
    schedule: float = 4e-3
    cuts: str = "workers"
    cut: float = 1.6e-6
    reads: float = 1.6
    sigma: float = 0.0
    slow: float = 0.0
    dying: float = 0.0
    splitters: str = "exact"
    heavy: float = 0.0


@dataclass
class Load:
    """The tasks of a phase.

    sizes: bytes of each task. rates: bytes a second of each of STAGES. wait: seconds ahead of a task's first stage.
    client: the client's seconds for a task.
    """

    sizes: NDArray[np.float64]
    rates: tuple[float, float, float]
    wait: float
    client: float


@dataclass
class Done:
    """A phase. seconds: until the last task is done. nbytes: done, each byte once. again: bytes of tasks begun anew.

    busy: seconds of each machine and stage. ends: when each machine's last task ended, 0 if it did none.
    """

    seconds: float = 0.0
    nbytes: float = 0.0
    again: float = 0.0
    busy: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    ends: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


class Event(NamedTuple):
    """Something that happens at a time.

    kind: "arrives" (a task, at the client), "dies" (a machine), or "ends" (a stage of a task on a machine). attempt:
    how often the task was begun anew. stage: the number in STAGES; -1 for the wait ahead of the first one.
    """

    kind: str
    machine: int
    task: int = -1
    attempt: int = 0
    stage: int = 0


class Phase:
    """Tasks on machines."""

    def __init__(self, setting: Setting, load: Load, rng: np.random.Generator) -> None:
        machines, tasks = setting.machines, len(load.sizes)
        self._load = load
        self._slots = setting.machine.slots
        self._window = max(1, round(setting.window * machines * self._slots))
        slow = rng.random(machines) < setting.slow
        self._pace = np.where(slow, 2.0, 1.0)
        self._factor = rng.lognormal(-(setting.sigma**2) / 2, setting.sigma, tasks) if setting.sigma else np.ones(tasks)
        self._alive = np.ones(machines, bool)
        self._free = np.zeros((machines, 3))
        self._held: list[set[int]] = [set() for _ in range(machines)]
        self._attempt = [0] * tasks
        self._waiting: deque[int] = deque()
        self._next, self._client = 0, 0.0
        self._events: list[tuple[float, int, Event]] = []  # by time; a number of their own decides ties
        self._number = count()
        self._done = Done(busy=np.zeros((machines, 3)), ends=np.zeros(machines))
        even = float(load.sizes.sum()) / machines / min(load.rates)
        for machine in np.flatnonzero(rng.random(machines) < setting.dying)[: machines - 1]:
            self._at(float(rng.random()) * even, Event("dies", int(machine)))

    def run(self) -> Done:
        """All tasks done."""
        for _ in range(min(self._window, len(self._load.sizes))):
            self._submit(0.0)
        left = len(self._load.sizes)
        while left:
            time, _, (kind, machine, task, attempt, stage) = heapq.heappop(self._events)
            if kind == "arrives":
                self._waiting.append(task)
                self._hand_out(time)
            elif kind == "dies":
                self._die(time, machine)
            elif attempt == self._attempt[task]:
                if stage >= 0:
                    self._done.busy[machine, stage] += self._seconds(machine, task, stage)
                if stage + 1 < len(STAGES):
                    self._stage(time, machine, task, stage + 1)
                else:
                    left -= 1
                    self._finish(time, machine, task)
        return self._done

    def _at(self, time: float, event: Event) -> None:
        heapq.heappush(self._events, (time, next(self._number), event))

    def _submit(self, time: float) -> None:
        if self._next < len(self._load.sizes):
            self._client = max(self._client, time) + self._load.client
            self._at(self._client, Event("arrives", -1, self._next))
            self._next += 1

    def _hand_out(self, time: float) -> None:
        while self._waiting:
            held = [len(tasks) if alive else self._slots for tasks, alive in zip(self._held, self._alive, strict=True)]
            machine = int(np.argmin(held))
            if held[machine] >= self._slots:
                return
            task = self._waiting.popleft()
            self._held[machine].add(task)
            self._at(time + self._load.wait, Event("ends", machine, task, self._attempt[task], stage=-1))

    def _seconds(self, machine: int, task: int, stage: int) -> float:
        plain = self._load.sizes[task] / self._load.rates[stage]
        return float(plain * self._factor[task] * self._pace[machine])

    def _stage(self, time: float, machine: int, task: int, stage: int) -> None:
        end = max(time, self._free[machine, stage]) + self._seconds(machine, task, stage)
        self._free[machine, stage] = end
        self._at(end, Event("ends", machine, task, self._attempt[task], stage))

    def _finish(self, time: float, machine: int, task: int) -> None:
        self._held[machine].remove(task)
        self._done.nbytes += self._load.sizes[task]
        self._done.seconds = self._done.ends[machine] = time
        self._submit(time)
        self._hand_out(time)

    def _die(self, time: float, machine: int) -> None:
        self._alive[machine] = False
        for task in sorted(self._held[machine]):
            self._attempt[task] += 1
            self._done.again += self._load.sizes[task]
            self._waiting.append(task)
        self._held[machine].clear()
        self._hand_out(time)


@dataclass(frozen=True)
class Sorted:
    """A simulated sort: its two phases, and the client's seconds for the cuts ahead of the second."""

    setting: Setting
    runs: Done
    planning: float
    merges: Done

    @property
    def seconds(self) -> float:
        """The whole sort."""
        return self.runs.seconds + self.planning + self.merges.seconds

    @property
    def idle(self) -> float:
        """The share of the merge phase that the machines wait for its last one, on average."""
        return 1 - float(self.merges.ends[self.merges.ends > 0].mean()) / self.merges.seconds


SPAN = 256
"""Pieces that are cut before the first of them is submitted; later ones are cut while machines work."""


def simulate(setting: Setting, seed: int, data: float = DATA) -> Sorted:
    """The sort of `data` bytes. The same seed gives the same result."""
    rng = np.random.default_rng(seed)
    machine, runs, pieces = setting.machine, max(1, round(data / setting.run)), max(1, round(data / setting.piece))
    network = machine.network
    first = Load(np.full(runs, data / runs), (network, machine.sort, network), 0.0, setting.schedule)
    at_client, wait = 0.0, 0.0
    if setting.cuts == "client":
        at_client = runs * setting.reads * setting.cut
    elif setting.cuts == "workers":
        wait = runs * setting.reads * 2 * machine.latency / machine.readers
    sizes = part_sizes(setting, pieces, data, rng)
    second = Load(sizes, (network, machine.merge, network), wait, setting.schedule + at_client)
    planning = at_client * min(pieces, SPAN)
    return Sorted(setting, Phase(setting, first, rng).run(), planning, Phase(setting, second, rng).run())


def part_sizes(setting: Setting, parts: int, data: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Bytes of each part. Exact cuts make them equal, whatever the keys are.

    Between sampled splitters they are the sums of so many random gaps, and all of one key lies in one part.
    """
    if setting.splitters == "exact":
        return np.full(parts, data / parts)
    shares = rng.gamma(float(setting.splitters), size=parts)
    sizes = shares / shares.sum() * data * (1 - setting.heavy)
    sizes[int(rng.integers(parts))] += setting.heavy * data
    return np.asarray(sizes)


def closed_form(setting: Setting, data: float = DATA) -> float:
    """Seconds of a sort in which nothing varies and nothing waits, by a formula.

    Tasks are shared evenly. Each machine fills and drains its three stages once, and its slowest stage never stops.
    """
    machine, total = setting.machine, 0.0
    for size, rate in ((setting.run, machine.sort), (setting.piece, machine.merge)):
        stages = [size / machine.network, size / rate, size / machine.network]
        tasks = round(data / size) / setting.machines
        total += sum(stages) + (tasks - 1) * max(stages)
    return total

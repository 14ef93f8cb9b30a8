"""Simulate a sort of 100 TB on 40 and on 400 machines: runs, cuts, merges, a window of tasks, stragglers, deaths, skew.

python data/bench/simulate_cluster.py data/results/simulation [--figure data/figures/cluster.svg] [--seed N]

A task reads from shared storage, works, and writes to it. Each machine does each of these for one task at a time, and
holds a few tasks, so that one reads while another works. One client submits tasks, never more than a window of them.
"""

from __future__ import annotations

import argparse
import heapq
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STAGES = ("read", "work", "write")
DATA = 100e12
EXOSHUFFLE = 5378
"""Seconds of Exoshuffle-CloudSort on 40 i4i.4xlarge: arXiv:2301.03734, https://sortbenchmark.org (2022)."""


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
    """The stages of the tasks of a phase. sizes: bytes of each. wait: seconds ahead of the first stage."""

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


class Phase:
    """Tasks on machines. Events are (time, number, what, machine, task, attempt, stage)."""

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
        self._events: list[tuple[Any, ...]] = []
        self._number = count()
        self._done = Done(busy=np.zeros((machines, 3)), ends=np.zeros(machines))
        even = float(load.sizes.sum()) / machines / min(load.rates)
        for machine in np.flatnonzero(rng.random(machines) < setting.dying)[: machines - 1]:
            self._at(float(rng.random()) * even, "dies", int(machine))

    def run(self) -> Done:
        """All tasks done."""
        for _ in range(min(self._window, len(self._load.sizes))):
            self._submit(0.0)
        left = len(self._load.sizes)
        while left:
            time, _, what, machine, task, attempt, stage = heapq.heappop(self._events)
            if what == "arrives":
                self._waiting.append(task)
                self._hand_out(time)
            elif what == "dies":
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

    def _at(self, time: float, what: str, machine: int, task: int = -1, attempt: int = 0, stage: int = 0) -> None:
        heapq.heappush(self._events, (time, next(self._number), what, machine, task, attempt, stage))

    def _submit(self, time: float) -> None:
        if self._next < len(self._load.sizes):
            self._client = max(self._client, time) + self._load.client
            self._at(self._client, "arrives", -1, self._next)
            self._next += 1

    def _hand_out(self, time: float) -> None:
        while self._waiting:
            held = [len(tasks) if alive else self._slots for tasks, alive in zip(self._held, self._alive, strict=True)]
            machine = int(np.argmin(held))
            if held[machine] >= self._slots:
                return
            task = self._waiting.popleft()
            self._held[machine].add(task)
            self._at(time + self._load.wait, "ends", machine, task, self._attempt[task], -1)

    def _seconds(self, machine: int, task: int, stage: int) -> float:
        plain = self._load.sizes[task] / self._load.rates[stage]
        return float(plain * self._factor[task] * self._pace[machine])

    def _stage(self, time: float, machine: int, task: int, stage: int) -> None:
        end = max(time, self._free[machine, stage]) + self._seconds(machine, task, stage)
        self._free[machine, stage] = end
        self._at(end, "ends", machine, task, self._attempt[task], stage)

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
    """Seconds of a sort without variance, client or waits, whose tasks are shared evenly: each machine fills and drains
    its three stages once, and the slowest stage never stops."""
    machine, total = setting.machine, 0.0
    for size, rate in ((setting.run, machine.sort), (setting.piece, machine.merge)):
        stages = [size / machine.network, size / rate, size / machine.network]
        tasks = round(data / size) / setting.machines
        total += sum(stages) + (tasks - 1) * max(stages)
    return total


def settings(machines: int) -> list[Setting]:
    """The rows of the table."""
    even = Setting("nothing varies", machines)
    usual = replace(even, name="tasks vary (sigma 0.3)", sigma=0.3)
    bad = replace(usual, name="... and 5 % of the machines take twice as long", slow=0.05)
    return [
        even,
        usual,
        bad,
        replace(bad, name="... and 5 % of the machines die in each phase", dying=0.05),
        replace(usual, name="tasks vary, pieces of 2 GB", piece=2e9),
        replace(usual, name="tasks vary, window of 1 a slot", window=1.0),
        replace(usual, name="tasks vary, window of a third a slot", window=1 / 3),
        replace(usual, name="tasks vary, client takes 10 ms a task", schedule=10e-3),
        replace(usual, name="tasks vary, client cuts, files in reach (1.6 us a read)", cuts="client"),
        replace(usual, name="tasks vary, client cuts over a store (20 ms, 64 at once)", cuts="client", cut=0.02 / 64),
        replace(usual, name="tasks vary, 100 sampled keys a part", splitters="100"),
        replace(usual, name="tasks vary, 20 sampled keys a part", splitters="20"),
        replace(usual, name="tasks vary, exact cuts, one key has 1 %", heavy=0.01),
        replace(usual, name="tasks vary, 100 sampled keys a part, one key has 1 %", splitters="100", heavy=0.01),
    ]


def table(rows: Sequence[Sorted]) -> list[str]:
    """The rows as Markdown."""
    lines = [
        "| machines | setting | runs, s | client ahead of merges, s | merges, s | whole, s | machines idle at the end "
        "of merges | largest part over the mean | TB done again |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        one = row.setting
        sizes = part_sizes(one, max(1, round(DATA / one.piece)), DATA, np.random.default_rng(0))
        again = (row.runs.again + row.merges.again) / 1e12
        lines.append(
            f"| {one.machines} | {one.name} | {row.runs.seconds:,.0f} | {row.planning:,.1f} | "
            f"{row.merges.seconds:,.0f} | {row.seconds:,.0f} | {100 * row.idle:.1f} % | "
            f"{sizes.max() / sizes.mean():.2f} | {again:.2f} |"
        )
    return lines


def assumptions(seed: int, commit: str) -> list[str]:
    """All that the table rests on."""
    one, machine = Setting(""), Machine()
    cores = "times 8 cores, as 16 threads are assumed to be"
    inputs = [
        ("network of a machine, each way", f"{machine.network / 1e9:.2f} GB/s",
         "assumed: 9.375 Gb/s that last, of up to 25 Gb/s of an i4i.4xlarge"),
        ("shared storage", "as fast as all networks", "assumed"),
        ("sort, a machine", f"{machine.sort / 1e9:.2f} GB/s",
         f"measured: 1 GB of 100-byte records in 1.71 s of CPU (../xeon/files.md), {cores}"),
        ("merge, a machine", f"{machine.merge / 1e9:.2f} GB/s",
         f"measured: 512 files of 1 GB in all in 2.05 s of CPU (../xeon/files.md), {cores}; more were not measured"),
        ("run; piece", f"{one.run / 1e9:.0f} GB; {one.piece / 1e9:.0f} GB",
         "chosen: a sort takes 2.5 times its data (../h200/file-sorts.md), and a machine of 128 GB holds three"),
        ("tasks of a machine", f"{machine.slots}", "chosen: one reads, one works, one writes"),
        ("tasks submitted and not done", f"{one.window:.0f} for each task of a machine", "chosen"),
        ("client, a task", f"{1e3 * one.schedule:.0f} ms", "assumed; ../epyc/plan.md has 5 ms on a busy machine"),
        ("reads for a cut, of each run", f"{one.reads}", "measured: 1.0 to 1.6 at 10,000 cuts (../epyc/plan.md)"),
        ("such a read from files in reach", f"{1e6 * one.cut:.1f} us", "assumed; ../epyc/plan.md has 7 us, busy"),
        ("such a read from a store", f"{1e3 * machine.latency:.0f} ms, {machine.readers} at once", "assumed"),
        ("a machine that dies", "its tasks start again elsewhere", "assumed: at any time; runs are in shared storage"),
        ("sampled splitters", "parts are sums of 100 or 20 random gaps; a key is in one part",
         "Spark SQL samples 100 keys a part, RDDs 20 (SPARK-22160); duplicates of a key are not divided"),
    ]  # fmt: skip
    return [
        "# A sort of 100 TB, simulated",
        "",
        f"Commit {commit}, seed {seed}, by `python data/bench/simulate_cluster.py data/results/simulation`.",
        "Nothing here was run on a cluster.",
        "",
        "| input | value | where it comes from |",
        "|---|---|---|",
        *(f"| {name} | {value} | {source} |" for name, value, source in inputs),
        "",
        f"Exoshuffle-CloudSort took {EXOSHUFFLE:,} s on 40 i4i.4xlarge (arXiv:2301.03734, https://sortbenchmark.org).",
        "That was measured, with all that goes wrong in an hour and a half. These rows leave most of it",
        "out, so that one comes near it says nothing.",
        "",
    ]


def draw(rows: Sequence[Sorted], path: Path) -> None:
    """Bars of the phases of each setting, one panel for each number of machines."""
    import matplotlib
    from matplotlib.figure import Figure

    from gpumerge_cli.report.figure import save

    with matplotlib.rc_context({"svg.hashsalt": "gpumerge", "font.size": 9.0}):
        figure = Figure(figsize=(9.0, 7.6), layout="constrained")
        sizes = sorted({row.setting.machines for row in rows})
        for panel, machines in zip(figure.subplots(len(sizes), 1, squeeze=False)[:, 0], sizes, strict=True):
            shown = [row for row in rows if row.setting.machines == machines][::-1]
            names = [row.setting.name for row in shown]
            left = np.zeros(len(shown))
            parts = {
                "runs": [row.runs.seconds for row in shown],
                "client's cuts ahead of merges": [row.planning for row in shown],
                "merges": [row.merges.seconds for row in shown],
            }
            for (label, seconds), colour in zip(parts.items(), ("#6a8d2f", "#b04a2f", "#3056a0"), strict=True):
                panel.barh(names, seconds, left=left, color=colour, label=label)
                left += np.array(seconds)
            if machines == 40:
                panel.axvline(EXOSHUFFLE, color="#555555", linestyle="--", label="Exoshuffle-CloudSort, measured")
            panel.set_xlim(0, 2.5 * np.median(left))
            panel.set_title(f"100 TB on {machines} machines, simulated; longer bars are cut off", loc="left")
            panel.set_xlabel("seconds")
            panel.legend(frameon=False, fontsize=8.0)
        save(figure, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where sort.md goes")
    parser.add_argument("--figure", type=Path, help="where the figure goes: .svg or .png")
    parser.add_argument("--machines", type=int, nargs="+", default=[40, 400])
    parser.add_argument("--seed", type=int, default=19)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    rows = [simulate(one, given.seed) for machines in given.machines for one in settings(machines)]
    given.folder.mkdir(parents=True, exist_ok=True)
    lines = assumptions(given.seed, commit.stdout.strip() or "unknown") + table(rows)
    (given.folder / "sort.md").write_text("\n".join(lines) + "\n")
    print("\n".join(table(rows)))
    if given.figure:
        draw(rows, given.figure)


if __name__ == "__main__":
    main()

"""What a run measured, as plain values with units. Renderers see only this module.

Times are seconds, sizes are bytes, counts are plain integers. `schema` grows when a field changes its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from gpumerge_cli.measure import COMPILE as COMPILE
from gpumerge_cli.measure import Stretch as Stretch
from gpumerge_cli.units import format_counted

SCHEMA = 1
MERGE_SCHEMA = 3
"""The schema of merges and sorts: 2 brought timeline, ceilings, expected and the kind "sort"; in 3 bound is a name."""
AHEAD = ("spool", "decompress", "csv")
"""Stages that happen during the start-up."""


@dataclass(frozen=True)
class Stage:
    """One kind of work, added up over all chunks and threads: `seconds` busy, `nbytes` moved (0 if none)."""

    name: str
    seconds: float
    nbytes: int


@dataclass(frozen=True)
class Ceiling:
    """What bounds some stages: `rate` bytes of input a second for all workers together, who share it over `stages`.

    at_once: how many can be at it at full speed, so that the seconds of the stages, added up over all workers, amount
    to that much less time: cores, or 1 for a device. source: where the number comes from.
    """

    name: str
    stages: tuple[str, ...]
    rate: float
    at_once: int
    source: str


@dataclass(frozen=True)
class InputFile:
    """An input as it was read: items and bytes."""

    name: str
    items: int
    nbytes: int


@dataclass(frozen=True)
class MergeReport:
    """What one merge did and how long each part took.

    nbytes: bytes of all inputs. written: bytes of the output, its header aside. dropped: items left out because they
    equal one ahead of them, which happens only if `unique`. shrunk_to: bytes of the largest chunk once the device had
    run out of memory, 0 if it never did.

    wall: seconds from the start of the process (of the call, from Python) to the finished output. start_up: the part
    of it before the first byte was read. plan: seconds that cutting chunks took, of one worker while others worked.
    busy: seconds the streaming itself took. stages: "compile", "read", "upload", "index", "check", "sort", "kernel",
    "download", "spill", "compress", "write" as far as they happened; stages of different chunks overlap, so they may
    add up to more than `busy`. workers: chunks in flight at once.

    timeline: what was done when, in at most some thousand stretches: stages, "plan", and ahead of the first byte
    "decompress" of compressed inputs, "csv" of taking CSV apart and "spool" of standard input.
    bound: the name of what bounded the run: "start-up", "plan", a stage, or what took most of the start-up.
    ceilings, expected: the cost model's, the latter as seconds of the whole program, 0 where it has no say.
    """

    inputs: tuple[InputFile, ...]
    output: str
    items: int
    nbytes: int
    written: int
    order: str
    unique: bool
    dropped: int
    backend: str
    device: str
    backend_why: str
    kernel: str
    launch: str
    launch_why: str
    chunks: int
    chunk_bytes: int
    shrunk_to: int
    workers: int
    checked: bool
    wall: float
    start_up: float
    plan: float
    busy: float
    stages: tuple[Stage, ...]
    peak_memory: int
    version: str
    timeline: tuple[Stretch, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    expected: float = 0.0
    bound: str = ""
    schema: int = MERGE_SCHEMA
    kind: Literal["merge", "sort"] = "merge"

    def stage(self, name: str) -> Stage:
        """The stage called `name`, all zero if it did not happen."""
        return next((stage for stage in self.stages if stage.name == name), Stage(name, 0.0, 0))

    def elapsed(self, name: str) -> float:
        """Seconds of the clock from the first start of stage `name` to its last end; 0 if the timeline has none."""
        found = [one for one in self.timeline if one.stage == name]
        return max(one.stop for one in found) - min(one.start for one in found) if found else 0.0

    @property
    def at_work(self) -> tuple[Stage, ...]:
        """What the workers did during `busy` seconds: planning, then the stages."""
        plan = (Stage("plan", self.plan, 0),) if self.plan > 0 else ()
        return (*plan, *(stage for stage in self.stages if stage.name != COMPILE))


def bounded(report: MergeReport) -> MergeReport:
    """The report with its `bound`: what to make faster to make the run faster."""
    if report.stage(COMPILE).seconds > max(report.busy, report.start_up) / 2:
        bound = COMPILE
    elif report.start_up > report.busy or not report.at_work:
        longest = max(AHEAD, key=report.elapsed)
        bound = longest if report.elapsed(longest) > report.start_up / 2 else "start-up"
    else:
        bound = max(report.at_work, key=lambda stage: stage.seconds).name
    return replace(report, bound=bound)


@dataclass(frozen=True)
class CheckReport:
    """What was checked, and found in order. wall: seconds that it took."""

    inputs: tuple[InputFile, ...]
    items: int
    nbytes: int
    wall: float
    version: str
    schema: int = SCHEMA
    kind: str = "check"


@dataclass(frozen=True)
class Measured:
    """One row of a comparison: a kernel variant or a library baseline, right first, then timed.

    right: whether its output equals the oracle's; a wrong one is not timed. seconds: every timed repeat.
    nbytes: bytes read plus bytes written by one merge. share_of_copy: time of a copy of the same bytes over the
    median; copies: the other way round. speed_up: median of basic over the median (0 where basic was not timed).
    whole_seconds, whole: of the same from files to a file, start-up aside: every timing, and the median; 0 where that
    was not timed.
    """

    name: str
    launch: str
    right: bool
    seconds: tuple[float, ...] = ()
    nbytes: int = 0
    median: float = 0.0
    spread: float = 0.0
    share_of_copy: float = 0.0
    speed_up: float = 0.0
    problem: str = ""
    library: bool = False
    copies: float = 0.0
    whole_seconds: tuple[float, ...] = ()
    whole: float = 0.0


@dataclass(frozen=True)
class CompareReport:
    """All variants beside the library baselines on the same resident data.

    command: what is compared, "merge" or "sort". spread of a row: (slowest - fastest) / median. copy: seconds of the
    best copy of the same bytes in this run.
    """

    inputs: tuple[InputFile, ...]
    items: int
    order: str
    backend: str
    device: str
    repeat: int
    copy_seconds: tuple[float, ...]
    copy_nbytes: int
    rows: tuple[Measured, ...]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    command: str = "merge"
    schema: int = SCHEMA
    kind: str = "compare"

    @property
    def all_right(self) -> bool:
        """Whether every row's output was right."""
        return all(row.right for row in self.rows)


@dataclass(frozen=True)
class BenchRow:
    """One contestant in one case of a bench: right first, then timed.

    The case: items: what is merged, by name ("int32"). shape: how keys of the runs interleave. runs: how many are
    merged. size: items asked for. count: items of output in all, which is that rounded down to whole runs. nbytes:
    bytes read plus bytes written by one merge.
    The contestant: name, launch: as in `Measured`. role: "kernel", "library", or "copy" within the merge's own memory.
    The verdict: right: whether its output equals the oracle's; a wrong one is not timed. problem: why it was not timed,
    "" if it was. judged_by: how outputs were judged.
    The times: seconds: every timed repeat. median, spread: of them, spread as (slowest - fastest) / median. ceiling:
    seconds of the best copy of the same bytes on the device, in the best of several places. share_of_copy: ceiling over
    the median. 0 where nothing was timed.
    """

    items: str
    shape: str
    runs: int
    size: int
    count: int
    nbytes: int
    name: str
    role: Literal["kernel", "library", "copy"]
    launch: str = ""
    right: bool = True
    problem: str = ""
    judged_by: str = ""
    seconds: tuple[float, ...] = ()
    median: float = 0.0
    spread: float = 0.0
    ceiling: float = 0.0
    share_of_copy: float = 0.0

    @property
    def case(self) -> tuple[str, str, int, int]:
        """What tells cases apart: items, shape, runs, size."""
        return self.items, self.shape, self.runs, self.size

    @property
    def throughput(self) -> float:
        """Bytes read and written a second; 0 if it was not timed."""
        return self.nbytes / self.median if self.median > 0 else 0.0


@dataclass(frozen=True)
class BenchReport:
    """Cases of synthetic runs, each merged by every variant and library baseline, one after another on one device.

    seed: of the runs. threads: host threads that the CPU backend merged with. stopped: number of the signal that ended
    the run before its last case, 0 if none did. merged: what results of several runs, put together here, differ in,
    "" if it is one run's or they differ in nothing.
    """

    backend: str
    device: str
    repeat: int
    seed: int
    threads: int
    rows: tuple[BenchRow, ...]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    stopped: int = 0
    merged: str = ""
    schema: int = SCHEMA
    kind: str = "bench"

    @property
    def place(self) -> str:
        """What merged: the device, and where host threads merge, how many: "EPYC 9654, 16 threads"."""
        return f"{self.device}, {format_counted(self.threads, 'thread')}" if self.backend == "cpu" else self.device

    @property
    def repeats(self) -> str:
        """Timings of each row: "7", or "3 to 7" where rows have more or fewer of them."""
        counts = sorted({len(row.seconds) for row in self.rows if row.seconds} or {self.repeat})
        return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    @property
    def wrong(self) -> tuple[BenchRow, ...]:
        """Rows whose output was not right."""
        return tuple(row for row in self.rows if not row.right)


Report = MergeReport | CompareReport | BenchReport

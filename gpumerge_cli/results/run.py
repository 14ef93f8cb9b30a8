"""The measurements of a run, as plain values with units. Renderers see only this module and `compared`.

Times are seconds, sizes are bytes, counts are plain integers. `schema` grows when a field changes its meaning.
"""

from __future__ import annotations

from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.measure import COMPILE, Stretch
from gpumerge_cli.results.origin import Origin

SCHEMA = 1
MERGE_SCHEMA = 4
"""The schema of merges and sorts: 2 brought timeline, ceilings, expected and the kind "sort"; in 3 bound is a name;
4 brought worker_reports, kinds and parts, and lanes of stretches are names."""
AHEAD = ("spool", "decompress", "convert", "search")
"""Stages that happen during the start-up."""
STAGES = ("read", "upload", "index", "check", "sort", "kernel", "download", "sum", "spill", "compress", "write")
"""The stages of the workers, in the order of a chunk's way."""


@dataclass(frozen=True)
class Stage:
    """One kind of work, added up over all chunks and threads."""

    name: str
    seconds: float
    """Seconds during which threads were busy with it."""
    nbytes: int
    """The bytes that it moved; 0 if it moves none."""


@dataclass(frozen=True)
class Ceiling:
    """The bound of some stages."""

    name: str
    stages: tuple[str, ...]
    """The stages that share the rate."""
    rate: float
    """Bytes of input a second, of all workers together."""
    at_once: int
    """The number of workers that run at full speed beside each other: cores, or 1 for a device. The stages' summed
    seconds are divided by it."""
    source: str
    """The origin of the rate."""


@dataclass(frozen=True)
class InputFile:
    """An input as it was read: items and bytes."""

    name: str
    items: int
    nbytes: int
    first_time: str = ""
    """The first time in it and how it was read, in words; "" if its items are not in the order of times."""
    left_out: str = ""
    """The names of its columns that the output has not, as in a header; "" for none."""


@dataclass(frozen=True)
class OutputPart:
    """One file of an output in parts: its items, and their bytes as they were written, a header aside."""

    name: str
    items: int
    nbytes: int


@dataclass
class WorkerReport:
    """The work of one worker: a thread on the CPU, or a GPU with the threads that feed it. It grows during the run."""

    name: str
    backend: str
    device: str = ""
    kernel: str = ""
    launch: str = ""
    chunks: int = 0
    """The chunks that it did."""
    nbytes: int = 0
    """The bytes of the inputs in these chunks."""
    threads: int = 1
    """The threads that worked for it."""
    busy: float = 0.0
    """Seconds during which its threads had a chunk, added up over the threads."""
    first: float = 0.0
    """The begin of its first chunk, in seconds since the run began; 0 if it did none."""
    last: float = 0.0
    """The end of its last chunk, in the same seconds."""
    note: str = ""
    """The reason why it did not work to the end, or ""."""


@dataclass(frozen=True)
class KindReport:
    """The expected and the actual speed of one kind of worker."""

    backend: str
    workers: int
    """The number of workers."""
    expected: float
    """Seconds of the whole program if this kind did all of the work; 0 where the cost model has no estimate."""
    expected_share: float
    """The part of the bytes that it was expected to do."""
    share: float
    """The part of the bytes that it did."""


@dataclass(frozen=True)
class Difference:
    """The number of items in which two inputs differ, and of those that are the same."""

    added: int
    removed: int
    changed: int
    """Pairs of items with equal keys that differ."""
    unchanged: int

    @property
    def is_none(self) -> bool:
        """Whether the inputs do not differ."""
        return not (self.added or self.removed or self.changed)


@dataclass(frozen=True)
class MergeReport:
    """One merge: its inputs, its output, and the time of each part."""

    inputs: tuple[InputFile, ...]
    output: str
    items: int
    nbytes: int
    """Bytes of all inputs."""
    written: int
    """Bytes of the output, its header aside."""
    order: str
    unique: bool
    dropped: int
    """Duplicates left out; 0 unless `unique`."""
    backend: str
    device: str
    backend_why: str
    kernel: str
    launch: str
    launch_why: str
    chunks: int
    chunk_bytes: int
    shrunk_to: int
    """Bytes of the largest chunk once the device had run out of memory; 0 if it never did."""
    workers: int
    """Chunks in flight at once."""
    checked: bool
    wall: float
    """Seconds from the start of the process (of the call, from Python) to the finished output."""
    start_up: float
    """The part of `wall` before the first byte was read."""
    plan: float
    """Seconds that cutting chunks took, of one worker while others worked."""
    busy: float
    """Seconds that the streaming itself took."""
    stages: tuple[Stage, ...]
    """The stages that happened, among "compile", "read", "upload", "index", "check", "sort", "kernel", "download",
    "sum", "spill", "compress" and "write". Stages of different chunks overlap: they may add up to more than `busy`."""
    peak_memory: int
    version: str
    origin: Origin = Origin()
    timeline: tuple[Stretch, ...] = ()
    """The work over time, in at most some thousand stretches: stages, "plan", and ahead of the first byte "decompress"
    of compressed inputs, "convert" of CSV and of rows, "spool" of standard input and "search" of the ranks or parts
    that are written."""
    ceilings: tuple[Ceiling, ...] = ()
    """The cost model's ceilings."""
    expected: float = 0.0
    """The cost model's seconds of the whole program; 0 where it has no estimate."""
    bound: str = ""
    """The name of the part that bounded the run: "start-up", "plan", a stage, or the longest part of the start-up."""
    schema: int = MERGE_SCHEMA
    kind: str = "merge"
    worker_reports: tuple[WorkerReport, ...] = ()
    """The work of each worker."""
    kinds: tuple[KindReport, ...] = ()
    """Each kind of worker, beside what the cost model expected of it."""
    parts: tuple[OutputPart, ...] = ()
    """The files of the output, if there are several; then {part} stands for their numbers in the output's name."""
    difference: Difference | None = None
    """The numbers of a diff; None for other operations."""
    joined: int | None = None
    """Lines or records that a join wrote; None for a run that is not a join."""

    def stage(self, name: str) -> Stage:
        """The stage called `name`, all zero if it did not happen."""
        return next((stage for stage in self.stages if stage.name == name), Stage(name, 0.0, 0))

    def elapsed(self, name: str) -> float:
        """Seconds of the clock from the first start of stage `name` to its last end; 0 if the timeline has none."""
        found = [one for one in self.timeline if one.stage == name]
        return max(one.stop for one in found) - min(one.start for one in found) if found else 0.0

    @property
    def at_work(self) -> tuple[Stage, ...]:
        """The work during `busy` seconds: planning, then the stages."""
        plan = (Stage("plan", self.plan, 0),) if self.plan > 0 else ()
        return (*plan, *(stage for stage in self.stages if stage.name != COMPILE))


def bounded(report: MergeReport) -> MergeReport:
    """The report with its `bound`: the part that would have to be faster for a faster run."""
    beside = any(one.backend == "cpu" and one.chunks for one in report.worker_reports)
    if not beside and report.stage(COMPILE).seconds > max(report.busy, report.start_up) / 2:
        bound = COMPILE
    elif report.start_up > report.busy or not report.at_work:
        longest = max(AHEAD, key=report.elapsed)
        bound = longest if report.elapsed(longest) > report.start_up / 2 else "start-up"
    else:
        bound = max(report.at_work, key=lambda stage: stage.seconds).name
    return replace(report, bound=bound)


@dataclass(frozen=True)
class RankReport:
    """Answers about the ranks of a merge, as gpumerge rank --json prints them."""

    answers: dict[str, Any]
    wall: float
    """Seconds that the answers took."""
    version: str
    origin: Origin = Origin()
    schema: int = SCHEMA
    kind: str = "rank"


@dataclass(frozen=True)
class CheckReport:
    """A check that found all files in order."""

    inputs: tuple[InputFile, ...]
    items: int
    nbytes: int
    wall: float
    """Seconds that the check took."""
    version: str
    origin: Origin = Origin()
    schema: int = SCHEMA
    kind: str = "check"


JobReport = MergeReport | CheckReport | RankReport
"""The report of a job."""

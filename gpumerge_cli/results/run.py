"""The measurements of a run, as plain values with units. Renderers see only this module and `compared`.

Times are seconds, sizes are bytes, counts are plain integers. `schema` grows when a field changes its meaning.
"""

from __future__ import annotations

from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.measure import COMPILE as COMPILE
from gpumerge_cli.measure import Stretch as Stretch

SCHEMA = 1
MERGE_SCHEMA = 4
"""The schema of merges and sorts: 2 brought timeline, ceilings, expected and the kind "sort"; in 3 bound is a name;
4 brought worker_reports, kinds and parts, and lanes of stretches are names."""
AHEAD = ("spool", "decompress", "convert", "search")
"""Stages that happen during the start-up."""


@dataclass(frozen=True)
class Stage:
    """One kind of work, added up over all chunks and threads: `seconds` busy, `nbytes` moved (0 if none)."""

    name: str
    seconds: float
    nbytes: int


@dataclass(frozen=True)
class Ceiling:
    """The bound of some stages: `rate` bytes of input a second, which all workers share over these `stages`.

    at_once: the number of workers that run at full speed beside each other, cores or 1 for a device; the stages' summed
    seconds are divided by it. source: the origin of the rate.
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
class OutputPart:
    """One file of an output in parts: its items, and their bytes as they were written, a header aside."""

    name: str
    items: int
    nbytes: int


@dataclass(frozen=True)
class WorkerReport:
    """The work of one worker: a thread on the CPU, or a GPU with the threads that feed it.

    chunks, nbytes: how many chunks it did, and how many bytes of the inputs they were. hands: how many threads worked
    for it. busy: seconds during which its threads had a chunk, added up over them. first, last: when the first of its
    chunks began and the last one ended, in seconds since the run began; 0 if it did none. note: what kept it from
    working to the end, or "".
    """

    name: str
    backend: str
    device: str
    kernel: str
    launch: str
    chunks: int
    nbytes: int
    hands: int
    busy: float
    first: float
    last: float
    note: str = ""


@dataclass(frozen=True)
class KindReport:
    """The expected and the actual speed of one kind of worker.

    expected: seconds of the whole program if this kind did all of the work, 0 where the cost model has no say.
    expected_share, share: the part of the bytes that it was expected to do, and did. workers: how many there were.
    """

    backend: str
    workers: int
    expected: float
    expected_share: float
    share: float


@dataclass(frozen=True)
class MergeReport:
    """One merge: its inputs, its output, and the time of each part.

    nbytes: bytes of all inputs. written: bytes of the output, its header aside. dropped: items left out because they
    equal one ahead of them, which happens only if `unique`. shrunk_to: bytes of the largest chunk once the device had
    run out of memory, 0 if it never did.

    wall: seconds from the start of the process (of the call, from Python) to the finished output. start_up: the part
    of it before the first byte was read. plan: seconds that cutting chunks took, of one worker while others worked.
    busy: seconds the streaming itself took. stages: "compile", "read", "upload", "index", "check", "sort", "kernel",
    "download", "spill", "compress", "write" as far as they happened; stages of different chunks overlap, so they may
    add up to more than `busy`. workers: chunks in flight at once.

    timeline: the work over time, in at most some thousand stretches: stages, "plan", and ahead of the first byte
    "decompress" of compressed inputs, "convert" of CSV and of rows, "spool" of standard input and "search" of the ranks
    or parts that are put out.
    bound: the name of what bounded the run: "start-up", "plan", a stage, or what took most of the start-up.
    ceilings, expected: the cost model's, the latter as seconds of the whole program, 0 where it has no say.
    joined: lines or records that a join put out; None for a run that is no join.
    parts: of the output, if it is not one file; then {part} stands in the output's name for their numbers.
    worker_reports, kinds: what each worker did, and each kind of worker beside what the cost model expected of it.
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
    kind: str = "merge"
    worker_reports: tuple[WorkerReport, ...] = ()
    kinds: tuple[KindReport, ...] = ()
    parts: tuple[OutputPart, ...] = ()
    joined: int | None = None

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
    """Answers about the ranks of a merge, as gpumerge rank --json prints them. wall: seconds that they took."""

    answers: dict[str, Any]
    wall: float
    version: str
    schema: int = SCHEMA
    kind: str = "rank"


@dataclass(frozen=True)
class CheckReport:
    """A check that found all files in order. wall: its seconds."""

    inputs: tuple[InputFile, ...]
    items: int
    nbytes: int
    wall: float
    version: str
    schema: int = SCHEMA
    kind: str = "check"

"""Results of comparisons and benchmarks, as plain values with units: see model."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.results.run import SCHEMA, InputFile, MergeReport
from gpumerge_cli.units import format_counted

CCCL = "cccl"
"""The first word of the names of rows that CCCL's algorithms have, and the name of its version, in capitals."""


@dataclass(frozen=True)
class Measured:
    """One row of a comparison: a kernel variant or a library baseline, right first, then timed.

    right: whether its output equals the oracle's; a wrong one is not timed. seconds: every timed repeat.
    nbytes: bytes read plus bytes written by one merge or set. share_of_copy: time of a copy of the same bytes over the
    median; copies: the inverse of that. speed_up: median of basic over the median (0 where basic was not timed).
    whole_seconds, whole: every timing of the same from files to a file, without the start-up, and their median; 0 where
    that was not timed.
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

    command: "merge", "sort", or a set with its option, as "union --distinct". spread of a row: (slowest - fastest) /
    median. copy: seconds of the best copy of the same bytes in this run; rows of sets are held against a part of it, as
    they write fewer bytes.
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


@dataclass(frozen=True)
class BenchRow:
    """One contestant in one case of a bench: right first, then timed.

    The case: items: the name of their type ("int32"). shape: how keys of the runs interleave. runs: their number. size:
    items asked for. count: items of the output, which is `size` rounded down to whole runs. nbytes: bytes read plus
    bytes written by one merge.
    The contestant: name, launch: as in `Measured`. role: "kernel", "library", or "copy" within the merge's own memory.
    The verdict: right: whether its output equals the oracle's; a wrong one is not timed. problem: why it was not timed,
    "" if it was. judged_by: how outputs were judged.
    The times: seconds: every timed repeat. median: of these. spread: (slowest - fastest) / median. ceiling:
    seconds of the best copy of the same bytes on the device, in the best of several places. share_of_copy: ceiling over
    the median. times_cccl: the time of CCCL, the fastest of its ways, over the median. 0 where nothing was timed.
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
    times_cccl: float = 0.0

    @property
    def case(self) -> tuple[str, str, int, int]:
        """The identity of the case: items, shape, runs, size."""
        return self.items, self.shape, self.runs, self.size

    @property
    def throughput(self) -> float:
        """Bytes read and written a second; 0 if it was not timed."""
        return self.nbytes / self.median if self.median > 0 else 0.0


@dataclass(frozen=True)
class BenchReport:
    """Cases of synthetic runs, each merged by every variant and library baseline, one after another on one device.

    seed: of the runs. threads: host threads that the CPU backend merged with. stopped: number of the signal that ended
    the run before its last case, 0 if none did. merged: the differences of the runs that are put
    together here; "" for one run, or if there are none.
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
        """The device, and for the CPU backend the number of its host threads: "EPYC 9654, 16 threads"."""
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

"""Results of comparisons and benchmarks, as plain values with units: see run."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.results.origin import Origin
from gpumerge_cli.results.run import SCHEMA, InputFile, MergeReport
from gpumerge_cli.units import format_counted

CCCL = "cccl"
"""The first word of the names of rows that CCCL's algorithms have, and the name of its version, in capitals."""


@dataclass(frozen=True)
class Measured:
    """One row of a comparison: a kernel variant or a library baseline, checked first, then timed."""

    name: str
    launch: str
    right: bool
    """Whether its output equals the oracle's; a wrong one is not timed."""
    seconds: tuple[float, ...] = ()
    """Every timed repeat."""
    nbytes: int = 0
    """Bytes read plus bytes written by one merge or set."""
    median: float = 0.0
    """Seconds, of the timed repeats."""
    spread: float = 0.0
    """(slowest - fastest) / median."""
    share_of_copy: float = 0.0
    """The time of a copy of the same bytes, over the median."""
    speed_up: float = 0.0
    """The median of basic over the median; 0 where basic was not timed."""
    problem: str = ""
    """Why it was not timed; "" if it was."""
    library: bool = False
    """Whether it is a library baseline."""
    copies: float = 0.0
    """The inverse of share_of_copy."""
    whole_seconds: tuple[float, ...] = ()
    """Every timing of the same from files to a file, without the start-up."""
    whole: float = 0.0
    """The median of whole_seconds; 0 where that was not timed."""


@dataclass(frozen=True)
class CompareReport:
    """All variants beside the library baselines on the same resident data."""

    inputs: tuple[InputFile, ...]
    items: int
    order: str
    backend: str
    device: str
    repeat: int
    """Timings of each row."""
    copy_seconds: tuple[float, ...]
    """Every timing of a copy of `copy_nbytes`, in this run."""
    copy_nbytes: int
    """Bytes that a copy reads and writes. Rows of sets write fewer bytes, so they are compared with a part of it."""
    rows: tuple[Measured, ...]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    command: str = "merge"
    """"merge", "sort", or a set with its option, as "union --distinct"."""
    origin: Origin = Origin()
    schema: int = SCHEMA
    kind: str = "compare"


@dataclass(frozen=True)
class BenchRow:
    """One contestant in one case of a bench: checked first, then timed."""

    items: str
    """The name of the type of the items ("int32")."""
    shape: str
    """The way in which keys of the runs interleave."""
    runs: int
    """The number of runs."""
    size: int
    """The requested number of items."""
    count: int
    """Items of the output: `size` rounded down to whole runs."""
    nbytes: int
    """Bytes read plus bytes written by one merge."""
    name: str
    """See Measured."""
    role: Literal["kernel", "library", "copy"]
    """"copy" is a copy within the memory of the merge."""
    launch: str = ""
    """See Measured."""
    right: bool = True
    """Whether its output equals the oracle's; a wrong one is not timed."""
    problem: str = ""
    """Why it was not timed; "" if it was."""
    judged_by: str = ""
    """The way in which outputs were checked."""
    seconds: tuple[float, ...] = ()
    """Every timed repeat."""
    median: float = 0.0
    """Seconds, of the timed repeats; 0 if there are none."""
    spread: float = 0.0
    """(slowest - fastest) / median."""
    ceiling: float = 0.0
    """Seconds of the best copy of the same bytes on the device, in the best of several places."""
    share_of_copy: float = 0.0
    """`ceiling` over the median."""
    times_cccl: float = 0.0
    """The time of CCCL, the fastest of its ways, over the median; 0 where either was not timed."""

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
    """Cases of synthetic runs, each merged by every variant and library baseline, one after another on one device."""

    backend: str
    device: str
    repeat: int
    seed: int
    """The seed of the runs."""
    threads: int
    """Host threads that the CPU backend merged with."""
    rows: tuple[BenchRow, ...]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    stopped: int = 0
    """The number of the signal that ended the run before its last case; 0 if none did."""
    merged: str = ""
    """The differences between the runs whose results are combined here; "" for one run, or if there are none."""
    origin: Origin = Origin()
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
        """Rows whose output was wrong."""
        return tuple(row for row in self.rows if not row.right)


Report = MergeReport | CompareReport | BenchReport

"""The first fault of a kernel that was run, as plain values."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass

FaultKind = Literal["outside", "wild", "unwritten", "race", "barrier", "endless", "crash", "arrays", "device"]
"""outside: an access outside of an array. wild: one outside of all arrays. unwritten: a read ahead of any write.
race: two threads at one place without a barrier between them. barrier: a barrier that not all threads reach.
arrays: more shared arrays than the emulator takes. device: the GPU's own error."""


@dataclass(frozen=True)
class FaultyAccess:
    """An access of a thread to memory."""

    block: int
    thread: int
    writes: bool
    line: int = 0
    """The line of the reader's file; 0 if unknown."""


@dataclass(frozen=True)
class KernelFault:
    """The first fault, which ended the run."""

    kind: FaultKind
    case: int
    """The number of the case."""
    block: int = 0
    thread: int = 0
    access: FaultyAccess | None = None
    other: FaultyAccess | None = None
    """The earlier access of a race."""
    array: str = ""
    index: int = 0
    size: int = 0
    """PuzzleItems of the array."""
    text: str = ""
    """More about it, in words."""


@dataclass(frozen=True)
class KernelRun:
    """The result of running a kernel on cases."""

    outputs: tuple[bytes, ...]
    """The bytes of C for each case up to the fault."""
    fault: KernelFault | None = None
    compiler: str = ""
    """The compiler's errors; then nothing was run."""

"""Runs a program on the cases of a puzzle, in a process of its own and within a time limit, and reads its results.

The program is the emulator's, or a Python that asks a GPU. Its last three words are names: of the cases, of the
outputs, and of the fault. A fault is one line: the case, the kind, the block, the thread, and what more the kind has.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn.cases import LaunchCase
from gpumerge_cli.learn.faults import FaultKind, FaultyAccess, KernelFault, KernelRun
from gpumerge_cli.learn.puzzles import KernelTask

SECONDS = 10
"""The processor time that one case may take in the emulator. The largest takes less than a second."""
_WALL = 120.0
"""Seconds that all cases of a kernel may take."""
_PRINTED = 1 << 16
"""The bytes of a kernel's printf that are shown."""

LineOf = Callable[[int], int]
"""The line of the reader's file for an offset of the program's code; 0 if unknown."""


def run_cases(
    program: Sequence[str], folder: Path, task: KernelTask, cases: Sequence[LaunchCase], seconds: int, *,
    line_of: LineOf = lambda _: 0,
) -> KernelRun:  # fmt: skip
    """Run the cases by a program in a folder, where it finds no other files than it is given.

    seconds: of processor time for one case. Raises DeviceError if the program cannot be started.
    """
    places = [folder / name for name in ("cases", "outputs", "fault")]
    for place in places:
        place.unlink(missing_ok=True)
    places[0].write_bytes(b"".join(_packed(case, task, seconds) for case in cases))
    status = _status([*program, *map(str, places)], folder)
    outputs = _outputs(places[1], cases, task)
    return KernelRun(tuple(outputs), _fault(places[2], status, len(outputs), len(cases), line_of))


def _status(words: Sequence[str], folder: Path) -> int | None:
    """The exit status of the program, None if it was ended because it took too long."""
    null = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            words, cwd=folder, stdin=null, stdout=subprocess.PIPE, stderr=null, start_new_session=True
        )
    except OSError as error:
        raise DeviceError(
            f"{words[0]} does not start: {error.strerror}", way_out="let TMPDIR name a folder where programs may run"
        ) from None
    assert process.stdout is not None, "it is a pipe"
    printing = threading.Thread(target=_print, args=(process.stdout,), daemon=True)
    printing.start()
    try:
        return process.wait(_WALL)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.wait()
        printing.join(1)


def _print(prints: IO[bytes]) -> None:
    """Copy the first bytes that a kernel prints to standard error, and drop the others."""
    seen = 0
    with prints, suppress(OSError):
        while data := os.read(prints.fileno(), 1 << 16):
            shown = data[: max(0, _PRINTED - seen)]
            if seen <= _PRINTED < seen + len(data):
                shown += b"\n(the kernel prints more)\n"
            if shown and sys.stderr is not None:
                os.write(2, shown)
            seen += len(data)


def _outputs(place: Path, cases: Sequence[LaunchCase], task: KernelTask) -> list[bytes]:
    """The outputs of the cases that were done."""
    found: list[bytes] = []
    with suppress(FileNotFoundError), open(place, "rb") as file:
        for case in cases:
            size = task.expected(case.a, case.b).nbytes
            output = file.read(size)
            if len(output) < size:
                break
            found.append(output)
    return found


def _fault(place: Path, status: int | None, done: int, count: int, line_of: LineOf) -> KernelFault | None:
    """The fault; None without one. done: the number of outputs, of `count` cases."""
    with suppress(OSError, ValueError, IndexError):
        return _fault_of(place.read_text("utf-8", "replace").split(), line_of)
    if status == 0 and done == count:
        return None
    if status is None:
        return KernelFault("endless", done)
    return KernelFault("crash", done, text=f"its process ends with {status} before the case is done")


def _packed(case: LaunchCase, task: KernelTask, seconds: int) -> bytes:
    expected = task.expected(case.a, case.b)
    items = (case.a.dtype.itemsize, case.b.dtype.itemsize, expected.dtype.itemsize)
    sizes = (len(case.a), len(case.b), len(expected), case.tile, case.blocks, case.threads, task.shared(case))
    names = b"".join(name.encode().ljust(32, b"\0") for name in task.arrays)
    return struct.pack("<11i", *sizes, *items, seconds) + names + case.a.tobytes() + case.b.tobytes()


def _fault_of(words: list[str], line_of: LineOf) -> KernelFault:
    """The fault in the words of a line. Raises ValueError or IndexError for another line."""
    case, kind, block, thread, *rest = words
    place = int(case), int(block), int(thread)

    def access(writes: str, codes: str, of: tuple[int, int]) -> FaultyAccess:
        lines = (line_of(int(code, 16)) for code in codes.split(","))
        return FaultyAccess(*of, writes == "1", next((line for line in lines if line), 0))

    own = access(rest[0], rest[1], place[1:]) if kind in ("outside", "wild", "unwritten", "race") else None
    if kind == "wild":
        return KernelFault("wild", *place, own)
    if kind in ("outside", "unwritten"):
        known: FaultKind = "outside" if kind == "outside" else "unwritten"
        return KernelFault(known, *place, own, None, rest[2], int(rest[3]), int(rest[4]))
    if kind == "race":
        other = access(rest[5], rest[6], (int(rest[7]), int(rest[8])))
        return KernelFault("race", *place, own, other, rest[2], int(rest[3]), int(rest[4]))
    if kind == "barrier":
        return KernelFault("barrier", *place, text=" ".join(rest))
    if kind in ("endless", "arrays"):
        return KernelFault("endless" if kind == "endless" else "arrays", *place)
    if kind == "device":
        return KernelFault("device", *place, text=" ".join(rest))
    if kind == "crash":
        return KernelFault("crash", *place, text=signal.Signals(int(rest[0])).name)
    raise ValueError(kind)

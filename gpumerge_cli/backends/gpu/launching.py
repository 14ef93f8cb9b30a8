"""Steps of work on a stream, which launch kernels at the least cost to the host.

An operation decides its steps once, from addresses and counts (see merging, many_runs, sorting, radix, rank_sort and
walks): which kernels, how many blocks, which arguments, how much memory. Whoever queues the work, compiles its kernels
ahead or tests it walks these steps.

The library queues steps: see gm_gpu_queue in kernels/cpu/entries.h. It takes them packed as a program, in which all
arguments lie as the driver takes them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.driver import driver_functions, settled
from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream
from gpumerge_cli.native.library import library

_KERNEL, _DEPENDENT, _ZEROS, _COPY = range(4)
"""GpuStepKind of entries.h."""
ADDRESS_BITS = 48
"""In recorded steps, addresses are numbers of addresses above so many bits, and bytes behind the address below."""

Allocate = Callable[[int], Any]
"""Gives memory of so many bytes at address `ptr`, which lasts while something refers to it: see streams.scratch."""
Step = tuple["Launch", int, Sequence[int], bool]
"""A step of work on a stream: its launch, its blocks or bytes, its arguments, and whether it is a dependent launch,
which may begin before the previous step ends; the kernel decides what must wait (see beside.cuh). The generator of
steps keeps their memory, so steps are queued one by one."""
ArraySteps = Callable[[list[int], list[int], int, int, list[int], int, Allocate], Iterable[Step]]
"""The steps of a call on arrays. It takes the addresses of its runs, their counts and the sum of these; the address
that the keys go to, or the indices of an argsort; the addresses of the rows of values, and the one that they go to, 0
if there are none; and memory. No class holds them, because making one costs each call time."""


class Launch:
    """Launches of a kernel on the current device. Its arguments are 64-bit words; a struct of words is as many.

    find: gives the kernel, as CuPy has it, at the first launch; until then it may be compiled beside others. threads:
    of a block. shared: bytes of dynamic shared memory.
    """

    __slots__ = ("_find", "_found", "_shared", "_threads")

    def __init__(self, find: Callable[[], Any], threads: int, shared: int = 0) -> None:
        self._find, self._threads, self._shared = find, threads, shared
        self._found: list[Any] = []  # it keeps the module loaded, of each thread that came here at once

    def head(self, size: int, dependent: bool) -> tuple[int, int, int, int, int]:
        """The first fields of a GpuStep."""
        found = self._found
        if not found:
            found.append(self._find())
        return _DEPENDENT if dependent else _KERNEL, found[0].ptr, size, self._threads, self._shared


class _OfBytes(Launch):
    """A step of the driver's own. size: bytes."""

    __slots__ = ("_kind",)

    def __init__(self, kind: int) -> None:
        self._kind = kind

    def head(self, size: int, dependent: bool) -> tuple[int, int, int, int, int]:
        return self._kind, 0, size, 0, 0


zeros = _OfBytes(_ZEROS)
"""Fills memory with zeros. Its argument is the address."""
copy = _OfBytes(_COPY)
"""Copies between addresses of the device. Its arguments are the source and the target."""


@lru_cache(maxsize=1024)
def packing(words: int) -> Callable[..., bytes]:
    """Packs so many int64."""
    return struct.Struct(f"{words}q").pack


def queue(steps: Iterable[Step], stream: int) -> None:
    """Queue work on a stream of the current device."""
    run, driver, at = library().gm_gpu_queue, driver_functions(), packing(1)(stream)
    for launch, size, words, dependent in steps:
        count = len(words)
        program = packing(9 + count)(driver, 1, *launch.head(size, dependent), count, 0, *words)
        if status := run(program, at):
            settled(status, run, program, at)


def recorded(steps: Iterable[Step]) -> bytes:
    """The program of steps whose addresses have ADDRESS_BITS."""
    found: list[int] = []
    number = 0
    for number, (launch, size, words, dependent) in enumerate(steps, 1):  # noqa: B007
        places: list[int] = []
        given = list(words)
        for at, word in enumerate(given):
            address = word >> ADDRESS_BITS
            if address > 0:
                places += at, address
                given[at] = word - (address << ADDRESS_BITS)
        found += *launch.head(size, dependent), len(given), len(places) // 2, *places, *given
    return packing(2 + len(found))(driver_functions(), number, *found)


class PinnedWord:
    """A word of pinned memory, which the device can write to."""

    __slots__ = ("_memory", "address", "word")

    def __init__(self) -> None:
        self._memory = cupy.cuda.alloc_pinned_memory(ctypes.sizeof(ctypes.c_int64))
        self.address: int = self._memory.ptr
        self.word = ctypes.c_int64.from_address(self.address)


class PinnedAnswers:
    """Words that the device writes answers to, one for each waiting thread. what: the call, for messages."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._spare: list[PinnedWord] = []

    def answer_of(self, steps: Callable[..., Iterable[Step]], *arguments: Any) -> int:
        """Queue steps(*arguments, address), and wait for the int64 at that address; it is 0 if they write none.

        Raises UsageError if a graph captures the current stream.
        """
        stream = current_stream()
        check_waiting(stream, self._what)

        def ask(address: int) -> None:
            queue(steps(*arguments, address), stream)
            cupy.cuda.runtime.streamSynchronize(stream)

        return self._asked(ask)

    def answer_to(self, ask: Callable[[int], bool]) -> int:
        """The same of ask(address), which queues the steps and waits; False if a graph captures the stream."""

        def check(address: int) -> None:
            if not ask(address):
                check_waiting(current_stream(), self._what)

        return self._asked(check)

    def through(self, ask: Callable[[Any, None, int], Any]) -> Callable[[Any, None, None], bool | None]:
        """Makes a function of arrays, None and None: whether ask(arrays, None, address) puts 0 there, or its None."""
        spare = self._spare

        def is_zero(arrays: Any, values: None, out: None) -> bool | None:
            try:  # another thread may take the last one
                answer = spare.pop()
            except IndexError:
                answer = PinnedWord()
            answer.word.value = 0
            done = ask(arrays, None, answer.address)
            found = answer.word.value == 0
            spare.append(answer)
            return None if done is None else found

        return is_zero

    def _asked(self, ask: Callable[[int], object]) -> int:
        try:  # another thread may take the last one
            answer = self._spare.pop()
        except IndexError:
            answer = PinnedWord()
        answer.word.value = 0
        ask(answer.address)
        found: int = answer.word.value
        self._spare.append(answer)
        return found

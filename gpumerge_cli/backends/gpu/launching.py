"""Steps of work on a stream, which launch kernels at the least cost to the host.

An operation decides its steps once, from addresses and counts (see merging, many_runs, sorting, radix, rank_sort and
walks): which kernels, how many blocks, which arguments, how much memory. Whoever queues the work, compiles its kernels
ahead or tests it walks these steps.

CuPy's own way to launch a kernel converts each argument by itself. Here all arguments lie in one buffer, as the driver
takes them, and a launch fills it in.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.dependent import DependentLaunch, dependent_launch, launch_dependent
from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

_launch_kernel = cupy.cuda.driver.launchKernel
_WORD = 8
# cuLaunchKernel's parameter `extra` for a buffer that holds all arguments: CU_LAUNCH_PARAM_BUFFER_POINTER and its
# address, CU_LAUNCH_PARAM_BUFFER_SIZE and the address of its size, CU_LAUNCH_PARAM_END.
_POINTER, _SIZE, _END = 1, 2, 0
_EXTRA = 5

Allocate = Callable[[int], Any]
"""Gives memory of so many bytes at address `ptr`, which lasts while something refers to it: see streams.scratch."""
Launch = Callable[[int, int, Sequence[int], bool], None]
"""Queues a launch of a kernel, a fill or a copy on a stream of the current device: see Step. It takes blocks or bytes,
the stream, arguments, and whether it is dependent: it may begin before the previous step ends (see dependent.py)."""
Step = tuple[Launch, int, Sequence[int], bool]
"""A step of work on a stream: its launch, its blocks or bytes, its arguments, and whether it is a dependent launch.
The generator of steps keeps their memory, so steps are queued one by one."""
ArraySteps = Callable[[list[int], list[int], int, int, list[int], int, Allocate], Iterable[Step]]
"""The steps of a call on arrays. It takes the addresses of its runs, their counts and the sum of these; the address
that the keys go to, or the indices of an argsort; the addresses of the rows of values, and the one that they go to, 0
if there are none; and memory. No class holds them, because making one costs each call time."""


def queue(steps: Iterable[Step], stream: int) -> None:
    """Queue work on a stream of the current device."""
    for do, size, words, dependent in steps:
        do(size, stream, words, dependent)


def zeros(nbytes: int, stream: int, words: Sequence[int], dependent: bool) -> None:
    """Fill memory with zeros. words: its address."""
    cupy.cuda.runtime.memsetAsync(words[0], 0, nbytes, stream)


def copy(nbytes: int, stream: int, words: Sequence[int], dependent: bool) -> None:
    """Copy between addresses of the device. words: the source and the target."""
    cupy.cuda.runtime.memcpyAsync(words[1], words[0], nbytes, cupy.cuda.runtime.memcpyDeviceToDevice, stream)


def launch(find: Callable[[], Any], threads: int, shared: int = 0) -> Launch:
    """Launches of a kernel. Its arguments are 64-bit words; a struct of words is as many arguments.

    find: gives the kernel, as CuPy has it, at the first launch; until then it may be compiled beside others. threads:
    of a block. shared: bytes of dynamic shared memory. All launches have as many arguments as the first one.
    """
    found: list[Any] = []
    pack: Callable[..., None]
    words = pointer = 0
    spare: list[tuple[bytearray, int, DependentLaunch]] = []

    def queue(blocks: int, stream: int, given: Sequence[int], dependent: bool) -> None:
        nonlocal pack, words, pointer
        if not pointer:
            words = len(given)
            pack = struct.Struct(f"{words}q").pack_into
            function = find()
            found.append(function)  # it keeps its module loaded, of each thread that came here at once
            pointer = function.ptr
        # The driver releases the interpreter's lock, so each thread inside it needs its own buffer.
        try:
            arguments = spare.pop()
        except IndexError:
            arguments = (*_arguments(words), dependent_launch(threads, shared))
        memory, extra, config = arguments
        pack(memory, 0, *given)
        if dependent:
            launch_dependent(config, pointer, blocks, stream, extra)
        else:
            _launch_kernel(pointer, blocks, 1, 1, threads, 1, 1, shared, stream, 0, extra)
        spare.append(arguments)

    return queue


def _arguments(words: int) -> tuple[bytearray, int]:
    """A buffer of so many arguments, and the address of cuLaunchKernel's `extra` for it."""
    memory = bytearray(_WORD * (words + 1 + _EXTRA))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    size = address + _WORD * words
    extra = (_WORD * words, _POINTER, address, _SIZE, size, _END)
    struct.pack_into(f"{len(extra)}q", memory, _WORD * words, *extra)
    return memory, size + _WORD


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
        try:  # another thread may take the last one
            answer = self._spare.pop()
        except IndexError:
            answer = PinnedWord()
        answer.word.value = 0
        queue(steps(*arguments, answer.address), stream)
        cupy.cuda.runtime.streamSynchronize(stream)
        found: int = answer.word.value
        self._spare.append(answer)
        return found

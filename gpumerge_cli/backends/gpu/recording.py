"""Steps that are recorded once, without addresses, and queued by one call of the library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from gpumerge_cli.backends.gpu.driver import settled
from gpumerge_cli.backends.gpu.launching import ADDRESS_BITS, Allocate, Step, packing, recorded
from gpumerge_cli.backends.gpu.streams import current_stream, scratch
from gpumerge_cli.native.library import library


class Recording:
    """The steps of work on the current device, at any addresses.

    steps: gives them from a list of addresses, as many as `count`, and memory. They must not depend on the addresses,
    beyond adding a number of bytes to them.
    """

    __slots__ = ("_pack", "_run", "_wait", "address", "program", "rooms")

    def __init__(self, steps: Callable[[list[int], Allocate], Iterable[Step]], count: int) -> None:
        rooms: list[int] = []

        def allocate(nbytes: int) -> Any:
            rooms.append(nbytes)
            return SimpleNamespace(ptr=count + len(rooms) << ADDRESS_BITS)

        # The stream is number 0.
        self.program = recorded(steps([number << ADDRESS_BITS for number in range(1, count + 1)], allocate))
        self.address: int = ctypes.cast(ctypes.c_char_p(self.program), ctypes.c_void_p).value or 0
        """The address of the program, which lives as long as this object."""
        self.rooms = rooms
        """The bytes of each memory that the steps need, beside the addresses that are given."""
        self._pack = packing(1 + count + len(rooms))
        self._run, self._wait = library().gm_gpu_queue, library().gm_gpu_answer

    def queue(self, addresses: list[int]) -> None:
        """Queue the steps on the current stream. Raises CuPy's errors."""
        if self.rooms:
            held = [scratch(nbytes) for nbytes in self.rooms]
            addresses = [*addresses, *[room.ptr for room in held]]
        at = self._pack(current_stream(), *addresses)
        if status := self._run(self.program, at):
            settled(status, self._run, self.program, at)

    def answer(self, addresses: list[int], answer: int) -> bool:
        """Queue the steps on the current stream, and wait for them. Raises CuPy's errors.

        answer: the last address.

        False, and nothing is queued, if a graph captures the stream. The steps need no memory.
        """
        at = self._pack(current_stream(), *addresses, answer)
        status = self._wait(self.program, at)
        return not (status and settled(status, self._wait, self.program, at))

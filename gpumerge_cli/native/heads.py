"""A merge of the next lines of runs, whether they are in order or not, by the library."""

from __future__ import annotations

import ctypes

from gpumerge_cli.buffers import Bytes, memory_at
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import judge, order_spec
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class Wanted:
    """More bytes of a run are wanted, of whose next line `held` bytes are there."""

    run: int
    held: int


class Heads:
    """It takes the bytes of runs by pieces, and gives the result by pieces. Its memory is gone when it is closed.

    runs: their number. unique: of neighbours in the result that compare equal, only the first goes out. room: bytes of
    the result that are held. Raises MemoryError.
    """

    def __init__(self, order: Order, runs: int, room: int, *, unique: bool) -> None:
        self._own = library()
        self._runs = runs
        self._spec = order_spec(order)
        self._told = self._own.HeadsResult()
        self._handle: int | None = self._own.gm_heads_open(self._spec, runs, Equals.of(unique).value, room)
        if self._handle is None:
            raise MemoryError

    def follow(self, line: bytes) -> None:
        """The merge follows on this line, which went out last. Call it first."""
        judge(self._own.gm_heads_follow(self._handle, line, len(line)))

    def next(self) -> Bytes | Wanted | None:
        """The next lines of the result, valid until the next call, or what is wanted before; None at the end."""
        told = self._told
        self._own.gm_heads_next(self._handle, told)
        if told.nbytes:
            return memory_at(told.at, told.nbytes)
        return Wanted(told.run, told.held) if told.run >= 0 else None

    def room(self, run: int, nbytes: int, *, last: bool) -> Bytes:
        """The place for the next bytes of a run, to be filled before `next`. last: no more follow."""
        address = self._own.gm_heads_room(self._handle, run, nbytes, last)
        if address is None:
            raise MemoryError
        return memory_at(address, nbytes)

    @property
    def counts(self) -> list[int]:
        """The lines of each run that were merged."""
        counts = (ctypes.c_int64 * self._runs)()
        self._own.gm_heads_counts(self._handle, counts)
        return list(counts)

    @property
    def dropped(self) -> int:
        """The lines of them that were left out."""
        return int(self._told.dropped)

    def close(self) -> None:
        """Free the memory."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._own.gm_heads_close(handle)

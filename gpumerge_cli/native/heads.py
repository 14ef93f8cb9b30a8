"""A merge of the next lines of runs, whether they are in order or not, by the library."""

from __future__ import annotations

import ctypes

from gpumerge_cli.buffers import Bytes, memory_at
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status, order_spec
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class Wanted:
    """More bytes of a run are wanted."""

    run: int
    """The number of the run."""
    held: int
    """The bytes that are there of the run's next line."""


class Heads:
    """It takes the bytes of runs by pieces, and gives the result by pieces. Its memory is gone when it is closed.

    runs: their number. unique: of neighbours in the result that compare equal, only the first goes out. room: bytes of
    the result that are held. Raises MemoryError.
    """

    def __init__(self, order: Order, runs: int, room: int, *, unique: bool) -> None:
        self._library = library()
        self._runs = runs
        self._spec = order_spec(order)
        self._result = self._library.HeadsResult()
        self._handle: int | None = self._library.gm_heads_open(self._spec, runs, Equals.of(unique).value, room)
        if self._handle is None:
            raise MemoryError

    def follow(self, line: bytes) -> None:
        """The merge follows on this line, which went out last. Call it first."""
        check_status(self._library.gm_heads_follow(self._handle, line, len(line)))

    def next(self) -> Bytes | Wanted | None:
        """The next lines of the result, valid until the next call, or what is wanted before; None at the end.

        Raises Disordered if a run gave a line with an invalid key.
        """
        result = self._result
        self._library.gm_heads_next(self._handle, result)
        if result.fault >= 0:
            raise Disordered(result.fault)
        if result.nbytes:
            return memory_at(result.at, result.nbytes)
        return Wanted(result.run, result.held) if result.run >= 0 else None

    def room(self, run: int, nbytes: int, *, last: bool) -> Bytes:
        """The place for the next bytes of a run, to be filled before `next`. last: no more follow."""
        address = self._library.gm_heads_room(self._handle, run, nbytes, last)
        if address is None:
            raise MemoryError
        return memory_at(address, nbytes)

    @property
    def counts(self) -> list[int]:
        """The lines of each run that were merged."""
        counts = (ctypes.c_int64 * self._runs)()
        self._library.gm_heads_counts(self._handle, counts)
        return list(counts)

    @property
    def dropped(self) -> int:
        """The number of lines that were left out."""
        return int(self._result.dropped)

    def close(self) -> None:
        """Free the memory."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_heads_close(handle)

"""The library's rows, and a workspace of them for Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.cpu import libraries
from tests.rungs import RUNGS

KINDS = {"bytes": 0, "uint": 0, "int": 1, "float": 2, "bool": 0, "datetime": 5, "timedelta": 5}
RECORDS, LINES = 3, 4
KERNELS = range(len(RUNGS))
PATH = 0
MERGE, BOTTOM_UP, ITERATIVE, RECURSIVE, RADIX = range(5)


class OrderSpec(ctypes.Structure):
    """See entries.h."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("kind", "width", "descending", "record", "offset", "key_kind", "big_endian", "terminator")
    ] + [("table", ctypes.c_void_p)]


class Failure(ctypes.Structure):
    """See entries.h."""

    _fields_ = [(name, ctypes.c_int64) for name in ("error", "input", "position")]


class Launch(ctypes.Structure):
    """See entries.h."""

    _fields_ = [(name, ctypes.c_int64) for name in ("kernel", "block_size", "items", "tile", "algorithm", "sort_tile")]


def loaded() -> Any:
    """The library, with the types that its entries return."""
    library = ctypes.CDLL(str(libraries.path()))
    for name in ("gm_open", "gm_staging", "gm_result", "gm_heads_open", "gm_heads_room"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("gm_compare", "gm_disorder"):
        getattr(library, name).restype = ctypes.c_int64
    return library


class Spec:
    """An order as the library has it."""

    def __init__(self, order: Order) -> None:
        self.spec = OrderSpec()
        if order.text is not None:
            self.table = order.text.table()
            self.spec.kind, self.spec.terminator = LINES, order.text.terminator
            self.spec.table = self.table.buffer_info()[0]
        else:
            self.spec.kind, self.spec.key_kind, self.spec.width = RECORDS, KINDS[order.kind], order.width
            self.spec.descending, self.spec.record, self.spec.offset = order.descending, order.record, order.offset
            self.spec.big_endian = order.big_endian


class Rows:
    """A workspace of rows."""

    def __init__(self, library: Any, order: Order, runs: Sequence[bytes], threads: int = 1) -> None:
        self._library = library
        self._order = Spec(order)
        self._room = ctypes.c_void_p(
            library.gm_open(ctypes.byref(self._order.spec), ctypes.c_int64(0), ctypes.c_int64(threads))
        )
        self.upload(runs)

    def upload(self, runs: Sequence[bytes]) -> None:
        """Put the next chunk into the workspace."""
        data = b"".join(runs)
        staging = self._library.gm_staging(self._room, ctypes.c_int64(len(data)))
        ctypes.memmove(staging, data, len(data))
        self._runs = len(runs)
        self._library.gm_upload(self._room, (ctypes.c_int64 * len(runs))(*map(len, runs)), ctypes.c_int64(len(runs)))

    def counts(self) -> list[int]:
        """Items of each run."""
        counts = (ctypes.c_int64 * self._runs)()
        self._library.gm_counts(self._room, counts)
        return list(counts)

    def disorder(self, strict: bool = False) -> tuple[int, int] | None:
        """Run and byte of the first disorder."""
        failure = Failure()
        status = self._library.gm_disorder(self._room, ctypes.c_int64(strict), ctypes.byref(failure))
        return (failure.input, failure.position) if status else None

    def run(self, name: str, equals: Equals = Equals.ALL, launch: Launch | None = None) -> bytes:
        """The result of gm_merge or gm_sort."""
        launch = launch or Launch(PATH, 1, 0, 1 << 14, RADIX, 1)
        getattr(self._library, name)(self._room, ctypes.byref(launch), ctypes.c_int64(equals.value))
        nbytes, items = ctypes.c_int64(), ctypes.c_int64()
        address = self._library.gm_result(self._room, ctypes.byref(nbytes), ctypes.byref(items))
        self.nbytes = nbytes.value
        return ctypes.string_at(address, nbytes.value) if address else b""

    def receive(self, position: int, nbytes: int) -> bytes:
        """Bytes of the result, with a guard behind them."""
        out = np.full(nbytes + 64, 0xA5, np.uint8)
        self._library.gm_receive(
            self._room, ctypes.c_int64(position), ctypes.c_int64(nbytes), out.ctypes.data_as(ctypes.c_void_p)
        )
        assert (out[nbytes:] == 0xA5).all()
        return out[:nbytes].tobytes()

    def close(self) -> None:
        """Free it."""
        self._library.gm_close(self._room)


def compare(library: Any, order: Order, a: bytes, b: bytes) -> int:
    """The result of gm_compare."""
    spec = Spec(order)
    return int(library.gm_compare(ctypes.byref(spec.spec), a, ctypes.c_int64(len(a)), b, ctypes.c_int64(len(b))))

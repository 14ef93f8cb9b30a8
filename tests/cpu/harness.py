"""The library's cuts and chunks, and its structures."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.cpu import libraries

I64 = c.c_int64
DONE, DISORDER, READ_FAILED, INPUT_SHRANK, WRITE_FAILED, NO_MEMORY, CALLBACK_FAILED = range(7)
PATH, RADIX = 0, 4
READ = c.CFUNCTYPE(I64, I64, I64, c.POINTER(c.c_ubyte), I64)


def _fields(names: str, **others: Any) -> list[tuple[str, Any]]:
    return [(name, others.get(name, I64)) for name in names.split()]


class Failure(c.Structure):
    _fields_ = _fields("error input position")


class OrderSpec(c.Structure):
    _fields_ = _fields("kind width descending record offset key_kind big_endian terminator table", table=c.c_void_p)


class SourceSpec(c.Structure):
    _fields_ = _fields(
        "descriptor start size held swap key memory read context", key=c.c_void_p, memory=c.c_void_p, read=READ
    )


class SinkSpec(c.Structure):
    _fields_ = _fields("descriptor start piece swap gate memory", gate=c.c_void_p, memory=c.c_void_p)


class ChunkResult(c.Structure):
    _fields_ = _fields("items dropped nbytes read_ns index_ns check_ns kernel_ns write_ns")


class ChunkSpec(c.Structure):
    _fields_ = _fields("sources ranges inputs check sorts equals", sources=c.POINTER(SourceSpec), ranges=c.c_void_p)


class CutSpec(c.Structure):
    _fields_ = _fields(
        "sources low high targets inputs count threads groups",
        sources=c.POINTER(SourceSpec), low=c.c_void_p, high=c.c_void_p, targets=c.c_void_p,
    )  # fmt: skip


class LaunchSpec(c.Structure):
    _fields_ = _fields("kernel block_size items tile algorithm sort_tile")


def loaded() -> c.CDLL:
    """The library under test, with the types that its entries return."""
    library = c.CDLL(str(libraries.path()))
    for name in ("gm_open", "gm_result", "gm_gate_open", "gm_map"):
        getattr(library, name).restype = c.c_void_p
    for name in ("gm_cut", "gm_chunk"):
        getattr(library, name).restype = I64
    return library


def spec_of(order: Order) -> OrderSpec:
    """The order as the library has it; keeps the table alive."""
    if order.text is not None:
        table = order.text.table()
        spec = OrderSpec(4, terminator=order.text.terminator, table=table.buffer_info()[0])
        spec.kept = table
        return spec
    layout = order.layout()
    kinds = {"uint": 0, "int": 1, "float": 2, "bytes": 0}
    kind = kinds[order.kind]
    return OrderSpec(
        3 if order.record else kind, order.width, order.descending, order.record, layout.offset, kind, layout.big_endian
    )


def file_source(descriptor: int, start: int, size: int, held: int | None = None, swap: int = 0) -> SourceSpec:
    return SourceSpec(descriptor, start, size, size if held is None else held, swap)


def memory_source(data: bytes, held: int | None = None) -> SourceSpec:
    room = np.frombuffer(data + b"?" * 64, np.uint8)
    spec = SourceSpec(-1, 0, len(data), len(data) if held is None else held, memory=room.ctypes.data)
    spec.kept = room
    return spec


def callback_source(size: int, read: Any) -> SourceSpec:
    function = READ(read)
    spec = SourceSpec(-1, 0, size, size, read=function, context=7)
    spec.kept = function
    return spec


def array_of(specs: Sequence[SourceSpec]) -> Any:
    array = (SourceSpec * max(1, len(specs)))(*specs)
    array.kept = specs
    return array


def is_cut(
    library: c.CDLL, order: OrderSpec, sources: Sequence[SourceSpec], positions: Sequence[int]
) -> tuple[int, Failure]:
    """(status, failure) of gm_is_cut."""
    row, failure = np.array(positions, np.int64), Failure()
    status = library.gm_is_cut(
        c.byref(order), array_of(sources), c.c_void_p(row.ctypes.data), c.c_int64(len(row)), c.byref(failure)
    )
    return status, failure


def cut(
    library: c.CDLL, order: OrderSpec, sources: Sequence[SourceSpec], targets: Sequence[int],
    low: Sequence[int] | None = None, high: Sequence[int] | None = None, *, threads: int = 1,
    groups: bool = False,
) -> tuple[int, np.ndarray[Any, Any], Failure]:  # fmt: skip
    """(status, cuts, failure) of gm_cut."""
    count = len(sources)
    edges = [
        np.array([0] * count if low is None else low, np.int64),
        np.array([one.size for one in sources] if high is None else high, np.int64),
        np.array(targets, np.int64),
    ]
    cuts = np.full((len(targets), count), -1, np.int64)
    failure = Failure()
    spec = CutSpec(array_of(sources), *(edge.ctypes.data for edge in edges), count, len(targets), threads, groups)
    status = library.gm_cut(c.byref(order), c.byref(spec), c.c_void_p(cuts.ctypes.data), c.byref(failure))
    return status, cuts, failure


def result_of(library: c.CDLL, workspace: int, nbytes: int) -> bytes:
    """The result of a chunk that went nowhere."""
    address = library.gm_result(c.c_void_p(workspace), None, None)
    if address is not None or not nbytes:
        return c.string_at(address, nbytes) if nbytes else b""
    room = c.create_string_buffer(nbytes)
    library.gm_receive(c.c_void_p(workspace), I64(0), I64(nbytes), room)
    return room.raw


def chunk(
    library: c.CDLL, workspace: int, sources: Sequence[SourceSpec], ranges: Sequence[tuple[int, int]], sink: SinkSpec,
    *, check: bool = True, sorts: bool = False, equals: Equals = Equals.ALL,
) -> tuple[int, ChunkResult, Failure]:  # fmt: skip
    """(status, result, failure) of gm_chunk."""
    edges = np.array(ranges, np.int64).reshape(-1)
    spec = ChunkSpec(array_of(sources), edges.ctypes.data, len(sources), check, sorts, equals.value)
    result, failure, launch = ChunkResult(), Failure(), LaunchSpec(PATH, 1, 1024, 4096, RADIX, 0)
    status = library.gm_chunk(c.c_void_p(workspace), *map(c.byref, (spec, launch, sink, result, failure)))
    return status, result, failure

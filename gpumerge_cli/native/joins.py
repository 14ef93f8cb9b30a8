"""Joins by the library: chunk after chunk, each in parts, so that no group or product must fit into memory."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, memory_at
from gpumerge_cli.errors import InputError
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import Disordered, Readable
from gpumerge_cli.native.library import library
from gpumerge_cli.native.sources import Sources
from gpumerge_cli.native.specs import check_status, order_spec
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.record_joins import JoinRules
from gpumerge_cli.order.rules import separator_word

_LEAST_PART = 1 << 20
_ROOM = 1.25
"""Times the capacity: most ranges that are a chunk are held as a whole."""


class Joins:
    """The joins of one work, for any number of threads. It keeps all alive that its spec points to."""

    def __init__(self, sources: Sequence[Readable], join: JoinRules, *, check: bool = True) -> None:
        lib = library()
        self.check = check
        self.sources = Sources(sources, join.tables)
        self._key = order_spec(join.compared)
        self._columns = None if join.columns is None else array("q", chain.from_iterable(join.columns))
        self._filler = join.filler
        self.most = join.most
        self.changed_items = join.changed_items if isinstance(join, Diff) else None
        if join.asof is not None:
            self._digits = join.asof.digits
            self._asof = lib.AsofSpec(*join.asof.numbers)
            if self._digits:
                self._asof.text, self._asof.text_bytes = address_of(self._digits), len(self._digits)
        self.spec = lib.JoinSpec(
            sources=self.sources.specs,
            columns=None if self._columns is None else self._columns.buffer_info()[0],
            filler=address_of(self._filler),
            count=0 if join.columns is None else len(join.columns),
            filler_bytes=len(join.filler),
            separator=separator_word(join.between),
            shows=join.shows,
            most_a=join.most[0],
            most_b=join.most[1],
        )
        self.spec.keys.contents = self._key
        if join.asof is not None:
            self.spec.asof.contents = self._asof


class JoinWorker:
    """See ChunkWorker. Results are made while `outputs` is read, so counts and errors come with its parts.

    capacity: about the bytes of each input that are held; a chunk that has more is read through a window. changed: of a
    diff, the pairs whose items differ.
    """

    def __init__(self, joins: Joins, capacity: int = 0) -> None:
        self.counts = [0, 0]
        self.dropped = 0
        self.changed = 0
        self.merged_bytes = -1  # not known ahead
        self.spans: list[Span] = []
        self._library = library()
        self._joins = joins
        self._most = max(_LEAST_PART, 2 * capacity)
        self._handle = self._library.gm_join_open(joins.spec, int(_ROOM * capacity))
        if self._handle is None:
            raise MemoryError

    def run(self, ranges: Sequence[tuple[int, int]], part: int, offset: int) -> None:
        self.counts, self.dropped, self.changed, self.spans = [0, 0], 0, 0, []
        edges = array("q", chain.from_iterable(ranges))
        result, failure = self._library.JoinResult(), self._library.Failure()
        status = self._library.gm_join_start(self._handle, edges.buffer_info()[0], self._joins.check, result, failure)
        stopped = time.perf_counter()
        self._check_status(status, failure)
        self.spans.append(Span("read", result.read_ns / 1e9, sum(high - low for low, high in ranges), stopped))

    def outputs(self) -> Iterator[Bytes]:
        lines, same, over = 0, 0, False
        changed_items = self._joins.changed_items
        while not over:
            result, failure = self._library.JoinResult(), self._library.Failure()
            status = self._library.gm_join_next(self._handle, self._most, result, failure)
            stopped = time.perf_counter()
            self._check_status(status, failure)
            self.spans.append(Span("kernel", result.kernel_ns / 1e9, result.nbytes, stopped))
            lines, over = lines + result.lines, bool(result.over)
            piece = memory_at(result.at, result.nbytes) if result.nbytes else b""
            if changed_items is not None and result.nbytes:
                piece, pairs = changed_items(piece)
                same += pairs
            self.counts, self.changed = [result.taken_a, result.taken_b], result.changed - same
            self.dropped = sum(self.counts) - lines + 2 * same
            if len(piece):
                yield piece

    def pair(self, a: bytes | None, b: bytes | None) -> bytes:
        """The line that two lines make, whatever their keys. They come without terminators; None for no line."""
        result = self._library.JoinResult()
        given = [value for line in (a, b) for value in (line, 0 if line is None else len(line))]
        check_status(self._library.gm_join_pair(self._handle, *given, result))
        return bytes(memory_at(result.at, result.nbytes))

    def fields(self, number: int, line: bytes) -> int:
        """The number of fields in a line of input `number`, without its terminator. Raises MemoryError."""
        padded = line + bytes(64)
        count = int(self._library.gm_join_fields(self._handle, number, padded, len(line)))
        if count < 0:
            raise MemoryError
        return count

    def _check_status(self, status: int, failure: Any) -> None:
        if status == self._library.DISORDER:
            raise Disordered(failure.input)
        if status == self._library.SURPLUS_FIELDS:
            raise InputError(
                f"this row has {failure.error} fields, and line 1 has {self._joins.most[failure.input]}",
                where=self._joins.sources.sources[failure.input].location(failure.position),
                way_out="check its quotes and the separator, or choose columns with -o",
            )
        if status == self._library.REPEATED_KEY:
            raise InputError(
                "its key equals the key of the item before it",
                where=self._joins.sources.sources[failure.input].location(failure.position),
                way_out="name a key that is unique, or pair items with equal keys in order by --multi",
            )
        self._joins.sources.check_status(status, failure)

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_join_close(handle)

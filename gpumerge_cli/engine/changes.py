"""The file of changed columns that a diff writes beside its output."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.line_keys import line_keys
from gpumerge_cli.engine.task import Position
from gpumerge_cli.engine.writers import Merged, SideBytes, SinkWriter
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.formats.csv_dialect import Dialect, field_in
from gpumerge_cli.formats.csv_joins import raw_fields
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.rules import BLANKS, LineOrder

HEADER = b"key,column,old,new\n"
_CSV = Dialect()
_WORD = re.compile(rb"[^%b]++" % BLANKS)
_WITH_BLANKS = re.compile(rb"[%b]*+[^%b]++|[%b]++" % (BLANKS, BLANKS, BLANKS))


class ChangedColumns:
    """Finds the changed columns of the pairs in a diff's result of lines. inputs: those of the diff."""

    def __init__(self, diff: Diff, inputs: Inputs) -> None:
        text = inputs.order.text
        assert text is not None, "of lines"
        self._old, self._new = diff.marks[2:]
        self._end = inputs.order.end
        self._ignored = frozenset(diff.ignored)
        names = [name.encode("utf-8", "surrogateescape") for name in diff.names]
        self._titles = [field_in(name, _CSV) for name in [b""] * text.has_fields + names]
        self._order = text
        self._keys = line_keys(inputs.order)
        self._key_field = _only_field(text)

    def rows(self, items: bytes) -> bytes:
        """The rows of the file for whole items of the result."""
        found: list[bytes] = []
        old = b""
        for item in items.split(self._end):
            if item.startswith(self._old):
                old = item[len(self._old) :]
            elif item.startswith(self._new):
                found += self._changes(old, item[len(self._new) :])
        return b"".join(found)

    def _changes(self, old: bytes, new: bytes) -> list[bytes]:
        fields, others = self._fields(old), self._fields(new)
        found = self._differing(fields, others)
        if not found and self._order.separator is None:
            found = self._differing(_WITH_BLANKS.findall(old), _WITH_BLANKS.findall(new))
        key = field_in(self._key(old, fields), _CSV)
        return [b"%b,%b,%b,%b\n" % (key, self._title(at), *values) for at, *values in found]

    def _differing(self, fields: Sequence[bytes], others: Sequence[bytes]) -> list[tuple[int, bytes, bytes]]:
        """The numbers of the fields that differ, and both values as fields of CSV."""
        return [
            (at, field_in(one or b"", _CSV), field_in(other or b"", _CSV))
            for at, (one, other) in enumerate(zip_longest(fields, others))
            if one != other and at not in self._ignored
        ]

    def _title(self, at: int) -> bytes:
        return self._titles[at] if at < len(self._titles) else b"%d" % (at + 1 - self._order.has_fields)

    def _key(self, line: bytes, fields: Sequence[bytes]) -> bytes:
        if self._key_field is not None:
            return fields[self._key_field] if self._key_field < len(fields) else b""
        if self._keys is None:
            return self._order.record_of(line)
        return self._keys.format(line).encode("utf-8", "surrogateescape")

    def _fields(self, line: bytes) -> list[bytes]:
        order = self._order
        if order.separator is None:
            return _WORD.findall(line)
        if not order.quoted:
            return line.split(order.separator)
        found = raw_fields(line.removesuffix(b"\r"), order.separator, order.quotes)
        if order.quotes == "none" or b'"' not in line:
            return found
        return [one[1:-1].replace(b'""', b'"') if one.startswith(b'"') else one for one in found]


def _only_field(order: LineOrder) -> int | None:
    """The field that all of the only key is; None if there is no such field."""
    key = order.keys[0] if len(order.keys) == 1 else None
    if key is None or key.start_field != key.end_field or key.start_char + key.end_char:
        return None
    return key.start_field


class ChangesWriter(SinkWriter):
    """Writes a diff's items to a sink, and the changed columns to another one. See ResultWriter.

    columns: makes the rows of the changed columns of whole items. nbytes: those of the second sink so far.
    """

    def __init__(self, sinks: Sequence[Sink], changes: Sink, columns: Callable[[bytes], bytes]) -> None:
        super().__init__(sinks, planned=False)
        self._changes = SinkWriter([changes], planned=False)
        self._columns = columns
        self._lock = threading.Lock()
        self.nbytes = 0

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        seen = _Seen(merged, self._columns)
        written = super().put(turn, position, seen, last=last)
        if written is not None:
            rows = b"".join(seen.rows)
            more = self._changes.put(turn, position, SideBytes(rows, len(rows), merged.spans), last=last)
            with self._lock:
                self.nbytes += more or 0
        return written

    def stop(self) -> None:
        super().stop()
        self._changes.stop()


class _Seen:
    """A result whose changed columns are found as it is written. See Merged."""

    def __init__(self, merged: Merged, columns: Callable[[bytes], bytes]) -> None:
        self._merged = merged
        self._columns = columns
        self.spans = merged.spans
        self.rows: list[bytes] = []

    @property
    def counts(self) -> list[int]:
        return self._merged.counts

    @property
    def dropped(self) -> int:
        return self._merged.dropped

    @property
    def merged_bytes(self) -> int:
        return self._merged.merged_bytes

    def outputs(self) -> Iterator[Bytes]:
        for piece in self._merged.outputs():
            self.rows.append(self._columns(bytes(piece)))
            yield piece

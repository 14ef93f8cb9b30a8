"""The file of changed columns that a diff writes beside its output."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.task import Position
from gpumerge_cli.engine.writers import Merged, SideBytes, SinkWriter
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.formats.csv_dialect import Dialect, field_in
from gpumerge_cli.native.changed_columns import ChangesFinder, ChangesRules
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.rules import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.engine.line_keys import LineKeys

HEADER = b"key,column,old,new\n"


class ChangedColumns:
    """Finds the changed columns of the pairs in a diff's result of lines. inputs: those of the diff."""

    def __init__(self, diff: Diff, inputs: Inputs) -> None:
        text = inputs.order.text
        assert text is not None, "of lines"
        old, new = diff.marks[2:]
        self._old, self._end = old, inputs.order.end
        self._order = text
        self._keys: LineKeys | None = None
        field, self._made = _only_field(text), False
        if field is None:
            from gpumerge_cli.engine.line_keys import line_keys  # it loads NumPy

            self._keys = line_keys(inputs.order)
            self._made = self._keys is not None or text.spelling.has_counts
            field = 0 if text.has_fields else -1  # where a record stands ahead of its fields, it is the first one
        names = [name.encode("utf-8", "surrogateescape") for name in diff.names]
        rules = ChangesRules(
            terminator=self._end[0],
            marks=(old, new),
            separator=text.separator or b"",
            quoted=text.quoted and text.quotes != "none",
            returns=text.quoted,
            key_field=field,
            ignored=diff.ignored,
            titles=tuple(field_in(name, Dialect()) for name in [b""] * text.has_fields + names),
            first_number=1 - text.has_fields,
        )
        self._finder = ChangesFinder(rules)

    def rows(self, items: Bytes) -> bytes:
        """The rows of the file for whole items of the result."""
        if not self._made:
            return self._finder.lines(items)
        old = [item[len(self._old) :] for item in bytes(items).split(self._end) if item.startswith(self._old)]
        return self._finder.lines(items, [self._key(line) for line in old])

    def _key(self, line: bytes) -> bytes:
        if self._keys is None:
            return self._order.record_of(line)
        return self._keys.format(line).encode("utf-8", "surrogateescape")


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

    def __init__(self, sinks: Sequence[Sink], changes: Sink, columns: Callable[[Bytes], bytes]) -> None:
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

    def __init__(self, merged: Merged, columns: Callable[[Bytes], bytes]) -> None:
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
            self.rows.append(self._columns(piece))
            yield piece

"""Sums of columns over groups of equal items, by the library."""

from __future__ import annotations

import ctypes
import json
from array import array
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, memory_at
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status
from gpumerge_cli.order.sums import SumRules

_QUOTES = {"none": "NO_QUOTES", "doubled": "DOUBLED_QUOTES", "backslash": "ESCAPED_QUOTES"}
_FAULTS = ("NO_NUMBER_TO_SUM", "NO_COLUMN_TO_SUM", "LONG_SUM")


class SumFault(Exception):  # noqa: N818 - whoever knows the items reports it
    """A column of an item has no number, or its sum is too large.

    kind: a Status of kernels/cpu/entries.h. column: its number among those that are summed. position: the byte of the
    items at which the item begins; -1 if it is none of them. text: the bytes of the item between which the column's
    text lies.
    """

    def __init__(self, kind: str, column: int, position: int, text: tuple[int, int]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.column = column
        self.position = position
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        return SumFault, (self.kind, self.column, self.position, self.text)


class SumSpec:
    """The rules of sums as the library reads them, for any number of threads."""

    def __init__(self, rules: SumRules) -> None:
        lib = library()
        self.rules = rules
        names = [_member_name(column.path) for column in rules.columns]
        texts = b"".join(names)
        places = [column.place for column in rules.columns]
        self._held: list[Any] = [texts]
        spec: Any = lib.SumSpec(
            form=getattr(lib, rules.form.upper().replace(" ", "_")),
            count=len(rules.columns),
            terminator=rules.end,
            separator=rules.separator,
            quotes=getattr(lib, _QUOTES[rules.quotes]),
            record=rules.record,
            keys=rules.keys,
            last=rules.last,
            thousands=rules.separators[0],
            decimal=rules.separators[1],
        )
        if rules.form == "members of lines":
            from gpumerge_cli.native.json_values import JsonKey, json_tables

            kept, members = json_tables([JsonKey(column.path) for column in rules.columns])
            places = [members.keys[number].slot for number in range(len(places))]
            self._held += [kept, members]
            spec.members = ctypes.pointer(members)
        rows, at = [], 0
        for column, place, name in zip(rules.columns, places, names, strict=True):
            rows.append(lib.SumColumn(place, column.width, column.kind, column.big_endian, at, len(name)))
            at += len(name)
        columns = (lib.SumColumn * len(rows))(*rows)
        self._held.append(columns)
        spec.columns = columns
        spec.names = address_of(texts)
        self.spec = spec

    def head(self, items: Bytes, follows: Bytes, count: int) -> Any:
        """The SumHead of whole items, `count` of them."""
        found = library().SumHead()
        library().gm_sums_head(self.spec, address_of(items), len(items), address_of(follows), count, found)
        return found


class Sums:
    """The sums of one stretch of items. Its memory is gone when it is closed. Raises MemoryError."""

    def __init__(self, spec: SumSpec) -> None:
        self._library = library()
        self._spec = spec  # which must outlive it
        self._handle: int | None = self._library.gm_sums_open(spec.spec)
        if self._handle is None:
            raise MemoryError

    def add(self, items: Bytes, follows: Bytes | None, count: int) -> None:
        """Add whole items, `count` of them. follows: see gm_sums_add. Raises SumFault, MemoryError."""
        flags = None if follows is None else address_of(follows)
        failure = self._library.Failure()
        call = self._handle, address_of(items), len(items), flags, count, failure
        self._check(self._library.gm_sums_add(*call), failure)

    def end(self) -> None:
        """End the last group. Raises SumFault, MemoryError."""
        failure = self._library.Failure()
        self._check(self._library.gm_sums_end(self._handle, failure), failure)

    def taken(self) -> Bytes:
        """The items of groups that are over since the last call, valid until the next one."""
        nbytes = array("q", [0])
        return memory_at(self._library.gm_sums_result(self._handle, nbytes.buffer_info()[0]), nbytes[0])

    def close(self) -> None:
        """Give the memory back; a second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_sums_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:  # of a pass that was stopped
            self.close()

    def _check(self, status: int, failure: Any) -> None:
        for name in _FAULTS:
            if status == getattr(self._library, name):
                start, nbytes = failure.error >> 32, failure.error & 0xFFFFFFFF
                raise SumFault(name, failure.input, failure.position, (start, start + nbytes))
        check_status(status)


def _member_name(path: tuple[str, ...]) -> bytes:
    """The name of a member of the whole object, as JSON with a colon; b"" for other values."""
    if len(path) != 1:
        return b""
    return json.dumps(path[0], ensure_ascii=False).encode("utf-8", "surrogatepass") + b":"

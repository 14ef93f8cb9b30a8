"""Records of CSV with their fields in other columns, by the library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Literal

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status

RecordFault = Literal["", "surplus field", "text behind quote", "open quote"]


@dataclass(frozen=True)
class Rearranged:
    """The outcome for one text."""

    taken: int
    """Bytes of the text whose records were written."""
    made: int
    """Bytes of the output."""
    records: int
    special: bool
    """Whether a quote, an escape or a carriage return was in them."""
    fault: RecordFault
    """The fault of the record behind them; "" if it has none."""


class Rearranger:
    """Makes records of other columns.

    places: for each column the number of the field, counted from 0, that becomes it, -1 for a gap. fields: the fields
    of a record. separator: what stands between them. quote: the byte that encloses fields. escape: the byte that makes
    the next one text. Either is b"" if there is none.
    """

    def __init__(
        self, places: Sequence[int], fields: int, separator: bytes, quote: bytes = b'"', escape: bytes = b""
    ) -> None:
        lib = library()
        self._places = (ctypes.c_int64 * len(places))(*places)
        self._separator = ctypes.create_string_buffer(separator)
        numbers = [one[0] if one else -1 for one in (quote, escape)]
        self._columns: Any = lib.Columns(len(places), fields, len(separator), *numbers)
        self._columns.places = ctypes.addressof(self._places)
        self._columns.separator = ctypes.addressof(self._separator)
        self._found: Any = lib.Rearranged()
        self._faults: dict[int, RecordFault] = {
            lib.NO_RECORD_FAULT: "",
            lib.SURPLUS_FIELD: "surplus field",
            lib.TEXT_BEHIND_QUOTE: "text behind quote",
            lib.OPEN_QUOTE: "open quote",
        }

    def __call__(self, text: Bytes, start: int, stop: int, out: Bytes, *, ends: bool) -> Rearranged:
        """Write the whole records in text[start:stop] to `out`, as many as there is room for.

        TEXT_PADDING bytes behind `stop` must be readable. ends: no text follows. Raises MemoryError.
        """
        found = self._found
        check_status(
            library().gm_rearrange(
                self._columns,
                address_of(text) + start,
                stop - start,
                ends,
                address_of(out),
                memoryview(out).nbytes,
                found,
            )
        )
        return Rearranged(found.taken, found.made, found.records, bool(found.special), self._faults[found.fault])

"""Joined lines of JSON, by the library."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, uncleared
from gpumerge_cli.errors import UsageError
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status
from gpumerge_cli.order.key_kinds import TEXT_PADDING

_ROOM = 1 << 12
_SHOWN = 60


class JsonPairs:
    """Makes one line of two. names: see LinesOfPairs."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        texts = [name.encode("utf-8", "surrogatepass") for pair in names for name in pair]
        self._texts, self._ends = b"".join(texts), array("q", accumulate(map(len, texts)))
        self._join: Any = library().JsonJoin(count=len(names), same=all(a in ("", b) for a, b in names))
        self._join.names, self._join.ends = address_of(self._texts), address_of(self._ends)

    def lines(self, items: Bytes) -> Bytes:
        """The lines, each with a newline, of whole items of a PayloadJoin. Raises UsageError, MemoryError."""
        lib = library()
        nbytes = len(items)
        padded = bytes(items) + bytes(TEXT_PADDING)
        made: list[Bytes] = []
        start, room = 0, nbytes * 5 // 4 + _ROOM
        while start < nbytes:
            out, found = uncleared(room), lib.JsonJoined()
            check_status(
                lib.gm_json_join(self._join, address_of(padded) + start, nbytes - start, address_of(out), room, found)
            )
            made.append(out[: found.made])
            start += found.taken
            if found.fault:
                line = padded[start : start + _SHOWN].decode("utf-8", "replace").partition("\0")[0]
                what = f"joined lines are not two objects: {line.replace(chr(1), ' and ')}"
                raise UsageError(what, way_out="join files whose lines are objects")
            room = room if found.taken else 2 * room
        return made[0] if len(made) == 1 else b"".join(made)

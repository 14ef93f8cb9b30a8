"""The changed columns of the pairs in a diff's result, by the library."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, memory_at, uncleared
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status

_LEAST_ROOM = 1 << 16


@dataclass(frozen=True)
class ChangesRules:
    """The rules by which changed columns of lines are found and written."""

    terminator: int
    """The byte that ends an item."""
    marks: tuple[bytes, bytes]
    """The bytes ahead of the old and of the new line of a pair, of one length."""
    separator: bytes
    """The text between fields; b"" if blanks separate them."""
    quoted: bool
    """Whether fields may be quoted as in CSV."""
    returns: bool
    """Whether a carriage return at a line's end belongs to no field."""
    key_field: int
    """The number of the field that is the key, counted from 0; -1 for the whole line."""
    ignored: tuple[int, ...]
    """The numbers of the fields that are left out."""
    titles: tuple[bytes, ...]
    """The titles of the first fields as fields of CSV."""
    first_number: int
    """The title of the first field, were it not named; the others count on from it."""


class ChangesFinder:
    """Finds the changed columns of pairs. It keeps all alive that its spec points to."""

    def __init__(self, rules: ChangesRules) -> None:
        old, new = rules.marks
        assert len(old) == len(new)
        titles = b"".join(rules.titles)
        edges, ignored = _edges(rules.titles), array("q", rules.ignored)
        self._kept: list[Any] = [old, new, rules.separator, titles, edges, ignored]
        at = [address_of(one) if len(one) else None for one in self._kept]
        self._spec: Any = library().ChangesSpec(
            terminator=rules.terminator, mark_bytes=len(old), separator_size=len(rules.separator), quoted=rules.quoted,
            returns=rules.returns, key_field=rules.key_field, ignored_count=len(ignored),
            titles_count=len(rules.titles), first_number=rules.first_number, old_mark=at[0], new_mark=at[1],
            separator=at[2], titles=at[3], title_edges=at[4], ignored=at[5],
        )  # fmt: skip

    def lines(self, items: Bytes, keys: Sequence[bytes] | None = None) -> bytes:
        """A line of CSV for each changed column of the pairs among whole items of the result.

        keys: of the pairs, in place of the field that is the key. Raises MemoryError.
        """
        lib = library()
        spec, result = lib.ChangesSpec.from_buffer_copy(self._spec), lib.ChangesResult()
        texts, edges = b"".join(keys or ()), _edges(keys or ())
        nbytes, address = memoryview(items).nbytes, address_of(items)
        room, taken, pairs = _room_for(nbytes), 0, 0
        found: list[bytes] = []
        while taken < nbytes:
            out = uncleared(room)
            to = address_of(out)
            if keys:
                spec.keys, spec.key_edges = address_of(texts), address_of(edges) + edges.itemsize * pairs
            check_status(lib.gm_changed_columns(spec, address + taken, nbytes - taken, to, room, result))
            found.append(bytes(memory_at(to, result.made)))
            taken, pairs = taken + result.taken, pairs + result.pairs
            room *= 1 if result.taken else 2
        return b"".join(found)


def _room_for(nbytes: int) -> int:
    """The bytes that the lines of items of so many bytes take at most as a rule."""
    return max(_LEAST_ROOM, nbytes)


def _edges(texts: Sequence[bytes]) -> array[int]:
    """The places at which texts begin that lie one behind the other, and the end of the last one."""
    return array("q", accumulate(map(len, texts), initial=0))

"""The types of the values in lines of JSON, path by path, by the library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library

JSON_KINDS = (
    "null", "bool", "integer", "other integer", "large integer", "huge integer", "negative", "fraction", "string",
    "lone surrogate", "array", "object", "member twice",
)  # fmt: skip
"""The kinds of values, see JsonKind in kernels/cpu/entries.h."""
_MEMBERS, _NAMES, _EVENTS = 1 << 8, 1 << 12, 1 << 10
_MOST_MEMBERS = 1 << 14


@dataclass(frozen=True)
class JsonMember:
    """A path in lines of JSON: the line, a member of objects, or the elements of arrays."""

    parent: int
    """The number of the path around it; -1 for the line."""
    name: bytes | None
    """That of a member, in UTF-8 but for halves of surrogate pairs; None for elements and the line."""


@dataclass(frozen=True)
class JsonEvent:
    """The first value of a kind at a path."""

    member: int
    """The number of the path."""
    kind: str
    """One of JSON_KINDS."""
    line: int
    """The number of its line in the text, counted from 0."""
    start: int
    stop: int
    """Its place in the text; of an object or array, that of its first byte."""


class TooManyMembersError(Exception):
    """The lines have more paths than can become columns. most: the number that can."""

    most = _MOST_MEMBERS


class JsonTypes:
    """Collects the types of lines. The first path is the line."""

    _members: Any
    _names: Any
    _event: Any

    def __init__(self) -> None:
        lib = library()
        self._found: Any = lib.JsonTypes(count=1)
        self._room(_MEMBERS, _NAMES, _EVENTS)
        self._members[0] = lib.JsonMember(-1, 0, -1, -1, -1, -1, 0, 0, 0)

    def add(self, text: Bytes, stop: int) -> Iterator[JsonEvent]:
        """Read the lines of text[:stop]: the first values of kinds that no text had before at their paths.

        The lines are valid. The text ends in a newline there, and TEXT_PADDING bytes behind it are readable. Raises
        TooManyMembersError.
        """
        lib, found, at = library(), self._found, 0
        found.lines = 0
        while at < stop:
            lib.gm_json_types(address_of(text), at, stop, ctypes.byref(found))
            assert not found.fault, "of valid lines"
            events, words = self._event, lib.EVENT_WORDS
            for one in range(0, words * found.events, words):
                member, kind, line, start, end = events[one : one + words]
                yield JsonEvent(member, JSON_KINDS[kind], line, start, end)
            is_stuck = found.taken == at and not found.events
            found.events, at = 0, found.taken
            if is_stuck or found.count == found.most_members:
                if found.most_members >= _MOST_MEMBERS:
                    raise TooManyMembersError
                self._room(4 * found.most_members, 4 * found.names_room, 4 * found.most_events)

    @property
    def members(self) -> Sequence[JsonMember]:
        """All paths so far; a path comes behind the one around it."""
        names = bytes(self._names[: self._found.names_size])
        return [
            JsonMember(one.parent, None if one.name_size < 0 else names[one.name : one.name + one.name_size])
            for one in self._members[: self._found.count]
        ]

    def _room(self, members: int, names: int, events: int) -> None:
        """Make room for so many paths, bytes of names, and events; what is there stays."""
        lib, found = library(), self._found
        made = (lib.JsonMember * members)(), (ctypes.c_ubyte * names)(), (ctypes.c_int64 * (lib.EVENT_WORDS * events))()
        if found.most_members:
            ctypes.memmove(made[0], self._members, ctypes.sizeof(self._members))
            ctypes.memmove(made[1], self._names, ctypes.sizeof(self._names))
        self._members, self._names, self._event = made
        found.most_members, found.names_room, found.most_events = members, names, events
        found.members = ctypes.cast(self._members, ctypes.POINTER(lib.JsonMember))
        found.names, found.event = ctypes.addressof(self._names), ctypes.addressof(self._event)

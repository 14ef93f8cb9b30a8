"""The columns of lines of JSON: one type for the values of all lines at each path.

Numbers are int64, or uint64 if one needs that, and double if one has a fraction or an exponent. Strings stay strings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import pyarrow as pa

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.json_faults import nested_text
from gpumerge_cli.native.json_types import JsonEvent, JsonMember, JsonTypes, TooManyMembersError
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.units import visible

_SHOWN = 40
_DEEPEST = 64
_NUMBERS = ("integer", "other integer", "large integer", "huge integer", "fraction")
_FAMILIES = {
    **dict.fromkeys(_NUMBERS, "a number"), "bool": "a bool", "string": "a string", "array": "an array",
    "object": "an object",
}  # fmt: skip
_ONE_TYPE = "give it one type, or write JSON Lines"
_AS_STRING = "write it as a string, or write JSON Lines"


@dataclass(frozen=True)
class Seen:
    """A value of a line."""

    source: int
    """The number of the input."""
    position: int
    """That of a block of items in it."""
    line: int
    """The number of the line in this block."""
    text: str
    """The value in short."""


class SchemaOfLines:
    """Finds the columns of the lines that are items.

    texts: gives (position, text of whole items) of an input. place: that of item `number` from a position on.
    """

    def __init__(
        self, texts: Callable[[Source], Iterable[tuple[int, Bytes]]], place: Callable[[Source, int, int], str]
    ) -> None:
        self._texts, self._place = texts, place
        self._seen: list[dict[str, Seen]] = []
        self._members: Sequence[JsonMember] = ()
        self._within: list[list[int]] = []
        self._sources: Sequence[Source] = ()

    def schema(self, sources: Sequence[Source], names: Collection[str] | None = None) -> pa.Schema:
        """The columns; only those of some names, if `names` is given.

        Reads all items. Raises InputError for values that have no one type.
        """
        self._sources = sources
        types = JsonTypes()
        for number, source in enumerate(sources):
            for position, text in self._texts(source):
                self._add(types, number, position, text)
        self._members = types.members
        self._seen += [{} for _ in range(len(self._members) - len(self._seen))]
        self._within = [[] for _ in self._members]
        for number, member in enumerate(self._members):
            is_wanted = names is None or member.parent != 0 or (member.name or b"").decode("utf-8", "replace") in names
            if member.parent >= 0 and is_wanted:
                self._within[member.parent].append(number)
        line = self._seen[0] if self._seen else {}
        for kind, one in line.items():
            if kind != "object":
                raise self._error(one, f"the line is {one.text}, and not an object", "write objects, or JSON Lines")
        return pa.schema(list(self._type(0, 0))) if line else pa.schema([])

    def _add(self, types: JsonTypes, source: int, position: int, text: Bytes) -> None:
        """Add the lines of a block of items."""
        size = len(text)
        room = bytes(text) + bytes(TEXT_PADDING)
        try:
            for event in types.add(room, size):
                self._seen += [{} for _ in range(event.member + 1 - len(self._seen))]
                self._seen[event.member][event.kind] = Seen(source, position, event.line, _text_of(room, event))
        except TooManyMembersError as error:
            what = f"its lines have more than {error.most:,} names of members"
            raise InputError(what, where=self._sources[source].name, way_out="write JSON Lines") from None

    def _type(self, number: int, depth: int) -> pa.DataType:
        """The type of the values at a path."""
        seen = self._seen[number]
        kinds: dict[str, Seen] = {}
        for kind, one in seen.items():
            if kind in _FAMILIES:
                kinds.setdefault(_FAMILIES[kind], one)
        path = self._path(number)
        if "member twice" in seen:
            raise self._error(
                seen["member twice"], f"{path} stands twice in an object", "keep one, or write JSON Lines"
            )
        if len(kinds) > 1:
            raise self._mixed(path, *list(kinds.items())[:2])
        if depth == _DEEPEST:
            raise self._error(
                next(iter(seen.values())), f"{path} lies more than {depth} values deep", "write JSON Lines"
            )
        family = next(iter(kinds), "")
        if family == "a number":
            return self._number(path, seen)
        if family == "a bool":
            return pa.bool_()
        if family == "a string":
            if "lone surrogate" in seen:
                one = seen["lone surrogate"]
                what = f"{path} is {one.text}, half of a surrogate pair, which has no UTF-8"
                raise self._error(one, what, "mend it, or write JSON Lines")
            return pa.string()
        if family == "an array":
            return pa.list_(self._type(self._within[number][0], depth + 1) if self._within[number] else pa.null())
        if family == "an object":
            return pa.struct([(self._name(one), self._type(one, depth + 1)) for one in self._within[number]])
        return pa.null()

    def _number(self, path: str, seen: dict[str, Seen]) -> pa.DataType:
        """The type of numbers that loses none of them."""
        if "huge integer" in seen:
            one = seen["huge integer"]
            raise self._error(one, f"{path} is {one.text}, which needs more than 64 bits", _AS_STRING)
        large = seen.get("large integer") or seen.get("other integer")
        if "fraction" in seen:
            if large is None:
                return pa.float64()
            one = seen["fraction"]
            what = f"{path} is {large.text}, which no double holds, but {one.text}, at {self._where(one)}"
            raise self._error(large, what, "write these numbers as strings, or write JSON Lines")
        if "large integer" not in seen:
            return pa.int64()
        if "negative" in seen:
            one = seen["negative"]
            what = f"{path} is {seen['large integer'].text}, beyond int64, but {one.text}, at {self._where(one)}"
            raise self._error(seen["large integer"], what, "write these numbers as strings, or write JSON Lines")
        return pa.uint64()

    def _mixed(self, path: str, first: tuple[str, Seen], second: tuple[str, Seen]) -> InputError:
        """The error for values of two types."""
        (there, one), (here, other) = first, second
        what = f"{path} is {here}, {other.text}, but {there}, {one.text}, at {self._where(one)}"
        return self._error(other, what, _ONE_TYPE)

    def _error(self, one: Seen, what: str, way_out: str) -> InputError:
        return InputError(what, where=self._where(one), way_out=way_out)

    def _where(self, one: Seen) -> str:
        return self._place(self._sources[one.source], one.position, one.line)

    def _name(self, number: int) -> str:
        """The name of a member."""
        name = self._members[number].name or b""
        try:
            return name.decode()
        except UnicodeDecodeError:
            shown = name.decode("utf-8", "replace")
            one = next(iter(self._seen[number].values()))
            raise self._error(one, f"the name {shown!r} has no UTF-8", "mend it, or write JSON Lines") from None

    def _path(self, number: int) -> str:
        """The path of a member, for messages."""
        names: list[str] = []
        while number > 0:
            name = self._members[number].name
            names.append("[]" if name is None else visible(name.decode("utf-8", "replace")))
            number = self._members[number].parent
        return ".".join(reversed(names)).replace(".[]", "[]") or "the line"


def _text_of(text: bytes, event: JsonEvent) -> str:
    """A value in short."""
    if event.kind in ("object", "array"):
        return nested_text(text[event.start : event.start + 4 * _SHOWN].partition(b"\n")[0])
    shown = text[event.start : min(event.stop, event.start + 4 * _SHOWN)].decode("utf-8", "replace")
    return visible(shown[:_SHOWN]) + "..." * (len(shown) > _SHOWN)

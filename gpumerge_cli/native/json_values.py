"""Lines of JSON behind the images of their keys, and the way back, by the library."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

from gpumerge_cli.buffers import Bytes, address_of, uncleared
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.rules import END

JsonReading = Literal["values", "numbers", "texts", "tagged texts", "added"]
"""values: null, bools, numbers and strings, one of these types in all lines. numbers: also strings that hold one.
texts: as kinds of keys read them. tagged texts: the same behind a byte, so that an empty one is no null. added:
nothing; the output adds a member of that name, which lines must lack."""
_TYPES = ("null", "bool", "number", "string", "container")
_MOST_BLANKS = 1 << 12
_ROOM = 1 << 12
_NOTHING = (0, 0, 0, 0)


@dataclass(frozen=True)
class JsonKey:
    """A key of lines of JSON."""

    path: tuple[str, ...]
    """The names of members, or numbers of elements of arrays, from the outermost on."""
    reads: JsonReading = "values"
    null_image: bytes = b""
    """The image of a null or missing value."""
    null_texts: tuple[bytes, ...] = ()
    """Texts that stand for a null, with 0, 1 and 2 as pairs."""


@dataclass(frozen=True)
class JsonValue:
    """A value of a key."""

    type: str
    """One of null (also for a missing value), bool, number, string, container."""
    start: int
    """The place in the text at which it begins; both places are 0 for a missing value."""
    stop: int
    line: int
    """The number of its line in the text, counted from 0."""


@dataclass(frozen=True)
class JsonFault:
    """A line that cannot be read, or has a value without order."""

    name: str
    """A JsonFault of kernels/cpu/entries.h."""
    line: int
    """The number of the line in the text, counted from 0."""
    at: int
    """The byte of the text."""
    key: int
    """The number of the key, -1 if the line is not JSON."""
    value: JsonValue
    """That of the key."""


@dataclass(frozen=True)
class JsonOutcome:
    """The outcome for a text."""

    lines: int
    """Those of the text, blank ones included."""
    blanks: Sequence[tuple[int, int]]
    """(number, bytes) of each blank line, counted from 0."""
    types: Sequence[JsonValue]
    """For each key the first value that is no null, whose type all others have if it reads values; null for none."""
    last: Sequence[JsonValue]
    """The values of the last line."""
    fault: JsonFault | None
    """The first one, if there is one."""


class JsonImages:
    """Makes lines behind the images of their keys. added: members that the output gets, which lines must lack."""

    def __init__(self, keys: Sequence[JsonKey], added: Sequence[str] = ()) -> None:
        self.keys = tuple(keys)
        self.added = tuple(added)
        lib = library()
        all_keys = [*self.keys, *(JsonKey((name,), "added") for name in added)]
        self._count = len(all_keys)
        self._kept, self._keys = json_tables(all_keys)
        self._faults = {getattr(lib, name): name for name in _fault_names()}

    def items(self, text: Bytes, stop: int, spare: Bytes = b"") -> tuple[list[Bytes], JsonOutcome]:
        """The items of the lines in text[:stop], in pieces. spare: memory for them, if it is enough.

        The text ends in a newline there, and TEXT_PADDING bytes behind it are readable. Raises MemoryError.
        """
        lib = library()
        words = lib.FOUND_WORDS
        blank = (ctypes.c_int64 * (2 * _MOST_BLANKS))()
        first, last = ((ctypes.c_int64 * (words * self._count))() for _ in range(2))
        found: Any = lib.JsonLines(most_blanks=_MOST_BLANKS)
        found.blank, found.first, found.last = map(ctypes.addressof, (blank, first, last))
        pieces: list[Bytes] = []
        blanks: list[tuple[int, int]] = []
        start, more = 0, 0
        while start < stop and not found.fault:
            room = (stop - start) * 5 // 4 + _ROOM + more
            out = spare if start == 0 and len(spare) >= room else uncleared(room)
            call = self._keys, address_of(text), start, stop, address_of(out), room, found
            check_status(lib.gm_json_keys(*call))
            pieces.append(out[: found.made])
            blanks += [(blank[at], blank[at + 1]) for at in range(0, 2 * found.blanks, 2)]
            more = 2 * room if found.taken == start else 0  # a line needs more
            start, found.blanks = found.taken, 0
        values, types = ([_value(all_of, words * key) for key in range(len(self.keys))] for all_of in (last, first))
        fault = None
        if found.fault:
            value = values[found.key] if 0 <= found.key < len(values) else _value(_NOTHING, 0)
            fault = JsonFault(self._faults[found.fault], found.lines, found.at, found.key, value)
        return pieces, JsonOutcome(found.lines, blanks, types, values, fault)

    def read(self, line: bytes) -> tuple[bytes, JsonOutcome]:
        """The item of one line, which comes without its newline, and the outcome."""
        pieces, found = self.items(line + b"\n" + bytes(TEXT_PADDING), len(line) + 1)
        return b"".join(pieces), found


def lines_of_items(items: Bytes, keys: int) -> Bytes:
    """The lines of items that JsonImages has made with so many keys, each with a newline."""
    nbytes = memoryview(items).nbytes
    out = uncleared(nbytes)
    return out[: library().gm_json_lines(address_of(items), nbytes, keys, address_of(out))]


def lines_with_members(items: Bytes, keys: int, ahead: Sequence[bytes], behind: Sequence[bytes]) -> Bytes:
    """The lines of such items, objects with more members ahead of their own ones and behind them, at most one there.

    Each item has the values of these members ahead of its images and behind its line, as a margin puts them. ahead,
    behind: names of members, each in quotes. An item without keys goes out as it is.
    """
    lib = library()
    names = [name + b":" for name in (*ahead, *behind)]
    ends = array("q", accumulate(map(len, names)))
    texts = b"".join(names)
    members = lib.JsonMembers(len(ahead), len(behind), keys, ends.buffer_info()[0])
    members.names = address_of(texts)
    nbytes = memoryview(items).nbytes
    out = uncleared(nbytes + len(texts) * bytes(items).count(END))
    return out[: lib.gm_json_members(members, address_of(items), nbytes, address_of(out))]


def _value(words: Any, at: int) -> JsonValue:
    kind, start, stop, line = words[at : at + 4]
    return JsonValue(_TYPES[kind], start, stop, line)


def _fault_names() -> tuple[str, ...]:
    return (
        "NO_JSON_FAULT", "VALUE_EXPECTED", "NAME_EXPECTED", "COLON_EXPECTED", "COMMA_EXPECTED", "TEXT_BEHIND_VALUE",
        "OPEN_STRING", "CONTROL_IN_STRING", "INVALID_ESCAPE", "INVALID_UTF8", "INVALID_NUMBER", "TOO_DEEP", "LINE_ENDS",
        "MIXED_TYPES", "NO_ORDER", "NO_NUMBER", "LONG_EXPONENT",
        "NO_OBJECT", "HAS_MEMBER",
    )  # fmt: skip


class _Step:
    """A node of the tree of paths."""

    def __init__(self) -> None:
        self.within: dict[str, _Step] = {}
        self.key = -1


def json_tables(keys: Sequence[JsonKey]) -> tuple[Any, Any]:
    """The library's JsonKeys, behind all that it points to."""
    lib = library()
    root, texts = _Step(), bytearray()
    for number, key in enumerate(keys):
        step = root
        for name in key.path:
            step = step.within.setdefault(name, _Step())
        step.key = number
    nodes: list[Any] = []
    slots = [0] * len(keys)
    taken = 0

    def add(step: _Step, name: str) -> int:
        nonlocal taken
        encoded = name.encode("utf-8", "surrogatepass")
        index = int(name) if name.isascii() and name.isdigit() and str(int(name)) == name else -1
        node = lib.JsonNode(name=len(texts), name_size=len(encoded), index=index, child=-1, next=-1, low=taken, slot=-1)
        texts.extend(encoded)
        number = len(nodes)
        nodes.append(node)
        if step.key >= 0:
            node.slot = slots[step.key] = taken
            taken += 1
        before = None
        for one, inner in step.within.items():
            child = add(inner, one)
            if before is None:
                node.child = child
            else:
                nodes[before].next = child
            before = child
        node.high = taken
        return number

    add(root, "")
    rows = []
    for key, slot in zip(keys, slots, strict=True):
        start = len(texts)
        for text in key.null_texts:
            texts.extend(len(text).to_bytes(8, sys.byteorder))
            texts.extend(text)
        reads = getattr(lib, f"JSON_{key.reads.upper().replace(' ', '_')}")
        image = key.null_image[0] if key.null_image else 0
        rows.append(lib.JsonKey(slot, reads, image, len(key.null_texts), start))
    node_array = (lib.JsonNode * len(nodes))(*nodes)
    key_array = (lib.JsonKey * len(rows))(*rows)
    text_array = ctypes.create_string_buffer(bytes(texts))
    held: Any = lib.JsonKeys(count=len(rows))
    held.nodes, held.keys, held.texts = node_array, key_array, ctypes.addressof(text_array)
    return (node_array, key_array, text_array), held

"""JSON Lines: each line becomes an item, the images of its keys and then itself, in a temporary file."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from logging import getLogger
from typing import IO

from gpumerge_cli.buffers import Bytes, uncleared
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.json_faults import line_error, type_words, types_way_out, value_text
from gpumerge_cli.formats.json_members import LinesOfItems, refuse_keys
from gpumerge_cli.formats.json_paths import path_of
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.native.json_values import JsonImages, JsonKey, JsonOutcome, JsonReading, JsonValue
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.rows import escaped
from gpumerge_cli.order.rules import MARK, NUL, TEXT, LineKey, LineOrder, Spelling
from gpumerge_cli.order.values import ValueOrder

_BLOCK = 1 << 20
_NUMERIC = "numeric"
_WORD = re.compile(r'(?:(?<=,)|^)("(?:[^"\\]|\\.)*"|[^,]*)(?:(?=,)|$)', re.DOTALL)
"""A value of several; one in quotes may hold commas."""
_NULL_FIRST, _NULL_LAST = b"\x03", b"\xff"
_NULL_TEXT_FIRST, _NULL_TEXT_LAST = b"0", b"z"
"""Around the byte ahead of tagged texts; options that leave out bytes of keys leave out neither."""


@dataclass(frozen=True)
class TypedValue:
    """The first value that says the type of a key in a file."""

    type: str
    text: str
    where: str


class JsonSource(LineSource):
    """The items of a file. Its lines are told as the file has them, blank ones included."""

    doubted = False
    blanks: Sequence[tuple[int, int]] = ()
    """(number, bytes) of each blank line in the file, counted from 0."""
    types: Sequence[TypedValue | None] = ()
    """For each key."""

    lines_ahead: Callable[[], int] | None = None
    """Counts the lines of the file ahead of those of the items; None if these are all."""

    def location(self, start: int) -> str:
        line, _ = self._ahead(start)
        return f"{self.name}:{line + 1 + (0 if self.lines_ahead is None else self.lines_ahead())}"

    def skipped_ahead(self, start: int) -> int:
        return self._ahead(start)[1] if self.blanks else 0

    def _ahead(self, start: int) -> tuple[int, int]:
        """(lines of the file, bytes of the blank ones among them) ahead of the item at `start`."""
        line, nbytes = self._items_before(start), 0
        for number, size in self.blanks:
            if number > line:
                break
            line, nbytes = line + 1, nbytes + size
        return line, nbytes


@dataclass(frozen=True)
class KeyFinder:
    """The keys of lines. See order.values.LineValues."""

    keys: tuple[JsonKey, ...]
    types: tuple[str, ...] = ()
    """The type of each key's values, "null" if it has no type."""

    def of_line(self, line: bytes) -> Sequence[bytes]:
        _, found = _images_by(self.keys).read(line)
        return [line[value.start : value.stop] or b"null" for value in found.last]

    def images(self, text: str, *, fewer: bool = False) -> Sequence[bytes]:
        words = [text] if len(self.keys) == 1 else _WORD.findall(text)
        keys = self.keys[: len(words)] if fewer and words else self.keys
        types = (self.types or ("null",) * len(self.keys))[: len(keys)]
        kinds = ", ".join("any value" if kind == "null" else f"a {kind}" for kind in types)
        if len(words) == len(keys):
            elements = _images_by(tuple(replace(key, path=(str(number),)) for number, key in enumerate(keys)))
            line = f"[{','.join(map(_as_json, words, types))}]".encode("utf-8", "surrogateescape")
            item, found = elements.read(line)
            pairs = zip((value.type for value in found.types), types, strict=True)
            if found.fault is None and all("null" in pair or pair[0] == pair[1] for pair in pairs):
                return item.split(MARK)[:-1]
        what = f"the key{'s are' if len(self.keys) > 1 else ' is'} {kinds}"
        raise UsageError(what, way_out=f"write JSON{', with commas between values' * (len(self.keys) > 1)}")


def _as_json(word: str, type: str) -> str:
    """A word as JSON: a text needs no quotes."""
    try:
        value = json.loads(word, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return json.dumps(word)
    return word if type != "string" or value is None or word.lstrip().startswith('"') else json.dumps(word)


@lru_cache(maxsize=4)
def _images_by(keys: tuple[JsonKey, ...]) -> JsonImages:
    return JsonImages(keys)


def json_key(key: LineKey) -> JsonKey:
    """The way to read a key that options name by a path."""
    nulls_first = (key.null_place or "last") == "first"
    texts = tuple(map(escaped, key.null_values))
    bare = replace(key, reverse=False, name="", nulls="", null_values=(), start_field=0, end_field=0)
    place = nulls_first != key.reverse
    if bare in (LineKey(end_field=0), LineKey(_NUMERIC, end_field=0)):
        reads: JsonReading = "numbers" if key.compare == _NUMERIC else "values"
        return JsonKey(path_of(key.name), reads, _NULL_FIRST if place else _NULL_LAST, texts)
    if key.compare == TEXT:
        return JsonKey(path_of(key.name), "tagged texts", _NULL_TEXT_FIRST if place else _NULL_TEXT_LAST, texts)
    return JsonKey(path_of(key.name), "texts")


def line_key(key: LineKey, read: JsonKey, number: int) -> LineKey:
    """The key of items for a key that options name, and the way to read it."""
    its = replace(key, start_field=number, end_field=number)
    if read.reads != "texts":  # images have numbers and nulls in them
        return replace(its, compare=TEXT, nulls="", null_values=())
    return replace(its, nulls=key.null_place or ("" if key.kind.typed else "last"))


class KeyTypes:
    """The types of the keys that lines had so far."""

    def __init__(self, named: Sequence[LineKey], keys: Sequence[JsonKey]) -> None:
        self.found: list[TypedValue | None] = [None] * len(keys)
        self._named, self._keys = named, keys

    def add(self, number: int, own: TypedValue) -> None:
        """A value of a key that is no null. Raises InputError if values of another type came before it."""
        known = self.found[number]
        if known is None:
            self.found[number] = own
        elif known.type != own.type and self._keys[number].reads == "values":
            here, there = (f"{type_words(one.type)}, {one.text}" for one in (own, known))
            key = self._named[number]
            raise InputError(
                f"{key.option_text} is {here}, but {there}, at {known.where}",
                where=own.where,
                way_out=types_way_out(key, (own.text, known.text)),
            )


@dataclass(frozen=True)
class JsonItems:
    """The items of files of JSON Lines."""

    sources: Sequence[LineSource]
    order: ValueOrder
    shown: LinesOfItems


def json_items(
    sources: Sequence[LineSource],
    order: LineOrder,
    spelling: Spelling,
    progress: Callable[[int, float], None],
    added: Sequence[str] = (),
) -> JsonItems:
    """The items of files, each of which is closed.

    order: its keys have paths as names. progress: called with (number of the source, share of it gone through), again
    and again. added: the names of members that the output adds. Raises InputError for what is not JSON, for a key
    without order, for keys of several types, and for a line to which such a member cannot be added.
    """
    keys = tuple(map(json_key, order.keys))
    refuse_keys(added, keys)
    count = len(sources)
    copied, types = copied_lines(sources, [order] * count, [keys] * count, progress, added)
    return JsonItems(copied, value_order(order, keys, types, spelling), LinesOfItems(len(keys)))


def value_order(
    order: LineOrder, keys: Sequence[JsonKey], types: Sequence[TypedValue | None], spelling: Spelling
) -> ValueOrder:
    """The order of items by keys. order: of the lines, with paths as names. types: those of the values of each key."""
    rules = replace(
        order,
        keys=tuple(line_key(named, key, at) for at, (named, key) in enumerate(zip(order.keys, keys, strict=True))),
        separator=MARK,
        terminator=NUL,
        spelling=spelling.of(order),
    )
    pairs = zip(types, keys, strict=True)
    known = tuple("null" if one is None or key.reads != "values" else one.type for one, key in pairs)
    return ValueOrder.by_values(rules, KeyFinder(tuple(keys), known))


def copied_lines(
    sources: Sequence[LineSource],
    orders: Sequence[LineOrder],
    keys: Sequence[tuple[JsonKey, ...]],
    progress: Callable[[int, float], None],
    added: Sequence[str] = (),
) -> tuple[list[JsonSource], Sequence[TypedValue | None]]:
    """(the items of files, which are closed, the first value of each key that has a type).

    orders, keys: those of each file. progress, added: see json_items. Raises as that does.
    """
    types = KeyTypes(orders[0].keys, keys[0])
    copied = [
        _copied(source, JsonImages(its, added), order, partial(progress, number))
        for number, (source, its, order) in enumerate(zip(sources, keys, orders, strict=True))
    ]
    for source in copied:
        for number, own in enumerate(source.types):
            if own is not None:
                types.add(number, own)
    for one, named in zip(types.found, orders[0].keys, strict=True):
        if one is None and any(source.size for source in copied):
            what = f"no line has a value at {named.name}, so all compare equal by it; check the path"
            getLogger("gpumerge").warning("gpumerge: %s: warning: %s", copied[0].name, what)
    return copied, types.found


def _copied(source: LineSource, images: JsonImages, order: LineOrder, progress: Callable[[float], None]) -> JsonSource:
    copy, write = _copying(source, images, order, (0, source.size), 0, progress)
    found = copy(source.file.replaced(write))
    found.origin = source.held
    return found


def items_of_range(
    source: LineSource, images: JsonImages, order: LineOrder, part: tuple[int, int], lines: int
) -> JsonSource:
    """The items of a range of whole lines of a source, which stays open. Raises InputError as json_items does.

    lines: those of the file ahead of the range, as errors count them.
    """
    copy, write = _copying(source, images, order, part, lines, lambda share: None)
    return copy(source.file.beside(write))


def _copying(
    source: LineSource,
    images: JsonImages,
    order: LineOrder,
    part: tuple[int, int],
    lines: int,
    progress: Callable[[float], None],
) -> tuple[Callable[[SeekableInput], JsonSource], Callable[[IO[bytes]], None]]:
    """(makes the source of a file of items, writes that file). part, lines: see items_of_range."""
    blanks: list[tuple[int, int]] = []
    types = KeyTypes(order.keys, images.keys)

    def write(out: IO[bytes]) -> None:
        ahead = lines
        for block in _blocks(source, images, *part):
            for items in block.items:
                out.write(items)
            found, fault = block.found, block.found.fault
            blanks.extend((ahead + number, size) for number, size in found.blanks)
            for number, value in enumerate(found.types):
                if value.type != "null":
                    types.add(number, _typed(source.name, block.text, value, ahead))
            if fault is not None:
                if fault.name == "MIXED_TYPES":
                    types.add(fault.key, _typed(source.name, block.text, fault.value, ahead))
                raise line_error(source.name, block.text, fault, ahead, order, images.added)
            ahead += found.lines
            progress(block.size / source.size)

    def copy(file: SeekableInput) -> JsonSource:
        found = JsonSource(file, NUL)
        found.blanks, found.types = blanks, types.found
        return found

    return copy, write


def _typed(name: str, text: Bytes, value: JsonValue, ahead: int) -> TypedValue:
    return TypedValue(value.type, value_text(text, value), f"{name}:{ahead + value.line + 1}")


@dataclass(frozen=True)
class _Block:
    """Whole lines of a file, as items."""

    items: Sequence[Bytes]
    found: JsonOutcome
    text: Bytes
    """The lines, from which the outcome is told."""
    size: int
    room: Bytes
    """The memory that may hold the items."""


def _blocks(source: LineSource, images: JsonImages, start: int, end: int) -> Iterator[_Block]:
    """The blocks of a range of a file in turn; as many are made at once as there are cores."""

    spare: list[tuple[Bytes, Bytes]] = []  # memory of blocks that are written

    def made(start: int, stop: int) -> _Block:
        size = stop - start
        text: Bytes = b""
        room: Bytes = b""
        with suppress(IndexError):
            text, room = spare.pop()
        if len(text) < size + TEXT_PADDING:
            text = uncleared(max(size, _BLOCK + _BLOCK // 4) + TEXT_PADDING)
            room = uncleared(2 * len(text))
        source.read_into(start, text[:size])
        text[size : size + TEXT_PADDING] = bytes(TEXT_PADDING)
        items, found = images.items(text, size, room)
        return _Block(items, found, text, size, room)

    cores = len(os.sched_getaffinity(0))
    waiting: deque[Future[_Block]] = deque()
    with ThreadPoolExecutor(cores, "gpumerge-json") as pool:
        try:
            while start < end or waiting:
                while start < end and len(waiting) <= cores:
                    stop = min(end, source.item_start(start + _BLOCK))
                    waiting.append(pool.submit(made, start, stop))
                    start = stop
                block = waiting.popleft().result()
                yield block
                spare.append((block.text, block.room))
        finally:
            for one in waiting:
                one.cancel()

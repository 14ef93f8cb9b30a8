"""JSON Lines by ranges of their files: each process makes the items of its ranges, and no file is copied whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.json_faults import line_error
from gpumerge_cli.formats.json_lines import (
    JsonItems,
    JsonSource,
    copied_lines,
    items_of_range,
    json_key,
    value_order,
)
from gpumerge_cli.formats.json_members import LinesOfItems, refuse_keys
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.ranges import RangeItems, StoredSource
from gpumerge_cli.native.json_values import JsonImages, JsonKey, lines_of_items
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder, Spelling


class JsonJob:
    """The facts that all files of a job share. orders, keys, added: see copied_lines."""

    def __init__(
        self, orders: Sequence[LineOrder], keys: Sequence[tuple[JsonKey, ...]], added: Sequence[str] = ()
    ) -> None:
        self.orders = orders
        self.keys = keys
        self.added = added
        self.sources: list[JsonRanges] = []
        self._types = ["null"] * len(keys[0])
        self._images: dict[tuple[JsonKey, ...], JsonImages] = {}

    def images_by(self, keys: tuple[JsonKey, ...]) -> JsonImages:
        """Those that all files with these keys share."""
        if keys not in self._images:
            self._images[keys] = JsonImages(keys, self.added)
        return self._images[keys]

    def note(self, types: Sequence[str]) -> None:
        """See JsonRanges.note."""
        for number, own in enumerate(types):
            if own == "null":
                continue
            if self._types[number] not in ("null", own):
                self._raise_mixed()
            self._types[number] = own

    def _raise_mixed(self) -> None:
        """Read the files from their start, which raises the error of the first value of another type."""
        lines = [LineSource(one.file, one.terminator, marked=True) for one in self.sources]
        copied_lines(lines, self.orders, self.keys, lambda number, share: None)
        raise InputError("the types of keys differ", where=lines[0].name, way_out="merge it when nothing writes to it")


class JsonRanges(LineSource, StoredSource):
    """The lines of a file, which become items as they are asked for. See RangedSource."""

    doubted = False

    def __init__(self, source: LineSource, number: int, job: JsonJob) -> None:
        super().__init__(source.file, source.terminator, marked=True)
        self.mark = b""  # outputs have none
        self._job = job
        self._order = job.orders[number]
        self._images = job.images_by(job.keys[number])

    def type_of_last(self, most: int) -> str | None:
        """The type of the first value of the last key that is no null, "null" if all are.

        None if so many lines do not tell.
        """
        start = 0
        for _ in range(most):
            if start >= self.size:
                return "null"
            _, found = self._images.read(super().item_at(start))
            if found.fault is None and not found.blanks and found.types[-1].type != "null":
                return found.types[-1].type
            start = self.item_end(start)
        return None

    def item_at(self, start: int) -> bytes:
        """See RangedSource. A blank line compares as the next line with a value does, or else as the last one."""
        item = self._item(start)
        at = start
        while not item and (at := self.item_end(at)) < self.size:
            item = self._item(at)
        while not item and start > 0:
            start = self.start_before(start)
            item = self._item(start)
        return item[:-1]

    def _item(self, start: int) -> bytes:
        """The item of the line at `start`; b"" if it is blank."""
        line = super().item_at(start)
        item, found = self._images.read(line)
        if found.fault is not None:
            ahead = self._items_before(start)
            raise line_error(self.name, line + self._end, found.fault, ahead, self._order, self._job.added)
        return b"" if found.blanks else item

    def item_before(self, start: int) -> bytes:
        return self.item_at(self.start_before(start))

    def start_before(self, position: int) -> int:
        """See RangedSource."""
        return position - len(super().item_before(position)) - 1

    def items(self, low: int, high: int, *, behind: bool = False) -> RangeItems:
        """See RangedSource."""
        first, is_ahead = low, False  # from the item ahead of the range on, if there is one
        while first > 0 and not is_ahead:
            first = self.start_before(first)
            is_ahead = self._item(first) != b""
        last, is_behind = high, False
        while behind and last < self.size and not is_behind:
            is_behind = self._item(last) != b""
            last = self.item_end(last)
        convert = partial(items_of_range, self, self._images, self._order, (first, last))
        try:
            made = convert(0)
        except InputError:
            convert(self._items_before(first))  # the same error, with its line
            raise
        made.lines_ahead = lambda: self._items_before(first)
        left_out = self._blank(first, made.blanks[0][0]) if made.blanks else None
        pairs = zip(made.types, self._images.keys, strict=True)
        types = tuple("null" if one is None or key.reads != "values" else one.type for one, key in pairs)
        stop = made.size - (len(made.item_before(made.size)) + 1 if is_behind else 0)
        return RangeItems(made, made.item_end(0) if is_ahead else 0, stop, types, left_out)

    def _blank(self, start: int, lines: int) -> InputError:
        """The error for a blank line, so many lines behind the one at `start`."""
        where = f"{self.name}:{self._items_before(start) + lines + 1}"
        way_out = "remove it, or leave --cluster out"
        return InputError(
            "a cluster writes all bytes of its inputs, and this line is blank", where=where, way_out=way_out
        )

    def stored(self, items: Bytes) -> Bytes:
        """See StoredSource."""
        return lines_of_items(items, len(self._images.keys))

    def position_of(self, made: RangeItems, low: int, start: int) -> int:
        """See RangedSource."""
        assert isinstance(made.source, JsonSource)
        for _ in range(made.source.count(start) - made.source.count(made.start)):
            low = self.item_end(low)
        return low

    def run(self, file: SeekableInput, number: int, order: Order) -> JsonRanges:
        """See RangedSource."""
        return JsonRanges(LineSource(file, self.terminator), 0, self._job)

    def note(self, facts: Sequence[str]) -> None:
        """See RangedSource: the types of the values of each key, "null" where there is no value."""
        self._job.note(facts)


def json_ranges(
    sources: Sequence[LineSource], order: LineOrder, spelling: Spelling, added: Sequence[str] = ()
) -> JsonItems:
    """The files as ranged sources, and the order of their items. See json_items. They take over the files."""
    keys = tuple(map(json_key, order.keys))
    refuse_keys(added, keys)
    count = len(sources)
    ranged = ranged_lines(sources, [order] * count, [keys] * count, added)
    return JsonItems(ranged, value_order(order, keys, [None] * len(keys), spelling), LinesOfItems(len(keys)))


def ranged_lines(
    sources: Sequence[LineSource],
    orders: Sequence[LineOrder],
    keys: Sequence[tuple[JsonKey, ...]],
    added: Sequence[str] = (),
) -> list[JsonRanges]:
    """The files as ranged sources, which take them over. Others: see copied_lines."""
    job = JsonJob(orders, keys, added)
    job.sources = [JsonRanges(source, number, job) for number, source in enumerate(sources)]
    return job.sources

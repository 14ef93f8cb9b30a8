"""JSON Lines by ranges of their files: each process makes the items of its ranges, and no file is copied whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.json_faults import line_error
from gpumerge_cli.formats.json_lines import JsonSource, items_of_range, json_items, json_key, value_order
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.ranges import RangeItems, StoredSource
from gpumerge_cli.native.json_values import JsonImages, lines_of_items
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder, Spelling
from gpumerge_cli.order.values import ValueOrder


class JsonJob:
    """The facts that all files of a job share. order, spelling: see json_items."""

    def __init__(self, order: LineOrder, spelling: Spelling) -> None:
        self.order = order
        self.spelling = spelling
        self.images = JsonImages(tuple(map(json_key, order.keys)))
        self.sources: list[JsonRanges] = []
        self._types = ["null"] * len(order.keys)

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
        json_items(lines, self.order, self.spelling, lambda number, share: None)
        raise InputError("the types of keys differ", where=lines[0].name, way_out="merge it when nothing writes to it")


class JsonRanges(LineSource, StoredSource):
    """The lines of a file, which become items as they are asked for. See RangedSource."""

    doubted = False

    def __init__(self, source: LineSource, job: JsonJob) -> None:
        super().__init__(source.file, source.terminator, marked=True)
        self.mark = b""  # outputs have none
        self._job = job

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
        item, found = self._job.images.read(line)
        if found.fault is not None:
            raise line_error(self.name, line + self._end, found.fault, self._items_before(start), self._job.order, ())
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
        convert = partial(items_of_range, self, self._job.images, self._job.order, (first, last))
        try:
            made = convert(0)
        except InputError:
            convert(self._items_before(first))  # the same error, with its line
            raise
        left_out = self._blank(first, made.blanks[0][0]) if made.blanks else None
        pairs = zip(made.types, self._job.images.keys, strict=True)
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
        return lines_of_items(items, len(self._job.images.keys))

    def position_of(self, made: RangeItems, low: int, start: int) -> int:
        """See RangedSource."""
        assert isinstance(made.source, JsonSource)
        for _ in range(made.source.count(start) - made.source.count(made.start)):
            low = self.item_end(low)
        return low

    def run(self, file: SeekableInput, number: int, order: Order) -> JsonRanges:
        """See RangedSource."""
        return JsonRanges(LineSource(file, self.terminator), self._job)

    def note(self, facts: Sequence[str]) -> None:
        """See RangedSource: the types of the values of each key, "null" where there is no value."""
        self._job.note(facts)


def json_ranges(
    sources: Sequence[LineSource], order: LineOrder, spelling: Spelling
) -> tuple[list[JsonRanges], ValueOrder]:
    """The files as ranged sources, and the order of their items. See json_items. They take over the files."""
    job = JsonJob(order, spelling)
    job.sources = [JsonRanges(source, job) for source in sources]
    return job.sources, value_order(order, job.images.keys, [None] * len(order.keys), spelling)

"""JSON Lines: a value of JSON on each line, whose keys are values within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import (
    Beside,
    Counted,
    Format,
    Layout,
    Named,
    PreparedSources,
    Written,
    register_format,
)
from gpumerge_cli.order.rules import NUL, Spelling

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.tables.item_rows import ItemRows
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order
    from gpumerge_cli.order.rules import LineKey
    from gpumerge_cli.order.sums import SumRequest, SumRules


class JsonLines(Format):
    """See formats/json_lines.py, which makes items of lines."""

    name = "jsonl"
    holds = "lines"
    suffixes: Mapping[str, str] = dict.fromkeys((".jsonl", ".ndjson"), "")
    about = "JSON Lines, whose keys are named by paths"
    word = "JSON Lines"
    option = "--format jsonl"
    takes_rows = True
    gives_rows = True
    joins_by_request = True
    named_by_path = True
    has_titles = True
    spelling = Spelling("JSON Lines", "line", "--format jsonl")

    def rows_of(self, items: OutputItems) -> ItemRows:
        """See Format."""
        from gpumerge_cli.formats.tables.joined_json_rows import json_rows

        return json_rows(items)

    def text_writer(self, schema: Any, suffix: str) -> TableWriter | None:
        """See Format."""
        if suffix not in self.suffixes:
            return None
        from gpumerge_cli.formats.tables.text_writers import json_writer

        return json_writer(schema)

    def readings(self, items: Items) -> int:
        """See Format."""
        return 1

    def takes(self, items: Items) -> bool:
        """See Format. Lines of such files are sorted as text as GNU sort does, unless a path names a key."""
        order = items.line_order
        return any(key.name for key in order.keys) or not (items.plain or order.asks_for_text)

    def split_keys(self, text: str) -> Sequence[tuple[str, str]]:
        """See Format."""
        from gpumerge_cli.formats.json_paths import split_keys

        return split_keys(text)

    def check_items(self, items: Items) -> None:
        """See Format."""
        if items.line_option:
            raise UsageError(f"{items.line_option}: the files hold {self.word}", way_out="leave it out")
        order = items.line_order
        if not order.keys:
            raise UsageError("JSON Lines need a key", way_out="name one by --field, or compare lines by --format text")
        for key in order.keys:
            _check_key(key)
        names = [key.name for key in order.keys]
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise UsageError(f"--field {','.join(names)}: {twice} is named twice", way_out="name each value once")
        if order.separator is not None:
            raise UsageError("-t: JSON Lines have no separator", way_out="leave it out")
        if order.terminator == NUL:
            raise UsageError("-z: JSON Lines end in newlines", way_out="leave it out")
        if order.quotes != "doubled":
            raise UsageError(f"--quotes {order.quotes}: it is for CSV", way_out="leave it out")
        if order.locale:
            what = f"--locale {order.locale}: texts of JSON Lines compare by their bytes"
            raise UsageError(what, way_out="leave it out")
        if items.shown is not None:
            raise UsageError("--debug underlines no keys of JSON Lines", way_out="leave it out")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format. The source has the lines of the file; `prepared` makes items of them."""
        from gpumerge_cli.formats.line_source import LineSource

        return LineSource(file, layout.items.terminator, marked=True)

    def refuse(self, name: str, start: bytes, items: Items) -> None:
        """See Format."""
        from gpumerge_cli.formats.beginnings import refuse_binary, refuse_wide

        if not items.tells_format:
            refuse_binary(name, start, plain=items.plain)
        refuse_wide(name, start, in_fields=True)

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """See Format."""
        from gpumerge_cli.formats.json_lines import json_items
        from gpumerge_cli.formats.line_source import LineSource

        lines = [source for source in sources if isinstance(source, LineSource)]
        purpose, order = layout.purpose, layout.items.line_order
        copy = None if purpose.by_ranges else progress
        if purpose.join is not None:
            from gpumerge_cli.formats.json_joins import joined_lines

            orders = order, layout.items.lines_of_others or order
            joined = joined_lines(lines, orders, purpose.join, self.spelling, copy)
            shown, rules = Written(joined.shown), joined.join
            return PreparedSources(
                tuple(joined.sources), rules.orders[0], shown, is_copied=not purpose.by_ranges, join=rules
            )
        if copy is None:
            from gpumerge_cli.formats.json_ranges import json_ranges

            found = json_ranges(lines, order, self.spelling, purpose.added)
        else:
            found = json_items(lines, order, self.spelling, copy, purpose.added)
        return PreparedSources(tuple(found.sources), found.order, Written(found.shown), is_copied=not purpose.by_ranges)

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted:
        """See Format. The number is the first member of each line, or the last one."""
        from gpumerge_cli.formats.json_members import counted_lines

        return counted_lines(margin, head, written)

    def summed(self, request: SumRequest, order: Order, dtype: Dtype | None, written: Written) -> SumRules:
        """See Format. Names are paths, as those of keys."""
        from gpumerge_cli.formats.line_sums import summed_members

        return summed_members(request, order, written)

    def placed(self, margin: Margin, order: Order, written: Written) -> Beside:
        """See Format. The first member of each line says which inputs hold it."""
        from gpumerge_cli.formats.json_members import placed_lines

        return placed_lines(margin, written)

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named:
        """See Format. The name is the first member of each line."""
        from gpumerge_cli.formats.json_members import named_lines

        return named_lines(title, names, head, written)


def _check_key(key: LineKey) -> None:
    """Raise UsageError for a key that no path names, or options that mean nothing to it."""
    if not key.name:
        what = f"{key.option_text}: keys of JSON Lines are values, named by --field"
        raise UsageError(what, way_out="name them by their paths, as --field a.b, or add --format text")
    if key.skip_start or key.skip_end:
        raise UsageError(f"{key.option_text}: b skips no blanks of a value", way_out="leave b out")


register_format(JsonLines())

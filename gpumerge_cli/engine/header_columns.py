"""The columns that the headers of several files name, where they differ: keys by name may be other columns then."""

from __future__ import annotations

from collections.abc import Sequence
from logging import getLogger

from gpumerge_cli.engine.header_union import ALIKE, HeaderLine, differing, is_line_of_columns
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.kinds.lookup import implied_format
from gpumerge_cli.order.rules import separator_text
from gpumerge_cli.shell_words import quoted

_TAB = b"\t"


def is_line_of_names(line: bytes, layout: Layout) -> bool:
    """Whether the last line of a header, without its end, names columns, and defines nothing as lines of VCF do."""
    items = layout.items
    if layout.format.names_in_header and items.header_lines > 0:
        return True
    separator = items.line_order.separator
    return is_line_of_columns(line, _TAB if separator is None else separator)


def check_columns(lines: Sequence[HeaderLine], layout: Layout) -> None:
    """Compare the last lines of headers that go out as one. layout: of the first file.

    Raises InputError if keys are columns by name and the columns of files differ; warns of rows that have more or fewer
    fields than the header has names.
    """
    items, format = layout.items, layout.format
    named = [line for line in lines if is_line_of_names(line.text, layout)]
    for line in named[1:]:
        first = named[0]
        fields, its = (tuple(format.fields_of_header(one.text, items)) for one in (line, first))
        if items.by_name and fields != its:
            more = ", or give keys by their numbers" if items.headers == "first" else ""
            raise differing(line, first, f"{by_schema(layout, line.text)}{more}")
        if items.headers == "first" and len(fields) != len(its):
            counts = f"it has {len(fields)} columns, but the output's header, from {first.where}, has {len(its)}"
            getLogger("gpumerge").warning(
                "gpumerge: %s: warning: %s; %s", line.where, counts, by_schema(layout, line.text)
            )


def columns_way_out(line: bytes, other: bytes, layout: Layout) -> str:
    """The way out for two lines of columns that differ; "" if they do not."""
    format, items = layout.format, layout.items
    fields, its = (tuple(format.fields_of_header(one, items)) for one in (line, other))
    if fields == its:
        return ""
    return by_schema(layout, line) if format.has_schemas or len(fields) != len(its) else ALIKE


def by_schema(layout: Layout, line: bytes) -> str:
    """The way to go by the names of columns. line: that has them."""
    if layout.format.has_schemas:
        return "add --schema union or intersect"
    separator = layout.items.line_order.separator or (_TAB if _TAB in line else b",")
    text = "\\t" if separator == _TAB else separator_text(separator)
    between = "" if text == "," else f" -t {quoted(text)}"
    option = implied_format().option
    return f"to go by the names of columns, add {option}{between} --schema union or intersect"

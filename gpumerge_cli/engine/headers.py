"""The header that several files have together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from gpumerge_cli.engine.header_difference import shown_apart
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.beginnings import refuse_json
from gpumerge_cli.formats.format import Layout, Written
from gpumerge_cli.formats.line_source import BOM, LineSource

if TYPE_CHECKING:
    from gpumerge_cli.engine.header_union import HeaderLine

_TAB = b"\t"
_PREFIXES = (b"#", b"@")  # of headers of VCF and of SAM


def new_head(sources: Sequence[LineSource], written: Written, layout: Layout) -> bytes | None:
    """The start of the output of several files; None if it is the header of the first file that has one.

    written: the way from lines to the output. layout: of the first file. Raises InputError if the headers contradict
    each other, or are to be identical and are not.
    """
    rule = layout.items.headers
    heads = [source.header for source in sources]
    if rule == "identical":
        shown = written.shown or bytes
        names = [source.name for source in sources]
        same_headers([*zip(names, map(shown, heads), strict=True)], layout)
    if rule == "identical" or not any(heads):
        return None
    from gpumerge_cli.engine.header_columns import check_columns, columns_way_out

    headers = [lines_of_header(source, written) for source in sources]
    check_columns([lines[-1] for lines in headers if lines], layout)
    if rule != "union":
        return None
    from gpumerge_cli.engine.header_union import union_of

    separator = layout.items.line_order.separator
    has_names = layout.format.names_in_header and layout.items.header_lines > 0
    way_out = partial(columns_way_out, layout=layout)
    union = union_of(headers, _TAB if separator is None else separator, has_names=has_names, way_out=way_out)
    mark = BOM if sources[0].mark or heads[0].startswith(BOM) else b""
    return mark + b"".join(line.raw for line in union)


def lines_of_header(source: LineSource, written: Written) -> list[HeaderLine]:
    """The lines of the header of a file. written: the way from its lines to the output."""
    from gpumerge_cli.engine.header_union import HeaderLine

    end = bytes([source.terminator])
    shown = written.shown or bytes
    lines = [line + end for line in source.header.removeprefix(BOM).split(end)[:-1]]
    texts = [shown(line)[:-1].removesuffix(b"\r") for line in lines]
    places = [f"{source.name}:{number}" for number in range(1, len(lines) + 1)]
    return [*map(HeaderLine, texts, lines, places)]


def same_headers(headers: Sequence[tuple[str, bytes]], layout: Layout) -> None:
    """Raise InputError if files, by name and header, have headers that differ; an empty file's differs from none.

    layout: of the first file, whose format says which differences count.
    """
    given = [(name, header) for name, header in headers if header]
    for name, header in given[1:]:
        first_name, first = given[0]
        if layout.format.same_header(header, first, layout.items):
            continue
        if layout.format.names_in_header:
            refuse_json(name, header)
            refuse_json(first_name, first)
        why = _difference(header, first, layout)
        number, line, its = _first_difference(header, first)
        shown, first_shown = shown_apart(line, its)
        way_out = _way_out(header, first, layout, [text for _, text in given])
        raise InputError(
            f"its header {shown} differs {f'only by {why} ' if why else ''}from that of {first_name}, {first_shown}",
            where=f"{name}:{number}",
            way_out="change one of them: names of columns are compared by all their bytes" if why else way_out,
        )


def _way_out(header: bytes, first: bytes, layout: Layout, given: Sequence[bytes]) -> str:
    """The way out for two headers that differ. given: all headers."""
    from gpumerge_cli.engine.header_columns import columns_way_out, is_line_of_names
    from gpumerge_cli.engine.header_union import ALIKE

    (*comments, last), (*its, its_last) = (_bare_lines(text) for text in (header, first))
    named = is_line_of_names(last, layout) and is_line_of_names(its_last, layout)
    other = columns_way_out(last, its_last, layout) if named else ""
    by_name = other if other != ALIKE else ""
    if layout.items.header_prefix:
        if by_name:
            return f"{by_name}{' and --headers union' if comments != its else ''}"
        return "give all files the same header, or add --headers union or --headers first"
    for prefix in _PREFIXES:
        if all(text.removeprefix(BOM).startswith(prefix) for text in given):
            text = prefix.decode()
            shown = f"'{text}'" if text == "#" else text
            way = f"use --header-prefix {shown} and --headers union or first"
            return f"if all lines that begin with {text} are headers, {way}"
    by_name = f"{by_name}, " if by_name else ""
    return f"give all files the same columns and header, {by_name}or join them by a key with gpumerge join"


def _bare_lines(header: bytes) -> list[bytes]:
    """The lines of a header without their ends, at least one."""
    return header.removeprefix(BOM).replace(b"\r", b"").removesuffix(b"\n").split(b"\n")


def _first_difference(header: bytes, other: bytes) -> tuple[int, bytes, bytes]:
    """The number of the first line in which two headers differ, and both lines; b"" for one that is missing."""
    pairs = zip_longest(*(text.replace(b"\r", b"").split(b"\n") for text in (header, other)), fillvalue=b"")
    different = ((number, line, its) for number, (line, its) in enumerate(pairs, 1) if line != its)
    return next(different, (1, header, other))


def _difference(header: bytes, other: bytes, layout: Layout) -> str:
    """The trifle by which two headers differ: "case", "blanks" or both; "" if there is more to it."""
    blanks = b" " if layout.items.line_order.separator == _TAB else b" \t"
    changes: dict[str, Callable[[bytes], bytes]] = {
        "case": _without_case,
        "blanks": lambda text: text.translate(None, blanks),
        "case and blanks": lambda text: _without_case(text.translate(None, blanks)),
    }
    same = partial(layout.format.same_header, items=layout.items)
    return next((why for why, change in changes.items() if same(change(header), change(other))), "")


def _without_case(header: bytes) -> bytes:
    return header.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")

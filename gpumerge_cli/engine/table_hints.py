"""The option that names the key of tables with a header, as the way out of their disorder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpumerge_cli.engine.hints import ENOUGH, TIME, are_alike, has_requested_header, in_turn, sampled_items
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.kinds.lookup import implied_format
from gpumerge_cli.formats.likely_header import is_header
from gpumerge_cli.order.kinds import Order


def table_hint(sources: Sequence[Source], order: Order) -> str:
    """The option that names the key of tables with one header in common; "" for others, or if a header is known."""
    if not order.plain_lines or order.by_key() or any(has_requested_header(source) for source in sources):
        return ""
    firsts = {source.item_at(0).rstrip(b"\r") for source in sources if source.size}
    samples = [sampled_items(source, order) for source in sources if source.size]
    if len(firsts) != 1 or not all(sample and is_header(sample[0]) for sample in samples):
        return ""
    (first,) = firsts
    names_of_files = [source.name.lower() for source in sources]
    format = implied_format()
    tables = {**format.tables, ".txt": format.separators}
    suffix = next((suffix for suffix in tables if all(name.endswith(suffix) for name in names_of_files)), None)
    separator = next((byte for byte in tables[suffix] if byte in first), None) if suffix else None
    if separator is None:
        return ""
    delimiter = bytes([separator])
    option = format.spelling.separator_option(delimiter)
    option = f" {option}" if option else ""
    names = first.split(delimiter)
    if not all(re.fullmatch(rb"[A-Za-z_][A-Za-z0-9_]*", name) for name in names) or len(set(names)) != len(names):
        return ""
    header = "line 1 is a header:" if len(samples) > 1 else "if line 1 is a header,"
    # Letters of its own keep a field from -r.
    table = [rows for source in sources for rows in _rows(source, order, delimiter)]
    for column, name in enumerate(map(bytes.decode, names)):
        for numeric, field in ((True, f"{name}:n{'r' * any(order.ways[1:])}"), (False, name)):
            if _sorted_by(table, order, column, len(names), numeric=numeric):
                return f"{header} use --field {field}{option}"
    return f"{header} sort each file by gpumerge sort --field NAME{option}, and use --field NAME{option}"


def _sorted_by(tables: Sequence[list[list[bytes]]], order: Order, column: int, columns: int, *, numeric: bool) -> bool:
    """Whether stretches of all sources show the order of a column, so that it is not by chance.

    Its fields have no quotes, and none occurs twice in a file. tables: the rows of each stretch. columns: their number.
    """
    rising = not any(order.ways[1:])
    if any(len(row) != columns for rows in tables for row in rows):
        return False
    values = [_values([row[column] for row in rows], numeric=numeric) for rows in tables]
    if not all(fields is not None and in_turn(fields, rising=rising, strictly=True) for fields in values):
        return False
    many = sum(max(0, len(rows) - 1) for rows in tables) >= ENOUGH - 1
    if many != (column > 0):
        return many
    # A few rows may be in the order of the first column by chance, and many in that of a further one because it follows
    # the key: they must not be in that of another column, too.
    merged = sorted((row for rows in tables for row in rows), key=_key_of(column, numeric), reverse=not rising)
    return all(_goes_with(tables, merged, other) for other in range(columns) if other != column)


def _rows(source: Source, order: Order, delimiter: bytes) -> list[list[list[bytes]]]:
    """The fields of sampled lines, without the header."""
    first = source.item_at(0) if source.size else b""
    return [
        [line.removesuffix(b"\r").split(delimiter) for line in lines[number == 0 or lines[:1] == [first] :]]
        for number, lines in enumerate(sampled_items(source, order))
    ]


def _key_of(column: int, numeric: bool) -> Callable[[list[bytes]], int | bytes]:
    return lambda row: int(row[column]) if numeric else row[column]


def _values(fields: Sequence[bytes], *, numeric: bool) -> list[int] | list[bytes] | None:
    """The fields as they compare; None if they are not whole numbers, or texts whose order is doubtful."""
    if numeric:
        return [int(field) for field in fields] if all(re.fullmatch(rb"-?[0-9]{1,15}", f) for f in fields) else None
    doubtful = any(b'"' in field or re.search(TIME, field) for field in fields)
    return None if doubtful or not are_alike(fields, rb"[0-9]+", len) else list(fields)


def _goes_with(tables: Sequence[list[list[bytes]]], merged: Sequence[list[bytes]], column: int) -> bool:
    """Whether merged rows are in an order of this column, if the rows of each table are."""
    kinds = [numeric for numeric in (True, False) if _values([row[column] for row in merged], numeric=numeric)]
    if not kinds:
        return False
    for rising in (True, False):
        tell = [_values([row[column] for row in rows], numeric=kinds[0]) for rows in tables]
        all_of_them = _values([row[column] for row in merged], numeric=kinds[0]) or []
        each = all(in_turn(values or [], rising=rising) for values in tell)
        if each and not in_turn(all_of_them, rising=rising):
            return False
    return True

"""Texts that are not UTF-8. Parquet keeps their bytes; formats whose readers refuse them do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.key_columns import plain_values
from gpumerge_cli.formats.tables.table import Table
from gpumerge_cli.formats.tables.taking import values_at

_ROWS = 1 << 14


def check_utf8(rows: Any, inputs: Sequence[Table]) -> None:
    """Raise InputError if texts of a Table are not UTF-8. inputs: the files of its rows, to find the place."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if not _is_valid(column):
            what = f"the column {name} holds bytes that are not UTF-8"
            way_out = "write Parquet, which keeps them, or make them a column of binary"
            raise InputError(what, where=_place(name, inputs), way_out=way_out)


def _place(name: str, inputs: Sequence[Table]) -> str:
    """The place of the first such value of a column."""
    for table in inputs:
        at = 0
        for batch in table.again().batches([name], 0, _ROWS):
            for column in map(plain_values, batch.columns):
                if not _is_valid(column):
                    return f"{table.name}: {table.place(at + _first_invalid(column))}"
            at += batch.num_rows
    return inputs[0].name


def _first_invalid(column: Any) -> int:
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        part = values_at(column, pa.array(range(low, middle)))  # of a slice, all values within it are checked
        low, high = (middle, high) if _is_valid(part) else (low, middle)
    return low


def _is_valid(column: Any) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True

"""Columns that options name: fields by their names or numbers, and errors for columns that cannot be summed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.rules import TEXT, LineKey, LineOrder
from gpumerge_cli.order.sums import SummedColumn, SumRequest
from gpumerge_cli.suggestions import did_you_mean_column
from gpumerge_cli.units import quoted_value


def column_number(option: str, word: str, names: Sequence[str]) -> int:
    """The number of a column from 0, which a word names or counts from 1. Raises UsageError."""
    if word in names:
        return list(names).index(word)
    if word.isascii() and word.isdecimal() and int(word) > 0:
        return int(word) - 1
    choices = f"use {', '.join(names)}" if names else "count columns from 1, as 2"
    way_out = did_you_mean_column(word, {name: name for name in names}, choices)
    raise UsageError(f"{option} {word}: there is no such column", way_out=way_out)


def no_key(names: Sequence[str]) -> UsageError:
    """The error for items that compare as a whole, so that no column is left to be summed."""
    what = f"--sum {','.join(names)}: items compare as a whole, so equal ones have equal columns"
    return UsageError(what, way_out="name the key that equal items share, with -k or --field")


def is_key(name: str) -> UsageError:
    """The error for a column that is the key, or a part of it."""
    return UsageError(f"--sum {name}: the column is a part of the key", way_out="name a column that is not a key")


def summed_fields(request: SumRequest, requested: LineOrder) -> tuple[SummedColumn, ...]:
    """The requested fields, in ascending order.

    requested: the order that options ask for, whose keys count these fields. Raises UsageError.
    """
    names, titles = request.names, request.titles
    if not requested.keys or any(key.whole and key.compare == TEXT for key in requested.keys):
        raise no_key(names)
    columns = [SummedColumn(name, column_number("--sum", name, titles)) for name in names]
    for column in columns:
        if any(_holds(key, column.place) for key in requested.keys):
            raise is_key(column.name)
    refuse_twice([(column.name, column.place) for column in columns])
    return tuple(sorted(columns, key=attrgetter("place")))


def refuse_twice(named: Sequence[tuple[str, object]]) -> None:
    """Raise UsageError if two names are of one column. named: the names, each with its column."""
    places = [place for _, place in named]
    for at, (name, place) in enumerate(named):
        if place in places[:at]:
            raise UsageError(f"--sum {quoted_value(name)}: the column is named twice", way_out="name it once")


def _holds(key: LineKey, field: int) -> bool:
    """Whether a field lies in a key. A number ends in its field."""
    last = key.end_field
    if last is None and key.kind.begins is not None:
        last = key.start_field
    return key.start_field <= field and (last is None or field <= last)

"""gpumerge join: two files, sorted by a field of each, to the lines of both that belong together."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.gnu_values import NUMBER, SATURATED, parse_number, parse_separator
from gpumerge_cli.cli.keyspec import KeySpec, csv_names, line_order
from gpumerge_cli.cli.requests import backend_request
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.joins import ONLY_A, ONLY_B, PAIRS, TYPES, Join
from gpumerge_cli.order.rules import NEWLINE, NUL, LineOrder
from gpumerge_cli.words import did_you_mean

if TYPE_CHECKING:
    from gpumerge_cli.engine.request import MergeRequest

_LETTERS = {
    "dictionary_order": "d",
    "ignore_case": "f",
    "general_numeric_sort": "g",
    "human_numeric_sort": "h",
    "month_sort": "M",
    "numeric_sort": "n",
    "reverse": "r",
    "version_sort": "V",
}
"""The letters of keys that join's options stand for."""
_UNPAIRED = {"1": ONLY_A, "2": ONLY_B}
_NUMBER = re.compile(NUMBER, re.ASCII)
_COLUMN = re.compile(r"([12])\.([0-9]+)", re.ASCII)


def join(values: Values) -> None:
    """Carry out the command line. Raises GpumergeError."""
    from gpumerge_cli.cli.merge import carry_out

    carry_out(task_of(values), values)


def task_of(values: Values) -> tasks.Task[MergeRequest]:
    """The join that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.request import ItemRequest, MergeRequest
    from gpumerge_cli.order.equals import Equals

    names = tuple(values.files)
    if len(names) != 2:
        raise UsageError(f"{len(names)} files were named", way_out="a join takes two, A and B")
    output = "-" if values.output is None else values.output
    tasks.check_report_place(values.report, (*names, output))
    rules = rules_of(values, names)
    header = values.header or any(map(_is_name, _fields_said(values)))
    items = ItemRequest(
        lines=rules.orders[0], header_lines=int(header), csv=values.csv, folders=values.temporary_directory
    )
    request = MergeRequest(
        inputs=names,
        output=output,
        items=items,
        on=backend_request(values),
        equals=Equals.JOIN,
        memory=values.memory,
        durable=values.fsync,
        join=rules,
    )
    return tasks.Task(request, values.report)


def rules_of(values: Values, names: tuple[str, ...]) -> Join:
    """The rules that the options say. Raises UsageError, or InputError for a header that cannot be read."""
    separator, between = _separators(values.field_separator, zero_terminated=values.zero_terminated)
    columns, auto = _columns(values.columns)
    return Join(
        fields=_join_fields(values, names, separator),
        key=_key_order(values),
        separator=separator,
        between=between,
        shows=_shows(values),
        columns=columns,
        auto=auto,
        filler=b"" if values.empty is None else os.fsencode(values.empty),
    )


def _separators(text: str | None, *, zero_terminated: bool) -> tuple[int | None, int]:
    """The byte between fields as Join has it, and the one that goes out there."""
    if text is None:
        return None, ord(" ")
    if not text:  # all of a line is one field
        return NUL if zero_terminated else NEWLINE, NEWLINE
    separator = parse_separator(text)
    return separator, separator


def _key_order(values: Values) -> LineOrder:
    letters = {letter for option, letter in _LETTERS.items() if values.get(option)}
    keys = [KeySpec()] if letters - {"r"} else []
    return line_order(letters, keys, stable=True, zero_terminated=values.zero_terminated)


def _shows(values: Values) -> int:
    if values.type is None:
        shows = 0 if values.only_unpaired else PAIRS
        for number in (*values.unpaired, *values.only_unpaired):
            shows |= _UNPAIRED[number]
        return shows
    if values.unpaired or values.only_unpaired:
        raise UsageError("--type says which lines go out, and so do -a and -v", way_out="use one of them")
    return TYPES[values.type]


def _fields_said(values: Values) -> list[str]:
    return [text for text in (values.key, values.key_1, values.key_2) if text is not None]


def _is_name(text: str) -> bool:
    return _NUMBER.fullmatch(text) is None


def _join_fields(values: Values, names: tuple[str, ...], separator: int | None) -> tuple[int, int]:
    if not values.csv and any(map(_is_name, _fields_said(values))):
        wrong = next(filter(_is_name, _fields_said(values)))
        raise UsageError(f"{wrong!r} is no number of a field", way_out="count from 1; --csv takes names")
    found = []
    for name, option, own in zip(names, ("-1", "-2"), (values.key_1, values.key_2), strict=True):
        if own is not None and values.key is not None and own != values.key:
            what = f"{option} {own} and -j {values.key} name different fields"
            raise UsageError(what, way_out=f"leave -j or {option} out")
        text, said = (own, option) if own is not None else (values.key, "-j")
        found.append(0 if text is None else _field(text, said, name, separator))
    return found[0], found[1]


def _field(text: str, option: str, name: str, separator: int | None) -> int:
    if not _is_name(text):
        number = parse_number(text)
        if number == 0:
            raise UsageError(f"{option} {text}: there is no field 0", way_out="count from 1")
        return min(number, SATURATED) - 1
    names = csv_names((name,), separator, 1, option=option)
    if text not in names:
        way_out = did_you_mean(text, names, f"use one of {', '.join(names[:20])}")
        raise UsageError(f"{option} {text}: the header of {name} has no field {text!r}", way_out=way_out)
    if names.count(text) > 1:
        raise UsageError(f"{option} {text}: {name} has more than one field of that name", way_out="use its number")
    return names.index(text)


def _columns(lists: tuple[str, ...]) -> tuple[tuple[tuple[int, int], ...] | None, bool]:
    """The columns that all -o say, None for the usual ones; and whether they are to be made from first lines."""
    if not lists:
        return None, False
    if "auto" in lists:
        if len(set(lists)) > 1:
            raise UsageError("-o auto goes with no other -o", way_out="leave auto out, or the others")
        return None, True
    return tuple(_column(word) for text in lists for word in re.split("[, \t]", text)), False


def _column(word: str) -> tuple[int, int]:
    if word == "0":
        return 0, 0
    found = _COLUMN.fullmatch(word)
    if found is None or not found[2].strip("0"):
        raise UsageError(f"-o: {word!r} is no column", way_out="write 0 for the key, or FILE.FIELD as 1.2, or auto")
    return int(found[1]), min(parse_number(found[2]), SATURATED) - 1

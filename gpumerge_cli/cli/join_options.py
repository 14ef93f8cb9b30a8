"""The options of a join that items of every kind have."""

from __future__ import annotations

import re

from gpumerge_cli.cli.join_columns import OPTION as _COLUMNS_OPTION
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.asof import Asof, Tolerance
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRS
from gpumerge_cli.order.key_kinds import KINDS
from gpumerge_cli.units import quoted_value

_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_UNPAIRED = {"1": ONLY_A, "2": ONLY_B}


def of_lines_alone(options: JoinOptions) -> dict[str, object]:
    """The values of options that do not apply to records and tables."""
    return {
        **of_plain_lines(options),
        "--ignore-case": options.ignore_case,
        "--dictionary-order": options.dictionary_order,
        **{f"--{kind.option}": kind.letter in options.letters for kind in KINDS if kind.option and kind.joins},
    }


def of_plain_lines(options: JoinOptions) -> dict[str, object]:
    """The values of those that do not apply to values of JSON, either."""
    return {
        "--field-separator": options.field_separator,
        "--line-ends": options.line_ends,
        options.format_switch: options.format_switch,
        "--header": options.header,
        "--header-prefix": options.header_prefix,
        "--zero-terminated": options.zero_terminated,
        _COLUMNS_OPTION: options.columns,
    }


def shown_items(options: JoinOptions) -> int:
    """The items that are written, a sum of PAIRS and the others."""
    if options.type is None:
        shows = 0 if options.only_unpaired else PAIRS
        for number in (*options.unpaired, *options.only_unpaired):
            shows |= _UNPAIRED[number]
        return shows
    return JOIN_TYPES["left" if options.type == "asof" else options.type]


def asof_of(options: JoinOptions) -> Asof | None:
    """The as-of join that options ask for; None for another join. Raises UsageError for an invalid tolerance."""
    if options.type != "asof":
        for option, value in (("--direction", options.direction), ("--tolerance", options.tolerance)):
            if value is not None and {"direction", "tolerance"} & options.given:
                raise UsageError(f"{option} {value}: it is for an as-of join", way_out="add --type asof")
        return None
    tolerance = None if options.tolerance is None else _tolerance(options.tolerance)
    return Asof(options.direction or "backward", tolerance)


def _tolerance(text: str) -> Tolerance:
    from decimal import Decimal

    from gpumerge_cli.native.comparison import read_duration

    if text.startswith("-"):
        raise UsageError(f"--tolerance {text}: a distance is not negative", way_out="write it without its sign")
    if _NUMBER.fullmatch(text):
        return Tolerance(text, format(Decimal(text), "f").lstrip("+"))
    nanos = read_duration(text)
    if nanos is None:
        what = f"--tolerance: {quoted_value(text)} is neither a number nor a duration"
        raise UsageError(what, way_out="write for example 0.5, 5m, 2s or 100ms")
    return Tolerance(text, None, nanos)

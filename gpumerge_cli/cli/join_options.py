"""The options of a join that items of every kind have."""

from __future__ import annotations

from gpumerge_cli.cli.join_columns import OPTION as _COLUMNS_OPTION
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRS
from gpumerge_cli.order.key_kinds import KINDS

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
    return JOIN_TYPES[options.type]

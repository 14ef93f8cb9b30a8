"""Leaves out settings that do not apply to the files of a job. They apply to other files of the same user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from gpumerge_cli.cli.chosen_format import are_binary, gives_columns, named_by_path
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.groups import OrderOptions
from gpumerge_cli.cli.options.typed import JoinOptions, PathOptions
from gpumerge_cli.cli.values import defaults_of
from gpumerge_cli.patterns import pattern

_Options = TypeVar("_Options", bound=OrderOptions | JoinOptions)

_OF_PLAIN_LINES = (
    "csv", "quotes", "line_ends", "record_start", "header", "header_prefix", "headers", "schema", "zero_terminated",
    "field_separator", "locale",
)  # fmt: skip
"""The parameters of lines that do not apply to keys named by paths, as those of JSON Lines."""
_OF_LINES = (
    *_OF_PLAIN_LINES, "key", "sort", "time", "dictionary_order", "ignore_case", "ignore_leading_blanks",
    "ignore_nonprinting", "general_numeric_sort", "human_numeric_sort", "month_sort", "numeric_sort", "random_sort",
    "version_sort", "last_resort",
)  # fmt: skip
"""The parameters of lines that do not apply to numbers, records and tables."""
OF_KINDS = ("nulls", "null_values", "invalid", "thousands", "decimal", "zone", "year", "time_format", "order_list")
"""The parameters for values of keys that are texts, or null."""
_OF_COLUMNS = ("quotes",)
"""The parameters that apply only to formats with columns."""

_NUMBER = pattern(r"[+-]?[0-9]+(\.[0-9]+)?")


def without_line_settings(options: _Options, files: Sequence[str]) -> _Options:
    """The options without settings that do not apply to the items of the files; options of the command line stay."""
    initial = defaults_of(command(options.command))
    # Records are joined by the fields that -j names, too.
    names = [name for name in _OF_LINES if name != "key" or not isinstance(options, JoinOptions)]
    of_kinds = [name for name in OF_KINDS if name != "nulls"]  # which applies to all keys of tables
    found = options.set_ones([*names, *of_kinds], initial)
    if not found:
        return options

    def without(left_out: Sequence[str]) -> _Options:
        return cast("_Options", options.changed(**{name: initial[name] for name in found if name in left_out}))

    has_kinds = any(":" in text for text in options.field)
    bare = without(_OF_LINES if has_kinds else [*_OF_LINES, *of_kinds])
    words = " ".join(options.items if isinstance(options, PathOptions) else ()).replace(",", " ").split()
    if are_binary(bare, files) or (words and all(map(_NUMBER.fullmatch, words))):
        return bare
    if words:
        return without([name for name in _OF_PLAIN_LINES if name != "locale"])
    if bare.field and named_by_path(bare, files).name is not None:
        return without(_OF_PLAIN_LINES)
    has_columns = options.format_switch != "" or gives_columns("format", options.format)
    return options if has_columns or options.field else without(_OF_COLUMNS)

"""The parts of keys that options give to all of them: places of nulls and invalid values, and parameters from files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpumerge_cli.cli.gnu_values import SATURATED
from gpumerge_cli.cli.locales import in_locale
from gpumerge_cli.cli.options.groups import LineOptions, SumOptions, file_parameter
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError, input_error
from gpumerge_cli.order.key_kinds import KIND_OF, KINDS, TYPED_WORDS, KeyKind
from gpumerge_cli.order.number_separators import number_separators
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.suggestions import zone_way_out


def with_parameters(order: LineOrder, options: LineOptions, files: Sequence[str]) -> LineOrder:
    """The order, each key with its places of nulls and invalid values, and the parameters of its kind.

    files: the inputs, whose own times give years. Raises UsageError if an option is needed and not given, InputError
    for a file that is invalid or cannot be read.
    """
    order = _timed(_separated(_placed(order, options), options), options, files)
    order = in_locale(order, options.locale, given="locale" in options.given)
    names = {key.compare for key in order.keys if key.kind.file_option}
    for kind in KINDS:
        if kind.typed and kind.name not in names and file_parameter(kind) in options.given:
            raise UsageError(f"--{kind.file_option}: no key is a {kind.word}", way_out=f"add :{kind.word} to a key")
    if not names:
        return order
    named = {name: options.file_of(KIND_OF[name]) for name in names}
    data = {name: _read(KIND_OF[name], file) for name, file in named.items()}
    keys = (_filled(key, named[key.compare], data[key.compare]) if key.kind.file_option else key for key in order.keys)
    return replace(order, keys=tuple(keys))


def _placed(order: LineOrder, options: LineOptions) -> LineOrder:
    """The order, its keys with the places of nulls and of invalid values that options give."""
    if options.nulls is None and not options.null_values and options.invalid is None:
        return order
    given = [name for name in ("nulls", "null_values", "invalid") if name in options.given]
    if given and not order.keys:
        what = f"--{given[0].replace('_', '-')} needs a key of lines"
        raise UsageError(what, way_out="name one by -k or --field, or give --sort a word")
    if "invalid" in given and not any(key.kind.typed for key in order.keys):
        raise UsageError(
            "--invalid: no key is of a kind whose values can be invalid",
            way_out=f"such kinds are {', '.join(TYPED_WORDS)}",
        )
    invalid = "" if options.invalid in (None, "error") else options.invalid
    values = tuple(os.fsencode(value.strip(" \t\n")) for text in options.null_values for value in text.split(","))
    named = tuple(value for value in values if value)
    keys = (replace(key, nulls=options.nulls or "", null_values=named, invalid=invalid) for key in order.keys)
    return replace(order, keys=tuple(_within_field(key, order.separator) for key in keys))


def _separated(order: LineOrder, options: LineOptions) -> LineOrder:
    """The order, its numbers with the separators that options give. Raises UsageError for impossible ones."""
    if options.thousands is None and options.decimal is None:
        return order
    option = "--decimal" if options.thousands is None else "--thousands"
    thousands, decimal = number_separators(options.thousands, options.decimal)
    are_used = any(key.kind.separated for key in order.keys) or (isinstance(options, SumOptions) and options.sum)
    if {"thousands", "decimal"} & options.given and not are_used:
        raise UsageError(f"{option}: no key is a number", way_out="compare by n, h or g")
    keys = (
        _within_field(replace(key, thousands=thousands, decimal=decimal), order.separator)
        if key.kind.separated
        else key
        for key in order.keys
    )
    return replace(order, keys=tuple(keys))


def _timed(order: LineOrder, options: LineOptions, files: Sequence[str]) -> LineOrder:
    """The order, its times with what options say about them. Raises UsageError."""
    if not any(key.kind.timed for key in order.keys):
        given = [name for name in ("zone", "year", "time_format") if name in options.given]
        if given:
            words = " or :".join(kind.word for kind in KINDS if kind.timed)
            raise UsageError(
                f"--{given[0].replace('_', '-')}: no key is a time", way_out=f"add --time, or :{words} to a key"
            )
        return order
    from gpumerge_cli.formats.own_time import latest_second
    from gpumerge_cli.order.times import LAST_YEAR, LATEST_BY, ONE_YEAR, UNKNOWN_YEAR, InvalidTimesError, TimeSettings

    if options.year is not None and options.year > LAST_YEAR:
        shown = f" {options.year}" if options.year < SATURATED else ""
        raise UsageError(f"--year{shown}: years end with {LAST_YEAR}", way_out="name a year as 2024")
    latest = latest_second(files) if options.year is None else None
    years = ONE_YEAR if options.year is not None else UNKNOWN_YEAR if latest is None else LATEST_BY
    try:
        parameters = TimeSettings(
            options.zone or "", years, options.year or latest or 0, options.time_format or ""
        ).words()
    except InvalidTimesError as error:
        option = f"--{error.setting.replace('_', '-')}"
        raise UsageError(f"{option} {error}", way_out=error.way_out or zone_way_out(options.zone or "")) from None
    keys = (replace(key, parameters=parameters) if key.kind.timed else key for key in order.keys)
    return replace(order, keys=tuple(keys))


def _within_field(key: LineKey, separator: bytes | None) -> LineKey:
    """A key that reads a number ends with its field anyway. Cut there, it is empty where the field is."""
    goes_on = key.end_field is None or key.end_field > key.start_field
    if key.kind.begins is None or not goes_on or (separator is None and key.whole):
        return key
    return replace(key, end_field=key.start_field, end_char=0)


def _filled(key: LineKey, file: str | None, data: bytes) -> LineKey:
    try:
        return replace(key, parameters=key.kind.words(data, key))
    except ValueError as error:
        what, *lines = error.args
        where = ":".join(map(str, (file or "", *lines)))
        way_out = "leave one out" if lines else f"name another file by --{key.kind.file_option}"
        raise InputError(what, where=where, way_out=way_out) from None


def _read(kind: KeyKind, file: str | None) -> bytes:
    """The bytes of the file, or those that stand in for them if the option is not given."""
    if file is None:
        if kind.draws:
            return os.urandom(kind.draws)
        raise UsageError(
            f"{'-' if kind.letter else ':'}{kind.symbol} needs a file", way_out=f"name it by --{kind.file_option}"
        )
    try:
        with open(file, "rb") as opened:
            data = opened.read(kind.draws or -1)
    except OSError as error:
        raise input_error(error, file) from None
    if len(data) < kind.draws:
        raise InputError(f"it holds fewer than {kind.draws} bytes", where=file, way_out="name a longer file")
    return data

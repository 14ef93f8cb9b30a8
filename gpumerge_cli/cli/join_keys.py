"""The fields by which join's options -1, -2 and -j have files joined, and the order of their keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.chosen_format import columns_by_suffix, requested_columns
from gpumerge_cli.cli.columns import column_names, header_given, header_of, parse_columns
from gpumerge_cli.cli.gnu_values import NUMBER, SATURATED, parse_number
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.keyspec import SYMBOLS, KeySpec, field_key, line_order, split_columns, symbols_of, unknown_symbols
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_kinds import JOIN_LETTERS, LETTERS, TYPED_WORDS
from gpumerge_cli.order.rules import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Items

_FIELD = re.compile(rf"({NUMBER})(?::?({SYMBOLS}|[A-Za-z]*))?", re.ASCII)
_NOWHERE = -1
"""The number of a field that is unknown because the file is empty."""
Fields = tuple[tuple[int, ...], tuple[int, ...]]


def join_keys(options: JoinOptions, names: tuple[str, ...], separator: int | None) -> tuple[Fields, LineOrder, bool]:
    """The join fields of A and B, and the order of keys, see order.joins.Join; and whether names of a header give them.

    Raises UsageError for invalid fields, InputError for a header that cannot be read.
    """
    fields_given = given_fields(options)
    texts = [text for text, _ in fields_given if text is not None]
    sides = [_keys(options, name, *its, texts, separator) for name, its in zip(names, fields_given, strict=True)]
    a, b = (_placed(side, other) for side, other in (sides, sides[::-1]))
    if len(a) != len(b):
        raise UsageError(
            f"a key of A has {_counted(a)}, and one of B has {_counted(b)}", way_out="name as many for each file"
        )
    letters = [_letters(x, y) for x, y in zip(a, b, strict=True)]
    fields = tuple(map(_field, a)), tuple(map(_field, b))
    named = any(key.in_header for keys in sides for key in keys)
    order = _order(options.letters, letters, zero_terminated=options.zero_terminated)
    return fields, with_parameters(order, options), named


def _placed(keys: list[KeySpec], others: list[KeySpec]) -> list[KeySpec]:
    """The keys of one side, with the other side's fields in place of unknown ones."""
    if len(keys) != len(others) or _NOWHERE not in map(_field, keys):
        return keys
    fields = [at if _field(other) == _NOWHERE else _field(other) for at, other in enumerate(others)]
    return [field_key(at, key.start, in_header=key.in_header) for key, at in zip(keys, fields, strict=True)]


def _field(key: KeySpec) -> int:
    return key.line_key.start_field


def given_fields(options: JoinOptions) -> tuple[tuple[str | None, str], tuple[str | None, str]]:
    """For A and for B: the text that names its fields, None if none does, and its option. Raises UsageError."""
    found = []
    for option, own in (("-1", options.key_1), ("-2", options.key_2)):
        if own is not None and options.key is not None and own != options.key:
            what = f"{option} {own} and -j {options.key} name different fields"
            raise UsageError(what, way_out=f"leave -j or {option} out")
        found.append((own, option) if own is not None else (options.key, "-j"))
    return found[0], found[1]


def _order(of_all: set[str], letters: Sequence[frozenset[str]], *, zero_terminated: bool) -> LineOrder:
    """The order of keys. of_all: the letters of options, for keys without letters of their own."""
    if len(letters) == 1:
        own = letters[0] or frozenset(of_all)
        keys = [KeySpec()] if own - {"r"} else []
        return line_order(own, keys, stable=True, zero_terminated=zero_terminated)
    keys = [field_key(at, each) for at, each in enumerate(letters)]
    return line_order(of_all, keys, stable=True, zero_terminated=zero_terminated)


def _letters(a: KeySpec, b: KeySpec) -> frozenset[str]:
    """The letters of a field, which one file's option may give for both."""
    if a.start and b.start and a.start != b.start:
        letters = ["".join(sorted(key.start)) for key in (a, b)]
        raise UsageError(
            f"-1 has a key compared by {letters[0]}, -2 by {letters[1]}",
            way_out="give both the same letters, or one none",
        )
    return a.start or b.start


def _counted(keys: Sequence[KeySpec]) -> str:
    return "1 field" if len(keys) == 1 else f"{len(keys)} fields"


def _keys(
    options: JoinOptions, file: str, text: str | None, option: str, texts: Sequence[str], separator: int | None
) -> list[KeySpec]:
    """The fields that a text of an option names, each with its letters. texts: those of both files."""
    if text is None:
        return [field_key(0)]
    columns_of = requested_columns(options).name or columns_by_suffix(options, (file,)).name
    if columns_of is not None:
        from gpumerge_cli.formats.items import Items

        items = Items(columns_of, lines=LineOrder(separator=separator), header_lines=1, certainty="requested")
        keys = _of_columns(options, items, file, text, option, texts)
    else:
        keys = [_numbered(word, option) for word in split_columns(text)]
    fields = [_field(key) for key in keys if _field(key) != _NOWHERE]
    if len(set(fields)) < len(fields):
        raise UsageError(f"{option} {text} names a field twice", way_out="name each once")
    allowed = {*JOIN_LETTERS, *TYPED_WORDS}
    unknown = next((key for key in keys if key.start - allowed), None)
    if unknown is not None:
        raise unknown_symbols(f"{option} {text}", "".join(sorted(unknown.start - allowed)), JOIN_LETTERS)
    return keys


def _numbered(word: str, option: str) -> KeySpec:
    found = _FIELD.fullmatch(word)
    if found is None:
        raise UsageError(
            f"{option}: invalid field number {word!r}", way_out="count from 1, as 2 or 1,2n; --csv takes names"
        )
    number = parse_number(found[1])
    if number == 0:
        raise UsageError(f"{option} {word}: there is no field 0", way_out="count from 1")
    field = min(number, SATURATED) - 1
    return field_key(field, symbols_of(found[2] or ""))


def _of_columns(
    options: JoinOptions, items: Items, file: str, text: str, option: str, texts: Sequence[str]
) -> list[KeySpec]:
    def names() -> list[str] | None:
        return column_names((file,), items, option)

    header = header_of(names, header_given(options.header, options.given), (), texts, numbers=_FIELD)
    try:
        keys = parse_columns(text, header, option, _FIELD)
    except UsageError as error:
        way_out = error.way_out.replace(f"from {LETTERS}", f"from {JOIN_LETTERS}")
        raise UsageError(f"{file}: {error.what}", way_out=way_out) from None
    if any(key.in_header for key in keys) and header.find_names() is None:  # the file is empty: its fields may be any
        return [field_key(_NOWHERE, key.start, in_header=key.in_header) for key in keys]
    return keys

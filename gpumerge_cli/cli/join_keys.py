"""The fields by which join's options -1, -2 and -j have files joined, and the order of their keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.chosen_format import (
    FormatChoice,
    columns_by_suffix,
    implied_columns,
    named_by_path,
    requested_columns,
)
from gpumerge_cli.cli.columns import (
    FIELD_NUMBER,
    ColumnNames,
    Header,
    column_names,
    header_given,
    header_of,
    parse_columns,
)
from gpumerge_cli.cli.fields import header_prefix
from gpumerge_cli.cli.gnu_values import NUMBER, SATURATED, parse_number
from gpumerge_cli.cli.join_columns import ChosenColumns, Fields, Names, check_numbers, chosen_columns
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.keyspec import (
    SYMBOLS,
    KeySpec,
    check_one_kind,
    field_key,
    line_order,
    split_columns,
    symbols_of,
    unknown_symbols,
)
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_kinds import JOIN_LETTERS, LETTERS, TYPED_WORDS
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.units import quoted_value

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Items

_FIELD = re.compile(rf"({NUMBER})(?::?({SYMBOLS}|[A-Za-z]*))?", re.ASCII)
_HEADER_OPTIONS = (("--header 0", "--no-header"), ("--header 1", "--header"), ("add --header 2, or remove", "remove"))
"""The words for --header of other commands, which say a number, and those for join's."""
_NOWHERE = -1
"""The number of a field that is unknown because the file is empty."""


@dataclass(frozen=True)
class JoinKeys:
    """The keys of a join, and the columns that it writes."""

    fields: Fields
    """See order.joins.Join."""
    order: LineOrder
    """That of keys, see order.joins.Join."""
    chosen: ChosenColumns
    names: tuple[tuple[str, ...], tuple[str, ...]]
    """See order.joins.Join."""
    options: tuple[str, str]
    """See order.joins.Join."""
    named: bool
    """Whether names of a header give fields or columns."""


def join_keys(options: JoinOptions, names: tuple[str, ...], separator: bytes | None) -> JoinKeys:
    """The keys and columns by the options.

    Raises UsageError for invalid fields, InputError for a header that cannot be read.
    """
    fields_given = given_fields(options)
    texts = [text for its in fields_given for text in its.texts]
    sides = [_keys(options, names, number, fields_given[number], texts, separator) for number in (0, 1)]
    a, b = (_placed(side, other) for side, other in (sides, sides[::-1]))
    check_counts(a, b)
    letters = [letters_of_both(x, y) for x, y in zip(a, b, strict=True)]
    fields = tuple(map(_field, a)), tuple(map(_field, b))
    order = _order(options.letters, letters, zero_terminated=options.zero_terminated)

    def names_of_columns() -> Names:
        a, b = (column_names((name,), _items(options, name, separator)).names for name in names)
        return a, b

    has_columns = columns_of(options, names).name is not None
    chosen = chosen_columns(options.columns, fields, names_of_columns if has_columns else None)
    named = chosen.named or any(key.in_header for keys in sides for key in keys)
    if has_columns and chosen.columns and (named or options.header or options.header_prefix):
        check_numbers(chosen.columns, names_of_columns())
    return JoinKeys(
        fields,
        with_parameters(order, options, names),
        chosen,
        names=(_names(a), _names(b)),
        options=(fields_given[0].option, fields_given[1].option),
        named=named,
    )


def _names(keys: Sequence[KeySpec]) -> tuple[str, ...]:
    """The names of fields; () unless all are in a header."""
    return tuple(key.line_key.name for key in keys) if all(key.in_header for key in keys) else ()


def names_of_fields(options: JoinOptions) -> tuple[str, ...]:
    """The values of --field; () where it is a setting that gives way to -j, -1 or -2 of the command line."""
    numbered = {"key", "key_1", "key_2"} & options.given
    return () if numbered and "field" not in options.given else options.field


def columns_of(options: JoinOptions, names: Sequence[str]) -> FormatChoice:
    """The format with columns that the options or suffixes of files give, if they give one."""
    for choice in (requested_columns(options, names), columns_by_suffix(options, names)):
        if choice.name is not None:
            return choice
    if not names_of_fields(options):
        return FormatChoice()
    return implied_columns(names)


def _items(options: JoinOptions, name: str, separator: bytes | None) -> Items:
    """The items of a file whose columns have names."""
    from gpumerge_cli.formats.items import Items

    order, columns = LineOrder(separator=separator, quotes=options.quote_rule), columns_of(options, (name,))
    prefix = header_prefix(options)
    lines = int(options.header or not prefix)
    return Items(columns.name, lines=order, header_lines=lines, header_prefix=prefix, certainty=columns.certainty)


def _placed(keys: list[KeySpec], others: list[KeySpec]) -> list[KeySpec]:
    """The keys of one side, with the other side's fields in place of unknown ones."""
    if len(keys) != len(others) or _NOWHERE not in map(_field, keys):
        return keys
    fields = [at if _field(other) == _NOWHERE else _field(other) for at, other in enumerate(others)]
    return [field_key(at, key.start, in_header=key.in_header) for key, at in zip(keys, fields, strict=True)]


def _field(key: KeySpec) -> int:
    return key.line_key.start_field


@dataclass(frozen=True)
class GivenFields:
    """The fields of a file's keys, as an option names them."""

    texts: tuple[str, ...]
    """The option's values; () if no option is given."""
    option: str


def given_fields(options: JoinOptions) -> tuple[GivenFields, GivenFields]:
    """The fields of A and those of B. Raises UsageError if options name different ones."""
    names = names_of_fields(options)
    if names:
        return GivenFields(names, "--field"), GivenFields(names, "--field")
    found = []
    for option, own in (("-1", options.key_1), ("-2", options.key_2)):
        if own is not None and options.key is not None and own != options.key:
            what = f"{option} {own} and -j {options.key} name different fields"
            raise UsageError(what, way_out=f"leave -j or {option} out")
        text, option = (options.key, "-j") if own is None else (own, option)
        found.append(GivenFields(() if text is None else (text,), option))
    return found[0], found[1]


def values_format(options: JoinOptions, files: Sequence[str]) -> FormatChoice:
    """The format whose keys are paths, if --format names it, or keys are no numbers of fields. See named_by_path."""
    texts = [text for one in given_fields(options) for text in one.texts]
    are_numbers = all(_FIELD.fullmatch(word) for text in texts for word in split_columns(text))
    if options.format is None and are_numbers and not options.field:
        return FormatChoice()
    return named_by_path(options, files)


def _order(of_all: set[str], letters: Sequence[frozenset[str]], *, zero_terminated: bool) -> LineOrder:
    """The order of keys. of_all: the letters of options, for keys without letters of their own."""
    if len(letters) == 1:
        own = letters[0] or frozenset(of_all)
        keys = [KeySpec()] if own - {"r"} else []
        return line_order(own, keys, stable=True, zero_terminated=zero_terminated)
    keys = [field_key(at, each) for at, each in enumerate(letters)]
    return line_order(of_all, keys, stable=True, zero_terminated=zero_terminated)


def letters_of_both(a: KeySpec, b: KeySpec) -> frozenset[str]:
    """The letters of a field, which one file's option may give for both."""
    if a.start and b.start and a.start != b.start:
        letters = ["".join(sorted(key.start)) for key in (a, b)]
        raise UsageError(
            f"-1 has a key compared by {letters[0]}, -2 by {letters[1]}",
            way_out="give both the same letters, or only one of them letters",
        )
    return a.start or b.start


def check_counts(a: Sequence[KeySpec], b: Sequence[KeySpec]) -> None:
    """Raise UsageError if the keys of A and of B are not as many."""
    if len(a) != len(b):
        raise UsageError(
            f"a key of A has {_counted(a)}, and one of B has {_counted(b)}",
            way_out="name the same number for both files",
        )


def _counted(keys: Sequence[KeySpec]) -> str:
    return "1 field" if len(keys) == 1 else f"{len(keys)} fields"


def _keys(
    options: JoinOptions, files: tuple[str, ...], number: int, given: GivenFields, texts: Sequence[str],
    separator: bytes | None,
) -> list[KeySpec]:  # fmt: skip
    """The fields of the keys of file `number`, each with its letters. texts: those of both files."""
    if not given.texts:
        return [field_key(0)]
    option, text = given.option, " ".join(given.texts)
    file = files[number]
    if columns_of(options, (file,)).name is not None:
        items = [_items(options, name, separator) for name in files]
        keys = _of_columns(options, items, files, number, given, texts)
    else:
        keys = [_numbered(word, option, text) for text in given.texts for word in split_columns(text)]
    fields = [_field(key) for key in keys if _field(key) != _NOWHERE]
    if len(set(fields)) < len(fields):
        raise UsageError(f"{option} {text} names a field twice", way_out="name each once")
    allowed = {*JOIN_LETTERS, *TYPED_WORDS}
    unknown = next((key for key in keys if key.start - allowed), None)
    if unknown is not None:
        raise unknown_symbols(f"{option} {text}", "".join(sorted(unknown.start - allowed)), JOIN_LETTERS)
    return keys


def _numbered(word: str, option: str, text: str) -> KeySpec:
    found = _FIELD.fullmatch(word)
    if found is None:
        if ":" in text and word and set(word) <= set(JOIN_LETTERS):
            raise UsageError(
                f"{option} {text}: {word} is another kind, or none", way_out="a field has one, as 1:hex,2n"
            )
        check_one_kind(word, option, str.isdecimal)
        from gpumerge_cli.formats.kinds.lookup import implied_format

        by_name = "--field" if option == "-j" else implied_format().option
        raise UsageError(
            f"{option}: invalid field number {quoted_value(word)}",
            way_out=f"count from 1, as 2 or 1,2n; {by_name} takes names",
        )
    number = parse_number(found[1])
    if number == 0:
        raise UsageError(f"{option} {word}: there is no field 0", way_out="count from 1")
    written = found[2] or ""
    if re.fullmatch(SYMBOLS, written) is None:
        raise unknown_symbols(f"{option} {word}", written, JOIN_LETTERS)
    field = min(number, SATURATED) - 1
    return field_key(field, symbols_of(written))


def _of_columns(
    options: JoinOptions, items: Sequence[Items], files: Sequence[str], number: int, given: GivenFields,
    texts: Sequence[str],
) -> list[KeySpec]:  # fmt: skip
    file = files[number]

    def names() -> ColumnNames:
        return column_names((file,), items[number])

    numbers = FIELD_NUMBER if given.option == "--field" else _FIELD
    given_by = True if options.header_prefix is not None else header_given(options.header, options.given)
    header = header_of(names, given_by, (), texts, numbers=numbers)
    try:
        keys = [key for text in given.texts for key in parse_columns(text, header, given.option, numbers)]
    except UsageError as error:
        way_out = error.way_out.replace(f"from {LETTERS}", f"from {JOIN_LETTERS}")
        for of_others, of_join in _HEADER_OPTIONS:
            way_out = way_out.replace(of_others, of_join)
        if given.option in ("--field", "-j"):
            other = Header(lambda: column_names((files[1 - number],), items[1 - number]))
            own = _own_names(given.texts, number, header.names(), other.names())
            if own:
                from gpumerge_cli.formats.kinds.lookup import implied_format

                added = f"{implied_format().option} " * (columns_of(options, files).certainty == "implied")
                way_out = f"if its key has another name, write {added}{own}; {way_out}"
        raise UsageError(f"{file}: {error.what}", way_out=way_out) from None
    if any(key.in_header for key in keys) and header.find_names() is None:  # the file is empty: its fields may be any
        return [field_key(_NOWHERE, key.start, in_header=key.in_header) for key in keys]
    return keys


def _own_names(texts: Sequence[str], number: int, names: Sequence[str], others: Sequence[str]) -> str:
    """The options that name the key of each file, if the only name in `texts` is one of the other file alone; else "".

    names, others: those in the header of file `number`, and of the other one.
    """
    if len(texts) != 1 or texts[0] not in others or texts[0] in names:
        return ""
    from gpumerge_cli.shell_words import quoted

    words = [quoted(texts[0])] * 2
    words[number] = "NAME"
    return f"-1 {words[0]} -2 {words[1]}"

"""Columns of lines, as those of CSV, as -k, --field and join's -j name them: by a name of the header, or by number.

A word that is a name in the header means that column, even if it looks like a number. If no option says whether line 1
is a header, and the word is also the number of another column, the word is ambiguous and refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from gpumerge_cli.cli.gnu_values import SATURATED, parse_number
from gpumerge_cli.cli.keyspec import (
    SYMBOLS,
    WHOLE_KEY,
    KeySpec,
    check_one_kind,
    field_key,
    parse_key,
    split_columns,
    split_typed,
    symbols_of,
    unknown_symbols,
)
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import GpumergeError, InputError, UsageError
from gpumerge_cli.formats.foreign import JSON
from gpumerge_cli.order.key_kinds import LETTERS, TYPED_WORDS
from gpumerge_cli.patterns import pattern
from gpumerge_cli.suggestions import did_you_mean_column
from gpumerge_cli.units import quoted_value
from gpumerge_cli.urls import is_url, shown

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Items

_COLUMN_NUMBER = pattern(rf"([0-9]+):([{LETTERS}]*)", re.ASCII)
_KEY_NUMBER = pattern(rf"([0-9]+)(?::?([{LETTERS}]*))?", re.ASCII)
FIELD_NUMBER = pattern(rf"([0-9]+)(?::({SYMBOLS}))?", re.ASCII)
_VALID = pattern(SYMBOLS)
_OF_SORT = ("-k", "--field")
"""Options whose commands take the number of header lines; join has a flag for one line."""
_NEEDS_QUOTES = pattern(r"[\s,;|:'\"]")
"""Finds what keeps a field's name from being plain in a message."""
_LIKE_JSON = pattern(r"""\s*(\[|(\[\s*)?\{\s*(".*)?)""", re.DOTALL)
"""Matches the first field of JSON that is read as CSV."""
_SEPARATORS = {"\t": r"'\t'", ";": "';'", "|": "'|'"}
"""Separators other than a comma, as a shell takes them behind -t."""


@dataclass(frozen=True)
class ColumnNames:
    """The names of columns, and the file whose header says them."""

    names: Sequence[str] | None = None
    """None if all files are empty."""
    file: str = ""
    """"" if all files are empty."""
    takes_separator: bool = False
    """See Format."""


def column_names(files: Sequence[str], items: Items) -> ColumnNames:
    """The names of the columns of a format, which the last line of the header of the first file says.

    Files without such a line, or that cannot be read, are passed over while another has
    one; all files must have the same header, unless items.schema says that they have the columns of all. Pipes come
    last, since they may take long. items: the format, what separates columns, and how many lines a header has. Raises
    InputError if no file can be read or has such a line.
    """
    from gpumerge_cli.formats.kinds.lookup import columns_of_all, format_named
    from gpumerge_cli.formats.naming import check_input

    assert items.format is not None
    format = format_named(items.format)
    if items.schema != "same":
        names = columns_of_all(format, files, items)
        return ColumnNames(names or None, files[0] if names else "")
    errors = []
    pipes = [file for file in files if not is_url(file) and not os.path.isfile(file)]
    for file in (*(file for file in files if file not in pipes), *pipes):
        if pipes and file == pipes[0]:
            for each in files:
                check_input(each)
        try:
            columns = format.columns(file, items)
        except InputError as error:
            errors.append(error)
        else:
            if columns is not None:
                return ColumnNames([column.name for column in columns], file, format.takes_separator)
    if errors:
        raise errors[0]
    return ColumnNames()


@dataclass(frozen=True)
class Header:
    """The header in which keys find the names of columns."""

    find: Callable[[], ColumnNames]
    """Gives the names of all fields, as column_names does."""
    known: bool | None = None
    """Whether line 1 is a header by the options; None if they leave it open."""
    of_several: bool = False
    """Whether there are several files, so that errors name the one whose header it is."""

    def title(self) -> str:
        """The name of the header in errors."""
        return f"the header of {shown(self.find().file)}" if self.of_several else "the header"

    def find_names(self) -> Sequence[str] | None:
        """The names; None if all files are empty. Raises as column_names does."""
        return self.find().names

    def names(self) -> Sequence[str]:
        """The names; () if no header can be read. Errors of a file are reported when it is opened."""
        try:
            return self.find_names() or ()
        except GpumergeError:
            return ()


def header_given(lines: int, given: Collection[str]) -> bool | None:
    """Whether there is a header by --header, None if it is not given. lines: its value. given: see Options."""
    return True if lines else (False if "header" in given else None)


def header_of(
    find: Callable[[], ColumnNames],
    given: bool | None,
    keys: Sequence[str],
    fields: Sequence[str],
    numbers: re.Pattern[str] = FIELD_NUMBER,
    *,
    of_several: bool = False,
) -> Header:
    """The header of files with columns. keys: the texts of -k. fields: those of --field, or of join's options.

    given: see header_given. numbers: see parse_columns. of_several: see Header.
    """
    can_only_be_names = [
        text
        for text in keys
        if WHOLE_KEY.fullmatch(split_typed(text)[0]) is None and _COLUMN_NUMBER.fullmatch(text) is None
    ]
    can_only_be_names += [word for text in fields for word in split_columns(text) if numbers.fullmatch(word) is None]
    return Header(cache(find), True if can_only_be_names else given, of_several)


def parse_column_key(text: str, header: Header) -> KeySpec:
    """The key that is a column, by its name or number, alone or with a colon and options: "2:nr", "amount:hex,r".

    Other texts are parsed by parse_key. Raises UsageError for an invalid key, and as column_names does.
    """
    place, kind = split_typed(text)
    plain, numbered = WHOLE_KEY.fullmatch(place), _COLUMN_NUMBER.fullmatch(text)
    if plain is None and numbered is None:
        return _named_key(text, header.find_names(), "-k", header)
    # "2,2n" is GNU's form alone: no header is read for it.
    if "," not in place and _means_name(text, _KEY_NUMBER.fullmatch(place), header, "-k"):
        return _named_key(text, header.names(), "-k", header)
    return parse_key(text if kind or numbered is None else f"{numbered[1]}{numbered[2]},{numbered[1]}")


def parse_columns(
    text: str, header: Header, option: str = "--field", numbers: re.Pattern[str] = FIELD_NUMBER
) -> list[KeySpec]:
    """The keys of --field: columns by name or number, each with options behind a colon if it has any.

    option: the option's name. numbers: matches a column's number, then its options. Raises UsageError for an
    unknown column, and as column_names does.
    """
    words = split_columns(text)
    numbered = [numbers.fullmatch(word) for word in words]
    names = header.names() if all(numbered) else header.find_names()
    if names is not None and len(words) > 1 and _is_there(text, names):  # a name may have a comma
        if all(number or _is_there(word, names) for word, number in zip(words, numbered, strict=True)):
            raise UsageError(
                f"{option} {text} means one field of that name, or {len(words)} fields",
                way_out=f"give each field its own {option}, or {by_number(option)}",
            )
        return [_named_key(text, names, option, header)]
    if not all(numbered):
        header = replace(header, known=True)
    for ahead, word in pairwise(words):
        if word in TYPED_WORDS and names is not None and word not in names and split_typed(ahead)[1]:
            check_one_kind(f"{ahead},{word}", option, bool)
    return [
        _named_key(word, names, option, header)
        if number is None or _means_name(word, number, header, option)
        else _numbered_key(number, option)
        for word, number in zip(words, numbered, strict=True)
    ]


def _numbered_key(number: re.Match[str], option: str) -> KeySpec:
    field = parse_number(number[1])
    if field == 0:
        raise UsageError(f"{option} {number[0]}: there is no field 0", way_out="count from 1")
    index = min(field, SATURATED) - 1
    return field_key(index, symbols_of(number[2] or ""), number[1], option)


def _means_name(text: str, number: re.Match[str] | None, header: Header, option: str) -> bool:
    """Whether a text that may number a field is the name of a field.

    number: its match, None if the text also names a character. Raises UsageError if the text is ambiguous.
    """
    names = header.names()
    if header.known is False or not _is_there(text, names):
        return False
    name = _split(text, names)[0]
    if header.known or number is None or name != number[1]:
        return True
    at = parse_number(name)
    if at > len(names):
        return True
    if list(names).index(name) + 1 == at:  # the same column: line 1 is then taken for data
        return False
    if at == 0:
        what = f"{option} {text}: there is no field 0, unless line 1 is a header that has this name"
        raise UsageError(what, way_out=f"count from 1, or add {_header_option(option)} for the name")
    raise UsageError(
        f"{option} {text} means field {at}, or the field {quoted_value(name)} if line 1 is a header",
        way_out=f"add {_header_option(option)} for the name, or {_no_header_option(option)} for the number",
    )


def _header_option(option: str) -> str:
    return "--header 1" if option in _OF_SORT else "--header"


def _no_header_option(option: str) -> str:
    return "--header 0" if option in _OF_SORT else "--no-header"


def by_number(option: str) -> str:
    """The way to name a field of a file with a header by its number, where `option` cannot name it by its name."""
    return f"use its number, with {_header_option(option)}"


def _split(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The name in a text, and what is behind its last colon. A name of the header has nothing behind it."""
    name, colon, letters = text.rpartition(":")
    return (text, "") if text in names or not colon else (name, letters)


def _is_there(text: str, names: Sequence[str]) -> bool:
    """Whether `text` is the name of a field. A colon and options may follow the name; a comma only among known ones."""
    name, written = _split(text, names)
    return name != "" and name in names and ("," not in written or _VALID.fullmatch(written) is not None)


def _named_key(text: str, names: Sequence[str] | None, option: str, header: Header) -> KeySpec:
    """The key by a name. names: None if all files are empty, and the field may be any."""
    if names is None:
        name, written = _split(text, ())
        return field_key(0, symbols_of(written) if _VALID.fullmatch(written) else "", name, option, in_header=True)
    name, written = _split(text, names)
    cut = text.rpartition(":")
    if text in names and cut[0] and cut[0] in names and _VALID.fullmatch(cut[2]):
        raise UsageError(
            f"{option} {text} means the field {quoted_value(text)}, or the field {quoted_value(cut[0])} with the "
            f"letters {quoted_value(cut[2])}",
            way_out=by_number(option),
        )
    if not name or name not in names:
        check_one_kind(text, option, names.__contains__)
        sought = name or written
        what = f"{option} {text or quoted_value(text)}: {header.title()} has no field {quoted_value(sought)}"
        raise UsageError(what, way_out=_other_names(sought, names, option, header))
    if list(names).count(name) > 1:
        raise UsageError(f"{option} {text}: {header.title()} has {name} more than once", way_out=by_number(option))
    if _VALID.fullmatch(written) is None:
        raise unknown_symbols(f"{option} {text}", written)
    return field_key(list(names).index(name), symbols_of(written), name, option, in_header=True)


def _other_names(sought: str, names: Sequence[str], option: str, header: Header) -> str:
    """The way out where a header does not have a name."""
    first = names[0] if names else ""
    if _LIKE_JSON.fullmatch(first):
        return JSON.way_out_for(header.find().file)
    if first.lower().startswith("sep=") or not any(names):
        what = "line 1 is blank" if not any(names) else f"line 1 is {quoted_value(first)}, which names no field"
        skipped = "add --header 2, or remove it" if option in _OF_SORT else "remove it"
        return f"{what}: {skipped}"
    plain = {name: quoted_value(name) if _NEEDS_QUOTES.search(name) else name for name in names if name}
    if len(names) == 1 and header.find().takes_separator:
        separator = next((f", as -t {one}" for byte, one in _SEPARATORS.items() if byte in first), "")
        way_out = f"it has one, {plain[first]}; -t says what separates them{separator}"
        return way_out if _NEEDS_QUOTES.search(first) else did_you_mean_column(sought, plain, way_out)
    return did_you_mean_column(sought, plain, f"use one of {', '.join([*plain.values()][:20])}")

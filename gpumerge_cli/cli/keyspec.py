"""Key specifications and ordering options as GNU sort takes them, made into a LineOrder.

An ordering option is its letter: "b", "d", "f", "g", "h", "i", "M", "n", "R", "r" or "V". A key holds the letters that
are written at its start and at its end; one without any takes the global ones. Nothing of Typer is imported here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence

from gpumerge_cli.cli.gnu_values import NUMBER, SATURATED, match_word, parse_number
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.order.rules import NEWLINE, NUL, Comparison, LineKey, LineOrder
from gpumerge_cli.urls import is_url
from gpumerge_cli.words import did_you_mean

LETTERS = "bdfghiMnRrV"
"""The letters of the options that say how keys compare."""
_COMPARISONS: dict[str, Comparison] = {
    "n": "numeric", "g": "general", "h": "human", "M": "month", "R": "random", "V": "version",
}  # fmt: skip
"""In GNU's order: the first that a key has is how it compares."""
_POSITION = rf"({NUMBER})(?:\.({NUMBER}))?([{LETTERS}]*)"
_KEY = re.compile(rf"{_POSITION}(?:,{_POSITION})?", re.ASCII)
_CSV_NUMBER = re.compile(rf"([0-9]+):([{LETTERS}]*)", re.ASCII)
_FIELD_NUMBER = re.compile(rf"([0-9]+)(?::([{LETTERS}]*))?", re.ASCII)
_OBSOLETE_START = re.compile(rf"\+{_POSITION}", re.ASCII)
_OBSOLETE_END = re.compile(rf"-{_POSITION}", re.ASCII)
_SORT_WORDS = {
    "general-numeric": "g", "human-numeric": "h", "month": "M", "numeric": "n", "random": "R", "version": "V",
}  # fmt: skip


@dataclass(frozen=True)
class KeySpec:
    """A key as it is written.

    Fields and characters as in LineKey; `start` and `end` are the letters at its two ends. obsolete: as +POS1 -POS2.
    name: of the field that --field named.
    """

    start_field: int = 0
    start_char: int = 0
    end_field: int | None = None
    end_char: int = 0
    start: frozenset[str] = frozenset()
    end: frozenset[str] = frozenset()
    obsolete: bool = False
    name: str = ""


def parse_key(text: str) -> KeySpec:
    """The key that `F[.C][OPTIONS][,F[.C][OPTIONS]]` says, fields and characters counted from 1.

    Raises UsageError if it says none.
    """
    found = _KEY.fullmatch(text)
    if found is None:
        raise UsageError(
            f"-k {text!r} is no key",
            way_out=f"write F[.C][OPTIONS][,F[.C][OPTIONS]], options from {LETTERS}; --field takes names",
        )
    field, char, start, last_field, last_char, end = found.groups()
    if 0 in map(parse_number, (field, char or "1", last_field or "1")):
        raise UsageError(f"-k {text!r}: there is no field or character 0", way_out="count from 1")
    return KeySpec(
        _saturated(parse_number(field) - 1),
        _saturated(parse_number(char or "1") - 1),
        None if last_field is None else _saturated(parse_number(last_field) - 1),
        _saturated(parse_number(last_char or "0")),
        frozenset(start),
        frozenset(end or ""),
    )


def csv_names(
    files: Sequence[str],
    separator: int | None,
    header: int,
    *,
    plain: bool = False,
    option: str = "-k",
    implied: bool = False,
) -> list[str] | None:
    """The names of the fields of CSV, which the last of `header` records of the first regular file holds; 0 is 1.

    None if all files are empty. Files without such a record, or that cannot be read, are passed over while another has
    one. Only regular files are read, because a pipe's bytes could not be read again for the sort; all files must have
    the same header. plain: the file is not compressed, even if its name says so. option: the option that names a field.
    implied: as Items.csv_implied.
    Raises UsageError if the header can only be in a pipe, InputError if no file can be read or has such a record.
    """
    from gpumerge_cli.formats.csv_records import header_fields
    from gpumerge_cli.formats.naming import look_at

    again = [file for file in files if file == os.devnull or (file != "-" and (is_url(file) or os.path.isfile(file)))]
    errors = []
    for file in again:
        try:
            names = header_fields(file, separator, max(1, header), plain=plain, implied=implied)
        except InputError as error:
            errors.append(error)
        else:
            if names is not None:
                return names
    if errors:
        raise errors[0]
    if files and len(again) == len(files):
        return None
    for file in files:
        look_at(file)
    what = f"{option} NAME: there is no header to find it in"
    raise UsageError(what, way_out="name a file that is no pipe, or use the field's number")


def is_csv_name(text: str) -> bool:
    """Whether a key of CSV names its field, instead of numbering it. A colon and letters may follow the name."""
    return _KEY.fullmatch(text) is None and _CSV_NUMBER.fullmatch(text) is None


def header_lines(header: int, csv_keys: Sequence[str]) -> int:
    """Lines ahead of the items, `header` being what was said: keys that name fields of CSV imply one."""
    return max(header, int(any(map(is_csv_name, csv_keys))))


def parse_csv_key(text: str, find_names: Callable[[], Sequence[str] | None]) -> KeySpec:
    """The key that is a field of CSV, by its number or name, alone or with a colon and letters: "2:nr", "amount:nr".

    A text that parse_key understands is parsed by it. find_names: gives the names of all fields, None if there are none
    since all files are empty; it is called only for a key by name.
    Raises UsageError if there is none of that name, or what find_names does.
    """
    if _KEY.fullmatch(text):
        return parse_key(text)
    numbered = _CSV_NUMBER.fullmatch(text)
    if numbered:
        return parse_key(f"{numbered[1]}{numbered[2]},{numbered[1]}")
    return _named_key(text, find_names(), "-k")


def parse_columns(text: str, find_names: Callable[[], Sequence[str] | None]) -> list[KeySpec]:
    """The keys that --field says: columns of CSV by name or number, each with letters behind a colon if it has any.

    find_names: see parse_csv_key. Raises UsageError for what is no column, or what find_names does.
    """
    words = text.split(",")
    numbered = [_FIELD_NUMBER.fullmatch(word) for word in words]
    if any(number and not number[1].strip("0") for number in numbered):
        raise UsageError(f"--field {text}: there is no field 0", way_out="count from 1")
    names = [] if all(numbered) else find_names()
    if _is_there(text, names):  # a name may have a comma
        if len(words) > 1 and all(
            number or _is_there(word, names) for word, number in zip(words, numbered, strict=True)
        ):
            raise UsageError(
                f"--field {text} means one field of that name, or {len(words)} fields",
                way_out="give each field its own --field, or use the number of the one",
            )
        return [_by_field(_named_key(text, names, "--field"), text, names)]
    return [
        replace(parse_key(f"{number[1]}{number[2] or ''},{number[1]}"), name=number[1])
        if number
        else _by_field(_named_key(word, names, "--field"), word, names)
        for word, number in zip(words, numbered, strict=True)
    ]


def _is_there(text: str, names: Sequence[str] | None) -> bool:
    """Whether `text` is the name of a field. A colon and letters without a comma may follow the name."""
    if names is None:
        return False
    name, _, letters = text.rpartition(":")
    return text in names or (name in names and "," not in letters)


def _by_field(key: KeySpec, text: str, names: Sequence[str] | None) -> KeySpec:
    return replace(key, name=text if names is None or text in names else text.rpartition(":")[0])


def _named_key(text: str, names: Sequence[str] | None, option: str) -> KeySpec:
    if names is None:  # the field may be any
        letters = text.rpartition(":")[2] if ":" in text else ""
        return parse_key("1,1" if set(letters) - set(LETTERS) else f"1{letters},1")
    name, colon, letters = (text, "", "") if text in names else text.rpartition(":")
    if name and text in names and (cut := text.rpartition(":")) and cut[0] in names and not set(cut[2]) - set(LETTERS):
        raise UsageError(
            f"{option} {text} means the field {text!r}, or the field {cut[0]!r} with the letters {cut[2]!r}",
            way_out="use the field's number",
        )
    if name not in names:
        known = ", ".join(repr(one) if "," in one else one for one in names[:20])
        way_out = f"use one of {known}" if len(names) > 1 else f"it has one, {known}; -t says what separates them"
        sought = name or letters
        raise UsageError(
            f"{option} {text}: the header has no field {sought!r}", way_out=did_you_mean(sought, names, way_out)
        )
    if list(names).count(name) > 1:
        raise UsageError(f"{option} {text}: the header has {name} more than once", way_out="use the field's number")
    if set(letters) - set(LETTERS):
        raise UsageError(f"{option} {text}: {letters!r} are no options of a key", way_out=f"use letters from {LETTERS}")
    number = list(names).index(name) + 1
    return parse_key(f"{number}{letters},{number}" if colon else f"{number},{number}")


def needs_names(text: str) -> bool:
    """Whether `text`, as --field has it, names a column otherwise than by its number."""
    return not all(_FIELD_NUMBER.fullmatch(word) for word in text.split(","))


def parse_obsolete_key(start: str, end: str | None) -> KeySpec | None:
    """The key that `+F[.C][OPTIONS] [-F[.C][OPTIONS]]` says, fields and characters counted from 0.

    None if `start` is the name of a file. Raises UsageError if `end` cannot follow it.
    """
    found = _OBSOLETE_START.fullmatch(start)
    if found is None:
        return None
    key = KeySpec(
        _saturated(parse_number(found[1])),
        _saturated(parse_number(found[2] or "0")),
        start=frozenset(found[3]),
        obsolete=True,
    )
    if end is None:
        return key
    found = _OBSOLETE_END.fullmatch(end)
    if found is None:
        raise UsageError(f"{end!r} is no end of the key {start!r}", way_out="write -F[.C][OPTIONS], or use -k")
    field, char = parse_number(found[1]), parse_number(found[2] or "0")
    # Without characters the key ends ahead of field F: at the end of the one before.
    field -= field > 0 and char == 0
    return replace(key, end_field=_saturated(field), end_char=_saturated(char), end=frozenset(found[3]))


def line_order(
    letters: Collection[str],
    keys: Sequence[KeySpec] = (),
    *,
    separator: int | None = None,
    stable: bool = False,
    zero_terminated: bool = False,
    stable_by: str = "leave --last-resort out",
) -> LineOrder:
    """The order that global `letters` and `keys` make, keys taking the letters that they have none of.

    stable_by: how the command makes its order stable. Its salt is still to be given where `is_random` says so. Raises
    UsageError for options that cannot go together.
    """
    given = frozenset(letters)
    if not keys and given - {"r"}:
        keys = (KeySpec(),)
    return LineOrder(
        keys=tuple(map(_line_key, inheriting(given, keys))),
        separator=separator,
        reverse="r" in given,
        stable=stable,
        terminator=NUL if zero_terminated else NEWLINE,
        stable_by=stable_by,
    )


def inheriting(letters: Collection[str], keys: Sequence[KeySpec]) -> list[KeySpec]:
    """`keys`, those without letters with the global `letters` at both ends."""
    given = frozenset(letters)
    return [key if key.start | key.end else replace(key, start=given, end=given) for key in keys]


def is_random(order: LineOrder) -> bool:
    """Whether the order needs a salt."""
    return any(key.compare == "random" for key in order.keys)


def parse_sort_word(word: str, exit_code: int = 2) -> str:
    """The letter that --sort=WORD stands for. Raises UsageError with `exit_code` if it is none."""
    return match_word(word, _SORT_WORDS, "--sort", exit_code)


def _line_key(key: KeySpec) -> LineKey:
    letters = key.start | key.end
    if len(letters & set("nghM")) + bool(letters & set("VRdi")) > 1:
        shown = "".join(sorted(letters - set("br"), key=LETTERS.index))
        raise UsageError(f"options -{shown} are incompatible", way_out="give a key one way to compare")
    return LineKey(
        compare=next((_COMPARISONS[letter] for letter in _COMPARISONS if letter in letters), "bytes"),
        start_field=key.start_field,
        start_char=key.start_char,
        end_field=key.end_field,
        end_char=key.end_char,
        reverse="r" in letters,
        fold="f" in letters,
        dictionary="d" in letters,
        # What is no letter, digit or blank is left out already.
        printable="i" in letters and "d" not in letters,
        skip_start="b" in key.start,
        # Where whole fields end, no characters are counted that blanks could lie ahead of.
        skip_end="b" in key.end and key.end_char > 0,
        name=key.name,
    )


def _saturated(number: int) -> int:
    return min(number, SATURATED)

"""The columns that join's option -o chooses: by numbers, as coreutils' join does, or by names of the headers of CSV."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from gpumerge_cli.cli.gnu_values import SATURATED, parse_number
from gpumerge_cli.cli.options.joining import NUMBERS_OF_COLUMNS
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.shell_words import quoted
from gpumerge_cli.suggestions import did_you_mean_column
from gpumerge_cli.units import in_short, quoted_value

OPTION = "-o"
"""As coreutils' join has it; other commands have -o for --output."""
AUTO = "auto"
"""The list that stands for the fields of first lines."""
Fields = tuple[tuple[int, ...], tuple[int, ...]]
"""The numbers of the join fields of A and those of B, counted from 0."""
Names = tuple[Sequence[str] | None, Sequence[str] | None]
"""The names in the headers of A and B; None for an empty file."""
_NUMBERED = re.compile(r"([12])\.([0-9]+)", re.ASCII)
_OF_FILE = re.compile(r"([12])\.(.+)", re.DOTALL)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]*", re.ASCII)
_MOST_SHOWN = 20
_NOWHERE = SATURATED - 1
"""The number of a field that an empty file may have."""


@dataclass(frozen=True)
class ChosenColumns:
    """The columns that -o chooses."""

    columns: tuple[tuple[int, int], ...] | None = None
    """See order.joins.Join."""
    auto: bool = False
    """See order.joins.Join."""
    named: bool = False
    """Whether names of a header chose them."""


def chosen_columns(lists: Sequence[str], fields: Fields, find_names: Callable[[], Names] | None) -> ChosenColumns:
    """The columns that the lists of -o choose. A list counts more than the word auto, as in coreutils' join.

    find_names: gives the names of columns, which is not called for numbers; None if columns have none. Raises
    UsageError for an invalid column, and as `find_names` does.
    """
    given = [text for text in lists if text != AUTO]
    if not given:
        return ChosenColumns(auto=bool(lists))
    if find_names is None or all(map(_are_numbers, given)):
        words = [word for text in given for word in _words(text)]
        return ChosenColumns(tuple(column for word in words for column in _by_number(word, fields)))
    headers = _Headers(find_names(), fields)
    words = [word for text in given for word in headers.words_of(text)]
    return ChosenColumns(
        tuple(column for word in words for column in headers.columns(word)),
        named=not all(map(_are_numbers, words)),
    )


def check_numbers(columns: Sequence[tuple[int, int]], names: Names) -> None:
    """Raise UsageError for a column that a header lacks. columns: see order.joins.Join. names: those of headers."""
    for number, at in columns:
        held = names[number - 1] if number else None
        if held is not None and at >= len(held):
            known = ", ".join([f"{number}.{in_short(field)}" for field in held if field][:_MOST_SHOWN])
            has = "1 field" if len(held) == 1 else f"{len(held)} fields"
            raise UsageError(
                f"{OPTION} {number}.{at + 1}: the header of {'AB'[number - 1]} has {has}",
                way_out=f"use 0 for the key, or {known}",
            )


def _words(text: str) -> list[str]:
    return re.split("[, \t]", text)


def _are_numbers(text: str) -> bool:
    """Whether a list is as coreutils' join takes it, but for the word auto."""
    return re.fullmatch(NUMBERS_OF_COLUMNS, text, re.ASCII) is not None


def _by_number(word: str, fields: Fields) -> list[tuple[int, int]]:
    if word == "0":
        return [(0, number) for number in range(len(fields[0]))]
    found = _NUMBERED.fullmatch(word)
    if found is None or not _are_numbers(word):
        from gpumerge_cli.formats.kinds.lookup import implied_format

        takes_names = f"{implied_format().option} takes names; --output names the output"
        raise _is_a_file(word) or UsageError(
            f"{OPTION}: invalid column {quoted_value(word)}",
            way_out=f"write 0 for the key, FILE.FIELD as 1.2, or auto; {takes_names}",
        )
    return [(int(found[1]), min(parse_number(found[2]), SATURATED) - 1)]


def _is_a_file(word: str) -> UsageError | None:
    """The error for a word that is like the name of a file; None for others."""
    if _OF_FILE.fullmatch(word) or not (os.sep in word or _SUFFIX.fullmatch(os.path.splitext(word)[1])):
        return None
    what = f"{OPTION} {word}: {OPTION} chooses columns in join, as in coreutils"
    return UsageError(what, way_out=f"the output's file is --output {quoted(word)}")


@dataclass(frozen=True)
class _Headers:
    """The names of the columns of A and B."""

    names: Names
    fields: Fields

    def words_of(self, text: str) -> list[str]:
        """The words of a list: separated by commas, or by blanks where that is no name."""
        words = [text] if self._has(text) else text.split(",")
        return [one for word in words for one in ([word] if self._has(word) else word.split() or [word])]

    def columns(self, word: str) -> list[tuple[int, int]]:
        """The columns that a word names or numbers. Raises UsageError."""
        if _are_numbers(word):
            return _by_number(word, self.fields)
        files = [number for number, names in enumerate(self.names) if word in (names or ())]
        of_file = _OF_FILE.fullmatch(word)
        if not files and of_file is not None:
            number = int(of_file[1]) - 1
            return [(number + 1, self._place(of_file[2], word, number))]
        if not files:
            empty = [number for number, names in enumerate(self.names) if names is None]
            if not empty:
                raise self._unknown(word)
            return [(empty[0] + 1, _NOWHERE)]
        if len(files) == 2 and not self._is_key_of_both(word):
            raise UsageError(
                f"{OPTION} {word}: both files have a field {quoted_value(word)}", way_out=f"write 1.{word} or 2.{word}"
            )
        place = self._place(word, word, files[0])
        if files[0] == 0 and place in self.fields[0]:
            return [(0, self.fields[0].index(place))]
        return [(files[0] + 1, place)]

    def _has(self, word: str) -> bool:
        of_file = _OF_FILE.fullmatch(word)
        named = any(word in (names or ()) for names in self.names)
        return named or (of_file is not None and of_file[2] in (self.names[int(of_file[1]) - 1] or ()))

    def _is_key_of_both(self, name: str) -> bool:
        """Whether a name that both headers have is that of one field of the key in both."""
        a, b = ([at for at, each in enumerate(names or ()) if each == name] for names in self.names)
        return [*a, *b] in [list(pair) for pair in zip(*self.fields, strict=True)]

    def _place(self, name: str, word: str, number: int) -> int:
        """The number of the field with a name in file `number`, both counted from 0. word: the name as it was given."""
        names = self.names[number]
        if names is None:
            return _NOWHERE
        if name not in names:
            raise self._unknown(word)
        if list(names).count(name) > 1:
            what = f"{OPTION} {word}: the header of {'AB'[number]} has {quoted_value(name)} more than once"
            raise UsageError(what, way_out=f"use its number, as {number + 1}.{list(names).index(name) + 1}")
        return list(names).index(name)

    def _unknown(self, word: str) -> UsageError:
        known = [
            f"{number}.{name}" if name in (others or ()) and not self._is_key_of_both(name) else name
            for number, names, others in zip((1, 2), self.names, self.names[::-1], strict=True)
            for name in names or ()
            if name
        ]
        choices = f"use 0 for the key, or {', '.join([*dict.fromkeys(known)][:_MOST_SHOWN])}"
        way_out = did_you_mean_column(word, {name: name for name in known}, choices)
        error = UsageError(
            f"{OPTION} {word or quoted_value(word)}: no header has a field {quoted_value(word)}", way_out=way_out
        )
        return error if way_out != choices else _is_a_file(word) or error

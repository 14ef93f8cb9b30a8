"""Reads the values of a command's options, one by one by their rows, and makes the typed values of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from gpumerge_cli.cli.conflicts import check_conflicts
from gpumerge_cli.cli.gnu_values import parse_numbers, parse_open_files, parse_sort_size, parse_whole
from gpumerge_cli.cli.options.model import Command, Option, Value, WrittenValue
from gpumerge_cli.cli.options.typed import OPTION_TYPES
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.suggestions import did_you_mean, nearest
from gpumerge_cli.units import quoted_value

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.groups import Options
    from gpumerge_cli.cli.settings import Settings


@dataclass(frozen=True)
class OptionValue:
    """An option with one value."""

    option: Option
    value: WrittenValue
    written: str
    """The name by which the option was given, but whole."""


def read_values(
    row: Command, option_values: Sequence[OptionValue], files: Sequence[str], settings: Settings | None = None
) -> Options:
    """The values of any command but sort: of the options given, of its files, and of the settings of other options.

    Raises UsageError for the first wrong value, those of settings last, and InputError for a file of settings.
    """
    taken = TakenValues()
    for one in option_values:
        taken.take(one.option, one.value, one.written)
    given = {*taken.values, *(argument.parameter for argument in row.arguments if files)}
    for option, values in () if settings is None else settings.others(row.name, given):
        for value in values:
            taken.take(option, value, option.names[0])
    for argument in row.arguments:
        taken.values[argument.parameter] = tuple(files) if argument.many else files[0]
    return make_options(row, taken.values, given, (one.option.parameter for one in option_values))


class TakenValues:
    """The values of options that were taken, one after the other."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        """By the names of parameters; a tuple for an option that may be given again."""
        self._firsts: dict[str, tuple[str, WrittenValue]] = {}

    def take(self, option: Option, value: WrittenValue, written: str) -> None:
        """Take a value of an option, see OptionValue.

        Raises UsageError for an invalid one, and for one that differs from an earlier one where one alone may be given.
        """
        read, before = read_value(option, value, written), self.values.get(option.parameter)
        if option.multiple:
            assert before is None or isinstance(before, tuple)
            read = (*(before or ()), read)
        elif option.takes_value and before is not None:
            if option.again == "refused" and read != before:
                raise _given_twice(*self._firsts[option.parameter], value)
            if option.again == "greatest":
                assert isinstance(read, int)
                assert isinstance(before, int)
                read = max(read, before)
        self._firsts.setdefault(option.parameter, (written, value))
        self.values[option.parameter] = read


def make_options(
    row: Command, named: Mapping[str, Value], given: Iterable[str], sequence: Iterable[str] = ()
) -> Options:
    """The typed values of a command's options and arguments.

    named: values by the names of parameters; all others are the defaults. given: the names that were on the command
    line. sequence: the parameters of the command line's options, in its order, again for each time. Raises UsageError
    for options that do not go together.
    """
    given = frozenset(given)
    values = {**defaults_of(row), **named}
    check_conflicts(row, values, given)
    written = tuple(one for one in sequence if one in ("key", "field"))
    return OPTION_TYPES[row.name]({**values, "command": row.name, "given": given, "sequence": written})


@cache
def defaults_of(row: Command) -> dict[str, Value]:
    """The values of options and arguments that are not given. Texts are read as if they were given."""
    values: dict[str, Value] = {one.parameter: () if one.many else "" for one in row.arguments}
    for option in row.options:
        initial = option.initial
        values[option.parameter] = read_value(option, initial) if isinstance(initial, str) else initial
    return values


def read_value(option: Option, value: WrittenValue, written: str = "") -> Value:
    """The value of an option, read. Raises UsageError, naming the option as `written`.

    Words that GNU sort takes are left as they are: they may be shortened, and are checked where they are used.
    """
    if isinstance(value, bool):
        return value
    text, written = value, written or option.names[0]
    if option.choices and not (option.gnu and option.takes_value) and text not in option.choices:
        way_out = did_you_mean(text, option.choices, f"use {', '.join(option.choices)}")
        raise UsageError(f"{written}: invalid value {quoted_value(text)}", way_out=way_out)
    if option.kind == "files":
        return parse_open_files(text, written, option.least)
    if option.kind == "number":
        return parse_whole(text, written, option.least)
    if option.kind == "numbers":
        return parse_numbers(text, written)
    if option.kind == "size":
        from gpumerge_cli.cli.parse import parse_memory

        if option.gnu:  # GNU sort takes 0
            return parse_sort_size(text, written)
        if option.name != "memory" and "%" in text:
            raise UsageError(
                f"{written}: {quoted_value(text)} is a share of the host's memory", way_out="write for example 2G"
            )
        return parse_memory(text, written)
    if option.kind == "count":
        from gpumerge_cli.cli.parse import parse_count

        return parse_count(text, written)
    return text


def _given_twice(written: str, first: WrittenValue, other: WrittenValue) -> UsageError:
    """The error for two values of an option that takes one. written: the option."""
    what = f"{written} is given twice, as {quoted_value(str(first))} and as {quoted_value(str(other))}"
    return UsageError(what, way_out=f"leave one {written} out")


def unknown_option(row: Command, written: str) -> UsageError:
    """The error for an option, as "--kernal" or "-Q", that the command does not have."""
    near = _nearest(written.partition("=")[0], row.options)
    way_out = f"see {row.path} --help"
    return UsageError(f"there is no option {written}", way_out=f"did you mean {near}? {way_out}" if near else way_out)


def _nearest(written: str, options: Sequence[Option]) -> str:
    if not written.startswith("--"):
        return ""
    for option in options:
        if written[2:] in option.formerly:
            return option.names[0]
    names = {name for option in options for name in (*option.names, *option.off_names)}
    return nearest(written, {name for name in names if name.startswith("--")})

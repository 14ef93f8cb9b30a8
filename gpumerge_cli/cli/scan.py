"""Takes a command line apart into options and operands, as GNU's getopt_long does, by the rows of the command."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.options.model import Command, Option, WrittenValue
from gpumerge_cli.cli.values import OptionValue, read_values, unknown_option
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.units import quoted_value

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.groups import Options
    from gpumerge_cli.cli.settings import Settings

ENDING = ("help", "version", "show-completion")
"""The options that end the reading of a command line, because all that they do is show a text."""
_MOST_NAMED = 8
"""Options that the error for an ambiguous beginning names."""
_GNU = "sort"
"""The command whose options are GNU's: there is no --no-NAME."""
_WITH_BEGINNINGS = (_GNU, "join")
"""Commands in which a beginning is unique if it is among the names that coreutils has."""


@dataclass(frozen=True)
class Operand:
    """A word that is not an option."""

    text: str
    behind: bool
    """Whether it stands behind "--"."""


def scan(row: Command, left: deque[str]) -> Iterator[OptionValue | Operand]:
    """Options and operands one by one, in their order.

    An option with an optional value that is not given comes with its first choice. Words are taken off `left`; the
    caller may take some itself. Raises UsageError when it comes to an unknown option.
    """
    while left:
        word = left.popleft()
        if word == "--":
            while left:
                yield Operand(left.popleft(), True)
        elif word.startswith("--"):
            yield _long(row, word, left)
        elif word.startswith("-") and word != "-":
            yield from _letters(row, word, left)
        else:
            yield Operand(word, False)


def read_words(row: Command, words: Sequence[str], settings: Settings | None = None) -> Options | None:
    """The options that the words behind the name of any command but sort give it; None if they ask for help.

    settings: those of options that the words leave out. Raises UsageError for words that the command does not take,
    InputError for a file of settings.
    """
    option_values: list[OptionValue] = []
    files: list[tuple[str, Option | None]] = []
    going_on: Option | None = None
    for one in scan(row, deque(words)):
        if isinstance(one, Operand):
            going_on = None if one.behind else going_on
            files.append((one.text, going_on))
            _take_value(files, option_values)
        else:
            option_values.append(one)
            going_on = one.option if _goes_on(one.option, one.value) else None
    operands = [text for text, _ in files]
    if any(one.option.name in ENDING for one in option_values):
        return None
    most = sum(len(operands) if argument.many else 1 for argument in row.arguments)
    if len(operands) > most:
        raise UsageError(f"unexpected argument {quoted_value(operands[most])}", way_out=f"see {row.path} --help")
    for argument in row.arguments:
        if argument.required and not operands:
            raise UsageError(f"{argument.metavar} is missing", way_out=f"see {row.path} --help")
    return read_values(row, option_values, operands, settings)


def _goes_on(option: Option, value: WrittenValue) -> bool:
    return option.goes_on != "" and isinstance(value, str) and re.fullmatch(option.goes_on, value, re.ASCII) is not None


def _take_value(files: list[tuple[str, Option | None]], option_values: list[OptionValue]) -> None:
    """Take the first of more than two operands for a value if it may be one, as coreutils' join does.

    files: operands, each with the option of which it may be a value, see Option.goes_on.
    """
    for at, (text, option) in enumerate(files[:2] if len(files) > 2 else ()):
        if option is not None:
            if _goes_on(option, text):
                option_values.append(OptionValue(option, text, option.names[-1]))
                del files[at]
            return


def last_value(row: Command, words: Sequence[str], option: Option, *, posix: bool = False) -> str | bool | None:
    """The last value that words, right or wrong, give an option, as OptionValue has it; None if they do not name it.

    posix: options end at the first file, ahead of which keys of sort may stand in the obsolete form.
    """
    left = deque(words)
    value = None
    while left:
        with suppress(UsageError):  # the words behind the mistake count, too
            for one in scan(row, left):
                if isinstance(one, Operand):
                    if posix and not one.text.startswith("+"):
                        return value
                elif one.option is option:
                    value = one.value
    return value


def _letters(row: Command, word: str, left: deque[str]) -> Iterator[OptionValue]:
    """Options by their letters, written together; what follows one that needs a value is its value."""
    for at, letter in enumerate(word[1:], 2):
        name = f"-{letter}"
        option = row.by_written_name.get(name)
        if option is None and letter == "y" and row.name == _GNU:
            _skip_old_option(row, word[at:], left)
            return
        if option is None:
            raise _value_of_switch(row, word, at) or unknown_option(row, name)
        if option.needs_value:
            yield OptionValue(option, word[at:] or _next(row, name, left), name)
            return
        yield OptionValue(option, option.implied, name)


def _value_of_switch(row: Command, word: str, at: int) -> UsageError | None:
    """The error for a value, from word[at - 1] on, behind the letter of a switch whose long name takes one."""
    switch = row.by_written_name.get(f"-{word[at - 2]}") if at > 2 else None
    value = word[at - 1 :].removeprefix("=")
    if switch is None or not switch.choices or (word[at - 1] != "=" and value not in switch.choices):
        return None
    long = next(name for name in switch.names if name.startswith("--"))
    written = value if value in switch.choices else "|".join(switch.choices)
    return UsageError(f"-{word[at - 2]} takes no value, here {quoted_value(value)}", way_out=f"write {long}={written}")


def _skip_old_option(row: Command, attached: str, left: deque[str]) -> None:
    """Skip -y of other systems' sorts, with the digits behind it."""
    if not attached:
        follows = _next(row, "-y", left)
        if follows.strip("0123456789"):
            left.appendleft(follows)


def _long(row: Command, word: str, left: deque[str]) -> OptionValue:
    written, equals, value = word.partition("=")
    names = _long_names(row)
    name = written if written in names else _completed(row, written)
    option, is_on = names[name]
    if not option.takes_value:
        if equals and option.choices and is_on:
            if option.name in ENDING and value not in option.choices:
                what = f"{written}: invalid value {quoted_value(value)}"
                raise UsageError(what, way_out=f"write {written}={option.choices[0]}")
            return OptionValue(option, value, name)
        if equals:
            raise UsageError(f"{written} takes no value", way_out=f"see {row.path} --help")
        return OptionValue(option, is_on, name)
    if not equals:
        return OptionValue(option, _next(row, written, left) if option.needs_value else option.implied, name)
    return OptionValue(option, value, name)


@cache
def _long_names(row: Command) -> Mapping[str, tuple[Option, bool]]:
    """By each long name, with its dashes: the option, and False if the name turns off a switch."""
    found = {}
    for option in row.options:
        longs = [name for name in option.names if name.startswith("--")]
        found.update(dict.fromkeys(longs, (option, True)))
        off = [*option.off_names]
        if row.name != _GNU and not option.takes_value and option.name not in ENDING:
            off += [f"--no-{name[2:]}" for name in longs]
        found.update(dict.fromkeys(off, (option, False)))
    return found


def _completed(row: Command, written: str) -> str:
    """The long name that begins as `written`: only names that coreutils has may be shortened, see Option.gnu.

    Raises UsageError for another beginning, or if it is not clear which option is meant.
    """
    found = {name: meant for name, meant in _long_names(row).items() if name.startswith(written)}
    short = {name: option for name, (option, _) in found.items() if name == f"--{option.gnu_name}"}
    if row.name in _WITH_BEGINNINGS and short:
        found = {name: found[name] for name in short}
    meant = {*found.values()}
    if len(meant) > 1:
        more = ", ..." * (len(found) > _MOST_NAMED)
        way_out = f"write one of {', '.join([*found][:_MOST_NAMED])}{more}"
        raise UsageError(f"{written} is ambiguous", way_out=way_out)
    if not meant or _is_of_another(written, *meant):
        raise unknown_option(row, written)
    if not short:
        raise UsageError(f"there is no option {written}", way_out=f"write {next(iter(found))}")
    return next(iter(short))


def _is_of_another(written: str, meant: tuple[Option, bool]) -> bool:
    """Whether an option of any command has this whole name and is written in the same way.

    It must not be taken for the beginning of another name: `union --head 3` does not mean --header 3.
    """
    others = (other for one in COMMANDS for other in one.options if written in other.names)
    return any(other.takes_value == meant[0].takes_value for other in others)


def _next(row: Command, option: str, left: deque[str]) -> str:
    if not left:
        raise UsageError(f"{option} needs a value", way_out=f"see {row.path} --help")
    return left.popleft()

"""Takes a command line of sort apart into options and operands, as GNU's getopt_long does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.model import Option
from gpumerge_cli.cli.values import OptionValue, unknown_option
from gpumerge_cli.errors import UsageError

_SORT = command("sort")
_LETTERS = {option.letter: option for option in _SORT.options if option.letter}
_GNU = sorted({option.gnu_name for option in _SORT.options if option.gnu_name})


class Operand(NamedTuple):
    """A word that is no option. behind: it stands behind "--"."""

    text: str
    behind: bool


def scan(left: deque[str]) -> Iterator[OptionValue | Operand]:
    """Options and operands one by one, in their order.

    An option with an optional value that is not given comes with its first choice. Arguments are taken off `left`; the
    caller may take some itself. Raises UsageError when it comes to an unknown option.
    """
    while left:
        word = left.popleft()
        if word == "--":
            while left:
                yield Operand(left.popleft(), True)
        elif word.startswith("--"):
            yield _long(word, left)
        elif word.startswith("-") and word != "-":
            yield from _short(word, left)
        else:
            yield Operand(word, False)


def _short(word: str, left: deque[str]) -> Iterator[OptionValue]:
    for at, letter in enumerate(word[1:], 2):
        if letter == "y":
            _skip_old_option(word[at:], left)
            return
        option = _LETTERS.get(letter)
        if option is None:
            raise unknown_option(_SORT, f"-{letter}")
        if _needs_value(option):
            yield OptionValue(option, word[at:] or _next(f"-{letter}", left), f"-{letter}")
            return
        yield OptionValue(option, _implied(option), f"-{letter}")


def _needs_value(option: Option) -> bool:
    return option.takes_value and not option.value_is_optional


def _implied(option: Option) -> Any:
    return option.choices[0] if option.value_is_optional else True


def _skip_old_option(attached: str, left: deque[str]) -> None:
    """Skip -y of other systems' sorts, with the digits behind it."""
    if not attached:
        follows = _next("-y", left)
        if follows.strip("0123456789"):
            left.appendleft(follows)


def _long(word: str, left: deque[str]) -> OptionValue:
    written, equals, value = word[2:].partition("=")
    name = written if written in _SORT.named else _completed(written)
    option = _SORT.option(name)
    if equals and not option.takes_value:
        raise UsageError(f"--{written} takes no value", way_out=f"leave ={value} out")
    if not equals:
        value = _next(f"--{written}", left) if _needs_value(option) else _implied(option)
    return OptionValue(option, value, f"--{name}")


def _completed(written: str) -> str:
    """The long name that `written` stands for. GNU's names may be shortened while they stay unique; others may not."""
    found = [name for name in _GNU if name.startswith(written)]
    if len(found) == 1:
        return found[0]
    if found:
        way_out = f"write one of {', '.join(f'--{name}' for name in found)}"
        raise UsageError(f"--{written} may be several options", way_out=way_out)
    raise unknown_option(_SORT, f"--{written}")


def _next(option: str, left: deque[str]) -> str:
    if not left:
        raise UsageError(f"{option} needs a value", way_out="write it behind the option")
    return left.popleft()

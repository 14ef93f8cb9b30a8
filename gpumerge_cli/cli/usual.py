"""Reads the usual command lines without Typer, whose import takes as long as merging 50 MB.

Usual is: the command, then options by their whole names, each with its value, and names of files. Any other command
line is left to Typer, and so is every mistake: it knows what to say about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpumerge_cli.cli.options import NAMES, Command, Option, command
from gpumerge_cli.cli.values import Values, read_value
from gpumerge_cli.errors import UsageError

_ENDS = ("help", "version", "show-completion")
"""Options that end the reading."""


def read_usual(words: Sequence[str]) -> Values | None:
    """The values of a command line, the command's name first, as Typer would give them; None for unusual ones."""
    if words[:1] == ["sort"] or not words or words[0] not in NAMES:
        return None
    row = command(words[0])
    if len(row.arguments) != 1 or not row.arguments[0].many:
        return None
    options = {name: option for option in row.options if option.name not in _ENDS for name in option.names}
    files: list[str] = []
    told: list[tuple[Option, str]] = []
    left = iter(words[1:])
    for word in left:
        if word[:1] != "-" or word == "-":
            files.append(word)
            continue
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = options.get(name)
        if option is None or (has_value and not option.takes_value):
            return None
        if option.takes_value and not has_value:
            value = next(left, "")
            if option.value_is_optional or not value or (value[:1] == "-" and value != "-"):
                return None
        told.append((option, value))
    if row.arguments[0].required and not files:
        return None
    try:
        said = _values(told)
    except UsageError:
        return None
    if said is None:
        return None
    sequence = tuple(option.parameter for option, _ in told if option.parameter in ("key", "field"))
    argument = row.arguments[0].parameter
    given = frozenset([*said, argument] if files else said)
    return Values(row.name, {**_defaults(row), **said, argument: tuple(files)}, given, sequence)


def _values(told: Sequence[tuple[Option, str]]) -> dict[str, Any] | None:
    """The values by parameters; None if an option that takes one value has several."""
    said: dict[str, Any] = {}
    for option, text in told:
        value = read_value(option, text, option.names[0]) if option.takes_value else True
        if option.multiple:
            said[option.parameter] = (*said.get(option.parameter, ()), value)
        elif option.parameter in said:
            return None
        else:
            said[option.parameter] = value
    return said


def _defaults(row: Command) -> dict[str, Any]:
    """The defaults that are texts, read as if they were given."""
    texts = {option: option.initial for option in row.options if isinstance(option.initial, str)}
    return {option.parameter: read_value(option, text) for option, text in texts.items()}

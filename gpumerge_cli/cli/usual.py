"""Reads the usual command lines without Typer, whose import takes as long as merging 50 MB.

Usual is: the command, then options by their whole names, each with its value, and names of files. Any other command
line is left to Typer, and so is every mistake: it knows what to say about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.commands import NAMES, command
from gpumerge_cli.cli.values import OptionValue, read_values
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.groups import Options
    from gpumerge_cli.cli.settings import Settings

_ENDS = ("help", "version", "show-completion")
"""Options that end the reading."""


def read_usual(words: Sequence[str], settings: Settings | None = None) -> Options | None:
    """The values of a command line, the command's name first, as Typer would give them; None for unusual ones.

    Raises InputError for a file of settings.
    """
    if words[:1] == ["sort"] or not words or words[0] not in NAMES:
        return None
    row = command(words[0])
    if len(row.arguments) != 1:
        return None
    files: list[str] = []
    told: list[OptionValue] = []
    left = iter(words[1:])
    for word in left:
        if word[:1] != "-" or word == "-":
            files.append(word)
            continue
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = row.by_written_name.get(name)
        if option is None or option.name in _ENDS or (has_value and not option.takes_value):
            return None
        if option.takes_value and not has_value:
            value = next(left, "")
            if option.value_is_optional or not value or (value[:1] == "-" and value != "-"):
                return None
        told.append(OptionValue(option, value if option.takes_value else True, name))
    (argument,) = row.arguments
    if (argument.required and not files) or (len(files) > 1 and not argument.many):
        return None
    try:
        return read_values(row, told, files, settings)
    except UsageError:
        return None

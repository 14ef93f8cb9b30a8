"""The text of --help: a command's examples and options, in groups, as wide as the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence

from gpumerge_cli.cli.options.commands import COMMANDS, command
from gpumerge_cli.cli.options.model import GROUPS, Command, Option

_NARROWEST, _TWO_COLUMNS, _USUAL_WIDTH, _WIDEST = 40, 70, 80, 120
_FEW_EXAMPLES = 4
"""The examples of a short help."""
_INDENT = 8
"""The column at which the text of options begins in a terminal too narrow for two columns."""
_COLUMN = 30
"""The column at which the text of options begins; longer names have a line of their own."""


WHOLE_HELP = "--help=all"
"""Asks for the whole help of a command, where --help shows it in short."""


def wanted_help(arguments: Sequence[str]) -> str | None:
    """The command whose help `arguments` ask for, "" for gpumerge itself; None if they ask for anything else."""
    if not arguments:
        return ""
    *names, last = arguments
    name = names[0] if names else ""
    known = len(names) < 2 and any(one.name == name for one in COMMANDS)
    return name if known and last in (*command(name).option("help").names, WHOLE_HELP) else None


def help_text(name: str, width: int | None = None, *, whole: bool = False) -> str:
    """The help of a command, or of gpumerge itself for "". width: columns; those of the terminal by default.

    whole: all of it, where a command with many options shows it in short.
    """
    width = max(_NARROWEST, min(_terminal_width() if width is None else width, _WIDEST))
    shown = command(name)
    lines = _lines(shown, width) if whole or not shown.briefly else _short_lines(shown, width)
    return "\n".join(lines) + "\n"


def _terminal_width() -> int:
    """The columns of the terminal, as shutil.get_terminal_size gives them; importing shutil loads all compressions."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        out = -1 if sys.__stdout__ is None else sys.__stdout__.fileno()
        return os.get_terminal_size(out).columns or _USUAL_WIDTH
    except (ValueError, OSError):  # closed, or not a terminal
        return _USUAL_WIDTH


def version_text() -> str:
    """The text of --version."""
    from gpumerge_cli import __version__

    return f"gpumerge {__version__}\n"


def _short_lines(shown: Command, width: int) -> Iterator[str]:
    yield from _usage(shown, width)
    yield from paragraphs(shown.summary, width)
    yield from _examples(shown.examples[:_FEW_EXAMPLES], width)
    yield from ("", "Options for most work:")
    yield from _options(shown.briefly, lambda option: option.brief, width)
    more = f"gpumerge help {shown.name} shows all {len(shown.options)} options, more examples, suffixes and exit codes."
    yield from paragraphs(more, width)


def _usage(shown: Command, width: int) -> list[str]:
    return wrap(f"Usage: {shown.path} {shown.usage}", width, subsequent_indent="       ")


def _examples(examples: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    if examples:
        yield from ("", "Examples:")
    for line, about in examples:
        yield from wrap(about, width, initial_indent="  ", subsequent_indent="  ")
        yield from _command_line(line, width)


def _lines(shown: Command, width: int) -> Iterator[str]:
    yield from _usage(shown, width)
    yield from paragraphs(shown.about, width)
    yield from _examples(shown.examples, width)
    if not shown.name:
        yield from ("", "Commands:")
        yield from _columns([(one.name, one.summary) for one in COMMANDS[1:]], width)
    if shown.arguments:
        yield from ("", "Arguments:")
        yield from _columns([(one.metavar, one.help) for one in shown.arguments], width)
    for group in GROUPS:
        options = [option for option in shown.options if option.group == group]
        if options:
            yield from ("", f"{group}:")
            yield from _options(options, option_help, width)
    yield from paragraphs(shown.epilog, width)


def _options(options: Sequence[Option], text: Callable[[Option], str], width: int) -> Iterator[str]:
    rows = [(format_option(option), text(option)) for option in options]
    return _columns(rows, width, _COLUMN if width >= _TWO_COLUMNS else _INDENT)


def paragraphs(text: str, width: int) -> Iterator[str]:
    """The lines of text with empty lines between its paragraphs; one that begins with a backspace keeps its lines."""
    for paragraph in filter(None, text.split("\n\n")):
        yield ""
        if paragraph.startswith("\b"):
            yield from paragraph.removeprefix("\b").strip("\n").split("\n")
        else:
            yield from wrap(paragraph, width)


def wrap(text: str, width: int, **options: str) -> list[str]:
    """The text in lines of so many columns. options: of textwrap's function."""
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False, **options)  # type: ignore[arg-type]


def format_option(option: Option) -> str:
    """An option as help lists it: "-o, --output FILE"."""
    names = ", ".join((*option.shown_names, *option.off_names))
    if not option.letter:
        names = f"    {names}"
    if option.may_have_value:
        return f"{names}[={option.metavar}]"
    return f"{names} {option.metavar}" if option.takes_value else names


def option_help(option: Option) -> str:
    """The help of an option, with its default if it has one."""
    shown = option.takes_value and option.default not in (None, "", 0)
    return f"{option.help} (default: {option.default})" if shown else option.help


def _command_line(line: str, width: int) -> Iterator[str]:
    """The line, broken with backslashes, as a shell takes it, where it is too long."""
    shown = "   "
    for word in re.findall(r"(?:'[^']*'|\S)+", line):
        if len(shown) + len(word) + 3 > width and shown.strip():
            yield f"{shown} \\"
            shown = "       "
        shown += f" {word}"
    yield shown


def _columns(rows: Sequence[tuple[str, str]], width: int, at: int = 0) -> Iterator[str]:
    at = at or max(len(name) for name, _ in rows) + 4
    for name, text in rows:
        lines = wrap(text, width - at)
        if len(name) + 4 > at or not lines:
            yield f"  {name}"
        else:
            yield f"  {name}".ljust(at) + lines.pop(0)
        yield from (" " * at + line for line in lines)

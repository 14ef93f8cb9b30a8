"""gpumerge as an application of Typer: gpumerge's own options, and its commands.

Typer leaves the words of a command unread; cli/scan.py reads them. Only for command lines that begin with no command:
importing Typer takes as long as merging 50 MB.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from gpumerge_cli.cli.help import help_text, version_text
from gpumerge_cli.cli.options.commands import COMMAND_NAMES, COMMANDS, command
from gpumerge_cli.cli.options.other_names import OTHER_NAMES, SHORT_NAMES
from gpumerge_cli.cli.scan import Operand, scan
from gpumerge_cli.cli.values import read_value
from gpumerge_cli.errors import UsageError
from gpumerge_cli.suggestions import nearest

RunCommand = Callable[[Sequence[str]], int]
"""Runs a command line, the command's name first, and returns the exit code."""

_OWN = command("")
_UNREAD = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""The settings of a command's context that have Typer take any words."""


def application(run: RunCommand) -> typer.Typer:
    """gpumerge's own options and its commands. A command calls `run` with its words, and exits with its code.

    Typer takes the first -- of a command's words away: write two where the command is to get one.
    """
    made = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, suggest_commands=False
    )
    made.callback(help=_OWN.about, epilog=_OWN.epilog, add_help_option=False)(_own_options)
    for row in COMMANDS[1:]:
        register = made.command(row.name, help=row.about, short_help=row.summary, context_settings=_UNREAD)
        register(_runner_of(run, row.name))
    return made


def invoke_typer(arguments: Sequence[str], run: RunCommand) -> int:
    """Carry out a command line that begins with no command; the exit code. Raises UsageError for a mistake in it."""
    # Not `made()`: that turns interrupts, closed pipes and wrong usage into its own messages and codes.
    group = typer.main.get_command(application(run))
    own, others = _apart(arguments)
    try:
        with group.make_context("gpumerge", [*own, "--", *others]) as context:
            group.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except typer.TyperException as error:
        what, way_out = f"{error.message[:1].lower()}{error.message[1:]}", f"see {_OWN.path} --help"
        name = "".join(others[:1])
        if name in OTHER_NAMES:
            raise UsageError(f"there is no command {name!r}", way_out=OTHER_NAMES[name]) from error
        near = nearest(name, (*COMMAND_NAMES, *SHORT_NAMES))
        raise UsageError(what.rstrip("."), way_out=f"did you mean {near}? {way_out}" if near else way_out) from error
    return 0


def _apart(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """gpumerge's own options, by their whole names, which Typer takes alone; and the words behind them."""
    left, own = deque(arguments), list[str]()
    for one in scan(_OWN, left):
        if isinstance(one, Operand):
            return own, [one.text, *left]
        own.append(f"{one.written}={one.value}" if isinstance(one.value, str) else one.written)
    return own, []


def _runner_of(run: RunCommand, name: str) -> Callable[[typer.Context], None]:
    def run_words(context: typer.Context) -> None:
        raise typer.Exit(run([name, *context.args]))

    return run_words


def _option(name: str, show: Callable[[Any], str]) -> Any:
    """One of gpumerge's own options. show: gives the text that it shows, from its value."""

    def shown(value: Any) -> None:
        if value:
            print(show(value), end="")
            raise typer.Exit

    row = _OWN.option(name)
    return typer.Option(*row.names, help=row.help, metavar=row.metavar or None, callback=shown, is_eager=True)


def _completion(shell: str) -> str:
    from gpumerge_cli.cli.completion import SHELLS

    read_value(_OWN.option("show-completion"), shell)  # which checks it
    return SHELLS[shell]()


def _own_options(
    version: Annotated[bool, _option("version", lambda _: version_text())] = False,
    show_completion: Annotated[str, _option("show-completion", _completion)] = "",
    help: Annotated[bool, _option("help", lambda _: help_text(""))] = False,
) -> None:
    """Each of them takes effect as Typer reads it."""

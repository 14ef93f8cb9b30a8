"""The Typer application: gpumerge and its commands, all but what `sort` reads of its command line.

Only for commands that Typer reads: importing it takes as long as merging 50 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from gpumerge_cli.cli import batch, bench, check, generate, info, merge, options
from gpumerge_cli.cli import path as path_command
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.commands import Command
    from gpumerge_cli.cli.settings import Settings


class _Command(typer.core.TyperCommand):
    """A command whose flags can all be taken back, which help does not repeat for each."""

    def make_parser(self, ctx: Any) -> Any:
        parser = super().make_parser(ctx)
        for option in self.params:
            if isinstance(option, typer.core.TyperOption) and not option.secondary_opts:
                for name in options.off_names(option):
                    parser.add_option(option, [name], option.name, "store_const", const=False)
        return parser


def sort() -> None:
    """Sort lines as GNU sort does."""  # what reads its command line is not Typer, see app.py


_EPILOG = f"{options.SUFFIXES}\n\n{options.SWITCHES}\n\n{options.EXIT_CODES}"
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=_EPILOG,
)
app.command(cls=_Command, epilog=_EPILOG)(merge.merge)
app.command(add_help_option=False)(sort)
app.command(cls=_Command, epilog=_EPILOG)(check.check)
app.command(cls=_Command, epilog=batch.EPILOG)(batch.batch)
app.command(cls=_Command, epilog=bench.EPILOG)(bench.bench)
app.command(cls=_Command, epilog=path_command.EPILOG)(path_command.path)
app.command(cls=_Command, epilog=generate.EPILOG)(generate.generate)
app.command(cls=_Command)(info.info)


CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def _show_version(wanted: bool) -> None:
    if wanted:
        from gpumerge_cli import __version__

        print(f"gpumerge {__version__}")
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        from gpumerge_cli.cli.completion import SHELLS

        print(SHELLS[shell](all_commands()), end="")
        raise typer.Exit


@app.callback()
def gpumerge(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    show_completion: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        typer.Option(
            "--show-completion",
            metavar="bash|zsh|fish",
            callback=_show_completion,
            is_eager=True,
            show_default=False,
            help="Print what completes command lines in this shell, and exit.",
        ),
    ] = None,
) -> None:
    """Merge sorted files on the GPU or the CPU, as fast as the machine moves their bytes, and see why.

    Data goes to standard output, everything else to standard error. gpumerge COMMAND --help tells more.
    """


def all_commands() -> tuple[Command, ...]:
    """gpumerge and its commands, as help tells of them."""
    from gpumerge_cli.cli.commands import read_commands

    return read_commands(typer.main.get_command(app))


def invoke(arguments: Sequence[str], settings: Settings | None) -> int:
    """Do what a command line says; the exit code. Raises UsageError for what Typer finds wrong with it."""
    # Not `app()`: that turns interrupts, closed pipes and wrong usage into its own messages and codes.
    command: Any = typer.main.get_command(app)
    # Help tells of the program's own defaults, whatever is set.
    if settings is None or "--help" in arguments:
        defaults = {}
    else:
        defaults = {name: settings.of(name) for name in command.commands}
    try:
        with command.make_context("gpumerge", list(arguments), default_map=defaults) as context:
            command.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except CLICK_ERROR as error:
        raise usage_error(error) from error
    return 0


def usage_error(error: Exception) -> UsageError:
    """A usage error of the command line's parser in the words of this one."""
    text = " ".join(getattr(error, "format_message", error.__str__)().split()).rstrip(".")
    text = text.replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "gpumerge"
    return UsageError(f"{text[:1].lower()}{text[1:]}", way_out=f"see {command} --help")

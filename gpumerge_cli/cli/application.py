"""The Typer application: gpumerge and its commands, all but what `sort` reads of its command line.

Only for commands that Typer reads: importing it takes as long as merging 50 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from gpumerge_cli.cli import options
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.commands import Command
    from gpumerge_cli.cli.settings import Settings

_LONG_NUMBER = 18  # digits


class _Checked:
    """Makes a Typer parameter's value of what is given for it, as Typer does.

    Typer has pydantic do that, whose import takes longer than NumPy's. It is left out where its result is known.
    """

    def __init__(self, parameter: Any) -> None:
        self._descriptor = parameter.type_descriptor
        self._default = parameter.default
        self._by_typer = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value; raises what Typer raises."""
        annotation = self._descriptor.annotation
        if param.multiple or param.nargs == -1:
            if value is None:
                return ()
            if annotation == list[str] and isinstance(value, (list, tuple)) and all(isinstance(w, str) for w in value):
                return list(value)
        elif value is None or value is self._default:
            return value
        elif isinstance(value, str):
            if annotation is str or value in (self._descriptor.choices or ()):
                return value
            if annotation is int and value.isascii() and value.isdecimal() and len(value) < _LONG_NUMBER:
                least, most = self._descriptor.parameter_info.min, self._descriptor.parameter_info.max
                if (least is None or int(value) >= least) and (most is None or int(value) <= most):
                    return int(value)
        return self._by_typer().coerce(value, param=param, ctx=ctx)


class _WithChecks:
    """Gives a command of Typer's parameters that are _Checked."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if "get_runtime_param" not in vars(parameter):
                parameter.get_runtime_param = partial(_itself, _Checked(parameter))
        return found


def _itself(checked: _Checked) -> _Checked:
    return checked


class _Group(_WithChecks, typer.core.TyperGroup):
    """All commands."""


class _Command(_WithChecks, typer.core.TyperCommand):
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


NAMES = ("merge", "sort", "check", "batch", "bench", "path", "generate", "info")
"""The commands, each of which is the function of that name in the module of that name."""


def application(names: Sequence[str] = NAMES) -> typer.Typer:
    """The application with these commands alone: what a command imports is imported if it is among them."""
    app = typer.Typer(
        cls=_Group,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog=options.EPILOG,
    )
    app.callback()(gpumerge)
    for name in names:
        if name == "sort":
            app.command(add_help_option=False)(sort)
            continue
        module = import_module(f"gpumerge_cli.cli.{name}")
        app.command(cls=_Command, epilog=getattr(module, "EPILOG", None))(getattr(module, name))
    return app


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

    return read_commands(typer.main.get_command(application()))


def invoke(arguments: Sequence[str], settings: Settings | None) -> int:
    """Do what a command line says; the exit code. Raises UsageError for what Typer finds wrong with it."""
    # Not `app()`: that turns interrupts, closed pipes and wrong usage into its own messages and codes.
    # Settings are judged for all commands.
    alone = settings is None and arguments[:1] and arguments[0] in NAMES
    command: Any = typer.main.get_command(application(arguments[:1] if alone else NAMES))
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

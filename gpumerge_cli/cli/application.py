"""The command line of every command but sort: Typer's commands, made from the table of options.

Only for command lines that need it: importing Typer takes as long as merging 50 MB.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options.commands import COMMANDS, NAMES, command
from gpumerge_cli.cli.options.model import Argument, Command, Option
from gpumerge_cli.cli.settings import settings_replaced
from gpumerge_cli.cli.values import make_options, read_all, unknown_option
from gpumerge_cli.errors import UsageError
from gpumerge_cli.words import nearest

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.groups import Options
    from gpumerge_cli.cli.settings import Settings


class _AnyText:
    """A value's type for Typer: any text, since the option's row says how it is read."""

    annotation = str
    is_choice = False
    choices = None


def _any_text(kind: type = str) -> dict[str, Any]:
    """The keyword that gives Typer's parameters this type; releases before 0.29 take Click's types."""
    return {"type_descriptor": _AnyText()} if _TAKES_DESCRIPTORS else {"type": kind}


_TAKES_DESCRIPTORS = "type_descriptor" in inspect.signature(typer.core.TyperOption.__init__).parameters


_MOST_NAMED = 8
"""Options that the error for an ambiguous beginning names."""
_SEQUENCE = "gpumerge.sequence"
_WORDS = "gpumerge.words"
"""The names under which a context keeps the parameters of -k and --field in turn, and the words of the command line."""
_REFUSED: type[Exception] = typer.BadParameter.__mro__[2]
"""The class that Typer raises for wrong usage; its name differs between releases."""


class _Option(typer.core.TyperOption):
    """An option that reads its value as its row says."""

    def __init__(self, row: Option) -> None:
        super().__init__(
            param_decls=[row.parameter, *_declared(row)],
            **_any_text(str if row.takes_value else bool),
            default=[row.initial] if row.once and row.initial is not None else row.initial,
            is_flag=not row.takes_value,
            multiple=row.multiple or row.once,
            metavar=row.metavar or None,
            help=row.help,
            is_eager=row.name in _EAGER,
        )
        self.row = row

    def process_value(self, ctx: Any, value: Any) -> Any:
        row = self.row
        values = [value] if isinstance(value, str) or not (row.multiple or row.once) else [*(value or ())]
        texts = [str(one) if row.takes_value else one for one in values if one is not None]
        value = read_all(row, texts, _written(ctx, row))
        if row.name in _EAGER and value:
            _EAGER[row.name](value, ctx.command.row)
            raise typer.Exit
        return value


def _written(ctx: Any, row: Option) -> str:
    """The name that the command line has for an option: the letter if it gives the option, but by no long name."""
    source = ctx.get_parameter_source(row.parameter)
    given = {word.partition("=")[0] for word in ctx.meta.get(_WORDS, ()) if word[2:] and word.startswith("--")}
    by_long_name = any(name.startswith(word) for word in given for name in row.names)
    if row.letter and source is not None and source.name == "COMMANDLINE" and not by_long_name:
        return f"-{row.letter}"
    return row.names[0]


def _declared(row: Option) -> Iterator[str]:
    long, *others = row.names
    yield f"{long}/--{row.off}" if row.off else long
    yield from others


class _Argument(typer.core.TyperArgument):
    def __init__(self, row: Argument, path: str) -> None:
        super().__init__(
            param_decls=[row.parameter],
            **_any_text(),
            nargs=-1 if row.many else 1,
            metavar=row.metavar,
            help=row.help,
        )
        self.row = row
        self._path = path

    def process_value(self, ctx: Any, value: Any) -> Any:
        if self.row.required and not value:
            raise UsageError(f"{self.row.metavar} is missing", way_out=f"see {self._path} --help")
        return tuple(value or ()) if self.row.many else value


class Reader(typer.core.TyperCommand):
    """A command. All its flags can be taken back, and all long names shortened, which help does not repeat for each.

    work: carries it out.
    """

    def __init__(self, row: Command, work: Callable[[Options], Any]) -> None:
        super().__init__(row.name, params=_parameters(row), add_help_option=False)
        self.row = row
        self.work = work

    def make_parser(self, ctx: Any) -> Any:
        parser: Any = super().make_parser(ctx)
        options = [option for option in self.params if isinstance(option, _Option)]
        for option in options:
            if not option.row.takes_value:
                names = [f"--no-{name[2:]}" for name in option.opts if name.startswith("--")]
                parser.add_option(option, names, option.name, "store_const", const=False)
        named = _by_name(options)
        read = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            args = list(args)
            among = _options_among(named, args)
            for at, row in among.items():
                if row.value_is_optional and "=" not in args[at]:
                    args[at] += f"={row.choices[0]}"
            words = ctx.meta[_WORDS] = tuple(args[at] for at in among)
            _add_shortened(parser, named, words)
            found = read(args=args)
            ctx.meta[_SEQUENCE] = tuple(param.name for param in found[2] if param.name in ("key", "field"))
            return found

        parser.parse_args = parse_args
        return parser

    def invoke(self, ctx: Any) -> Any:
        return self.work(options_of_context(ctx))


_Named = Mapping[str, tuple[_Option, bool]]
"""By a long name: its option, and whether it puts a flag on."""


def _by_name(options: Sequence[Any]) -> _Named:
    return {name: (option, on) for option in options for name, on in _long_names(option.row)}


def _options_among(named: _Named, words: Sequence[str]) -> dict[int, Option]:
    """The options whose long names are among words, by their places.

    Other words may look like options: values, and those behind "--".
    """
    rows = {option.row for option, _ in named.values()}
    valued = {row.letter for row in rows if row.letter and row.takes_value}
    found = {}
    places = iter(enumerate(words))
    for at, word in places:
        name, has_value, _ = word.partition("=")
        value_follows = False
        if word == "--":
            break
        if word.startswith("--"):
            meant = {named[long][0].row for long in ([name] if name in named else named) if long.startswith(name)}
            if len(meant) == 1:
                (found[at],) = meant
                value_follows = found[at].takes_value and not found[at].value_is_optional and not has_value
        elif word.startswith("-") and word != "-":
            value_follows = next((place for place, letter in enumerate(word) if letter in valued), 0) == len(word) - 1
        if value_follows:
            next(places, None)
    return found


def _add_shortened(parser: Any, named: _Named, words: Sequence[str]) -> None:
    """Have the parser know those of `words` that are the beginning of one option's long name alone.

    A whole name that an option of another command has, which is read in the same way, is not taken for that beginning:
    `union --head 3` must not mean --header 3.
    """
    written = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--"}
    for word in written - named.keys():
        found = {one for name, one in named.items() if name.startswith(word)}
        if len(found) == 1:
            ((option, on),) = found
            if _is_of_another(word, option.row):
                continue
            if option.row.takes_value:
                parser.add_option(option, [word], option.name, "append" if option.multiple else "store")
            else:
                parser.add_option(option, [word], option.name, "store_const", const=on)


def _is_of_another(word: str, row: Option) -> bool:
    """Whether an option of any command has this whole name, and takes a value if that of `row` does."""
    others = (other for one in COMMANDS for other in one.options if word in other.names)
    return any(other.takes_value == row.takes_value for other in others)


def _long_names(row: Option) -> Iterator[tuple[str, bool]]:
    """The long names of an option, and with False those that take it back."""
    longs = [name for name in row.names if name.startswith("--")]
    yield from ((name, True) for name in longs)
    yield from ((name, False) for name in row.off_names)
    if not row.takes_value and row.name not in _EAGER:
        yield from ((f"--no-{name[2:]}", False) for name in longs if f"--no-{name[2:]}" not in row.off_names)


class _Group(typer.core.TyperGroup):
    """gpumerge itself, with the commands that Typer reads."""

    def __init__(self, row: Command, commands: dict[str, Any]) -> None:
        super().__init__(name="gpumerge", commands=commands, params=_parameters(row), add_help_option=False)
        self.row = row

    def make_parser(self, ctx: Any) -> Any:
        parser: Any = super().make_parser(ctx)
        read = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            _add_shortened(parser, _by_name([option for option in self.params if isinstance(option, _Option)]), args)
            return read(args=args)

        parser.parse_args = parse_args
        return parser

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in NAMES:
            near = nearest(args[0], NAMES)
            way_out = f"did you mean {near}? see gpumerge --help" if near else "see gpumerge --help"
            raise UsageError(f"there is no command {args[0]!r}", way_out=way_out)
        return super().resolve_command(ctx, args)


def options_of_context(context: Any) -> Options:
    """The values that a command's context holds."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")
    params = {**context.params, **dict.fromkeys(settings_replaced(given) & context.params.keys(), ())}
    return make_options(context.command.row, params, given, context.meta.get(_SEQUENCE, ()))


def _parameters(row: Command) -> list[Any]:
    return [*(_Argument(argument, row.path) for argument in row.arguments), *map(_Option, row.options)]


def _show_help(_: Any, row: Command) -> None:
    print(help_text(row.name), end="")


def _show_version(_: Any, row: Command) -> None:
    from gpumerge_cli import __version__

    print(f"gpumerge {__version__}")


def _show_completion(shell: str, row: Command) -> None:
    from gpumerge_cli.cli.completion import SHELLS

    print(SHELLS[shell](), end="")


_EAGER: Mapping[str, Callable[[Any, Command], None]] = {
    "help": _show_help,
    "version": _show_version,
    "show-completion": _show_completion,
}
"""By option that ends the reading: the function that shows its text, given its value and the command."""


def invoke(
    arguments: Sequence[str], settings: Settings | None, work_of: Callable[[str], Callable[[Options], Any]]
) -> int:
    """Carry out a command line and return its exit code. Raises UsageError for a mistake in it.

    work_of: gives the function of the command of a name.
    """
    # Not `group()`: that turns interrupts, closed pipes and wrong usage into its own messages and codes.
    asked = arguments[:1] if arguments[0] in NAMES else NAMES  # making them all takes a while
    commands: dict[str, Any] = {name: Reader(command(name), work_of(name)) for name in asked if name != "sort"}
    group = _Group(command(""), commands)
    defaults: Any = {} if settings is None else {name: settings.of(name) for name in commands}
    try:
        with group.make_context("gpumerge", list(arguments), default_map=defaults) as context:
            group.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except _REFUSED as error:
        raise _usage_error(error, arguments[0] if arguments[0] in commands else "") from error
    return 0


def _several_options(row: Command, written: str) -> UsageError | None:
    """The error for the beginning of several long names; None if no two begin so."""
    found = [name for option in row.options for name, _ in _long_names(option) if name.startswith(written)]
    if len(found) < 2 or not written.startswith("--"):
        return None
    more = ", ..." * (len(found) > _MOST_NAMED)
    return UsageError(
        f"{written} may be several options", way_out=f"write one of {', '.join(found[:_MOST_NAMED])}{more}"
    )


def _usage_error(error: Exception, name: str) -> UsageError:
    """A usage error of Typer's in the words of this program. name: of the command that was read."""
    row = command(name)
    written, kind = getattr(error, "option_name", ""), type(error).__name__
    if kind == "NoSuchOption":
        return _several_options(row, written.partition("=")[0]) or unknown_option(row, written)
    text = " ".join(getattr(error, "format_message", error.__str__)().split()).rstrip(".")
    if kind == "BadOptionUsage":
        needs_value = any(written in option.names and option.takes_value for option in row.options)
        text = f"{written} needs a value" if needs_value else f"{written} takes no value"
    return UsageError(f"{text[:1].lower()}{text[1:]}", way_out=f"see {row.path} --help")

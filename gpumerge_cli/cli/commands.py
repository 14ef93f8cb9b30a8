"""The commands and their options as data: what settings, the manual and completions are made from.

Typer's own tree is read for all commands but sort, whose options are read from its help, `gnu_help`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpumerge_cli.cli import gnu_options

Kind = Literal["flag", "number", "text"]

_WORDS = re.compile(r"[a-z0-9-]+(?:\|[a-z0-9-]+)+")


_OTHER_MEANING = {("batch", "report"), ("bench", "output"), ("path", "output")}
"""Options that take another kind of file than those of the same name."""


@dataclass(frozen=True)
class Option:
    """One option of a command.

    names: as they are written, the long one first: ("--output", "-o"). off: names that switch a flag off. metavar: what
    stands for the value, "" for a flag. value_is_optional: --check and --check=quiet. parameter: Typer's name of it.
    shared: whether what is set for all commands holds for it. aliases: names other than its own that a setting may
    have. group: the heading that help has it under, or "".
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    kind: Kind = "flag"
    off: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    multiple: bool = False
    value_is_optional: bool = False
    default: Any = None
    settable: bool = True
    shared: bool = True
    aliases: tuple[str, ...] = ()
    parameter: str = ""
    group: str = ""

    @property
    def name(self) -> str:
        """The long name without its dashes, which is also the setting's."""
        return self.names[0].lstrip("-")

    @property
    def setting_names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def takes_path(self) -> bool:
        return self.metavar in ("FILE", "F", "FOLDER", "DIR", "JOBS")

    @property
    def takes_folder(self) -> bool:
        return self.metavar in ("FOLDER", "DIR")


@dataclass(frozen=True)
class Command:
    """One command, or, with the name "", gpumerge itself. usage: what follows its name. epilog: what help ends with.

    arguments: (metavar, help) of what is no option. Text is as help has it, paragraphs apart by empty lines; one that
    begins with a backspace keeps its lines.
    """

    name: str
    usage: str
    about: str
    options: tuple[Option, ...]
    arguments: tuple[tuple[str, str], ...] = ()
    epilog: str = ""

    @property
    def summary(self) -> str:
        """The first sentence."""
        return re.split(r"(?<=[.!?])\s", self.about)[0].replace("\n", " ")


def read_commands(group: Any) -> tuple[Command, ...]:
    """Every command of Typer's `group`, gpumerge itself ahead of them."""
    own = Command(
        "", "[OPTIONS] COMMAND [ARGS]...", _text(group.help), tuple(_options(group)), epilog=_text(group.epilog)
    )
    return (own, *(_sort() if name == "sort" else _command(name, command) for name, command in group.commands.items()))


def _command(name: str, command: Any) -> Command:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    names = (str(one.metavar or one.name.upper()) for one in arguments)
    usage = " ".join(
        name + "..." * (one.nargs != 1) if one.required else f"[{name}]" + "..." * (one.nargs != 1)
        for one, name in zip(arguments, names, strict=True)
    )
    return Command(
        name,
        f"[OPTIONS] {usage}".strip(),
        _text(command.help),
        tuple(replace(one, shared=(name, one.name) not in _OTHER_MEANING) for one in _options(command)),
        tuple((str(one.metavar or one.name.upper()), one.help or "") for one in arguments),
        _text(command.epilog),
    )


def _text(text: str | None) -> str:
    return inspect.cleandoc(text or "")


def _options(command: Any, *, settable: bool = True) -> Iterator[Option]:
    for one in command.params:
        if one.param_type_name != "option" or one.hidden:
            continue
        metavar = "" if one.is_flag else str(one.metavar or "VALUE")
        words = gnu_options.WORDS.get(one.opts[0][2:], ()) if metavar == "WORD" else ()
        yield Option(
            names=tuple(sorted(one.opts, key=lambda name: not name.startswith("--"))),
            help=" ".join((one.help or "").split()),
            metavar=metavar,
            kind="flag" if one.is_flag else "number" if one.type_descriptor.annotation is int else "text",
            off=tuple(one.secondary_opts),
            choices=tuple(metavar.split("|")) if _WORDS.fullmatch(metavar) else words,
            multiple=one.multiple,
            default=one.default,
            settable=settable and not one.is_eager,
            parameter=one.name,
        )
    yield Option(("--help",), "Show this and exit.", settable=False)


_LISTED = re.compile(r" {2,6}(?:(-\w), )?(--[a-z0-9-]+)(\[)?(?:=([^\s\]]+)\]?)?(?: {2,}(.*))?")


def _sort() -> Command:
    from gpumerge_cli.cli.gnu import SortCommand
    from gpumerge_cli.cli.gnu_help import HELP

    usage, about, body = HELP.split("\n\n", 2)
    body, exit_codes, epilog = body.partition("Exit codes:")
    options: list[tuple[re.Match[str], str, list[str]]] = []
    group = ""
    for line in body.splitlines():
        found = _LISTED.fullmatch(line)
        if found:
            options.append((found, group, [found[5] or ""]))
        elif line.startswith(" "):
            options[-1][2].append(line)
        elif line:
            group = line.rstrip(":").split(",")[0]
    optional = {found[2] for found, _, _ in options if found[3]}
    return Command(
        "sort",
        usage.splitlines()[0].removeprefix("Usage: gpumerge sort "),
        about,
        tuple(
            _listed(found, " ".join(" ".join(help).split()), group, found[2] in optional, SortCommand)
            for found, group, help in options
        ),
        (("FILE", "Files of lines; - is standard input."),),
        exit_codes + epilog.rstrip(),
    )


def _listed(found: re.Match[str], help: str, group: str, is_optional: bool, defaults: type) -> Option:
    """An option as sort's help lists it."""
    short, long, metavar = found[1], found[2], found[4] or ""
    name = long[2:]
    words = tuple(metavar.split("|")) if "|" in metavar or is_optional else gnu_options.WORDS.get(name, ())
    return Option(
        names=(long, short) if short else (long,),
        help=help,
        metavar=metavar,
        kind="number" if metavar == "N" else "text" if metavar else "flag",
        choices=words,
        multiple="may be given again" in help,
        value_is_optional=is_optional,
        default=getattr(defaults, name.replace("-", "_"), None),
        settable=name in gnu_options.SETTINGS,
        aliases=gnu_options.SETTINGS.get(name, ()),
        group=group,
    )

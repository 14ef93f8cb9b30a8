"""Options and commands as plain values, from which parsers, help, manual, completions and settings are made."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.equals import SETS

ValueKind = Literal["flag", "number", "numbers", "size", "count", "files", "text", "file", "folder", "program"]
"""The kind of an option's value. number: a whole number. numbers: several, as 0,1, or the word all.
size: bytes, as 256M. count: items, as 1e6 or 2^20. files: the number of files that are open at once."""
Again = Literal["refused", "last", "greatest"]
"""The value that counts if an option has several different ones; "refused" if they are an error."""
Value = str | int | tuple["Value", ...] | None
"""A value as commands get it; bool is among int."""
WrittenValue = str | bool
"""A value that is still to be read: a text, or for a switch whether it is on."""
OptionGroup = Literal["Actions", "Input", "Order", "Output", "Where to run", "About the program", "Tuning"]
GROUPS: tuple[OptionGroup, ...] = get_args(OptionGroup)
"""The groups of options, in the order of help."""

COMBINING = (*SETS, "compare", "diff")
"""The commands that combine sorted files by their equal items."""

_MANY = 30
"""The help of a command with more options is shown in short first."""

SUFFIXES_MARK = "<suffixes>"
"""Stands in a command's `ending` for the list of suffixes, which is made when it is shown."""

_METAVARS: dict[ValueKind, str] = {
    "flag": "", "number": "N", "numbers": "N,...|all", "size": "SIZE", "count": "N", "files": "N", "text": "TEXT",
    "file": "FILE", "folder": "FOLDER", "program": "PROGRAM",
}  # fmt: skip


@dataclass(frozen=True)
class NotWith:
    """Options that another one does not go with.

    In the texts, {option} stands for that one, {others} for those of the others that were given, {other} for the first.
    """

    others: tuple[str, ...]
    """Long names without dashes, or "files"; those that a command does not have are passed over."""
    what: str = "{option} cannot be combined with {other}"
    way_out: str = "leave {others} out, or leave {option} out"
    settings: bool = True
    """Settings of the others count. Otherwise they are ignored beside this option."""
    yields: bool = False
    """A setting of this option gives way to the others; on the command line, they do not go together."""


@dataclass(frozen=True)
class Needs:
    """Options of which another one needs one. In the texts, {option} stands for what was given."""

    others: tuple[str, ...]
    """As in NotWith."""
    what: str
    way_out: str
    settings: bool = True
    """A setting needs them, too. Otherwise the setting is ignored without them."""


@dataclass(frozen=True, eq=False)
class Option:
    """One option of the commands that it names; "" is gpumerge itself."""

    name: str
    """The long name without its dashes, which is also the setting's and the key of a job."""
    group: OptionGroup
    commands: tuple[str, ...]
    help: str
    letter: str = ""
    """The short name."""
    brief: str = ""
    """Its help in a few words, for the short help of commands that have many options. That help leaves out options
    without it."""
    kind: ValueKind = "flag"
    placeholder: str = ""
    """Stands for the value in help; by default it is made from kind and choices."""
    choices: tuple[str, ...] = ()
    """The words that the option takes; empty if it takes any. A flag may be given one of them behind "="."""
    default: str | int | None = None
    least: int = 0
    """The least number."""
    multiple: bool = False
    """It may be given again, and all values count."""
    again: Again = "refused"
    """The one of two different values that counts, for an option that is not `multiple`."""
    gnu_again: Again = "refused"
    """The same in sort, as GNU sort has it."""
    value_is_optional: bool = False
    bare: str = ""
    """The value of an option whose value is optional, if it is written without one; by default the first choice."""
    goes_on: str = ""
    """A pattern of values. Operands behind such a value are more values while they match it and there are more than two
    operands."""
    gnu: bool | str = False
    """Whether coreutils has it under the same name, or its name there: in sort, or in the program that the command
    stands for, which is join or comm."""
    off: str = ""
    """The long name that turns a flag off, where that is not --no-NAME alone."""
    settable: bool = True
    """The environment and configuration files may set it."""
    neutral: bool = False
    """It may be set for sort, too: it changes no byte of the output, or is the user's wish for all commands."""
    project: bool = False
    """A project's file may set it: it only chooses the order, the form of output or the use of the machine, and names
    no program, address or path outside of the project's folder."""
    shared: bool = True
    """A setting for all commands holds for it."""
    written: bool = False
    """Its value names a file or folder that the command writes to."""
    aliases: tuple[str, ...] = ()
    """Other names of the option and of the setting."""
    settings: tuple[str, ...] = ()
    """Other names of the setting alone."""
    formerly: tuple[str, ...] = ()
    """Names that it had."""
    not_with: tuple[NotWith, ...] = ()
    needs: Needs | None = None

    def of_sort(self) -> Option:
        """The option as sort has it, under GNU's name, too. Not all options can be set for sort."""
        aliases = (*self.aliases, self.gnu) if isinstance(self.gnu, str) else self.aliases
        return replace(self, aliases=aliases, settable=self.settable and self.neutral, again=self.gnu_again)

    @cached_property
    def parameter(self) -> str:
        """The name as Python writes it."""
        return self.name.replace("-", "_") + "_" * (self.name == "from")  # a word of Python

    @property
    def gnu_name(self) -> str:
        """The long name that coreutils has for it, or ""."""
        return self.gnu if isinstance(self.gnu, str) else self.name if self.gnu else ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names as they are written, the long one first: ("--output", "-o")."""
        longs = (f"--{name}" for name in (self.name, *self.aliases))
        return (*longs, f"-{self.letter}") if self.letter else tuple(longs)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names as help shows them, the letter first."""
        return (self.names[-1], *self.names[:-1]) if self.letter else self.names

    @property
    def off_names(self) -> tuple[str, ...]:
        """The names that take a flag back, which help shows."""
        return (f"--{self.off}",) if self.off else ()

    @property
    def takes_value(self) -> bool:
        return self.kind != "flag"

    @cached_property
    def needs_value(self) -> bool:
        """Whether a value must be written."""
        return self.kind != "flag" and not self.value_is_optional

    @property
    def may_have_value(self) -> bool:
        """Whether a value may be written, but need not be."""
        return self.value_is_optional or (self.kind == "flag" and bool(self.choices))

    @property
    def implied(self) -> str | bool:
        """The value of the option if it is written without one."""
        return self.bare or self.choices[0] if self.value_is_optional else True

    @property
    def metavar(self) -> str:
        """The word that stands for the value in help, "" for a flag."""
        return self.placeholder or "|".join(self.choices) or _METAVARS[self.kind]

    @property
    def takes_path(self) -> bool:
        return self.kind in ("file", "folder")

    @cached_property
    def initial(self) -> Value:
        """The value if the option is not given."""
        if self.multiple and self.default is None:
            return ()
        return False if self.kind == "flag" and self.default is None else self.default

    @cached_property
    def setting_names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases, *self.settings)


@dataclass(frozen=True, eq=False)
class Argument:
    """An argument of a command."""

    parameter: str
    """Its name among values."""
    metavar: str
    help: str
    many: bool = True
    """Any number of words; otherwise exactly one."""
    required: bool = False
    not_with: tuple[NotWith, ...] = ()
    needs: Needs | None = None


@dataclass(frozen=True, eq=False)
class Command:
    """One command, or, with the name "", gpumerge itself."""

    name: str
    summary: str
    """One sentence."""
    details: str
    """Paragraphs with empty lines between them; one that begins with a backspace keeps its lines."""
    rows: tuple[Option, ...]
    """The options of all commands."""
    arguments: tuple[Argument, ...] = ()
    ending: str = ""
    """As `details`, for the end of the help."""
    examples: tuple[tuple[str, str], ...] = ()
    """Command lines, each with a sentence about it."""

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """Its options, in the order of GROUPS."""
        own = (row for row in self.rows if self.name in row.commands)
        options = [row.of_sort() for row in own] if self.name == "sort" else own
        return tuple(sorted(options, key=lambda option: GROUPS.index(option.group)))

    @property
    def briefly(self) -> tuple[Option, ...]:
        """The options of its short help; none if its whole help is short."""
        return tuple(option for option in self.options if option.brief) if len(self.options) > _MANY else ()

    @property
    def about(self) -> str:
        """The whole description."""
        return f"{self.summary}\n\n{self.details}"

    @property
    def epilog(self) -> str:
        """The end of the help: `ending`, with the suffixes of all formats."""
        if SUFFIXES_MARK not in self.ending:
            return self.ending
        from gpumerge_cli.cli.options.suffixes import suffixes

        return self.ending.replace(SUFFIXES_MARK, suffixes())

    @property
    def usage(self) -> str:
        """The part of the usage line that follows the command's name."""
        if not self.name:
            return "[OPTIONS] COMMAND [ARGUMENTS]..."
        shown = (one.metavar if one.required else f"[{one.metavar}]" for one in self.arguments)
        dotted = (text + "..." * one.many for text, one in zip(shown, self.arguments, strict=True))
        return " ".join(("[OPTIONS]", *dotted))

    @property
    def path(self) -> str:
        """The words that call the command: "gpumerge merge"."""
        return f"gpumerge {self.name}".rstrip()

    @cached_property
    def by_written_name(self) -> dict[str, Option]:
        """The options by their names as they are written: "--output", "-o"."""
        return {name: option for option in self.options for name in option.names}

    @cached_property
    def named(self) -> dict[str, Option]:
        """The options by their long names without dashes, aliases among them."""
        return {name: option for option in self.options for name in (option.name, *option.aliases)}

    def option(self, name: str) -> Option:
        """The option of that long name. Raises KeyError."""
        return self.named[name]

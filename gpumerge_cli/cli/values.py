"""The values of a command's options: read one by one as their rows say, and held together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gpumerge_cli.cli.gnu_values import parse_numbers, parse_whole
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.model import Command, Option
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.words import did_you_mean, nearest

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings


@dataclass(frozen=True)
class Values:
    """The values that a command line, settings and defaults give a command, each an attribute: values.record_size.

    said: values by the names of parameters; all others are the defaults. given: the names that were on the command
    line. sequence: the parameters key and field, one for each -k and --field of the command line, in its order.
    csv_implied: csv is said by --field alone.
    """

    command: str
    said: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = field(default=frozenset(), compare=False)
    sequence: tuple[str, ...] = field(default=(), compare=False)
    csv_implied: bool = field(default=False, compare=False)

    def __getattr__(self, parameter: str) -> Any:
        if parameter.startswith("_"):
            raise AttributeError(parameter)
        if parameter in self.said:
            return self.said[parameter]
        try:
            return command(self.command).initial[parameter]
        except KeyError:
            raise AttributeError(f"{self.command} has no option {parameter}") from None

    def saying(self, **said: Any) -> Values:
        """The same with these values of parameters."""
        return replace(self, said={**self.said, **said})

    def get(self, parameter: str, default: Any = None) -> Any:
        """The value, or `default` where the command has no such option."""
        if parameter in self.said:
            return self.said[parameter]
        return command(self.command).initial.get(parameter, default)


class OptionValue(NamedTuple):
    """An option with one value, still to be read: a text, or for a switch whether it is on.

    written: the name by which the option was given, but whole.
    """

    option: Option
    value: Any
    written: str


def read_values(
    row: Command, told: Sequence[OptionValue], files: Sequence[str], settings: Settings | None = None
) -> Values:
    """The values of any command but sort: of the options `told`, of its files, and of the settings of other options.

    Raises UsageError for the first wrong value, those of settings last, and InputError for a file of settings.
    """
    by_option: dict[Option, list[OptionValue]] = {}
    for one in told:
        by_option.setdefault(one.option, []).append(one)
    said = {
        option.parameter: read_all(option, [one.value for one in values], values[0].written)
        for option, values in by_option.items()
    }
    given = frozenset([*said, *(argument.parameter for argument in row.arguments)] if files else said)
    for argument in row.arguments:
        said[argument.parameter] = tuple(files) if argument.many else files[0]
    for option, values in () if settings is None else settings.others(row.name, given):
        said[option.parameter] = read_all(option, values, option.names[0])
    sequence = tuple(one.option.parameter for one in told if one.option.parameter in ("key", "field"))
    return Values(row.name, {**_defaults(row), **said}, given, sequence)


@cache
def _defaults(row: Command) -> dict[str, Any]:
    """The values of options that are not given: of those that are texts, read as if they were given."""
    return {
        parameter: read_value(row.by_parameter[parameter], value) if isinstance(value, str) else value
        for parameter, value in row.initial.items()
    }


def read_all(option: Option, values: Sequence[Any], written: str) -> Any:
    """The value of an option that is given once for each of `values`, None for none. Raises UsageError as read_value.

    It is a tuple if the option may be given again. Otherwise the last value counts, and if `once`, all must be equal.
    """
    if option.multiple:
        return tuple(read_value(option, value, written) for value in values)
    other = next((value for value in values if value != values[0]), None)
    if option.once and other is not None:
        raise given_twice(written, values[0], other)
    return read_value(option, values[-1], written) if values else None


def read_value(option: Option, text: str, written: str = "") -> Any:
    """The value of an option that is written as `text`. Raises UsageError, naming the option as `written`.

    A switch has its value already. Words that GNU sort takes are left as they are: they may be shortened, and are
    judged with what they go with.
    """
    written = written or option.names[0]
    if option.choices and not option.gnu and text not in option.choices:
        way_out = did_you_mean(text, option.choices, f"use {', '.join(option.choices)}")
        raise UsageError(f"{written}: {text!r} is no word for it", way_out=way_out)
    if option.kind == "number":
        return parse_whole(text, written, option.least)
    if option.kind == "numbers":
        return parse_numbers(text, written)
    if option.kind == "size":
        from gpumerge_cli.cli.parse import parse_memory

        if option.name != "memory" and "%" in text:
            raise UsageError(f"{written}: {text!r} is a share of the host's memory", way_out="write for example 2G")
        return parse_memory(text, written)
    if option.kind == "count":
        from gpumerge_cli.cli.parse import parse_count

        return parse_count(text, written)
    return text


def given_twice(written: str, first: str, other: str) -> UsageError:
    """The error for two values of an option that takes one. written: the option."""
    what = f"{written} is given twice, as {first!r} and as {other!r}"
    return UsageError(what, way_out=f"leave one {written} out")


def unknown_option(asked: Command, written: str) -> UsageError:
    """The error for an option, as "--kernal" or "-Q", that the command does not have."""
    near = _nearest(written.partition("=")[0], asked.options)
    way_out = f"see {asked.path} --help"
    return UsageError(f"there is no option {written}", way_out=f"did you mean {near}? {way_out}" if near else way_out)


def _nearest(written: str, options: Sequence[Option]) -> str:
    if not written.startswith("--"):
        return ""
    for option in options:
        if written[2:] in option.formerly:
            return option.names[0]
    names = {name for option in options for name in (*option.names, *option.off_names)}
    return nearest(written, {name for name in names if name.startswith("--")})

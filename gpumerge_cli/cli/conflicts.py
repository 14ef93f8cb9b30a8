"""Checks which options of a command go together, by the rows of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpumerge_cli.cli.options.model import Argument, Command, Option, Value
from gpumerge_cli.errors import UsageError


def check_conflicts(row: Command, values: Mapping[str, Value], given: Collection[str]) -> None:
    """Raise UsageError for the first option or argument that lacks another one, or does not go with it.

    values: of all options and arguments, by the names of parameters. given: those that were on the command line.
    """
    both: tuple[Option | Argument, ...] = (*row.arguments, *row.options)
    ruled = [one for one in both if one.needs is not None or one.not_with]
    present = [one for one in ruled if _is_present(one, values, given)]
    for one in present:
        needs = one.needs
        if needs is None or not (needs.settings or one.parameter in given):
            continue
        if not any(_is_present(other, values, given) for other in _named(row, needs.others)):
            names = {"option": _shown(row, one, values)}
            raise UsageError(needs.what.format(**names), way_out=needs.way_out.format(**names))
    for one in present:
        for rule in one.not_with:
            if rule.yields and one.parameter not in given:
                continue
            others = [
                _shown(row, other, values)
                for other in _named(row, rule.others)
                if _is_present(other, values, given) and (rule.settings or other.parameter in given)
            ]
            if others:
                names = {"option": _shown(row, one, values), "other": others[0], "others": " and ".join(others)}
                raise UsageError(rule.what.format(**names), way_out=rule.way_out.format(**names))


def _named(row: Command, names: Sequence[str]) -> Iterator[Option | Argument]:
    """The options and arguments of the command that have these names."""
    for name in names:
        if name in row.named:
            yield row.named[name]
        else:
            yield from (one for one in row.arguments if one.parameter == name)


def _is_present(one: Option | Argument, values: Mapping[str, Value], given: Collection[str]) -> bool:
    """Whether an option was given, or is set to another value than the default; a flag: and is on."""
    value = values[one.parameter]
    if isinstance(one, Argument):
        return bool(value)
    return value is not False and (one.parameter in given or value != one.initial)


def _shown(row: Command, one: Option | Argument, values: Mapping[str, Value]) -> str:
    """An option by its short name, if it has one that sort has made known; an argument by its first word."""
    if isinstance(one, Argument):
        value = values[one.parameter]
        return str(value[0]) if isinstance(value, tuple) else str(value)
    return one.shown_names[0] if one.gnu or row.name == "sort" else one.names[0]

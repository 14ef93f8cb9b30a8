"""Suggests the known name that a misspelt name may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpumerge_cli.patterns import pattern
from gpumerge_cli.units import quoted_value

_AHEAD = pattern(r"^(?:-+|[A-Z]+_)")
_SHORT = 4
_ALIKE, _ALIKE_IF_SHORT = 0.7, 0.6
"""The least ratio of difflib for similar names. In a short name one wrong letter weighs more: nyp is 0.67 like npy."""


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that is or begins with `name`, else the most similar one, or "" if none is similar.

    Upper and lower case are alike. Dashes, and the program's name in variables, do not make names alike.
    """
    from difflib import get_close_matches  # only where something is wrong: it takes long to load

    known, folded = sorted(names), name.casefold()
    same = [each for each in known if each.casefold() == folded]
    longer = [each for each in known if each.casefold().startswith(folded)]
    for alike in (same, longer):
        if name and len(alike) == 1:
            return alike[0]
    bare, word = {_bare(each): each for each in known}, _bare(name)
    cutoff = _ALIKE_IF_SHORT if len(word) <= _SHORT else _ALIKE
    return bare.get(next(iter(get_close_matches(word, bare, 1, cutoff)), ""), "")


def _bare(name: str) -> str:
    return _AHEAD.sub("", name).casefold()


def did_you_mean(name: str, names: Iterable[str], way_out: str = "") -> str:
    """`way_out`, preceded by the known name that is similar to `name`, if there is one."""
    near = nearest(name, names)
    return f"did you mean {near}? {way_out}".rstrip() if near else way_out


def zone_way_out(zone: str) -> str:
    """The way out where there is no such zone."""
    from zoneinfo import available_timezones

    known = available_timezones()
    if not known:
        return "install Python's package tzdata first"
    place = zone.replace(" ", "_").casefold()
    near = sorted(name for name in known if place and name.casefold().endswith(f"/{place}"))
    return f"did you mean {near[0]}?" if near else did_you_mean(zone, known, "name one as Europe/Berlin")


def did_you_mean_column(name: str, columns: Mapping[str, str], way_out: str) -> str:
    """`way_out`, preceded by the column's name that is similar to `name`, if there is one.

    columns: the form in which each name is shown.
    """
    near = nearest(name, columns)
    if not near:
        return way_out
    why = " (names are compared by all their bytes)" if near.casefold() == name.casefold() else ""
    return f"did you mean {columns[near]}{why}? {way_out}"


def without_value(text: str, value: str, name: str) -> str:
    """`text` with `name` in place of a variable's value, which may be secret, and of each of the value's words."""
    for one in filter(str.strip, (value, *sorted(value.split(), key=len, reverse=True))):
        for shown in (repr(one), quoted_value(one)):
            text = text.replace(shown, name)
        text = re.sub(rf"(?<![\w-]){re.escape(one)}(?!\w)", lambda _: name, text)
    return text

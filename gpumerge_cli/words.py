"""Names that people write, and the known ones that they may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that `name` shortens, else the one that is most like it, or "" if none is."""
    from difflib import get_close_matches  # only where something is wrong: it takes long to load

    known = sorted(names)
    longer = [each for each in known if each.startswith(name)]
    return longer[0] if name and len(longer) == 1 else next(iter(get_close_matches(name, known, 1)), "")


def did_you_mean(name: str, names: Iterable[str], way_out: str) -> str:
    """`way_out`, with the known name ahead of it that `name` is like, if there is one."""
    near = nearest(name, names)
    return f"did you mean {near}? {way_out}" if near else way_out

"""Regular expressions that are compiled by their first use: a run uses few of those that its modules have."""

from __future__ import annotations

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801 - it is called like re.compile
        """The pattern that re.compile gives, compiled as a method or a property of it is first read."""

        def __init__(self, text, flags=0):
            self._arguments = text, flags

        def __getattr__(self, name):
            import re

            found = getattr(re.compile(*self._arguments), name)
            setattr(self, name, found)
            return found


__all__ = ["pattern"]

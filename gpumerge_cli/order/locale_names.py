"""Names of locales, as options and the environment give them."""

from __future__ import annotations

import os

OF_ENVIRONMENT = "env"
"""The name that stands for the locale of the environment."""
_BY_BYTES = ("", "C", "POSIX", "C.UTF-8", "C.utf8")


def locale_named(named: str | None, category: str = "LC_COLLATE") -> str:
    """The name of the locale that a value of --locale stands for in a category; "" for bytes, as without a value."""
    if named == OF_ENVIRONMENT:
        named = os.environ.get("LC_ALL") or os.environ.get(category) or os.environ.get("LANG")
    return "" if named is None or named in _BY_BYTES else named

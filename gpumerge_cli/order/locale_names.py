"""Names of locales, as options and the environment give them."""

from __future__ import annotations

import os

OF_ENVIRONMENT = "env"
"""The name that stands for the locale of the environment."""
_BY_BYTES = ("", "C", "POSIX", "C.UTF-8", "C.utf8")


def locale_named(named: str | None, category: str = "LC_COLLATE") -> str:
    """The name of the locale that a value of --locale stands for in a category; "" for bytes, as without a value."""
    if named == OF_ENVIRONMENT:
        named = os.environ.get(variable_of(category))
    return "" if named is None or named in _BY_BYTES else named


def variable_of(category: str) -> str:
    """The variable that gives the environment's locale in a category; "" if none does."""
    return next((name for name in ("LC_ALL", category, "LANG") if os.environ.get(name)), "")

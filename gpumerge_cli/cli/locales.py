"""The option --locale: the locale by which an order compares."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpumerge_cli.dataclass import replace
from gpumerge_cli.order.months import month_parameters
from gpumerge_cli.order.rules import LineKey, LineOrder

OF_ENVIRONMENT = "env"
"""The value that stands for the locale of the environment."""
_BY_BYTES = ("", "C", "POSIX", "C.UTF-8", "C.utf8")
_POINT = b"."


def locale_of_environment(category: str, environ: Mapping[str, str] = os.environ) -> str:
    """The name of the locale that the environment gives for a category, as "LC_COLLATE"; "" for bytes."""
    name = next((environ[key] for key in ("LC_ALL", category, "LANG") if environ.get(key)), "")
    return "" if name in _BY_BYTES else name


def locale_named(named: str | None, category: str = "LC_COLLATE") -> str:
    """The name of the locale that a value of --locale stands for in a category; "" for bytes, as without a value."""
    found = locale_of_environment(category) if named == OF_ENVIRONMENT else named or ""
    return "" if found in _BY_BYTES else found


def in_locale(order: LineOrder, named: str | None) -> LineOrder:
    """The order, its texts, numbers and months compared as in a locale.

    named: the value of --locale, None without it. Raises UsageError for an unknown locale.
    """
    by = {name: locale_named(named, name) for name in ("LC_COLLATE", "LC_NUMERIC", "LC_TIME")}
    if by["LC_COLLATE"]:
        from gpumerge_cli.native.locales import open_locale

        open_locale(by["LC_COLLATE"])
        order = replace(order, locale=by["LC_COLLATE"])
    if by["LC_NUMERIC"] and any(key.kind.separated for key in order.keys):
        order = _with_numbers(order, by["LC_NUMERIC"])
    if by["LC_TIME"] and any(key.compare == "month" for key in order.keys):
        order = _with_months(order, by["LC_TIME"])
    return order


def _with_numbers(order: LineOrder, name: str) -> LineOrder:
    from gpumerge_cli.native.locales import number_marks

    # As GNU sort has it, marks of several bytes are none.
    point, thousands = (mark if len(mark) == 1 else b"" for mark in number_marks(name))
    point = b"" if point == _POINT else point

    def marked(key: LineKey) -> LineKey:
        between = b"" if key.compare == "general" else thousands
        if not key.kind.separated or key.thousands or key.decimal or not (point or between):
            return key
        return replace(key, thousands=sum(between), decimal=sum(point), loose=key.compare != "general")

    return replace(order, keys=tuple(map(marked, order.keys)))


def _with_months(order: LineOrder, name: str) -> LineOrder:
    from gpumerge_cli.native.locales import month_names

    words = month_parameters(month_names(name))
    keys = (replace(key, parameters=words) if key.compare == "month" else key for key in order.keys)
    return replace(order, keys=tuple(keys))

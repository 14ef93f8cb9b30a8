"""The option --locale: the locale by which an order compares."""

from __future__ import annotations

from gpumerge_cli.dataclass import replace
from gpumerge_cli.order.locale_names import locale_named
from gpumerge_cli.order.months import month_parameters
from gpumerge_cli.order.rules import LineKey, LineOrder

_POINT = ord(".")


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

    # As in GNU sort, a mark of several bytes does not count.
    point, thousands = (mark[0] if len(mark) == 1 else 0 for mark in number_marks(name))
    point = 0 if point == _POINT else point

    def marked(key: LineKey) -> LineKey:
        between = 0 if key.compare == "general" else thousands
        if not key.kind.separated or key.thousands or key.decimal or not (point or between):
            return key
        return replace(key, thousands=between, decimal=point, loose=key.compare != "general")

    return replace(order, keys=tuple(map(marked, order.keys)))


def _with_months(order: LineOrder, name: str) -> LineOrder:
    from gpumerge_cli.native.locales import month_names

    words = month_parameters(month_names(name))
    keys = (replace(key, parameters=words) if key.compare == "month" else key for key in order.keys)
    return replace(order, keys=tuple(keys))

"""The option --locale: the locale by which an order compares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.locale_names import OF_ENVIRONMENT, locale_named, variable_of
from gpumerge_cli.order.months import month_parameters
from gpumerge_cli.order.rules import LineKey, LineOrder

_POINT = ord(".")


def in_locale(order: LineOrder, named: str | None, *, given: bool) -> LineOrder:
    """The order, its texts, numbers and months compared as in a locale.

    named: the value of --locale, None without it. given: whether the command line has it; a setting changes no order
    that compares no text. Raises UsageError for an unknown locale.
    """
    if named == "":
        raise UsageError("--locale '': no locale has an empty name", way_out="name a locale, C or env")
    by = {name: locale_named(named, name) for name in ("LC_COLLATE", "LC_NUMERIC", "LC_TIME")}
    in_other = replace(order, locale=by["LC_COLLATE"])
    if by["LC_COLLATE"] and (given or in_other.by_locale):
        from gpumerge_cli.native.locales import open_locale

        with _named_as_given(named, "LC_COLLATE"):
            open_locale(by["LC_COLLATE"])
        order = in_other
    if by["LC_NUMERIC"] and any(key.kind.separated for key in order.keys):
        with _named_as_given(named, "LC_NUMERIC"):
            order = _with_numbers(order, by["LC_NUMERIC"])
    if by["LC_TIME"] and any(key.compare == "month" for key in order.keys):
        with _named_as_given(named, "LC_TIME"):
            order = _with_months(order, by["LC_TIME"])
    return order


@contextmanager
def _named_as_given(named: str | None, category: str) -> Iterator[None]:
    """Name the variable in an error about a locale that comes from the environment."""
    try:
        yield
    except UsageError as error:
        variable = variable_of(category) if named == OF_ENVIRONMENT else ""
        if not variable:
            raise
        what = error.what.replace("--locale ", f"--locale {named}: {variable}=", 1)
        way_out = error.way_out.replace("name one", f"set {variable} to one", 1)
        raise UsageError(what, way_out=way_out) from None


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

"""The proposal to compare by bytes, or by the locale of the environment, where texts are in that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.hints import is_in_order, sampled_items
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.locale_names import OF_ENVIRONMENT, locale_named
from gpumerge_cli.order.rules import TEXT


def locale_hint(inputs: Sequence[tuple[Source, Order]], first_in: Callable[[Order], int | None]) -> str:
    """The proposal, if all that compares is text, and all samples are in the other order; else "".

    inputs: each with its own order. first_in: see disorder_error; it looks at all of the first input.
    """
    order = inputs[0][1]
    rules = order.text
    if rules is None or not order.in_locales or any(key.compare != TEXT for key in rules.keys):
        return ""
    other, way_out = "", "the file is in the order of its bytes: leave --locale out"
    if not rules.by_locale:
        other = _usable_locale()
        way_out = f"the file is in the order of {other}: add --locale {OF_ENVIRONMENT}"
        if not other:
            return ""
    orders = [_in_locale(order, other) for _, order in inputs]
    for (source, its), changed in zip(inputs, orders, strict=True):
        samples = sampled_items(source, its) if source.size else [[]]
        if not samples or not is_in_order(samples, changed):
            return ""
    return way_out if first_in(orders[0]) is None else ""


def _in_locale(order: Order, locale: str) -> Order:
    rules = order.text
    assert rules is not None, "inputs of one job hold items of one kind"
    return order.by_rules(replace(rules, locale=locale))


def _usable_locale() -> str:
    """The name of the environment's locale; "" if it compares bytes, or this machine cannot compare by it."""
    from gpumerge_cli.native.locales import open_locale

    name = locale_named(OF_ENVIRONMENT)
    try:
        if name:
            open_locale(name)
    except UsageError:
        return ""
    return name

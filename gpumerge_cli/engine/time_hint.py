"""The proposal of --time for lines that are in the order of their times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpumerge_cli.engine.hints import is_in_order, sampled_items
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.own_time import latest_second
from gpumerge_cli.native.comparison import is_invalid
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.order.times import LATEST_BY, UNKNOWN_YEAR, TimeSettings


def time_hint(sources: Sequence[Source], order: Order, first_in: Callable[[Order], int | None]) -> str:
    """The proposal, if lines without a key have times in all samples, and are in their order; else "".

    first_in: see disorder_error.
    """
    rules = order.text
    if rules is None or rules.by_locale or rules.keys or rules.reverse or not order.plain_lines:
        return ""
    latest = latest_second([source.name for source in sources])
    years = TimeSettings(years=UNKNOWN_YEAR if latest is None else LATEST_BY, year=latest or 0)
    key = LineKey("log_time", invalid="last", parameters=years.words())
    by_time = Order.lines(LineOrder((key,), stable=True, terminator=rules.terminator))
    stretches = [lines for source in sources for lines in sampled_items(source, order)]
    if not stretches or not is_in_order(stretches, by_time):
        return ""
    if any(is_invalid(by_time, 0, line) for lines in stretches for line in lines):
        return ""
    return "" if first_in(by_time) is not None else "the file is in the order of its times: add --time"

"""Messages of disorder: they name the items, their lines, the key, and an order that the file has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.hints import (
    encoding_hint,
    has_common_header,
    has_requested_header,
    is_headed,
    join_hint,
    mark_hint,
    order_hint,
    torn_hint,
)
from gpumerge_cli.engine.table_hints import table_hint
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import HintingSource, Source
from gpumerge_cli.formats.likely_header import is_header
from gpumerge_cli.native.comparison import Comparison, key_bounds, read_time
from gpumerge_cli.order.base import Meant
from gpumerge_cli.order.kinds import Order

_SHOWN = 40
_BLOCK = 1 << 16


@dataclass(frozen=True)
class JoinContext:
    """The other file of a join, and its order."""

    command: str
    """Sorts the file for the join."""
    other: tuple[Source, Order]
    """The other file, opened, and its order."""
    proposal: Callable[[Order], str]
    """Gives the way out for another order that both files are in, which is that of this file."""


def disorder_error(
    source: Source,
    offset: int,
    order: Order,
    first_in: Callable[[Order], int | None],
    *,
    unique: bool = False,
    others: Sequence[Source] | None = (),
    join: JoinContext | None = None,
    named: bool = True,
) -> DisorderError:
    """The error for the disorder at `offset`. It says where it is, shows both items, and names a way out.

    first_in: the position of the first disorder in another order, None if there is none. unique: equal items are in
    disorder, too. others: the other inputs: an order is proposed only if samples of them are in it, too; None if
    they cannot be read, and no order is proposed. join: the other file of a join; another order is then proposed
    for both. named: the command takes columns by name.
    """
    where = source.location(offset)
    here, ahead = source.item_at(offset), source.item_before(offset)
    equal = Comparison(order)(here, ahead) == 0
    by = _deciding_key(here, ahead, order)
    empty = by is None and _keys_are_empty(here, ahead, order)
    known = others is not None
    sources = [source, *(other for other in others or () if other is not source)]
    way_out = encoding_hint(source, order) or (table_hint(sources, order) if known and named and join is None else "")
    if not way_out and not equal and join is None and isinstance(source, HintingSource):
        way_out = source.order_hint(sources[1:] if known else None, order)
    if not way_out and empty:
        way_out = "check -t and the number of the field"
    holds = partial(_decides_alike, here, ahead, by)
    if not way_out and join is not None and by is not None:
        ordered = [(source, order), join.other]
        way_out = join_hint(
            [one for one, _ in ordered], [its for _, its in ordered], by, first_in, holds, join.proposal
        )
    if not way_out and not equal and known and join is None:
        way_out = order_hint(sources, order, by, first_in, [other for other in order.meant(by) if holds(other)])
    if not way_out and not equal and known:
        from gpumerge_cli.engine.locale_hint import locale_hint

        inputs = [(one, order) for one in sources] if join is None else [(source, order), join.other]
        way_out = locale_hint(inputs, first_in)
    if not way_out and known and join is None:
        from gpumerge_cli.engine.time_hint import time_hint

        way_out = time_hint(sources, order, first_in)
    way_out = way_out or mark_hint(source)
    if not way_out and known and join is None and has_common_header(sources, order):
        way_out = "line 1 is a header: add --header 1"
    if not way_out and (torn := torn_hint(source, order)):
        way_out = f"{torn}; else sort it first"
    if not way_out:
        headed = is_headed(source, order) or (
            where.endswith(":2") and not has_requested_header(source) and is_header([ahead, here])
        )
        way_out = _header_hint(join=join is not None, named=named) if headed else ""
        way_out += _sort_hint(order, unique=unique, join=join, headed=headed)
    why = ", its equal" if equal else ", with empty keys" if empty else _why(here, ahead, order, by)
    first, second = _shown(order.key_of(here), order.key_of(ahead), order)
    if order.item_word:
        second += f" ({order.item_word} {source.location(offset - len(ahead) - 1).rpartition(':')[2]})"
    error = DisorderError(f"disorder: {first} comes after {second}{why}", where=where, way_out=way_out)
    error.item = order.key_of(here) if order.item_word else None
    return error


def _header_hint(*, join: bool, named: bool) -> str:
    """The beginning of a way out for a file whose first line is like a header."""
    option = "--header" if join else "--header 1"
    return f"if line 1 is a header, add {option}{' or --field NAME' * (named and not join)}; else "


def _sort_hint(order: Order, *, unique: bool, join: JoinContext | None, headed: bool) -> str:
    """The way out if no known order fits the items. unique, join: see disorder_error. headed: a header is there."""
    if join is not None:
        return f"sort it first: {join.command}"
    if unique:
        return "sort it with -u first"
    if not order.item_word:
        return "sort it first"
    keys = order.text.keys if order.text is not None else ()
    options = [key.kind.file_option for key in keys if key.kind.file_option]
    if options:
        return f"sort it first, and give both commands the same --{options[0]}"
    if order.plain_lines and not headed and not order.by_key() and not any(order.ways):
        locale = order.text.locale if order.text is not None and order.text.by_locale else "C"
        return f"name its key with -k, or sort it first, as LC_ALL={locale} sort does"
    return "sort it first"


def _deciding_key(here: bytes, ahead: bytes, order: Order) -> int | None:
    """The number of the first key by which two items differ; None if no key that the user named tells them apart."""
    keys = enumerate(order.by_key())
    return next((number for number, alone in keys if Comparison(alone)(here, ahead) != 0), None)


def _decides_alike(here: bytes, ahead: bytes, by: int | None, other: Meant) -> bool:
    """Whether the key that distinguishes two items, number `by`, does so in another order, too, where it must."""
    return other.by is None or _deciding_key(here, ahead, other.order) == by


def _keys_are_empty(here: bytes, ahead: bytes, order: Order) -> bool:
    """Whether there are keys, and all of them are empty in both lines."""
    count = len(order.by_key()) if order.item_word else 0
    bounds = [key_bounds(order, number, line) for number in range(count) for line in (here, ahead)]
    return count > 0 and all(start >= end for start, end in bounds)


def _why(here: bytes, ahead: bytes, order: Order, by: int | None) -> str:
    """The key by which items are out of order, as the end of a sentence; "" if the items themselves show it."""
    if by is None:
        return ", with equal keys" if order.by_key() else ""
    if order.text is not None and order.text.keys[by].kind.timed:
        return _times(here, ahead, order, by)
    bounds = partial(key_bounds, order)
    first, second = (order.part(by, item, bounds) for item in (here, ahead))
    if first is not None and second is not None:
        return f", key {' after '.join(_shown(first, second, order))} by {order.key_option(by)}"
    return f" by {order.key_option(by)}" if not order.item_word else ""


def _times(here: bytes, ahead: bytes, order: Order, by: int) -> str:
    """The times of two lines in UTC, as the end of a sentence, since their forms may not show their order."""
    from gpumerge_cli.engine.times import in_utc

    times = [read_time(order, by, line) for line in (here, ahead)]
    shown = " after ".join("no time" if time is None else in_utc(time) for time in times)
    return f", {shown} by {order.key_option(by)}"


def _shown(here: bytes, ahead: bytes, order: Order) -> tuple[str, str]:
    """Two items in short: keys of records, or parts of lines from a little ahead of the first difference."""
    first, second = order.number(here), order.number(ahead)
    if first is not None and second is not None:
        return first, second
    common = _common(here, ahead)
    start = common - _SHOWN // 4 if common > _SHOWN // 2 and max(len(here), len(ahead)) > _SHOWN else 0
    return _in_short(here, start, order), _in_short(ahead, start, order)


def _common(a: bytes, b: bytes) -> int:
    """The number of bytes that two items have in common at their start."""
    shorter = min(len(a), len(b))
    low = next((at for at in range(0, shorter, _BLOCK) if a[at : at + _BLOCK] != b[at : at + _BLOCK]), shorter)
    return next((at for at in range(low, min(shorter, low + _BLOCK)) if a[at] != b[at]), shorter)


def _in_short(item: bytes, start: int, order: Order) -> str:
    part = item[start : start + _SHOWN]
    return "..." * (start > 0) + order.quoted(part) + "..." * (len(item) > start + _SHOWN)

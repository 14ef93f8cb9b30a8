"""The first times in files: how they are read, and the years that files give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.own_time import latest_second
from gpumerge_cli.native.comparison import ReadTime, read_time
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.order.times import LATEST_BY, UNKNOWN_YEAR, format_of, with_years, years_of

_LOOKED_AT = 64
"""Lines."""
_SHOWN = 60


def with_years_of(sources: Sequence[Source], orders: Sequence[Order], rules: LineOrder) -> LineOrder:
    """The rules, where the newest file that needs years gives them, not the newest file.

    A file needs years if the first time in it has none. orders: that of each source, by the keys of these rules.
    """
    found = [source.name for source, order in zip(sources, orders, strict=True) if _begins_without_year(source, order)]
    latest = latest_second(found)
    return rules if latest is None else _with_latest_by(rules, latest)


def read_first_times(sources: Sequence[Source], orders: Sequence[Order]) -> tuple[str, ...]:
    """The first time in each file and how it is read, in words; "" for a file without one.

    orders: that of each source. Raises InputError for a time without a year that has another year by its own file than
    by the newest one, and for a file whose first lines have no time in the given format.
    """
    return tuple(_first_time(source, order, _time_key(order)) for source, order in zip(sources, orders, strict=True))


def _begins_without_year(source: Source, order: Order) -> bool:
    """Whether the first time in a file has no year, and files give years."""
    number = _time_key(order)
    if not isinstance(source, LineSource) or _years(order, number) != LATEST_BY:
        return False
    assert order.text is not None
    unknown = Order.lines(_with_parameters(order.text, lambda given: with_years(given, UNKNOWN_YEAR, 0)))
    for line in _first_lines(source):
        found = read_time(order, number, line)
        if found is not None:
            with_year = read_time(unknown, number, line)  # it may be another one, further on in the line
            return with_year is None or with_year.begin != found.begin
    return False


def lacks_year(order: Order, number: int, line: bytes) -> bool:
    """Whether a key is invalid only because no option gives the year of its time."""
    assert order.text is not None
    if not order.text.keys[number].kind.timed or _years(order, number) != UNKNOWN_YEAR:
        return False
    return read_time(Order.lines(_with_latest_by(order.text, 0)), number, line) is not None


def _time_key(order: Order) -> int:
    assert order.text is not None
    return next(at for at, key in enumerate(order.text.keys) if key.kind.timed)


def _first_time(source: Source, order: Order, number: int) -> str:
    if not isinstance(source, LineSource):
        return ""
    assert order.text is not None
    key, lines = order.text.keys[number], 0
    for line in _first_lines(source):
        lines += 1
        found = read_time(order, number, line)
        if found is not None:
            _check_year(source, order, number, line, found)
            return f"{_shown(line, found)} is {in_utc(found)}"
    form = format_of(key.parameters)
    if lines and not key.checked and form:
        what = f"its first {lines} lines have no time in the format {form!r}"
        raise InputError(what, where=source.name, way_out="give another --time-format, or none for the usual forms")
    return ""


def _check_year(source: Source, order: Order, number: int, line: bytes, found: ReadTime) -> None:
    assert order.text is not None
    own = latest_second((source.name,))
    if own is None or _years(order, number) != LATEST_BY:
        return
    by_own = read_time(Order.lines(_with_latest_by(order.text, own)), number, line)
    if by_own is not None and by_own.seconds != found.seconds:
        raise InputError(
            f"{_shown(line, found)} has no year: it is {in_utc(by_own)[:4]} by the time of this file, but "
            f"{in_utc(found)[:4]} by the time of the newest file without years",
            where=source.name,
            way_out="merge files of one year, and give it by --year",
        )


def _years(order: Order, number: int) -> int:
    assert order.text is not None
    return years_of(order.text.keys[number].parameters)


def _with_latest_by(rules: LineOrder, second: int) -> LineOrder:
    """The rules, where a time without a year is the latest one that is not behind a second."""
    return _with_parameters(rules, lambda parameters: with_years(parameters, LATEST_BY, second))


def _with_parameters(rules: LineOrder, change: Callable[[bytes], bytes]) -> LineOrder:
    """The rules, the parameters of all their times changed."""
    keys = (replace(key, parameters=change(key.parameters)) if key.kind.timed else key for key in rules.keys)
    return replace(rules, keys=tuple(keys))


def _first_lines(source: LineSource) -> Iterator[bytes]:
    at = 0
    for _ in range(_LOOKED_AT):
        if at >= source.size:
            return
        yield source.item_at(at)
        at = source.item_end(at)


def _shown(line: bytes, found: ReadTime) -> str:
    return repr(line[found.begin : found.end][:_SHOWN].decode("utf-8", "replace"))


def in_utc(found: ReadTime) -> str:
    """A time in UTC, as ISO 8601 has it."""
    from datetime import UTC, datetime, timedelta

    try:
        then = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=found.seconds)
    except OverflowError:
        return f"{found.seconds} s after 1970"
    fraction = f".{found.nanos:09d}".rstrip("0") if found.nanos else ""
    return f"{then.replace(tzinfo=None).isoformat()}{fraction}Z"

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
from gpumerge_cli.order.times import LATEST_BY, UNKNOWN_YEAR, format_of, with_years, years_of

_LOOKED_AT = 64
"""Lines."""
_SHOWN = 60


def with_years_of(sources: Sequence[Source], order: Order) -> Order:
    """The order, where the newest file that needs years gives them, not the newest file.

    A file needs years if the first time in it has none.
    """
    number = _time_key(order)
    if number is None or _years(order, number) != LATEST_BY:
        return order
    unknown = _with_parameters(order, lambda given: with_years(given, UNKNOWN_YEAR, 0))
    found = [source.name for source in sources if _begins_without_year(source, order, unknown, number)]
    latest = latest_second(found)
    return order if latest is None else _with_latest_by(order, latest)


def read_first_times(sources: Sequence[Source], order: Order) -> tuple[str, ...]:
    """The first time in each file and how it is read, in words; () if no key is a time, "" for a file without one.

    Raises InputError for a time without a year that has another year by its own file than by the newest one, and for a
    file whose first lines have no time in the given format.
    """
    number = _time_key(order)
    return () if number is None else tuple(_first_time(source, order, number) for source in sources)


def _begins_without_year(source: Source, order: Order, unknown: Order, number: int) -> bool:
    """Whether the first time in a file has no year. unknown: the order in which these are no times."""
    if not isinstance(source, LineSource):
        return False
    line = next((line for line in _first_lines(source) if read_time(order, number, line) is not None), None)
    return line is not None and read_time(unknown, number, line) is None


def lacks_year(order: Order, number: int, line: bytes) -> bool:
    """Whether a key is invalid only because no option gives the year of its time."""
    assert order.text is not None
    key = order.text.keys[number]
    return key.kind.timed and read_time(_with_latest_by(order, 0), number, line) is not None


def _time_key(order: Order) -> int | None:
    keys = order.text.keys if order.text is not None else ()
    return next((at for at, key in enumerate(keys) if key.kind.timed), None)


def _first_time(source: Source, order: Order, number: int) -> str:
    if not isinstance(source, LineSource):
        return ""
    assert order.text is not None
    key, lines = order.text.keys[number], [*_first_lines(source)]
    for line in lines:
        found = read_time(order, number, line)
        if found is not None:
            _check_year(source, order, number, line, found)
            return f"{_shown(line, found)} is {_when(found)}"
    form = format_of(key.parameters)
    if lines and not key.checked and form:
        what = f"its first {len(lines)} lines have no time in the format {form!r}"
        raise InputError(what, where=source.name, way_out="give another --time-format, or none for the usual forms")
    return ""


def _check_year(source: Source, order: Order, number: int, line: bytes, found: ReadTime) -> None:
    assert order.text is not None
    own = latest_second((source.name,))
    if own is None or _years(order, number) != LATEST_BY:
        return
    by_own = read_time(_with_latest_by(order, own), number, line)
    if by_own is not None and by_own.seconds != found.seconds:
        raise InputError(
            f"{_shown(line, found)} has no year: it is {_when(by_own)[:4]} by the time of this file, but "
            f"{_when(found)[:4]} by that of the newest one without years",
            where=source.name,
            way_out="merge files of one year, and give it by --year",
        )


def _years(order: Order, number: int) -> int:
    assert order.text is not None
    return years_of(order.text.keys[number].parameters)


def _with_latest_by(order: Order, second: int) -> Order:
    """The order, where a time without a year is the latest one that is not behind a second."""
    return _with_parameters(order, lambda parameters: with_years(parameters, LATEST_BY, second))


def _with_parameters(order: Order, change: Callable[[bytes], bytes]) -> Order:
    """The order, the parameters of all its times changed."""
    assert order.text is not None
    keys = (replace(key, parameters=change(key.parameters)) if key.kind.timed else key for key in order.text.keys)
    return Order.lines(replace(order.text, keys=tuple(keys)))


def _first_lines(source: LineSource) -> Iterator[bytes]:
    at = 0
    for _ in range(_LOOKED_AT):
        if at >= source.size:
            return
        yield source.item_at(at)
        at = source.item_end(at)


def _shown(line: bytes, found: ReadTime) -> str:
    return repr(line[found.begin : found.end][:_SHOWN].decode("utf-8", "replace"))


def _when(found: ReadTime) -> str:
    """A time in UTC, as ISO 8601 has it."""
    from datetime import UTC, datetime, timedelta

    try:
        then = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=found.seconds)
    except OverflowError:
        return f"{found.seconds} s after 1970"
    fraction = f".{found.nanos:09d}".rstrip("0") if found.nanos else ""
    return f"{then.replace(tzinfo=None).isoformat()}{fraction}Z"

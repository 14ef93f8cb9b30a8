"""Parameters of times: zone, year and format. See TimeParameters in kernels/calendar.cuh."""

from __future__ import annotations

import re
from array import array
from functools import cache

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order.key_kinds import TEXT_PADDING, TIME_WORDS, WORD_BYTES

UNKNOWN_YEAR, ONE_YEAR, LATEST_BY = range(3)
"""The year of a time that has none: unknown, so that it is no time; one for all; or the latest one in which the time is
not behind a certain second."""
LAST_YEAR = 9999
_DAY = 86400
_STEPS = ((1800, 0), (1900, 30), (2100, 3), (2500, 20))
"""Years, and the days in which a zone has no more than one change ahead of that year. From the last 400 of these years
on, changes repeat themselves."""
_SAME = {"e": "d", "B": "b", "h": "b", "A": "a", "Z": "z"}
"""Letters of a format, and those that read the same."""
_MADE_OF = {"T": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "n": " ", "t": " "}
LETTERS = "YymdjHIpMSfbazs%"
"""The letters of a format that compiled code reads."""


class InvalidTimesError(ValueError):
    """A zone or a format is impossible. setting: "zone" or "time_format". way_out: "" for a zone."""

    def __init__(self, setting: str, what: str, way_out: str) -> None:
        super().__init__(what)
        self.setting = setting
        self.way_out = way_out


@dataclass(frozen=True)
class TimeSettings:
    """The zone, the year and the format of times that do not say them."""

    zone: str = ""
    """The name of the zone of times without an offset, as zoneinfo has it; "" for UTC."""
    years: int = UNKNOWN_YEAR
    """UNKNOWN_YEAR, ONE_YEAR or LATEST_BY."""
    year: int = 0
    """The year, or by LATEST_BY the second since 1970 in UTC."""
    format: str = ""
    """In the letters of strptime; "" for the forms that are known without one."""

    def words(self) -> bytes:
        """The parameters of a key. Raises InvalidTimesError."""
        (_, offset), *switches = _switches(self.zone) if self.zone else ((0, 0),)
        text = compiled_format(self.format).encode("utf-8", "surrogateescape")
        words = array("q", [self.years, self.year, len(switches), offset, _seconds(_STEPS[-1][0]), len(text)])
        words.append(TIME_WORDS + 2 * len(switches))
        for switch in switches:
            words.extend(switch)
        return words.tobytes() + text + (bytes(-len(text) % WORD_BYTES + TEXT_PADDING) if text else b"")


def years_of(parameters: bytes) -> int:
    """UNKNOWN_YEAR, ONE_YEAR or LATEST_BY, in the parameters of a key."""
    return array("q", parameters[:WORD_BYTES])[0] if parameters else UNKNOWN_YEAR


def with_years(parameters: bytes, years: int, year: int) -> bytes:
    """The parameters of a key with other years, see TimeSettings."""
    given = parameters or TimeSettings().words()
    return array("q", [years, year]).tobytes() + given[2 * WORD_BYTES :]


def format_of(parameters: bytes) -> str:
    """The compiled format in the parameters of a key; "" if there is none."""
    if not parameters:
        return ""
    *_, nbytes, word = array("q", parameters[: TIME_WORDS * WORD_BYTES])
    return parameters[word * WORD_BYTES :][:nbytes].decode("utf-8", "surrogateescape")


def compiled_format(text: str) -> str:
    """A format in the letters of LETTERS. Raises InvalidTimesError."""
    made = ""
    at = iter(text.strip(" \t\n"))
    for char in at:
        if char != "%":
            made += char
            continue
        letter = next(at, "")
        letter = _SAME.get(letter, letter)
        if letter not in _MADE_OF and (not letter or letter not in LETTERS):
            what = f"{text}: %{letter} reads no part of a time"
            raise InvalidTimesError("time_format", what, f"use letters from {LETTERS}{''.join((*_SAME, *_MADE_OF))}")
        made += _MADE_OF.get(letter, f"%{letter}")
    made = made.strip(" ")  # a blank ahead would be tried at each place of a run of blanks
    letters = set(re.findall("%(.)", made, re.DOTALL))
    if made and not letters & set("Yymdjbs"):
        raise InvalidTimesError("time_format", f"{text}: it has no date", "write one as %d/%m/%Y")
    if "j" in letters and not letters & set("Yy"):
        raise InvalidTimesError("time_format", f"{text}: %j needs a year", "add %Y")
    return made


def _seconds(year: int) -> int:
    from datetime import UTC, datetime

    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())


@cache
def _switches(zone: str) -> tuple[tuple[int, int], ...]:
    """Each change of a zone's offset: the second of local time from which on it holds for fold=0, and the offset.

    The first one is the offset ahead of all changes. Both clocks show that second or a later one: an hour that occurs
    twice belongs to the offset ahead of it. Raises InvalidTimesError for an unknown zone.
    """
    from datetime import datetime
    from zoneinfo import ZoneInfo

    try:
        local = ZoneInfo(zone)
    except (ValueError, KeyError, OSError):
        raise InvalidTimesError("zone", f"{zone}: there is no such zone", "") from None

    def offset(second: int) -> int:
        ahead = datetime.fromtimestamp(second, local).utcoffset()
        assert ahead is not None
        return round(ahead.total_seconds())

    begin = _seconds(_STEPS[0][0])
    before = offset(begin)
    found = [(begin, before)]
    for until, days in _STEPS[1:]:
        last = _seconds(until)
        while begin < last:
            low, high = begin, min(last, begin + days * _DAY)
            begin, after = high, offset(high)
            if after == before:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            found.append((high + max(before, after), after))
            before = after
    return tuple(found)

"""Times as Python reads them: the oracle of kernels/time_keys.cuh, with which it shares no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from gpumerge_cli.order.times import LATEST_BY, ONE_YEAR, TimeSettings

_EPOCH = datetime(1970, 1, 1)
_NANOS = 10**9
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})"
_DAYS = "mon|tue|wed|thu|fri|sat|sun"
_SECONDS = r"(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?"
_CLOCK = rf"(?P<hour>\d\d):(?P<minute>\d\d)(?::{_SECONDS}|(?!:))"
_CLOSE_CLOCK = rf"(?P<hour>\d\d)(?P<minute>\d\d)(?:{_SECONDS}|(?!\d))"
_HOURS = r"[+-](?:[01]\d|2[0-3])"
_OFFSET = rf"(?P<zone>(?: ?(?:z|utc|gmt)(?![a-z\d])| ?{_HOURS}:?[0-5]\d(?!\d)|{_HOURS}(?![:\d])))"
_YEAR, _DAY = r"(?P<year>\d{4})", r"(?P<day>\d\d?)"
_WEEKDAY = rf"(?:(?:{_DAYS}),?[ ]{{1,2}})?"
_MONTH_DAY = rf"{_MONTH}[ ]{{1,2}}{_DAY}[ ]{{1,2}}"
_LONG = rf"z|utc|gmt|{_HOURS}:?[0-5]\d"
_BEHIND = rf"(?(zone)|(?:[ ](?P<behind>(?:z|utc|gmt)(?![a-z\d])|{_HOURS}:?[0-5]\d(?!\d)))?)"
_PATTERNS = [
    re.compile(form, re.I | re.A)
    for form in (
        rf"{_YEAR}(?P<mark>[-/])(?P<month>\d\d)(?P=mark)(?P<day>\d\d)(?:(?:[t_]|[ \t\n]+){_CLOCK}{_OFFSET}?)?",
        rf"{_YEAR}(?P<month>\d\d)(?P<day>\d\d)t{_CLOSE_CLOCK}{_OFFSET}?",
        rf"{_WEEKDAY}{_DAY}(?P<mark>[/ -]){_MONTH}(?P=mark){_YEAR}[: ]{_CLOCK}{_OFFSET}?",
        rf"(?:{_DAYS}),?[ ]{{1,2}}{_DAY}(?P<mark>[/ -]){_MONTH}(?P=mark)(?P<short>\d\d)[: ]{_CLOCK}{_OFFSET}?",
        rf"(?:{_DAYS}),?[ ]{{1,2}}{_MONTH_DAY}{_CLOCK}(?:[ ](?P<zone>{_LONG}))?[ ]{_YEAR}(?=\Z|[ \]:,]){_BEHIND}",
        rf"{_WEEKDAY}{_MONTH_DAY}{_CLOCK}(?:[ ](?P<zone>{_LONG}))?[ ]{_YEAR}(?=\Z|[ \]]){_BEHIND}",
        rf"{_WEEKDAY}{_MONTH_DAY}(?:{_YEAR}[ ])?{_CLOCK}{_OFFSET}?",
        rf"(?-i:[IWEF])(?P<month>\d\d)(?P<day>\d\d)[ ](?P<hour>\d\d):(?P<minute>\d\d):{_SECONDS}",
    )
]
SETTINGS = {
    settings.words(): settings
    for settings in (
        TimeSettings(),
        TimeSettings(years=ONE_YEAR, year=2024),
        TimeSettings("Europe/Berlin", ONE_YEAR, 2023),
        TimeSettings("America/New_York", LATEST_BY, 1_704_100_000),
        TimeSettings("Australia/Lord_Howe", LATEST_BY, 1_709_300_000),
        TimeSettings(format="%d/%m/%Y %H:%M:%S"),
        TimeSettings("Europe/London", ONE_YEAR, 2025, "%b %d %I:%M %p"),
    )
}
"""The settings of keys in tests, by the parameters that they make."""
WITHOUT_FORMAT = [words for words, settings in SETTINGS.items() if not settings.format]
USUAL = TimeSettings("Europe/Berlin", ONE_YEAR, 2023).words()


class LacksYearError(ValueError):
    """A time has no year, and nothing gives it."""


def read(text: bytes, parameters: bytes) -> int:
    """Nanoseconds since 1970. Raises ValueError."""
    settings, written = SETTINGS[parameters or TimeSettings().words()], text.decode("latin-1")
    if settings.format:
        by_year = written if settings.years != ONE_YEAR or "%Y" in settings.format else f"{settings.year} {written}"
        form = settings.format if by_year == written else f"%Y {settings.format}"
        return _nanos(datetime.strptime(by_year, form), settings, "", "")
    bare = written.removeprefix("[").removesuffix("]")
    for pattern in _PATTERNS:
        found = pattern.fullmatch(bare)
        if found is not None:
            return _read_parts(found.groupdict(), settings)
    return _epoch(bare)


def first(text: bytes, parameters: bytes) -> int:
    """The first time in a text, in nanoseconds since 1970. Raises ValueError."""
    if SETTINGS[parameters or TimeSettings().words()].format:
        raise NotImplementedError
    written = text.decode("latin-1")
    for found in re.finditer(r"(?a)(?<![a-zA-Z\d])(?=[a-zA-Z\d])", written):
        for end in _ends(written, found.start()):
            try:
                return read(text[found.start() : end], parameters)
            except LacksYearError:
                raise
            except ValueError:
                pass
    raise ValueError


def _ends(text: str, at: int) -> Iterator[int]:
    """The place where a time ends that begins at `at`, by the first form that fits, if a word ends there."""
    found = next(filter(None, (pattern.match(text, at) for pattern in _PATTERNS)), None)
    if found is None and at == 0:
        found = re.match(r"(?a)\d{10,19}(?!\d)(?:\.\d+)?", text)
    if found is not None and re.match(r"(?a)[a-zA-Z\d]{2}", text[found.end() - 1 :]) is None:
        yield found.end()


def _read_parts(parts: dict[str, str | None], settings: TimeSettings) -> int:
    def number(name: str) -> int:
        return int(parts.get(name) or 0)

    short = parts.get("short")
    year = int(parts.get("year") or (datetime.strptime(short, "%y").year if short else 0))
    if not (short or parts.get("year")) and settings.years not in (ONE_YEAR, LATEST_BY):
        raise LacksYearError
    name, second = parts.get("name"), number("second")
    month = _MONTHS.index(name.lower()) + 1 if name else number("month")
    if second > 60:
        raise ValueError
    rest = number("day"), number("hour"), number("minute"), min(second, 59)

    def of_year(year: int) -> int:
        then = datetime(year, month, *rest) + timedelta(seconds=second == 60)
        return _nanos(then, settings, parts.get("zone") or parts.get("behind") or "", parts.get("fraction") or "")

    if short or parts.get("year"):
        return of_year(year)
    if settings.years == ONE_YEAR:
        return of_year(settings.year)
    if settings.years == LATEST_BY:
        for year in range(datetime.fromtimestamp(settings.year, UTC).year + 1, 1, -1):
            try:
                nanos = of_year(year)
            except ValueError:
                if (month, rest[0]) == (2, 29):
                    continue
                raise
            if nanos // _NANOS <= settings.year:
                return nanos
    raise ValueError


def _nanos(then: datetime, settings: TimeSettings, zone: str, fraction: str) -> int:
    seconds = (then - _EPOCH) // timedelta(seconds=1)
    bare = zone.strip().lower()
    if bare and bare[0] in "+-":
        hours, minutes = int(bare[1:3]), int(bare[3:].lstrip(":") or 0)
        if hours > 23 or minutes > 59:
            raise ValueError
        seconds -= (hours * 3600 + minutes * 60) * (-1 if bare[0] == "-" else 1)
    elif not bare and settings.zone:
        ahead = ZoneInfo(settings.zone).utcoffset(then)
        assert ahead is not None
        seconds -= round(ahead.total_seconds())
    return seconds * _NANOS + int(fraction[:9].ljust(9, "0"))


def _epoch(text: str) -> int:
    found = re.fullmatch(r"(?a)(-?)(\d{1,19})(?:\.(\d+))?", text)
    if found is None or int(found[2]) >= 1 << 63:
        raise ValueError
    unit = next((10 ** (9 - 3 * at) for at in range(3) if int(found[2]) < 10 ** (11 + 3 * at)), 1)
    nanos = int(found[2]) * unit + int((found[3] or "")[:9].ljust(9, "0")) * unit // _NANOS
    return -nanos if found[1] else nanos


def written(chance: Random) -> bytes:
    """A time in one of the forms, near others."""
    then = datetime(chance.choice([2023, 2024, 2024, 1999]), 1, 1) + timedelta(seconds=chance.choice([
        chance.randrange(366 * 86400), chance.randrange(90) * 3600 * 97, 59 * 86400 + chance.randrange(86400),
        86 * 86400 + 3600 * chance.randrange(8), 300 * 86400 + 1800 * chance.randrange(9),
    ]))  # fmt: skip
    fraction = chance.choice(["", "", ".5", ".25", ",123", ".123456789", ".1234567891"])
    zone = chance.choice(["", "", "Z", "+00:00", "-0130", " +0545", " UTC", "+05"])
    space = chance.choice([" ", "  "])
    day, year = f"{then.day:>2}" if space == " " else f"{then.day}", then.year
    name, week = then.strftime("%b"), then.strftime("%a")
    seconds = int((then - _EPOCH).total_seconds())
    clock, half = f"{then:%H:%M:%S}", "AM" if then.hour < 12 else "PM"
    forms = [
        f"{then:%Y-%m-%d}", f"{then:%Y-%m-%d}T{clock}{fraction}{zone}", f"{then:%Y/%m/%d} {clock}{fraction}",
        f"{then:%Y-%m-%d}\t{clock}",
        f"{then:%Y-%m-%d %H:%M}{zone}", f"{then:%Y%m%dT%H%M%S}{fraction}{zone}", f"{then:%Y-%m-%dT%H:%M}:60",
        f"{then:%d}/{name}/{year}:{clock} -0700", f"[{then:%d}/{name}/{year}:{clock} +0000]",
        f"{then.day}-{name}-{year} {clock}{fraction}", f"{week}, {then:%d} {name} {year} {clock} +0200",
        *[f"{name} {day} {clock}"] * 2, f"{name}{space}{then.day} {clock}{fraction}", f"{name} {day} {year} {clock}",
        f"{week} {name} {day} {clock}{fraction} {year}", f"{week} {name} {day} {clock} UTC {year}",
        f"{week} {name} {day} {clock} {year} -0330", f"{week} {name} {day} {clock} +0100 {year}",
        f"{week}, {day} {name} {then:%y} {clock} +0130", f"{week} {then:%d-%b-%y} {clock} GMT",
        f"{chance.choice('IWEFX')}{then:%m%d} {clock}{fraction}",
        f"{seconds}", f"{seconds}.{chance.randrange(1000)}", f"{seconds * 1000 + 7}", f"{seconds * 10**6}",
        f"{seconds * 10**9 + 1}", f"-{seconds}.5", f"{then:%d/%m/%Y} {clock}", f"{name} {then:%d %I:%M} {half}",
    ]  # fmt: skip
    made = chance.choice(forms)
    if chance.random() < 0.1:
        made = made.upper() if chance.random() < 0.5 else made.lower()
    if chance.random() < 0.05:
        at = chance.randrange(len(made))
        made = made[:at] + chance.choice("0 :9x-+") + made[at + chance.randrange(2) :]
    return made.encode()


def in_log(chance: Random) -> bytes:
    """A line of a log with a time in it, and maybe others."""
    words = ["", "", "[", "10.0.0.1 - - [", "<34>", "<34>1 ", "time=", 'a "', "x", "2 4 ", "may ", "dec0::1 "]
    behind = [b"", b"", b" x", b"] GET", b"x", b" 2024", b": y", b": hi", b",5"]
    return chance.choice(words).encode() + written(chance) + chance.choice(behind)

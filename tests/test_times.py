"""Single times, read by compiled code, against Python's datetime and zoneinfo."""

from __future__ import annotations

from random import Random

import pytest

from gpumerge_cli.native.comparison import read_time
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.order.times import InvalidTimesError, TimeSettings, compiled_format
from tests import times_read
from tests.line_cases import TIME_PARTS
from tests.times_read import SETTINGS, WITHOUT_FORMAT

READ = {"time": times_read.read, "log_time": times_read.first}


def order_of(kind: str, parameters: bytes) -> Order:
    return Order.lines(LineOrder((LineKey(kind, parameters=parameters),)))


def nanos_of(kind: str, text: bytes, parameters: bytes) -> int | None:
    found = read_time(order_of(kind, parameters), 0, text)
    return None if found is None else found.seconds * 10**9 + found.nanos


def python_nanos(kind: str, text: bytes, parameters: bytes) -> int | None:
    try:
        return READ[kind](text.strip(b" \t\n"), parameters)
    except ValueError:
        return None


@pytest.mark.parametrize("kind", READ)
def test_random_texts_are_read_as_python_reads_them(kind: str, seed: int) -> None:
    chance, known = Random(seed), WITHOUT_FORMAT if kind == "log_time" else list(SETTINGS)
    for _ in range(6000):
        parameters = chance.choice(known)
        text = chance.choice([times_read.written, times_read.in_log])(chance)
        if chance.random() < 0.3 and parameters in WITHOUT_FORMAT:
            text = b"".join(chance.choices(TIME_PARTS, k=chance.randrange(1, 5)))
        found = nanos_of(kind, text, parameters)
        assert found == python_nanos(kind, text, parameters), (text, SETTINGS[parameters])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "zone",
    ["Europe/Berlin", "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll", "Africa/Freetown", "Asia/Gaza"],
)
def test_every_hour_of_some_years_in_a_zone(zone: str) -> None:
    settings = TimeSettings(zone)
    parameters = settings.words()
    times_read.SETTINGS.setdefault(parameters, settings)
    order = order_of("time", parameters)
    for year in (1850, 1939, 1945, 2024, 2040, 2499, 2500, 2900, 9999):
        for hour in range(0, 365 * 24, 1 if year == 2024 else 7):
            text = b"%d-%02d-%02d %02d:30" % (year, hour // 24 // 31 + 1, hour // 24 % 28 + 1, hour % 24)
            found = read_time(order, 0, text)
            assert found is not None
            assert found.seconds * 10**9 == times_read.read(text, parameters), text


@pytest.mark.parametrize(
    ("form", "text", "read"),
    [
        ("%d/%m/%Y", b"31/12/2024", b"2024-12-31"),
        ("%d.%m.%y", b"1.2.69", b"1969-02-01"),
        ("%d.%m.%y", b"1.2.68", b"2068-02-01"),
        ("%Y%m%d%H%M%S", b"20240131102030", b"2024-01-31T10:20:30"),
        ("%B %d, %Y", b"September 5, 2024", b"2024-09-05"),
        ("%b %e %Y", b"sep  5 2024", b"2024-09-05"),
        ("%A, %d %B %Y %I:%M %p", b"Monday, 05 May 2025 12:07 AM", b"2025-05-05T00:07"),
        ("%I%p %D", b"12pm 05/06/24", b"2024-05-06T12:00"),
        ("%Y-%j", b"2024-366", b"2024-12-31"),
        ("%F %T.%f%z", b"2024-05-06 01:02:03.5+0200", b"2024-05-05T23:02:03.5Z"),
        ("%s.%f", b"-1.5", b"1969-12-31T23:59:58.5Z"),
        ("%d%%%m %Y", b"5%6    2024", b"2024-06-05"),
        ("%d/%m/%Y", b"31/11/2024", b""),
        ("%Y-%j", b"2023-366", b""),
        ("%H:%M %d/%m/%Y", b"24:00 01/01/2024", b""),
        ("%I %d/%m/%Y", b"13 01/01/2024", b""),
        ("%d/%m/%Y", b"01/02/2024x", b""),
    ],
)
def test_formats(form: str, text: bytes, read: bytes) -> None:
    found = nanos_of("time", text, TimeSettings(format=form).words())
    assert found == (python_nanos("time", read, TimeSettings().words()) if read else None)
    line = b"ahead of it " + text + b" behind it"
    if read:
        assert nanos_of("log_time", line, TimeSettings(format=form).words()) == found


@pytest.mark.parametrize(
    "settings",
    [
        *(TimeSettings(format=form) for form in ("%Q", "%H:%M", "%j %d", "%Y %", "%j%%Y", "%%Y")),
        *(TimeSettings(zone) for zone in ("Europe/Nowhere", "../zone", "America")),
    ],
)
def test_impossible_settings(settings: TimeSettings) -> None:
    with pytest.raises(InvalidTimesError):
        settings.words()


def test_blanks_at_the_ends_of_a_format_do_not_count() -> None:
    assert compiled_format("%n%Y-%m-%d%t") == "%Y-%m-%d"

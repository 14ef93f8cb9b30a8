"""Numbers and counts, as options take them."""

from __future__ import annotations

import pytest

from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.parse import parse_count, parse_counts
from gpumerge_cli.cli.values import read_value
from gpumerge_cli.errors import GpumergeError, UsageError


@pytest.mark.parametrize(
    ("given", "value"), [("8", 8), ("008", 8), ("0", None), ("-1", None), ("1" * 30, 2**62), ("1.5", None), ("", None)]
)
def test_numbers(given: str, value: int | None) -> None:
    option = command("merge").option("threads")
    if value is None:
        with pytest.raises(UsageError, match=r"--threads: invalid number .*; write 1 or more"):
            read_value(option, given)
    else:
        assert read_value(option, given) == value


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("1500000", 1_500_000),
        ("1_500_000", 1_500_000),
        ("1,500", 1500),
        ("1e6", 10**6),
        ("1.5e6", 1_500_000),
        ("2^28", 2**28),
        ("2**20", 2**20),
        ("10M", 10**7),
        ("2.5k", 2500),
        ("1G", 10**9),
        ("123456789012345678901", 123456789012345678901),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert parse_count(text, "--count") == count


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "1e-3", "2^", "1Mi", "1e6M", "0x10"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(GpumergeError, match="--count"):
        parse_count(text, "--count")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("5", (5,)),
        ("1e3, 2^4", (1000, 16)),
        ("2^10:2^16:4,7", (1024, 4096, 16384, 65536, 7)),
        ("1:9", (1, 2, 4, 8)),
        ("2,2", (2,)),
    ],
)
def test_lists_of_counts(text: str, counts: tuple[int, ...]) -> None:
    assert parse_counts(text, "--sizes") == counts

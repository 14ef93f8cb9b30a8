"""Numbers, sizes, bytes and words as GNU sort reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeVar

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.rules import LONGEST_SEPARATOR
from gpumerge_cli.patterns import pattern
from gpumerge_cli.suggestions import did_you_mean
from gpumerge_cli.units import quoted_value

NUMBER = r"\s*\+?[0-9]+"
"""The pattern of a number as C's strtoumax takes it; use it with re.ASCII."""
SATURATED = 1 << 62
"""The number that stands for any greater field or character, so that compiled code can still add one."""

_Word = TypeVar("_Word")
_WHOLE = pattern(NUMBER, re.ASCII)
_SIZE = pattern(rf"({NUMBER})([bEgGkKmMPtTYZ%]?)|([EgGkKmMPtTYZ])", re.ASCII)
_LARGEST_SIZE = (1 << 64) - 1
_STANDARD_STREAMS = 3


def parse_number(text: str) -> int:
    """The value of a NUMBER of any length. For a number beyond 64 bits it may be another number beyond 64 bits."""
    digits = text.strip().removeprefix("+").lstrip("0")
    return int(digits[:21] or "0")


def parse_sort_size(text: str, option: str) -> int:
    """Bytes that -S names: units of 1024 without a letter, b for bytes, % of the memory that the machine has.

    Sizes as 256MB, 2GiB and 1.5G, which GNU sort does not take, are read as units.parse_size does. Raises UsageError,
    naming `option`.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        from gpumerge_cli.units import parse_size

        if re.fullmatch(r".*[0-9]\s*[kmgt](i?b)?\s*", text, re.ASCII | re.IGNORECASE):
            return parse_size(text, option)
        raise UsageError(
            f"{option}: invalid size {quoted_value(text)}", way_out="write for example 500M, 2G, 4096b or 25%"
        )
    number = parse_number(found[1] or "1")
    unit = found[2] or found[3] or "K"
    if unit == "b":
        size = number
    elif unit == "%":
        size = number * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 100
    else:
        size = number << 10 * (1 + "KMGTPEZY".index(unit.upper()))
    if max(size, number) > _LARGEST_SIZE:
        raise UsageError(f"{option}: {quoted_value(text)} is too large", way_out="name less than 16E")
    return size


def parse_open_files(text: str, option: str, least: int) -> int:
    """The number in `text`. Raises UsageError, naming `option`, below `least` and above the files that can be open."""
    if _WHOLE.fullmatch(text) is None:
        raise UsageError(f"{option}: invalid number {quoted_value(text)}", way_out=f"write {least} or more")
    number = parse_number(text)
    if number < least:
        raise UsageError(f"{option} {text} is too small", way_out=f"write {least} or more")
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and number > limit - _STANDARD_STREAMS:
        raise UsageError(
            f"{option} {text} is more files than can be open",
            way_out=f"write {limit - _STANDARD_STREAMS} or less, or raise the limit (ulimit -n)",
        )
    return min(number, SATURATED)


def parse_whole(text: str, option: str, least: int) -> int:
    """The number in `text`, at most SATURATED. Raises UsageError, naming `option`, for a number below `least`."""
    number = parse_number(text) if _WHOLE.fullmatch(text) else None
    if number is None or number < least:
        raise UsageError(f"{option}: invalid number {quoted_value(text)}", way_out=f"write {least} or more")
    return min(number, SATURATED)


def parse_numbers(text: str, option: str) -> tuple[int, ...]:
    """The numbers that `text` lists, as 0,1, each once; () for the word all. Raises UsageError, naming `option`."""
    if text.strip() == "all":
        return ()
    numbers = []
    for part in text.split(","):
        if _WHOLE.fullmatch(part) is None:
            raise UsageError(
                f"{option}: invalid list of numbers {quoted_value(text)}",
                way_out="write one as 0, several as 0,1, or all",
            )
        numbers.append(min(parse_number(part), SATURATED))
    return tuple(dict.fromkeys(numbers))


def parse_separator(text: str) -> bytes:
    r"""The bytes that -t names; \0 is NUL and \t a tab. Raises UsageError if they cannot stand between fields."""
    byte = os.fsencode(text).replace(rb"\0", b"\0").replace(rb"\t", b"\t")
    if not byte:
        raise UsageError("-t is empty", way_out=r"name the text between fields; \0 is NUL, \t a tab")
    if re.search(rb"\\[0-9A-Za-z]", byte):
        raise UsageError(
            f"-t {quoted_value(text)} has an unknown escape",
            way_out=r"write \0 for NUL, \t for a tab, any other byte itself",
        )
    if len(byte) > LONGEST_SEPARATOR:
        raise UsageError(
            f"-t {quoted_value(text)} is longer than {LONGEST_SEPARATOR} bytes", way_out="name a shorter separator"
        )
    if len(byte) > 1 and b"\n" in byte:
        raise UsageError(
            f"-t {quoted_value(text)} contains an end of a line", way_out="name bytes that stand within a line"
        )
    return byte


def match_word(word: str, words: Mapping[str, _Word], option: str, exit_code: int = 2) -> _Word:
    """The value of the only one of `words` that begins with `word`.

    Raises UsageError with `exit_code` if there is none, or if there are several with different values.
    """
    if word in words:
        return words[word]
    found = {words[name] for name in words if name.startswith(word)}
    if len(found) != 1:
        trouble = "ambiguous" if found else "invalid"
        way_out = did_you_mean(word, () if found else words, f"use {', '.join(words)}")
        error = UsageError(f"{option}: {trouble} value {quoted_value(word)}", way_out=way_out)
        error.exit_code = exit_code
        raise error
    return found.pop()

"""Sizes, counts and lists in the notation of all commands but sort."""

from __future__ import annotations

import re

from gpumerge_cli.errors import UsageError
from gpumerge_cli.patterns import pattern
from gpumerge_cli.units import quoted_value

_COUNT = pattern(r"(\d+(?:\.\d+)?)(?:e(\d{1,2})|([kmgt]))?|(\d+)\s*(?:\^|\*\*)\s*(\d{1,2})", re.IGNORECASE)
_MOST_DIGITS = 1000  # Python itself reads a few thousand
_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_memory(size: str, option: str) -> int:
    """The bytes in a size as -S takes it, 1 or more. Raises UsageError, naming `option`, for anything else."""
    from gpumerge_cli.cli.gnu_values import parse_sort_size

    found = parse_sort_size(size, option)
    if found == 0:
        raise UsageError(f"{option} {size}: no memory", way_out="leave it out, or name a larger size")
    return found


def parse_words(text: str, option: str, *, repeated: bool = False) -> tuple[str, ...]:
    """The words of a list with commas between them, each once unless they may be `repeated`.

    Raises UsageError if there is none.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{option}: the list is empty", way_out="write one or more, with commas between them")
    return tuple(words if repeated else dict.fromkeys(words))


def parse_counts(text: str, option: str, *, repeated: bool = False) -> tuple[int, ...]:
    """Counts with commas between them; "2^10:2^20:4" stands for 2^10, 2^12, ..., 2^20, by factors of 4 (2 by default).

    Each is there once, unless they may be `repeated`. Raises UsageError, naming `option`, for an invalid count
    or an empty range.
    """
    counts: list[int] = []
    for word in parse_words(text, option, repeated=repeated):
        first, *others = (parse_count(part, option) for part in word.split(":"))
        if not others:
            counts.append(first)
            continue
        last, factor = others[0], others[1] if len(others) == 2 else 2
        if len(others) > 2 or first < 1 or last < first or factor < 2:
            raise UsageError(f"{option}: invalid range {quoted_value(word)}", way_out="write for example 2^10:2^20:4")
        while first <= last:
            counts.append(first)
            first *= factor
    return tuple(counts if repeated else dict.fromkeys(counts))


def parse_count(text: str, option: str) -> int:
    """Items in `text`: "1500000", "1_500_000", "1e6", "2^28" or "10M" (letters are powers of 1000).

    Raises UsageError, naming `option`, if `text` is not a whole number.
    """
    wrong = UsageError(
        f"{option}: invalid count {quoted_value(text)}", way_out="write for example 1000000, 1e6, 10M or 2^20"
    )
    found = _COUNT.fullmatch(text.strip().replace("_", "").replace(",", ""))
    if found is None:
        raise wrong
    if len(text) > _MOST_DIGITS:
        raise UsageError(f"{option}: a number of {len(text):,} digits", way_out=wrong.way_out)
    number, exponent, letter, base, power = found.groups()
    if base is not None:
        product: int = int(base) ** int(power)
        return product
    scale: int = 10 ** int(exponent) if exponent else _SCALES[letter.lower()] if letter else 1
    whole, _, fraction = number.partition(".")
    count, rest = divmod(int(whole + fraction) * scale, int(10 ** len(fraction)))
    if rest:
        raise wrong
    return count

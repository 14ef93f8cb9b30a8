"""Sizes that the CPU's library takes."""

from __future__ import annotations

from gpumerge_cli.errors import UsageError

MAX_TILE = 1 << 24
MAX_BLOCK = 1024


def within(option: str, wish: int | None, default: int, low: int, high: int, what: str) -> int:
    """The wish, or the default where there is none. Raises UsageError for one that is not from `low` to `high`."""
    if wish is None:
        return default
    if not low <= wish <= high:
        raise UsageError(f"{option} {wish}: the CPU backend takes {low} to {high} {what}")
    return wish

"""JSON that every strict reader accepts, also where names of files hold bytes that are not UTF-8."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_UNDECODED = re.compile("[\ud800-\udfff]")
_WRITTEN = re.compile("\0([89a-f][0-9a-f])")


def dumps(value: Any, indent: int | None = None, *, dense: bool = False) -> str:
    """`value` as JSON. A byte that is not UTF-8 is written as U+0000 and two hexadecimal digits. dense: without spaces.

    File names and words of a command never hold U+0000, so `restored` finds the bytes again.
    """
    import json

    return json.dumps(_plain(value), indent=indent, separators=(",", ":") if dense else None)


def restored(value: Any) -> Any:
    """A value that was read from JSON, with the bytes that `dumps` wrote."""
    return _mapped(value, lambda text: _WRITTEN.sub(lambda found: chr(0xDC00 + int(found[1], 16)), text))


def _plain(value: Any) -> Any:
    return _mapped(value, lambda text: _UNDECODED.sub(_digits, text))


def _digits(found: re.Match[str]) -> str:
    byte = ord(found[0]) - 0xDC00
    return f"\0{byte:02x}" if 0x80 <= byte <= 0xFF else "\N{REPLACEMENT CHARACTER}"


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_mapped(name, change): _mapped(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(one, change) for one in value]
    return value

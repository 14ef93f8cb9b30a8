"""The values of typed kinds as Python reads them: the oracle of kernels/typed_keys.cuh, with which it shares no code.

READ has a function for each kind, (text without blanks at its ends, key) -> an object that compares as the values do.
It raises ValueError for a text that is no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gpumerge_cli.order.rules import LineKey

BLANKS = b" \t\n"


def _hex(text: bytes, key: LineKey) -> Any:
    if re.fullmatch(rb"(?:0[xX])?[0-9a-fA-F]+", text) is None:
        raise ValueError
    return int(text, 16)


READ: dict[str, Callable[[bytes, LineKey], Any]] = {"hex": _hex}


def class_of(key: LineKey, text: bytes) -> str:
    """ "null", "invalid" or "value"."""
    bare = text.strip(BLANKS)
    if key.null_place and (bare == b"" or bare in key.null_values):
        return "null"
    if key.compare in READ:
        try:
            READ[key.compare](bare, key)
        except ValueError:
            return "invalid"
    return "value"


def place_of(key: LineKey, found: str) -> int:
    """The place of a class among the keys: that of values is in the middle."""
    value = 2 if key.null_place == "first" else 1
    if found == "null":
        return 0 if key.null_place == "first" else 3
    return value + {"value": 0, "invalid": -1 if key.invalid == "first" else 1}[found]


def is_classed(key: LineKey) -> bool:
    """Whether a class goes ahead of the key."""
    return key.compare in READ or key.null_place != ""

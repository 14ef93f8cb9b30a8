"""The images of typed kinds as texts of 0 and 1: the oracle of the compiled code, to the bit.

IMAGES has a function for each kind, (value without blanks at its ends, key, bits of the prefix) -> (the image, whether
anything may follow it). What does not fit into the prefix is not followed by anything either.
"""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.order.rules import LineKey

Image = tuple[str, bool]


def _hex(text: bytes, key: LineKey, most: int) -> Image:
    digits = f"{int(text, 16):x}"
    return f"{min(len(digits), 255):08b}{int(digits[:16].ljust(16, '0'), 16):064b}", len(digits) <= 16 and most > 72


IMAGES: dict[str, Callable[[bytes, LineKey, int], Image]] = {"hex": _hex}

"""The images of typed kinds as texts of 0 and 1: the oracle of the compiled code, to the bit.

IMAGES has a function for each kind, (value without blanks at its ends, key, bits of the prefix) -> (the image, whether
anything may follow it). What does not fit into the prefix is not followed by anything either.
"""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.order.rules import LineKey
from tests.typed_values import READ

Image = tuple[str, bool]
ZERO = 1 << 63
"""The image of the number 0."""


def magnitude(exponent: int, digits: bytes) -> int:
    """An image below 2**63 for 0.DIGITS * 10**exponent. The first digit must not be 0."""
    if exponent + 64 >= 127:
        return (1 << 63) - 1
    if exponent + 64 <= 0:
        return 1
    return (exponent + 64 << 56) + int(digits[:16].ljust(16, b"0")) * 7 + bool(digits[16:].strip(b"0"))


def _hex(text: bytes, key: LineKey, most: int) -> Image:
    digits = f"{int(text, 16):x}"
    held = digits[:16] if len(digits) < 255 else ""
    return f"{min(len(digits), 255):08b}{int(held.ljust(16, '0'), 16):064b}", len(digits) <= 16 and most > 72


def _counted(number: int, most: int, exact: bool = True) -> Image:
    return f"{number:040b}", exact and most > 40


def _size(text: bytes, key: LineKey, most: int) -> Image:
    value = READ["size"](text, key)
    if value == 0:
        return f"{ZERO:064b}", most > 64
    scale = 0
    while (abs(value) * 10**scale).denominator > 1:
        scale += 1
    whole = b"%d" % int(abs(value) * 10**scale)
    exponent, digits = len(whole) - scale, whole.rstrip(b"0")
    image = magnitude(exponent, digits)
    exact = len(digits) <= 16 and 1 <= exponent + 64 <= 126
    return f"{ZERO - image if value < 0 else ZERO + image:064b}", exact and most > 64


def _duration(text: bytes, key: LineKey, most: int) -> Image:
    seconds, nanos = divmod(READ["duration"](text, key), 10**9)
    return f"{seconds + 2**63:064b}{nanos:032b}", most > 96


def _address(text: bytes, key: LineKey, most: int) -> Image:
    version, number, behind = READ["address"](text, key)
    if version == 6:
        return f"1{number:0128b}"[:128], False
    return f"0{number:032b}{behind - 70 if behind >= 200 else behind:017b}", most > 50


def _time(text: bytes, key: LineKey, most: int) -> Image:
    seconds, nanos = divmod(READ[key.compare](text, key), 10**9)
    return f"{seconds + 2**39:040b}{nanos:030b}", most > 70


def _list(text: bytes, key: LineKey, most: int) -> Image:
    rank, other = READ["list"](text, key)
    return _counted(rank, most, other == b"")


IMAGES: dict[str, Callable[[bytes, LineKey, int], Image]] = {
    "hex": _hex, "size": _size, "duration": _duration, "address": _address, "list": _list,
    "time": _time, "log_time": _time,
    "length": lambda text, key, most: _counted(READ["length"](text, key), most),
    "bytes_length": lambda text, key, most: _counted(READ["bytes_length"](text, key), most),
}  # fmt: skip

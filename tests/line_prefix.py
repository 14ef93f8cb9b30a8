"""The 64-bit prefix of a text line, made byte by byte: the oracle of the compiled code.

Prefixes that differ compare as the lines do; equal prefixes decide nothing. With no keys the prefix is the line's first
8 bytes, zero padded, complemented if the order is reversed. With keys it is the beginning of a stream:

- for a key "bytes": its bytes, escaped (0 as 1 1, and 1 as 1 2), and 0 for its end;
- for a key "month": its number, one byte;
- for any other key: a 64-bit image; nothing follows it, unless it is the image of a number of at most 16 digits;
- each of these is complemented if the key is reversed;
- unless the order is stable: the line's bytes, zero padded, complemented if the order is reversed.

A stable order's stream is zero padded. Ahead of a key that may be null or invalid are two bits for its place; nothing
follows them for a null, and an invalid text follows them as its bytes.
"""

from __future__ import annotations

import decimal as decimals
import hashlib

from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import typed_images
from tests.linekeys import keys_part
from tests.typed_images import ZERO, magnitude
from tests.typed_values import bare_of, class_of, is_classed, place_of, without_separators

BLANKS = b" \t\n"
DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEX_DIGITS = b"0123456789abcdef"
MONTHS = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


def packed_prefixes(reverse: bool, lines: list[bytes]) -> list[int]:
    """The prefixes of lines without keys: `packed`, of their first 24 bytes, zero padded."""
    found = packed([line[:24].ljust(24, bytes(1)) for line in lines], 48)
    return [(1 << 64) - 1 - image if reverse else image for image in found]


def packed(images: list[bytes], most: int) -> list[int]:
    """For each of several images of one length, its first 64 bits that are not the same in all images.

    If more than `most` of the first 64 bits differ, the first 64 bits as they are.
    """
    bits = [f"{int.from_bytes(image, 'big'):0{8 * len(image)}b}" for image in images]
    kept = [place for place, each in enumerate(zip(*bits, strict=True)) if len(set(each)) > 1]
    if sum(place < 64 for place in kept) > most:
        kept = list(range(64))
    return [int("".join(each[place] for place in kept)[:64].ljust(64, "0"), 2) for each in bits]


def prefix(order: LineOrder, line: bytes, nbytes: int = 8) -> int:
    """The prefix of the line: the first 64 bits of its stream, unsigned; or the first `nbytes` bytes of the stream."""
    stream, most = "", 8 * nbytes
    for key in order.keys:
        part_of_keys = keys_part(order, line)
        text = part_of_keys[begin(key, order.separator, part_of_keys) : end(key, order.separator, part_of_keys)]
        part, goes_on = "", True
        found = class_of(key, text)
        if is_classed(key):
            stream += f"{place_of(key, found):02b}"
        if found == "invalid":
            part = bits(streamed(LineKey(), text)[0])
        elif found == "value" and key.compare in typed_images.IMAGES:
            part, goes_on = typed_images.IMAGES[key.compare](bare_of(key, text), key, most)
        elif found == "value":
            image, goes_on = streamed(key, translated(key, without_separators(key, text)))
            part = bits(image)
        stream += complement(part) if key.reverse else part
        if len(stream) >= most or not goes_on:
            return int(stream[:most].ljust(most, "0"), 2)
    last = "" if order.stable and order.keys else bits(line[:nbytes].ljust(nbytes, b"\0"))
    stream += complement(last) if order.reverse else last
    return int(stream[:most].ljust(most, "0"), 2)


def bits(text: bytes) -> str:
    return "".join(f"{c:08b}" for c in text)


def complement(stream: str) -> str:
    return stream.translate({48: "1", 49: "0"})


def begin(key: LineKey, separator: bytes | None, line: bytes) -> int:
    """The position where the key begins."""
    p = 0
    for _ in range(min(key.start_field, len(line) + 1)):
        p = behind_field(line, p, separator)
        if separator is not None:
            p = min(len(line), p + len(separator))
    if key.skip_start:
        p = behind_blanks(line, p)
    return min(len(line), p + key.start_char)


def end(key: LineKey, separator: bytes | None, line: bytes) -> int:
    """The position where the key ends. It may lie ahead of the begin of the key, if that is empty."""
    if key.end_field is None:
        return len(line)
    p = 0
    for _ in range(min(key.end_field, len(line) + 1)):
        p = behind_field(line, p, separator)
        if separator is not None:
            p = min(len(line), p + len(separator))
    if key.end_char == 0:
        return behind_field(line, p, separator)
    if key.skip_end:
        p = behind_blanks(line, p)
    return min(len(line), p + key.end_char)


def behind_field(line: bytes, p: int, separator: bytes | None) -> int:
    if separator is None:
        p = behind_blanks(line, p)
    while p < len(line) and not (line[p] in BLANKS if separator is None else line.startswith(separator, p)):
        p += 1
    return p


def behind_blanks(line: bytes, p: int) -> int:
    while p < len(line) and line[p] in BLANKS:
        p += 1
    return p


def translated(key: LineKey, text: bytes) -> bytes:
    kept = bytearray()
    for c in text:
        if key.dictionary and c not in BLANKS + DIGITS + LETTERS:
            continue
        if key.printable and not key.dictionary and not 32 <= c <= 126:
            continue
        kept += bytes([c]).upper() if key.fold else bytes([c])
    return bytes(kept)


def streamed(key: LineKey, text: bytes) -> tuple[bytes, bool]:
    """(the key's bytes in the stream, whether anything may follow them)."""
    if key.compare == "bytes":
        escaped = text.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1")
        return escaped + b"\0", True
    if key.compare == "month":
        p = behind_blanks(text, 0)
        name = text[p : p + 3].upper().decode("latin-1")
        return bytes([MONTHS.index(name) if name in MONTHS else 0]), True
    if key.compare == "version":
        return version(text).ljust(8, b"\0")[:8], False
    if key.compare == "random":
        return hashlib.md5((key.parameters or key.kind.default) + text).digest(), False
    image = {"numeric": numeric, "human": human, "general": general}[key.compare](text)
    return image.to_bytes(8, "big"), key.compare == "numeric" and is_exact(text)


def decimal(text: bytes) -> tuple[int, bytes, bytes]:
    """(decimal exponent, significant digits, the rest of the text) of an unsigned number. Zero has no digits."""
    p = 0
    while p < len(text) and text[p] in DIGITS:
        p += 1
    whole, text = text[:p].lstrip(b"0"), text[p:]
    fraction = b""
    if text[:1] == b".":
        p = 1
        while p < len(text) and text[p] in DIGITS:
            p += 1
        fraction, text = text[1:p], text[p:]
    if whole:
        return len(whole), whole + fraction, text
    significant = fraction.lstrip(b"0")
    return len(significant) - len(fraction), significant, text


def numeric(text: bytes) -> int:
    text = text[behind_blanks(text, 0) :]
    minus = text[:1] == b"-"
    exponent, digits, _ = decimal(text[minus:])
    if not digits:
        return ZERO
    return ZERO - magnitude(exponent, digits) if minus else ZERO + magnitude(exponent, digits)


def is_exact(text: bytes) -> bool:
    text = text[behind_blanks(text, 0) :].removeprefix(b"-")
    exponent, digits, _ = decimal(text)
    return not digits or (not digits[16:].strip(b"0") and 1 <= exponent + 64 <= 126)


def human(text: bytes) -> int:
    text = text[behind_blanks(text, 0) :]
    minus = text[:1] == b"-"
    exponent, digits, rest = decimal(text[minus:])
    if not digits:
        return ZERO
    unit = 1 if rest[:1] == b"k" else max(0, b" KMGTPEZY".find(rest[:1])) if rest else 0
    image = (unit << 59) + (magnitude(exponent, digits) >> 4)
    return ZERO - image if minus else ZERO + image


def general(text: bytes) -> int:
    text = text.lstrip(b" \t\n\v\f\r").lower()
    minus = text[:1] == b"-"
    if text[:1] in (b"-", b"+"):
        text = text[1:]
    infinity = 2 if minus else (1 << 64) - 1
    if text[:3] == b"inf":
        return infinity
    if text[:3] == b"nan":
        return 1
    if text[:2] == b"0x" and text[2:].removeprefix(b".")[:1] in [bytes([c]) for c in HEX_DIGITS]:
        exponent, digits = hexadecimal(text[2:])
    elif text.removeprefix(b".")[:1].isdigit():
        exponent, digits, rest = decimal(text)
        exponent += power(rest, b"e")
    else:
        return 0
    if not digits or (exponent, digits) < (-4950, b"1822599765941237302"):
        return ZERO
    if (exponent, digits) >= (4933, b"1189731495357231765"):
        return infinity
    image = magnitude(exponent, digits[:16]) >> 1
    return ZERO - image if minus else ZERO + image


def power(text: bytes, letter: bytes) -> int:
    """The exponent at the start of the text; 0 if there is none."""
    if text[:1] != letter:
        return 0
    p = 2 if text[1:2] in (b"-", b"+") else 1
    value = 0
    if text[p : p + 1].isdigit():
        while p < len(text) and text[p] in DIGITS:
            value = min(10 * value + text[p] - ord("0"), 10**9)
            p += 1
    return -value if text[1:2] == b"-" else value


def hexadecimal(text: bytes) -> tuple[int, bytes]:
    """(decimal exponent, significant digits) of the number behind 0x. Digits behind the mantissa's 16th count as 0."""
    mantissa = shift = seen = 0
    point = False
    p = 0
    while p < len(text) and (text[p] in HEX_DIGITS or (text[p] == ord(".") and not point)):
        if text[p] == ord("."):
            point = True
        else:
            if seen < 16:
                mantissa = 16 * mantissa + HEX_DIGITS.index(text[p])
                shift -= 4 * point
            else:
                shift += 4 * (not point)
            seen += mantissa > 0
        p += 1
    shift += power(text[p:], b"p")
    if mantissa == 0:
        return 0, b""
    if abs(shift) > 20_000:
        return (10**9, b"1") if shift > 0 else (0, b"")
    exactly = decimals.Context(prec=60, Emax=10**6, Emin=-(10**6))
    value = exactly.multiply(decimals.Decimal(mantissa), exactly.power(decimals.Decimal(2), shift))
    digits = b"".join(b"%d" % digit for digit in value.as_tuple().digits)
    return value.adjusted() + 1, digits.rstrip(b"0")


def version(name: bytes) -> bytes:
    """The first bytes of a name's stream."""
    if name in (b"", b".", b".."):
        return bytes([len(name)])
    stream = b"\3" if name[:1] == b"." else b"\4"
    name = name[: without_suffix(name)]
    while len(stream) < 8:
        while name and name[0] not in DIGITS:
            stream += bytes([rank(name[0])])
            name = name[1:]
        stream += b"\1"
        name = name.lstrip(b"0") if name[:1] == b"0" else name
        p = 0
        while p < len(name) and name[p] in DIGITS:
            p += 1
        if p >= 255:
            return (stream + b"\xff").ljust(8, b"\0")
        stream += bytes([p]) + name[:p]
        name = name[p:]
    return stream


def rank(c: int) -> int:
    if c == ord("~"):
        return 0
    if c in LETTERS:
        return 3 + LETTERS.index(c)
    return 55 + sum(other not in LETTERS + DIGITS + b"~" for other in range(c))


def without_suffix(s: bytes) -> int:
    """gnulib's file_prefixlen."""
    i = 0
    while True:
        length = i
        while i + 1 < len(s) and s[i] == ord(".") and s[i + 1] in LETTERS + b"~":
            i += 2
            while i < len(s) and s[i] in LETTERS + DIGITS + b"~":
                i += 1
        if i >= len(s):
            return length
        i += 1

"""Bytes as text of one line: control bytes, bytes that are not UTF-8 and backslashes are written as escapes."""

from __future__ import annotations

import os
import re

from gpumerge_cli.shell_words import hex_escapes

_NAMES = {"\\": b"\\", "t": b"\t", "n": b"\n", "r": b"\r"}
_LETTERS = {value.decode(): f"\\{name}" for name, value in _NAMES.items()}
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.?))", re.DOTALL)


def escaped_text(data: bytes) -> str:
    """`data` as printable text, which `bytes_of` turns into the same bytes: "\\t", "\\\\", "\\x01", "\\xe9"."""
    text = data.decode("utf-8", "surrogateescape")
    return text if text.isprintable() and "\\" not in text else "".join(map(_escape, text))


def escaped_line(data: bytes) -> str:
    """The same, with an escape for a space at the end, which nobody would see."""
    text = escaped_text(data)
    return f"{text[:-1]}\\x20" if text.endswith(" ") else text


def printable(text: str) -> str:
    """A text that bytes_of takes, with escapes for all that is not printable. Other escapes stay as they are."""
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def bytes_of(text: str) -> bytes:
    """The bytes that `text` stands for. Raises ValueError for a backslash that begins no escape."""
    return _ESCAPE.sub(_unescape, os.fsencode(text))


def _escape(character: str) -> str:
    if character in _LETTERS:
        return _LETTERS[character]
    if character.isprintable():
        return character
    return hex_escapes(character.encode("utf-8", "surrogateescape"))


def _unescape(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes.fromhex(found[1].decode())
    name = found[2].decode("latin-1")
    if name not in _NAMES:
        raise ValueError(f"{found[0].decode('latin-1')} is not an escape")
    return _NAMES[name]

"""Words of command lines as a shell reads them."""

from __future__ import annotations

import os
import shlex

from gpumerge_cli.patterns import pattern

_MEANT = pattern(r'["$`\\!]')
"""Finds a character that a shell changes between double quotes."""


def quoted(word: str) -> str:
    """`word` for a shell, on one line and without tabs."""
    if word.isprintable():
        return f'"{word}"' if "'" in word and not _MEANT.search(word) else shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in "'\\":
        return letter
    return hex_escapes(os.fsencode(letter))


def hex_escapes(data: bytes) -> str:
    """`data` as escapes alone: "\\x01\\xe9"."""
    return "".join(f"\\x{byte:02x}" for byte in data)

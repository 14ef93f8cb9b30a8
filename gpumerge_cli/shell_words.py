"""Words of command lines as a shell reads them."""

from __future__ import annotations

import os
import re

from gpumerge_cli.patterns import pattern

_PLAIN = pattern(r"[\w@%+=:,./-]+", re.ASCII)
"""Matches a word that no shell changes."""
_MEANT = pattern(r'["$`\\!]')
"""Finds a character that a shell changes between double quotes."""


def quoted(word: str) -> str:
    """`word` for a shell, on one line and without tabs."""
    if word.isprintable():
        return f'"{word}"' if "'" in word and not _MEANT.search(word) else _in_quotes(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _in_quotes(word: str) -> str:
    """`word` as shlex.quote gives it. Importing shlex takes longer than quoting all words."""
    if _PLAIN.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in "'\\":
        return letter
    return hex_escapes(os.fsencode(letter))


def hex_escapes(data: bytes) -> str:
    """`data` as escapes alone: "\\x01\\xe9"."""
    return "".join(f"\\x{byte:02x}" for byte in data)

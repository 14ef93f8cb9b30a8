"""Words of command lines as a shell reads them."""

from __future__ import annotations

import os
import shlex


def quoted(word: str) -> str:
    """`word` for a shell, on one line and without tabs."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in "'\\":
        return letter
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))

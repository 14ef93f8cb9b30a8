"""Paths of values in JSON, as --field names keys: a.b is the member b of the member a, a.0 an array's first element.

A backslash ahead of a dot, a comma, a colon or a backslash makes it a part of a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_kinds import TYPED_WORDS

_ESCAPED = re.compile(r"\\([.,:\\])")
_PART = r"(?:[^\\{0}]|\\.?)*"
_BETWEEN_COMMAS = re.compile(_PART.format(","), re.DOTALL)
_BETWEEN_DOTS = re.compile(_PART.format("."), re.DOTALL)
_LAST_COLON = re.compile(r"((?:[^\\]|\\.)*):([^\\:]*)", re.DOTALL)


def split_keys(text: str) -> list[tuple[str, str]]:
    """The paths between the commas of a text, each with what is behind its colon.

    An r behind a typed kind and a comma belongs to it.
    """
    words: list[tuple[str, str]] = []
    for word in _split(_BETWEEN_COMMAS, text):
        if word == "r" and words and words[-1][1] in TYPED_WORDS:
            words[-1] = words[-1][0], f"{words[-1][1]},r"
            continue
        found = _LAST_COLON.fullmatch(word)
        words.append((word, "") if found is None else (found[1], found[2]))
    return words


def split_words(text: str) -> Sequence[str]:
    """The paths between the commas of a text, without options."""
    return _split(_BETWEEN_COMMAS, text)


def path_of(word: str) -> tuple[str, ...]:
    """The names that a path goes through. Raises UsageError for an invalid escape."""
    rest = _ESCAPED.sub("", word)
    if "\\" in rest:
        what = f"--field {word}: a backslash may stand only before a dot, a comma, a colon or a backslash"
        raise UsageError(what, way_out=r"write \\ for a backslash")
    return tuple(_ESCAPED.sub(r"\1", part) for part in _split(_BETWEEN_DOTS, word))


def _split(part: re.Pattern[str], text: str) -> Sequence[str]:
    """The parts of a text between separators of one character. part: it matches at every place."""
    found, at = [], 0
    while at <= len(text):
        match = part.match(text, at)
        assert match is not None
        found.append(match[0])
        at = match.end() + 1
    return found

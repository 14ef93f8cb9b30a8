"""Hides values of environment variables, which may be secret: lines on standard error name the variable instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from gpumerge_cli.patterns import pattern
from gpumerge_cli.units import in_short, visible
from gpumerge_cli.urls import is_url, shown

_SHORT = 3
"""A value of at most so many characters is not secret, and occurs in other words."""
_LONG = 6
"""A value of at least so many characters is replaced within words, too."""
_COMMON = ("/", "/tmp", "/var/tmp", "/dev/shm")
_TEMPORARY = ".gpumerge-"
_FIELDS_AND_GLOBS = pattern(r"\{\w*\}|[*?\[\]]+")

_forms: dict[str, str] = {}
"""Regular expressions of texts that show a value, by the text, and the words of the command line, which stay."""
_names: dict[str, str] = {}
"""The text that takes the place of each."""
_pattern: re.Pattern[str] | None = None


def start_concealing(arguments: Iterable[str]) -> None:
    """Forget all values. arguments: the words of the command line, which stay visible: the user wrote them."""
    global _pattern
    _forms.clear()
    _names.clear()
    _pattern = None
    for word in arguments:
        for text in (word, word.partition("=")[2]):
            if len(text) > _SHORT:
                _forms[text], _names[text] = re.escape(text), text


def conceal(name: str, value: str) -> None:
    """From now on, `concealed` shows `name` in place of the value, and of paths that are made from it."""
    global _pattern
    for text, instead, form in _shapes(name, value):
        for spelling in (text, repr(text), repr(text)[1:-1], visible(text), in_short(text)):
            if len(spelling) > _SHORT and spelling not in _forms:
                _forms[spelling], _names[spelling] = form.format(re.escape(spelling)), instead
    _pattern = None


def concealed(text: str) -> str:
    """`text` with names of variables in place of their values."""
    global _pattern
    if not _forms:
        return text
    if _pattern is None:
        # The longest comes first, since one may begin another.
        _pattern = re.compile("|".join(form for _, form in sorted(_forms.items(), key=lambda each: -len(each[0]))))
    return _pattern.sub(lambda found: _names.get(found[0], found[0]), text)


def _shapes(name: str, value: str) -> Iterator[tuple[str, str, str]]:
    """Texts that show the value, what stands in their place, and the frame of the pattern that finds them."""
    for one in dict.fromkeys((value, " ".join(value.split()), *value.split())):
        yield from ((text, name, _frame(text)) for text in (one, shown(one), *_FIELDS_AND_GLOBS.split(one)))
        if is_url(one) or "/" not in one:
            continue
        path = os.path.normpath(one)
        bare = path
        while bare.startswith("../"):
            bare = bare[3:]
        try:
            real = os.path.realpath(one)
        except (OSError, ValueError):
            real = path
        yield from ((text, name, _frame(text)) for text in (path, bare, os.path.abspath(one), real))
        for place in dict.fromkeys((path, os.path.abspath(one), real)):
            folder, last = os.path.split(place)
            yield os.path.join(folder, f".{last}{_TEMPORARY}"), f"{name}{_TEMPORARY}", "{}"
            if "/" in one.strip("./") and folder not in _COMMON and not _holds_current(folder):
                yield folder, f"{name}/..", r"(?<![\w/.-]){}(?![\w/-]|\.\w)"


def _frame(text: str) -> str:
    """A short text is a word of its own; "_" counts as its end."""
    return "{}" if len(text) >= _LONG else r"(?<![^\W_]){}(?![^\W_])"


def _holds_current(folder: str) -> bool:
    """Whether a folder is the current one, the user's, or above one of them: everybody knows it."""
    try:
        known = (os.getcwd(), os.path.expanduser("~"))
    except OSError:
        return False
    return any(place == folder or place.startswith(os.path.join(folder, "")) for place in known)

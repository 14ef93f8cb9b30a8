"""Locales of the C library, which compare texts and say how numbers and months are written."""

from __future__ import annotations

import ctypes
import os

from gpumerge_cli.errors import UsageError
from gpumerge_cli.native.library import library

_DECIMAL_POINT, _THOUSANDS, _FIRST_MONTH, _MONTHS = 0, 1, 2, 12  # LocaleWord of kernels/cpu/collation.hpp
_FOUND, _OTHER_CHARSET = 1, 2
_ROOM = 256


def open_locale(name: str) -> None:
    """Open a locale, once for this process, so that orders by it can compare.

    Raises UsageError if this machine has none of this name, or its texts are not UTF-8.
    """
    found = library().gm_locale(os.fsencode(name))
    if found == _OTHER_CHARSET:
        what = f"--locale {name}: its texts are not UTF-8"
        raise UsageError(what, way_out="name one whose charset is UTF-8, as de_DE.UTF-8")
    if found != _FOUND:
        raise _unknown(name)


def number_marks(name: str) -> tuple[bytes, bytes]:
    """The decimal point of a locale, and what it writes between thousands, each b"" if there is none."""
    return _word(name, _DECIMAL_POINT), _word(name, _THOUSANDS)


def month_names(name: str) -> list[bytes]:
    """The abbreviated names of the months in a locale, the first one first."""
    return [_word(name, _FIRST_MONTH + month) for month in range(_MONTHS)]


def _word(name: str, word: int) -> bytes:
    found = ctypes.create_string_buffer(_ROOM)
    size = library().gm_locale_word(os.fsencode(name), word, found, _ROOM)
    if size < 0:
        raise _unknown(name)
    return found.raw[:size]


def _unknown(name: str) -> UsageError:
    what = f"--locale {name}: this machine has no such locale"
    return UsageError(what, way_out="name one that locale -a lists, or install it")

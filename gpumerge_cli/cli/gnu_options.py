"""The options of GNU sort by name, and a command line taken apart by them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from gpumerge_cli.errors import UsageError

OPERAND, FILE = "operand", "file"
"""What `scan` calls an operand ahead of "--" and one behind it."""

_FLAGS = "bcCdfghimMnrRsuVz"
_WITH_VALUE = "koStT"
LONG = {
    "ignore-leading-blanks": "b", "dictionary-order": "d", "ignore-case": "f", "general-numeric-sort": "g",
    "human-numeric-sort": "h", "ignore-nonprinting": "i", "key": "k", "merge": "m", "month-sort": "M",
    "numeric-sort": "n", "output": "o", "reverse": "r", "random-sort": "R", "stable": "s", "buffer-size": "S",
    "field-separator": "t", "temporary-directory": "T", "unique": "u", "version-sort": "V", "zero-terminated": "z",
    **{name: name for name in (
        "batch-size", "check", "compress-program", "debug", "files0-from", "help", "parallel", "random-source", "sort",
        "version",
    )},
}  # fmt: skip
"""GNU's long options: the letter of each, or itself where it has none."""
OWN = (
    "backend", "device", "header", "csv", "report", "kernel", "algorithm", "progress", "compare", "compressed",
    "repeat", "traceback", "format", "dtype", "record-size", "key-offset", "key-size", "key-field", "fan-in",
)  # fmt: skip
"""gpumerge's."""
_LONG_WITH_VALUE = {
    *_WITH_VALUE, "batch-size", "compress-program", "files0-from", "parallel", "random-source", "sort",
    "backend", "device", "header", "report", "kernel", "algorithm",
    "format", "dtype", "record-size", "key-offset", "key-size", "key-field", "fan-in", "repeat",
}  # fmt: skip
_LONG_WITH_OPTIONAL_VALUE = {"check"}
WORDS: dict[str, tuple[str, ...]] = {
    "sort": ("general-numeric", "human-numeric", "month", "numeric", "random", "version"),
    "backend": ("auto", "gpu", "cpu"),
    "kernel": ("auto", "basic", "tiled", "circular", "path"),
    "algorithm": ("auto", "merge", "bottom-up", "iterative", "recursive", "radix"),
    "format": ("raw", "npy", "text"),
}
"""Of long options whose help names no words: the words that they take."""
SETTINGS: dict[str, tuple[str, ...]] = {
    "buffer-size": ("memory",), "parallel": ("threads",), "temporary-directory": (), "batch-size": (),
    "compress-program": (), "backend": (), "device": (), "kernel": (), "algorithm": (), "fan-in": (), "progress": (),
    "report": (), "traceback": ("debug",),
}  # fmt: skip
"""Long options that the environment and configuration files may set, with what merge calls the same: none of them
changes a byte of what sort gives, or what it takes its input for."""


def takes_value(name: str) -> bool:
    """Whether a long option needs a value."""
    return LONG.get(name, name) in _LONG_WITH_VALUE


def scan(left: deque[str]) -> Iterator[tuple[str, str]]:
    """(option, value) one by one, the option by its letter if it has one, else by its whole long name.

    Operands come in their places among them, as OPERAND or FILE. The value is "" for options without one; "--check"
    without one comes as "c". Arguments are taken off `left`, of which the caller may take some itself. Raises
    UsageError at the first option that is none, when it is come to.
    """
    while left:
        word = left.popleft()
        if word == "--":
            while left:
                yield FILE, left.popleft()
        elif word.startswith("--"):
            yield _long(word, left)
        elif word.startswith("-") and word != "-":
            yield from _short(word, left)
        else:
            yield OPERAND, word


def _short(word: str, left: deque[str]) -> Iterator[tuple[str, str]]:
    for at, letter in enumerate(word[1:], 2):
        if letter in _WITH_VALUE:
            yield letter, word[at:] or _next(f"-{letter}", left)
            return
        if letter == "y":
            _skip_old_option(word[at:], left)
            return
        if letter not in _FLAGS:
            raise UsageError(f"there is no option -{letter}", way_out="see gpumerge sort --help")
        yield letter, ""


def _skip_old_option(attached: str, left: deque[str]) -> None:
    """-y of other systems' sorts is taken and ignored, with the digits behind it."""
    if not attached:
        follows = _next("-y", left)
        if follows.strip("0123456789"):
            left.appendleft(follows)


def _long(word: str, left: deque[str]) -> tuple[str, str]:
    written, equals, value = word[2:].partition("=")
    option = _named(written)
    if option in _LONG_WITH_VALUE:
        return option, value if equals else _next(f"--{written}", left)
    if option in _LONG_WITH_OPTIONAL_VALUE:
        return (option, value) if equals else ("c", "")
    if equals:
        raise UsageError(f"--{written} takes no value", way_out=f"leave ={value} out")
    return option, ""


def _named(written: str) -> str:
    """The option that a long name stands for. GNU's may be shortened as long as they differ; others may not."""
    if written in LONG:
        return LONG[written]
    if written in OWN:
        return written
    found = [name for name in LONG if name.startswith(written)]
    if len(found) == 1:
        return LONG[found[0]]
    if found:
        way_out = f"write one of {', '.join(f'--{name}' for name in found)}"
        raise UsageError(f"--{written} may be several options", way_out=way_out)
    raise UsageError(f"there is no option --{written}", way_out="see gpumerge sort --help")


def _next(option: str, left: deque[str]) -> str:
    if not left:
        raise UsageError(f"{option} needs a value", way_out="write it behind the option")
    return left.popleft()

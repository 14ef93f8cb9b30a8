"""The message and the exit code of a command that failed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable

from gpumerge_cli.errors import (
    NO_ROOM_TO_LOAD,
    GpumergeError,
    Interrupted,
    lack_of_descriptors,
    lacks_memory,
    output_error,
)
from gpumerge_cli.units import in_short
from gpumerge_cli.urls import redacted

_LONG = 1000
"""Longer values are shown in short. Few names of files have so many characters."""


def describe_failure(error: BaseException, traceback_option: str = "--debug") -> tuple[str, int]:
    """The message of an error, and the exit code. traceback_option: the option that shows tracebacks."""
    if isinstance(error, KeyboardInterrupt):
        error = Interrupted(signal.SIGINT)
    if isinstance(error, Interrupted):
        error.way_out = error.way_out or _given()
        return str(error), error.exit_code
    error = lack_of_descriptors(error) or error
    if isinstance(error, OSError) and error.errno:
        error = output_error(error, str(error.filename or ""))
    if isinstance(error, GpumergeError):
        return str(error), error.exit_code
    while isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__  # NumPy explains at length that it could not be imported
    if isinstance(error, ImportError | OSError) and lacks_memory(error):
        return f"{NO_ROOM_TO_LOAD[0]}; {NO_ROOM_TO_LOAD[1]}", 2
    # Where an allocation fails, parts of Python end without an exception.
    no_reason = isinstance(error, SystemError) and "without" in str(error)
    if isinstance(error, MemoryError) or no_reason or str(error) == "can't start new thread":
        return "not enough memory; merge less at once, or close other programs", 2
    return f"{type(error).__name__}: {redacted(str(error))}; run again with {traceback_option} for the traceback", 2


def with_short_values(message: str, arguments: Iterable[str]) -> str:
    """`message` with short forms of long values and of values with several lines. arguments: the command line."""
    for word in arguments:
        for text in (word, word.partition("=")[2], word[2:]):
            if len(text) > _LONG or "\n" in text:
                message = message.replace(text, in_short(text))
    return message


def _given() -> str:
    # Look only for a loaded module: --help pays for every import.
    output = sys.modules.get("gpumerge_cli.formats.output")
    return "no output was written" if output is None else output.given()

"""When, where and by which command line results were made."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.secret_values import concealed
from gpumerge_cli.urls import is_url, redacted, shown

_words: tuple[str, ...] = ()
"""Those of the command line that this process carries out; () for none."""


@dataclass(frozen=True)
class Origin:
    """The origin of a report. All fields are "" where they are not known."""

    date: str = ""
    """The end of the work, in UTC, as in ISO 8601: "2026-11-26T05:38:39Z"."""
    host: str = ""
    """The name of the machine that ran the program."""
    command: str = ""
    """The command line for a shell, without the secret parts of URLs; for a call from Python, its work in words."""


@contextmanager
def command_line(arguments: Sequence[str]) -> Iterator[None]:
    """Until the body ends, results come from this command line. arguments: its words behind the program's name."""
    global _words
    before, _words = _words, ("gpumerge", *arguments)
    try:
        yield
    finally:
        _words = before


def origin_now(work: str) -> Origin:
    """The origin of results whose work ends now. work: says what was done, where no command line does."""
    command = _line_of(_words) or redacted(work)
    return Origin(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.uname().nodename, concealed(command))


@lru_cache(maxsize=1)  # all jobs of a batch have it
def _line_of(words: tuple[str, ...]) -> str:
    """These words for a shell, without the secret parts of URLs."""
    from gpumerge_cli.shell_words import quoted  # which loads more

    return " ".join(quoted(_without_secrets(word)) for word in words)


def _without_secrets(word: str) -> str:
    """A word without the secret parts of a URL that it is, or that is the value of an option: --output=URL."""
    option, equals, value = word.partition("=")
    if word.startswith("--") and is_url(value):
        return f"{option}{equals}{shown(value)}"
    return shown(word) if is_url(word) else redacted(word)

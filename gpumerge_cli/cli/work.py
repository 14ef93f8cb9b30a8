"""Carries out a command: reads its words, and imports its function, which other commands do not need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.scan import read_words
from gpumerge_cli.cli.values import Values
from gpumerge_cli.order.equals import SETS

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings


def carry_out(name: str, words: Sequence[str], settings: Settings | None) -> int:
    """Carry out a command, given the words behind its name, and return the exit code. Raises GpumergeError."""
    if name == "sort":
        from gpumerge_cli.cli.sort import sort

        return sort(words, settings)
    values = read_words(command(name), words, settings)
    if values is None:
        print(help_text(name), end="")
        return 0
    with notices(values):
        _WORK[name]()(values)
    return 0


def _merge() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.merge import merge

    return merge


def _combine() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.sets import combine

    return combine


def _compare() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.sets import compare

    return compare


def _join() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.join import join

    return join


def _check() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.check import check

    return check


def _batch() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.batch import batch

    return batch


def _bench() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.bench import bench

    return bench


def _path() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.path import path

    return path


def _generate() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.generate import generate

    return generate


def _info() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.info import info

    return info


def _rank() -> Callable[[Values], Any]:
    from gpumerge_cli.cli.rank import rank

    return rank


_WORK = {
    "merge": _merge,
    **dict.fromkeys(SETS, _combine),
    "compare": _compare,
    "join": _join,
    "check": _check,
    "batch": _batch,
    "bench": _bench,
    "path": _path,
    "rank": _rank,
    "generate": _generate,
    "info": _info,
}

"""The work of each command: its function, imported when the command is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.values import Values
from gpumerge_cli.order.equals import SETS


def work_of(name: str) -> Callable[[Values], Any]:
    """The function of a command that Typer reads. Raises KeyError."""

    def work(values: Values) -> Any:
        with notices(values):
            return _WORK[name]()(values)

    return work


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

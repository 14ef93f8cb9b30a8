"""Carries out a command: reads its words, and imports its function, which other commands do not need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.groups import Options, QuietOptions
from gpumerge_cli.cli.options.typed import (
    BatchOptions,
    BenchOptions,
    CheckOptions,
    CompareOptions,
    GenerateOptions,
    InfoOptions,
    JoinOptions,
    MergeOptions,
    PathOptions,
    RankOptions,
    SetOptions,
)
from gpumerge_cli.cli.scan import read_words
from gpumerge_cli.order.equals import SETS

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings


def carry_out(name: str, words: Sequence[str], settings: Settings | None) -> int:
    """Carry out a command, given the words behind its name, and return the exit code. Raises GpumergeError."""
    if name == "sort":
        from gpumerge_cli.cli.sort import sort

        return sort(words, settings)
    options = read_words(command(name), words, settings)
    if options is None:
        print(help_text(name), end="")
        return 0
    with notices(quiet=isinstance(options, QuietOptions) and options.quiet):
        _WORK[name](options)
    return 0


def _merge(options: Options) -> None:
    from gpumerge_cli.cli.merge import merge

    assert isinstance(options, MergeOptions)
    merge(options)


def _combine(options: Options) -> None:
    from gpumerge_cli.cli.sets import combine

    assert isinstance(options, SetOptions)
    combine(options)


def _compare(options: Options) -> None:
    from gpumerge_cli.cli.sets import compare

    assert isinstance(options, CompareOptions)
    compare(options)


def _join(options: Options) -> None:
    from gpumerge_cli.cli.join import join

    assert isinstance(options, JoinOptions)
    join(options)


def _check(options: Options) -> None:
    from gpumerge_cli.cli.check import check

    assert isinstance(options, CheckOptions)
    check(options)


def _rank(options: Options) -> None:
    from gpumerge_cli.cli.rank import rank

    assert isinstance(options, RankOptions)
    rank(options)


def _batch(options: Options) -> None:
    from gpumerge_cli.cli.batch import batch

    assert isinstance(options, BatchOptions)
    batch(options)


def _bench(options: Options) -> None:
    from gpumerge_cli.cli.bench import bench

    assert isinstance(options, BenchOptions)
    bench(options)


def _path(options: Options) -> None:
    from gpumerge_cli.cli.path import path

    assert isinstance(options, PathOptions)
    path(options)


def _generate(options: Options) -> None:
    from gpumerge_cli.cli.generate import generate

    assert isinstance(options, GenerateOptions)
    generate(options)


def _info(options: Options) -> None:
    from gpumerge_cli.cli.info import info

    assert isinstance(options, InfoOptions)
    info(options)


_WORK: dict[str, Callable[[Options], None]] = {
    "merge": _merge,
    **dict.fromkeys(SETS, _combine),
    "compare": _compare,
    "join": _join,
    "check": _check,
    "rank": _rank,
    "batch": _batch,
    "bench": _bench,
    "path": _path,
    "generate": _generate,
    "info": _info,
}

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
    CombineOptions,
    CompareOptions,
    GenerateOptions,
    InfoOptions,
    JoinOptions,
    MergeOptions,
    PathOptions,
    RankOptions,
)
from gpumerge_cli.cli.scan import read_words
from gpumerge_cli.order.equals import SETS

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings


def run_command(name: str, words: Sequence[str], settings: Settings | None) -> int:
    """Carry out a command, given the words behind its name, and return the exit code. Raises GpumergeError."""
    if name == "sort":
        from gpumerge_cli.cli.sort import run_sort

        return run_sort(words, settings)
    options = read_words(command(name), words, settings)
    if options is None:
        print(help_text(name), end="")
        return 0
    with notices(quiet=isinstance(options, QuietOptions) and options.quiet):
        _WORK[name](options)
    return 0


def _merge(options: Options) -> None:
    from gpumerge_cli.cli.merge import run_merge

    assert isinstance(options, MergeOptions)
    run_merge(options)


def _combine(options: Options) -> None:
    from gpumerge_cli.cli.sets import run_set

    assert isinstance(options, CombineOptions)
    run_set(options)


def _compare(options: Options) -> None:
    from gpumerge_cli.cli.sets import run_compare

    assert isinstance(options, CompareOptions)
    run_compare(options)


def _join(options: Options) -> None:
    from gpumerge_cli.cli.join import run_join

    assert isinstance(options, JoinOptions)
    run_join(options)


def _check(options: Options) -> None:
    from gpumerge_cli.cli.check import run_check

    assert isinstance(options, CheckOptions)
    run_check(options)


def _rank(options: Options) -> None:
    from gpumerge_cli.cli.rank import run_rank

    assert isinstance(options, RankOptions)
    run_rank(options)


def _batch(options: Options) -> None:
    from gpumerge_cli.cli.batch import run_batch

    assert isinstance(options, BatchOptions)
    run_batch(options)


def _bench(options: Options) -> None:
    from gpumerge_cli.cli.bench import run_bench

    assert isinstance(options, BenchOptions)
    run_bench(options)


def _path(options: Options) -> None:
    from gpumerge_cli.cli.path import run_path

    assert isinstance(options, PathOptions)
    run_path(options)


def _generate(options: Options) -> None:
    from gpumerge_cli.cli.generate import run_generate

    assert isinstance(options, GenerateOptions)
    run_generate(options)


def _info(options: Options) -> None:
    from gpumerge_cli.cli.info import run_info

    assert isinstance(options, InfoOptions)
    run_info(options)


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

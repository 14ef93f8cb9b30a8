"""The work of each command: its function, imported when the command is asked for."""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.cli.notices import notices
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
from gpumerge_cli.order.equals import SETS


def work_of(name: str) -> Callable[[Options], None]:
    """The function of any command but sort. It raises KeyError for other names, and GpumergeError."""

    def work(options: Options) -> None:
        with notices(quiet=isinstance(options, QuietOptions) and options.quiet):
            _WORK[name](options)

    return work


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

"""Carries out a command: reads its words, and imports its function, which other commands do not need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.help import WHOLE_HELP, help_text
from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.groups import Options, QuietOptions
from gpumerge_cli.cli.options.typed import (
    BatchOptions,
    BenchOptions,
    CheckOptions,
    CombineOptions,
    CompareOptions,
    DiffOptions,
    GenerateOptions,
    InfoOptions,
    JoinOptions,
    LearnOptions,
    MergeOptions,
    PathOptions,
    RankOptions,
)
from gpumerge_cli.cli.scan import read_words

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings


def run_command(name: str, words: Sequence[str], settings: Settings | None) -> int:
    """Carry out a command, given the words behind its name, and return the exit code. Raises GpumergeError."""
    if name == "sort":
        from gpumerge_cli.cli.sort import run_sort

        return run_sort(words, settings)
    options = read_words(command(name), words, settings)
    if options is None:
        print(help_text(name, whole=WHOLE_HELP in words), end="")
        return 0
    with notices(quiet=isinstance(options, QuietOptions) and options.quiet):
        return _carry_out(options)


def _carry_out(options: Options) -> int:
    """Carry out the command of these options, and return the exit code. Only its own modules are imported."""
    match options:
        case DiffOptions():
            from gpumerge_cli.cli.diff import run_diff

            return run_diff(options)
        case MergeOptions():
            from gpumerge_cli.cli.merge import run_merge

            run_merge(options)
        case CombineOptions():
            from gpumerge_cli.cli.sets import run_set

            run_set(options)
        case CompareOptions():
            from gpumerge_cli.cli.sets import run_compare

            run_compare(options)
        case JoinOptions():
            from gpumerge_cli.cli.join import run_join

            run_join(options)
        case CheckOptions():
            from gpumerge_cli.cli.check import run_check

            run_check(options)
        case RankOptions():
            from gpumerge_cli.cli.rank import run_rank

            run_rank(options)
        case BatchOptions():
            from gpumerge_cli.cli.batch import run_batch

            run_batch(options)
        case BenchOptions():
            from gpumerge_cli.cli.bench import run_bench

            run_bench(options)
        case PathOptions():
            from gpumerge_cli.cli.path import run_path

            run_path(options)
        case LearnOptions():
            from gpumerge_cli.cli.learn import run_learn

            return run_learn(options)
        case GenerateOptions():
            from gpumerge_cli.cli.generate import run_generate

            run_generate(options)
        case InfoOptions() if options.files:
            from gpumerge_cli.cli.table_info import run_table_info

            run_table_info(options)
        case InfoOptions():
            from gpumerge_cli.cli.info import run_info

            run_info(options)
        case _:
            raise AssertionError(f"no function carries out {options.command}")
    return 0

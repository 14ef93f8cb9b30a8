"""gpumerge rank: ranks of the merge of sorted files, without merging them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.answers import print_co_ranks
from gpumerge_cli.cli.job_parts import file_names, items_of
from gpumerge_cli.cli.options.typed import RankOptions
from gpumerge_cli.cli.parse import parse_count, parse_counts, parse_words
from gpumerge_cli.cli.perform import check_report_place, run_job
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.results.run import RankReport
from gpumerge_cli.units import parse_quantile, quoted_value
from gpumerge_cli.urls import is_url, shown

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job, RankRange, StatedItem


def run_rank(options: RankOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    job = job_of(options)
    if options.range is None:
        report = run_job(job)
        if options.verbose and not options.quiet:
            assert isinstance(report, RankReport), "of a job of questions"
            print_co_ranks(report.answers)
        return
    from gpumerge_cli.cli.merge import run_and_report

    run_and_report(job, options)


def job_of(options: RankOptions) -> Job:
    """The questions that options ask, or the merge of --range. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Destination, Job, Operation, Questions, Resources, StatedItem

    if options.range is not None:
        from gpumerge_cli.cli.merge import merge_job

        return merge_job(options, Operation(check=options.check, ranks=_parse_range(options.range)))
    asked = (options.at, options.quantile, options.of)
    if not any(asked) and options.of_file is None and options.split is None:
        raise UsageError("no rank was asked for", way_out="add --at, --quantile, --of, --of-file, --split or --range")

    at = tuple(rank for text in options.at for rank in parse_counts(text, "--at", repeated=True))
    quantiles = tuple(quantile for text in options.quantile for quantile in _quantiles(text))
    names = file_names(options)
    output = "-" if options.output is None else options.output
    if is_url(output):
        raise UsageError(f"-o {shown(output)}: answers are written to local files only", way_out="name one")
    check_report_place(None if output == "-" else output, names, "-o")
    as_json = options.json or options.split is not None or output.lower().endswith(".json")
    _check_name(output, as_json=as_json)
    of = tuple(StatedItem(text, "--of") for text in options.of)
    if options.of_file is not None:
        of += _items_of_file(options.of_file, names)
    questions = Questions(at, quantiles, of, options.split, as_json=as_json)
    return Job(
        names,
        items_of(options, names),
        Operation("rank", questions=questions),
        Destination(output, durable=options.fsync, compression=options.compression),
        Resources(threads=options.threads, memory=options.memory, folders=options.temporary_directory),
    )


def _items_of_file(name: str, inputs: Sequence[str]) -> tuple[StatedItem, ...]:
    """The items that the lines of a file state. Raises InputError, or UsageError if it is an input, too."""
    from gpumerge_cli.engine.job import StatedItem
    from gpumerge_cli.formats.base import STDIO
    from gpumerge_cli.formats.line_source import BOM
    from gpumerge_cli.formats.naming import read_all

    if name == STDIO and STDIO in inputs:
        raise UsageError("--of-file -: standard input is an input, too", way_out="write the keys to a file")
    data = read_all(name).removeprefix(BOM)
    if not data:
        raise InputError("it holds no key", where=shown(name), way_out="write a key in each line")
    return tuple(
        StatedItem(os.fsdecode(line.removesuffix(b"\r")), f"{shown(name)}:{number}:", line.endswith(b"\r"))
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1)
    )


def _check_name(output: str, *, as_json: bool) -> None:
    """Raise UsageError for the name of an output whose suffix does not fit answers."""
    from gpumerge_cli.formats.compressed import compression_of, suffix_of
    from gpumerge_cli.formats.kinds.lookup import format_of_suffix, means_table

    suffix = suffix_of(output)
    named = format_of_suffix(suffix)
    if means_table(suffix) or (named is not None and named.name != "text"):
        what = "a JSON object" if as_json else "tables of text"
        raise UsageError(f"-o {output}: answers are {what}, not {suffix}", way_out="name it .json, .txt or the like")
    if packed := compression_of(output):
        raise UsageError(f"-o {output}: answers are not compressed", way_out=f"name it without {packed}")


def _parse_range(text: str) -> RankRange:
    """The ranks that "A:B" names: as a slice of Python's. Raises UsageError for anything else."""
    from gpumerge_cli.engine.job import RankRange

    start, colon, stop = text.partition(":")
    if not colon or ":" in stop:
        raise UsageError(f"--range: invalid range {quoted_value(text)}", way_out="write A:B, as 0:10, 1e6: or -10:")
    return RankRange(_rank(start) or 0, _rank(stop))


def _rank(text: str) -> int | None:
    word = text.strip()
    if not word:
        return None
    return -parse_count(word[1:], "--range") if word.startswith("-") else parse_count(word, "--range")


def _quantiles(text: str) -> tuple[str, ...]:
    words = parse_words(text, "--quantile", repeated=True)
    for word in words:
        try:
            parse_quantile(word)
        except ValueError:
            way_out = "use numbers from 0 to 1, as 0.5,0.99, or 50%,99%"
            raise UsageError(f"--quantile: {quoted_value(word)} is not a quantile", way_out=way_out) from None
    return words

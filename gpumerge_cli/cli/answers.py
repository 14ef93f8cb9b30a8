"""The answers of gpumerge rank, as tables or JSON, on standard output or in a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.errors import output_error
from gpumerge_cli.json_text import dumps

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.engine.rank import Answers, RankAnswer
    from gpumerge_cli.results.run import RankReport

_WIDEST = 60
_END, _EMPTY = "(end)", "(empty)"


def write_answers(job: Job, answer: Callable[[], Answers]) -> RankReport:
    """Put the answers to the job's output, which appears whole or not at all. Raises GpumergeError.

    answer: gives them, and is called once the output is known to be writable.
    """
    from gpumerge_cli import __version__
    from gpumerge_cli.replacement import replacing
    from gpumerge_cli.results.origin import origin_now
    from gpumerge_cli.results.run import RankReport

    started, as_json = time.perf_counter(), job.operation.questions is not None and job.operation.questions.as_json
    if job.output.name == "-":
        answers = answer()
        text = _text(answers, as_json=as_json)
        try:
            print(text, flush=True)
        except OSError as error:
            error.filename = error.filename or "standard output"
            raise
    else:
        try:
            with replacing(job.output.name, durable=job.output.durable) as file:
                answers = answer()
                file.write(f"{_text(answers, as_json=as_json)}\n".encode(errors="backslashreplace"))
        except OSError as error:
            raise output_error(error, job.output.name) from error
    seconds = time.perf_counter() - started
    return RankReport(answers.as_dict(), seconds, __version__, origin_now(job.description))


def _text(answers: Answers, *, as_json: bool) -> str:
    return dumps(answers.as_dict()) if as_json else "\n".join(_lines(answers))


def _lines(answers: Answers) -> Iterator[str]:
    from gpumerge_cli.units import format_counted, visible

    names = [visible(name) for name in answers.names]
    total = f"{answers.word}s" if answers.total is None else format_counted(answers.total, answers.word)
    yield f"{total} of {format_counted(len(names), 'file')}, order: {answers.order}"
    if answers.ranks:
        yield from _table(
            [("rank", "quantile", "item", "file", "index"), *(_rank_row(one, names) for one in answers.ranks)]
        )
    if answers.items:
        rows = [(_cut(one.item), str(one.lower), str(one.upper), str(one.upper - one.lower)) for one in answers.items]
        yield from _table([("item", "lower", "upper", "equal"), *rows])
    heads = [f"rank {one.rank}" for one in answers.ranks] + [_cut(one.item) for one in answers.items]
    ahead = [one.counts for one in answers.ranks] + [one.counts for one in answers.items]
    rows_of_files = [(name, *map(str, counts)) for name, *counts in zip(names, *ahead, strict=True)]
    yield from _table([(f"{answers.word}s ahead", *heads), *rows_of_files])


def _rank_row(one: RankAnswer, names: Sequence[str]) -> tuple[str, ...]:
    item = _END if one.item is None else _cut(one.item)
    place = ("", "") if one.source is None else (names[one.source], str(one.counts[one.source]))
    return str(one.rank), one.quantile or "", item, *place


def _cut(item: str) -> str:
    from gpumerge_cli.units import visible

    shown = visible(item[: _WIDEST + 1]) or _EMPTY
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 3]}..."


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns, those that are not empty, below an empty line. Numbers are aligned to the right."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    aligned = []
    for column in columns:
        width = max(map(len, column))
        numbers = all(cell.lstrip("-").isdecimal() or cell in ("", _END) for cell in column[1:])
        aligned.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in column])
    yield ""
    for cells in zip(*aligned, strict=True):
        yield "  ".join(cells).rstrip()

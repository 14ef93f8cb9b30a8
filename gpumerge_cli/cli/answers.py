"""The answers of gpumerge rank, as tables or JSON, on standard output or in a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import output_error
from gpumerge_cli.json_text import dumps
from gpumerge_cli.units import format_counted, visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.engine.rank import Answers, RankAnswer
    from gpumerge_cli.results.run import RankReport

_END = "(end)"
"""Stands for the file of the rank behind the last item."""


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
        text = _text(answers, as_json=as_json, width=_width_of_terminal())
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


def print_co_ranks(answers: Mapping[str, Any]) -> None:
    """Print on standard error how many items of each input lie ahead of each answer.

    answers: see RankReport.
    """
    if sys.stderr is None:
        return
    names = [visible(name) for name in answers["inputs"]]
    total = "items" if answers["items"] is None else format_counted(answers["items"], "item")
    lines = [f"{total} of {format_counted(len(names), 'file')}, order: {answers['order']}"]
    ranks, items = answers.get("ranks", ()), answers.get("of", ())
    if ranks or items:
        heads = [f"rank {one['rank']}" for one in ranks] + [str(one.get("key", one.get("item"))) for one in items]
        counts = zip(*(one["ahead"] for one in (*ranks, *items)), strict=True)
        rows = [(name, *map(str, row)) for name, row in zip(names, counts, strict=True)]
        lines += ["", *_table([("items ahead", *heads), *rows])]
    print("\n".join(lines), file=sys.stderr)


def _text(answers: Answers, *, as_json: bool, width: int | None = None) -> str:
    """All answers. width: the characters of a line of the terminal that shows them."""
    if as_json:
        return dumps(answers.as_dict())
    if width is None:
        return "\n".join(_lines(answers, answers.names))
    names = [_end_of(name, width // 3) for name in answers.names]
    return "\n".join(_start_of(line, width) for line in _lines(answers, names))


def _lines(answers: Answers, names: Sequence[str]) -> Iterator[str]:
    """A table for each kind of question. The key comes last, so that long ones and blanks in them do no harm."""
    if answers.ranks:
        heads = ("rank", "quantile", "file", "index", visible(answers.heading))
        yield from _table([heads, *(_rank_row(one, names) for one in answers.ranks)])
    if answers.ranks and answers.items:
        yield ""
    if answers.items:
        rows = [(str(one.lower), str(one.upper), str(one.upper - one.lower), one.item) for one in answers.items]
        yield from _table([("lower", "upper", "equal", visible(answers.heading)), *rows])


def _rank_row(one: RankAnswer, names: Sequence[str]) -> tuple[str, ...]:
    place = (_END, "") if one.source is None else (visible(names[one.source]), str(one.counts[one.source]))
    return str(one.rank), one.quantile or "", *place, one.key or ""


def _start_of(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: max(0, width - 3)]}..."


def _end_of(name: str, width: int) -> str:
    return name if len(name) <= width else f"...{name[len(name) - max(0, width - 3) :]}"


def _width_of_terminal() -> int | None:
    """The characters of a line of the terminal that standard output is; None if it is none."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns, those that are not empty, and the last one. Numbers are aligned to the right.

    Blanks at the end of a text in the last column are kept, and nothing follows them.
    """
    *others, last = zip(*rows, strict=True)
    columns = [*(column for column in others if any(column[1:])), last]
    aligned = []
    for column in columns:
        numbers = all(cell.lstrip("-").isdecimal() or not cell for cell in column[1:])
        width = max(map(len, column)) if numbers or column is not last else 0
        aligned.append([(cell.rjust if numbers else cell.ljust)(width) for cell in column])
    for (*cells, shown), text in zip(zip(*aligned, strict=True), last, strict=True):
        yield "  ".join([*cells, shown]) if text else "  ".join(cells).rstrip()

"""gpumerge rank: ranks of the merge of sorted files, without merging them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.parse import parse_count, parse_counts, parse_words
from gpumerge_cli.cli.requests import file_names, item_request
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.engine.rank import Answers, RankAnswer
    from gpumerge_cli.engine.request import RankRange

_OF_MERGES = {"output": "-o", "report": "--report", "verbose": "-v"}
"""Options that say what to do with the items of --range, or with the time that their merge takes."""
_QUESTIONS = ("at", "quantile", "of", "split", "range")
_WIDEST = 60
_END = "(end)"


def rank(values: Values) -> None:
    """Carry out the command line. Raises GpumergeError."""
    asked = [f"--{name}" for name in _QUESTIONS if values.get(name) not in (None, ())]
    if not asked:
        raise UsageError("no rank was asked for", way_out="add --at, --quantile, --of, --split or --range")
    if values.range is not None:
        if len(asked) > 1 or values.json:
            raise UsageError("--range puts out items and nothing else", way_out="ask the other questions without it")
        _put_out(values)
        return
    for name, written in _OF_MERGES.items():
        if name in values.given:
            raise UsageError(f"{written} is for the items of --range", way_out=f"add --range, or leave {written} out")
    from gpumerge_cli.engine.request import RankRequest

    at = () if values.at is None else parse_counts(values.at, "--at", repeated=True)
    quantiles = () if values.quantile is None else _quantiles(values.quantile)
    names = file_names(values)
    request = RankRequest(names, item_request(values, names), at, quantiles, values.of, values.split, values.threads)
    from gpumerge_cli.engine.rank import answer

    answers = answer(request)
    if values.json or values.split is not None:
        print(json.dumps(answers.as_dict()))
    else:
        _show(answers)


def parse_range(text: str, option: str = "--range") -> RankRange:
    """The ranks that "A:B" names: as a slice of Python's. Raises UsageError for anything else."""
    from gpumerge_cli.engine.request import RankRange

    start, colon, stop = text.partition(":")
    if not colon or ":" in stop:
        raise UsageError(f"{option}: {text!r} is no range", way_out="write A:B, as 0:10, 1e6: or -10:")
    return RankRange(_rank(start, option) or 0, _rank(stop, option))


def _rank(text: str, option: str) -> int | None:
    word = text.strip()
    if not word:
        return None
    return -parse_count(word[1:], option) if word.startswith("-") else parse_count(word, option)


def _quantiles(text: str) -> tuple[str, ...]:
    from fractions import Fraction

    words = parse_words(text, "--quantile", repeated=True)
    for word in words:
        try:
            found = 0 <= Fraction(word) <= 1
        except (ValueError, ZeroDivisionError):
            found = False
        if not found:
            raise UsageError(f"--quantile: {word!r} is no part of all", way_out="write from 0 to 1, as 0.5,0.99 or 1/3")
    return words


def _put_out(values: Values) -> None:
    """Merge the items of the range alone."""
    from gpumerge_cli.cli.merge import carry_out, task_of

    carry_out(task_of(values, parse_range(values.range)), values)


def _show(answers: Answers) -> None:
    from gpumerge_cli.units import format_counted, visible

    names = [visible(name) for name in answers.names]
    total = f"{answers.word}s" if answers.total is None else format_counted(answers.total, answers.word)
    print(f"{total} of {format_counted(len(names), 'file')}, order: {answers.order}")
    if answers.ranks:
        _table([("rank", "quantile", "item", "file", "index"), *(_rank_row(one, names) for one in answers.ranks)])
    if answers.items:
        rows = [(_cut(one.item), str(one.lower), str(one.upper), str(one.upper - one.lower)) for one in answers.items]
        _table([("item", "lower", "upper", "equal"), *rows])
    heads = [f"rank {one.rank}" for one in answers.ranks] + [_cut(one.item) for one in answers.items]
    ahead = [one.counts for one in answers.ranks] + [one.counts for one in answers.items]
    rows_of_files = [(name, *map(str, counts)) for name, *counts in zip(names, *ahead, strict=True)]
    _table([(f"{answers.word}s ahead", *heads), *rows_of_files])


def _rank_row(one: RankAnswer, names: Sequence[str]) -> tuple[str, ...]:
    item = _END if one.item is None else _cut(one.item)
    place = ("", "") if one.source is None else (names[one.source], str(one.counts[one.source]))
    return str(one.rank), one.quantile or "", item, *place


def _cut(item: str) -> str:
    from gpumerge_cli.units import visible

    told = visible(item)
    return told if len(told) <= _WIDEST else f"{told[: _WIDEST - 3]}..."


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, those that are not empty, below an empty line. Numbers are aligned to the right."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    aligned = []
    for column in columns:
        width = max(map(len, column))
        numbers = all(cell.lstrip("-").isdecimal() or cell in ("", _END) for cell in column[1:])
        aligned.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in column])
    print()
    for cells in zip(*aligned, strict=True):
        print("  ".join(cells).rstrip())

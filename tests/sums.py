"""Sums over equal items as plain Python makes them, and random files for them."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, Inexact, Overflow
from itertools import groupby
from operator import itemgetter

Row = tuple[str, list[str]]
"""The key of a row, and the texts of the columns that are summed."""
_EXACT = Context(prec=30_000, Emax=10**6, Emin=-(10**6), traps=[Inexact, Overflow])


def total(texts: Sequence[str], kept: str) -> str:
    """The sum of texts, "" for nothing. kept: the text of the row that goes out; it stays if it is the only number."""
    numbers = [text.strip() for text in texts if text.strip()]
    if not numbers or (len(numbers) == 1 and kept.strip()):
        return kept
    found = Decimal(0)
    for number in numbers:
        found = _EXACT.add(found, Decimal(number))
    places = max(0, *(-_exponent(number) for number in numbers))
    digits = format(found.copy_abs(), "f")
    whole, _, fraction = digits.partition(".")
    assert not fraction[places:].strip("0")
    text = whole.lstrip("0") or "0"
    text += f".{fraction[:places].ljust(places, '0')}" if places else ""
    return f"-{text}" if found < 0 else text


def _exponent(number: str) -> int:
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def summed(runs: Sequence[Sequence[Row]], *, last: bool = False) -> list[tuple[str, list[str], int, int]]:
    """(key, sums, run and place of the row that goes out) for each key, in the order of keys."""
    marked = [(key, texts, run, at) for run, rows in enumerate(runs) for at, (key, texts) in enumerate(rows)]
    marked.sort(key=itemgetter(0))
    found = []
    for key, rows in groupby(marked, key=itemgetter(0)):
        group = [*rows]
        kept = group[-1 if last else 0]
        columns = zip(*(texts for _, texts, _, _ in group), strict=True)
        sums = [total(texts, kept[1][at]) for at, texts in enumerate(columns)]
        found.append((key, sums, kept[2], kept[3]))
    return found


def number(chance: random.Random, *, json_only: bool = False) -> str:
    """A number of some form, or an empty text."""
    digits = chance.choice([1, 1, 2, 3, 9, 18, 19, 40, 200])
    whole = str(chance.randrange(10**digits))
    forms: list[Callable[[], str]] = [
        lambda: whole,
        lambda: f"-{whole}",
        lambda: f"{whole}.{chance.randrange(10 ** chance.choice([1, 2, 5, 30]))}",
        lambda: f"-{whole}.{'0' * chance.randrange(4)}{chance.randrange(1000)}",
        lambda: f"{whole}e{chance.randint(-30, 30)}",
        lambda: f"-{chance.randrange(10)}.{chance.randrange(100):02}E+{chance.randint(0, 12)}",
        lambda: "0.00",
        lambda: "-0",
    ]
    if not json_only:
        forms += [lambda: f"+{whole}", lambda: f".{whole}", lambda: f"{whole}.", lambda: f"00{whole}", lambda: ""]
    return chance.choice([forms[0], forms[1], *forms])()


def drawn(
    chance: random.Random, columns: int, *, ordered: bool, most: int = 60, json_only: bool = False
) -> list[list[Row]]:
    """Runs of rows with few or many equal keys."""
    few = chance.choice([1, 2, 8, 60])
    runs = []
    for _ in range(chance.randint(1, 4)):
        rows = [
            (f"k{chance.randrange(few):02}", [number(chance, json_only=json_only) for _ in range(columns)])
            for _ in range(chance.choice([0, 1, 3, most]))
        ]
        runs.append(sorted(rows, key=itemgetter(0)) if ordered else rows)
    return runs


def csv_text(rows: Sequence[Sequence[str]], *, quotes: int, separator: str = ",") -> str:
    """Records of CSV. quotes: one of the csv module's."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=quotes, delimiter=separator).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


def json_line(members: Sequence[tuple[str, str]]) -> str:
    """An object whose values are JSON already."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members) + "}"

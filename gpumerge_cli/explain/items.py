"""The items of a run in memory, by number: their keys for comparison, and their labels in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.load import LoadedRuns
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.run import InputFile

_LABEL = 12


class TracedRun:
    """A run for corank.py whose positions are item numbers."""

    def __init__(self, run: Bytes, order: Order, name: str) -> None:
        """run: native keys, records, or lines that each end with the order's terminator."""
        self.name = name
        self._order = order
        self._key = key_by(order)
        self._items = order.items(run)
        self._at = range(len(self._items))
        self.size = len(self._at)

    def every(self, step: int) -> TracedRun:
        """The items 0, step, 2 * step, ... as a run."""
        thin = copy(self)
        thin._at = self._at[::step]
        thin.size = len(thin._at)
        return thin

    def item_start(self, position: int) -> int:
        """See SortedRun."""
        return position

    def item_end(self, start: int) -> int:
        """See SortedRun."""
        return start + 1

    def key_at(self, start: int) -> Any:
        """See SortedRun."""
        return self._key(self._items[self._at[start]])

    def label(self, number: int) -> str:
        """The item's key, or the line, cut to twelve characters."""
        item = self._items[self._at[number]]
        key = self._order.number(item, short=True)
        if key is not None:
            return key
        return _short(self._order.key_of(item).decode("utf-8", "backslashreplace"))


def _short(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[: _LABEL + 1])
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def b_first(b: TracedRun, j: int, a: TracedRun, i: int) -> bool:
    """Whether B[j] goes before A[i]. If they are equal, A[i] goes first."""
    return bool(b.key_at(j) < a.key_at(i))


def b_first_or_equal(b: TracedRun, j: int, a: TracedRun, i: int) -> bool:
    """The other rule for ties, by which no kernel merges: whether B[j] goes before A[i] or is equal to it."""
    return not a.key_at(i) < b.key_at(j)


def runs_of_words(words: Sequence[str], order: Order | None, *, reverse: bool) -> LoadedRuns:
    """Runs of the items in `words`, each a list with blanks or commas between; they are called A, B, ...

    order: of lines; None for numbers if all are, and else bytewise. Raises UsageError for items without an order,
    DisorderError for an unsorted list.
    """
    lists = [text.replace(",", " ").split() for text in words]
    numbers = None if order is not None else _numbers(lists)
    if numbers is not None:
        order = Order.of(numbers[0].dtype, descending=reverse)
        runs = [run.view(np.uint8) for run in numbers]
    else:
        order = order or Order.lines(descending=reverse)
        end = order.end.decode()
        runs = [np.frombuffer("".join(word + end for word in part).encode(), np.uint8) for part in lists]
    names = [chr(ord("A") + number) for number in range(len(lists))]
    for name, run in zip(names, runs, strict=True):
        _check(TracedRun(run, order, name))
    files = (InputFile(name, len(part), len(run)) for name, part, run in zip(names, lists, runs, strict=True))
    return LoadedRuns(tuple(runs), order, tuple(files))


def _numbers(lists: Sequence[Sequence[str]]) -> list[Any] | None:
    """The lists as arrays of int64 or float64, or None if a word is not a number."""
    for kind in (np.int64, np.uint64, np.float64):
        try:
            return [np.array([kind(word) for word in part], kind) for part in lists]
        except (ValueError, OverflowError):
            continue
    return None


def _check(run: TracedRun) -> None:
    for number in range(1, run.size):
        if run.key_at(number) < run.key_at(number - 1):
            raise DisorderError(
                f"disorder: {run.label(number)} comes after {run.label(number - 1)}",
                where=f"--items {run.name}@{number}",
                way_out="write them in order, or say which it is: -r, -n, ...",
            )


def input_pair(loaded: LoadedRuns) -> tuple[TracedRun, TracedRun]:
    """A and B. Raises UsageError if there are more or fewer."""
    if len(loaded.runs) != 2:
        raise UsageError(f"a path has two inputs, not {len(loaded.runs)}", way_out="name A and B")
    a, b = (TracedRun(run, loaded.order, file.name) for run, file in zip(loaded.runs, loaded.inputs, strict=True))
    return a, b

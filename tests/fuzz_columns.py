"""Random calls on columns of texts and of values with nulls, each compared with NumPy's sort of the items' ranks.

python -m tests.fuzz_columns --cases 5000 --seed 1 --backend cpu [--workers N] [-o FILE]
python -m tests.fuzz_columns --seed 1 --only 1234

The seed and the number decide a case. Keys are a column, or one to three columns of several, each in its own direction
and with its own place for nulls. On a GPU columns lie in its memory; "stand-in" is NumPy in place of CuPy. Sets, joins,
differences and searches are compared with the same call on the ranks as integers in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import ColumnArray
from tests.apart import run_numbered
from tests.columns import DTYPES, column_of, drawn_items, items_of, plain_key, raw_items
from tests.fake_cupy import back, installed, there

FUNCTIONS = (
    "merge", "sort", "argsort", "is_sorted", "union", "intersect", "difference", "symmetric", "rank", "rank_of", "join",
    "unique", "topk", "argtopk", "diff", "asof_join",
)  # fmt: skip
OF_SEVERAL = ("merge", "union", "intersect", "difference", "symmetric", "rank", "rank_of")
SETS = ("union", "intersect", "difference", "symmetric")
Put = Callable[[Any], Any]


@dataclass
class ColumnCase:
    """A call on columns. Items of all runs lie one behind the other in its lists."""

    function: str
    kinds: dict[str, str]
    """The kind of each column; that of a single one is called ""."""
    nulls: dict[str, Any]
    by: list[tuple[str, bool]]
    """Each key and whether it descends, before `descending` turns it round."""
    descending: bool
    items: dict[str, list[Any]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    ranks: Any = None
    """The rank of each item among all, int64."""

    @property
    def counts(self) -> list[str]:
        """What the case counts for."""
        keys = "one column" if "" in self.kinds else f"{len(self.by)} of {len(self.kinds)} columns"
        nulls = {f"nulls {place}" for place in self.nulls.values() if place}
        return [self.function, keys, *nulls, *self.kinds.values(), f"descending: {self.descending}"]

    def describe(self) -> str:
        """The whole case without its items."""
        by = [f"{name or 'it'}{':r' * turned}" for name, turned in self.by]
        return (
            f"{self.function} of {self.kinds}, by {by}, nulls {self.nulls}, descending {self.descending}, {self.sizes}"
        )


def drawn_case(rng: np.random.Generator) -> ColumnCase:
    """A case with its items, whose runs are in order where the function needs it."""
    function = str(rng.choice(FUNCTIONS))
    may_have_nulls = function != "asof_join"
    single = function in ("join", "diff", "asof_join") or rng.random() < 0.5
    names = [""] if single else ["a", "b", "c", "d"][: int(rng.integers(1, 5))]
    kinds = {name: str(rng.choice(["text", "text", *DTYPES])) for name in names}
    if function == "asof_join" or (not single and "text" not in kinds.values()):
        kinds[names[0]] = "text"  # other dicts become records, and nearness of numbers has its own rules
    nulls = {name: rng.choice([None, "first", "last"]) if may_have_nulls else None for name in names}
    nulls = {name: None if place is None else str(place) for name, place in nulls.items()}
    some = rng.permutation(names)[: int(rng.integers(1, 4))]
    may_descend = function != "asof_join"
    by = [(str(name), bool(not single and rng.random() < 0.4)) for name in some]
    case = ColumnCase(function, kinds, nulls, by, bool(may_descend and rng.random() < 0.4))
    several = function in OF_SEVERAL
    runs = int(rng.choice([1, 2, 2, 3, 5])) if several else 2 if function in ("join", "diff", "asof_join") else 1
    most = 2 ** rng.uniform(0, 10 if rng.random() < 0.05 else 7)
    sizes = [int(rng.integers(0, most + 1)) for _ in range(runs)]
    total = sum(sizes)
    items = {name: drawn_items(rng, kind, total, 0.25 if nulls[name] else 0.0) for name, kind in kinds.items()}
    keys = []
    for name, turned in by:
        key = plain_key(kinds[name], nulls[name], turned != case.descending)
        keys.append([key(item) for item in items[name]])
    rows = [*zip(*keys, strict=True)]
    places = {row: at for at, row in enumerate(sorted(set(rows)))}
    ranks = np.array([places[row] for row in rows], np.int64)
    order = np.arange(total)
    if several or runs == 2 or (function == "is_sorted" and rng.random() < 0.5):
        ends = np.cumsum([0, *sizes])
        parts = [low + np.argsort(ranks[low:high], kind="stable") for low, high in pairwise(ends)]
        order = np.concatenate([np.empty(0, np.int64), *parts])
    case.items = {name: [of[at] for at in order.tolist()] for name, of in items.items()}
    case.sizes, case.ranks = sizes, ranks[order]
    return case


def run_case(rng: np.random.Generator, put: Put) -> tuple[ColumnCase, str]:
    """(a random case, its error or "")."""
    case = drawn_case(rng)
    try:
        return case, problem(case, rng, put)
    except Exception as error:
        return case, f"{type(error).__name__}: {error}"


def problem(case: ColumnCase, rng: np.random.Generator, put: Put) -> str:
    """The error of a case, "" if it is right."""
    ends = np.cumsum([0, *case.sizes])
    runs = [_given(case, slice(low, high), rng, put) for low, high in pairwise(ends)]
    ranks = np.split(case.ranks, ends[1:-1])
    how: dict[str, Any] = {"descending": case.descending} if case.descending else {}
    if "" not in case.kinds:
        how["key"] = [f"{name}:r" if turned else name for name, turned in case.by]
    numbers = [put(np.arange(low, high)) for low, high in pairwise(ends)]
    positions = np.split(np.arange(len(case.ranks)), ends[1:-1])
    call, name = getattr(gpumerge_cli, case.function), case.function
    order = np.argsort(case.ranks, kind="stable")
    if name == "merge" or name in SETS:
        with_values, options = bool(rng.integers(2)), {}
        if name in SETS:
            options["distinct"] = bool(rng.integers(2))
            expected = call(*ranks, values=positions, **options)[1]
        else:
            expected = order
            options["check"] = bool(rng.integers(2))
        found = call(*runs, **how, **options, **({"values": numbers} if with_values else {}))
        if with_values and back(found[1]).tolist() != expected.tolist():
            return "values differ"
        return _differ(case, found[0] if with_values else found, expected)
    if name in ("sort", "topk"):
        n = (int(rng.integers(0, len(order) + 3)),) if name == "topk" else ()
        found, moved = call(runs[0], *n, values=numbers[0], **how)
        expected = order[: n[0]] if n else order
        return "values differ" if back(moved).tolist() != expected.tolist() else _differ(case, found, expected)
    if name == "argsort":
        return _unlike(call(runs[0], **how), order)
    if name == "argtopk":
        n = (int(rng.integers(0, len(order) + 3)),)
        return _unlike(call(runs[0], *n, **how), order[: n[0]])
    if name == "is_sorted":
        return "" if call(runs[0], **how) is bool((np.diff(case.ranks) >= 0).all()) else "the answer differs"
    if name == "unique":
        keep = str(rng.choice(["first", "last"]))
        found = call(runs[0], values=numbers[0], counts=True, keep=keep, **how)
        _, moved, counts = call(case.ranks, values=np.arange(len(order)), counts=True, keep=keep)
        return _unlike(found[1], moved) or _unlike(found[2], counts) or _differ(case, found[0], moved)
    if name == "rank":
        at = rng.integers(0, len(case.ranks) + 1, int(rng.integers(0, 5)))
        return _unlike(call(runs, at, **how), call(ranks, at))
    if name == "rank_of":
        side, some = str(rng.choice(["left", "right"])), rng.integers(0, max(len(order), 1), 5)[: len(order)]
        wanted = _given(case, some, rng, put if rng.integers(2) else lambda array: array)
        return _unlike(call(runs, wanted, side=side, **how), call(ranks, case.ranks[some], side=side))
    if name == "join":
        kind = str(rng.choice(["inner", "left", "right", "outer", "anti", "semi"]))
        found, expected = call(*runs, how=kind, **how), call(*ranks, how=kind)
    elif name == "diff":
        found, expected = call(*runs, multi=True, **how), call(*ranks, multi=True)
        found, expected = ((told.added, told.removed, *told.unchanged) for told in (found, expected))
    else:
        direction = str(rng.choice(["backward", "forward"]))
        found, expected = call(*runs, direction=direction), call(*ranks, direction=direction)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    return next(filter(None, (_unlike(*pair) for pair in pairs)), "")


def _given(case: ColumnCase, some: Any, rng: np.random.Generator, put: Put) -> Any:
    columns = {}
    for name, items in case.items.items():
        chosen = items[some] if isinstance(some, slice) else [items[at] for at in some.tolist()]
        column = column_of(case.kinds[name], chosen, case.nulls[name], rng)
        plain = column.offsets is None and column.valid is None and case.nulls[name] is None and rng.integers(2)
        columns[name] = put(column.values if plain and name else column)
    return columns.get("", columns)


def _unlike(found: Any, expected: Any) -> str:
    return "" if back(found).tolist() == np.asarray(expected).tolist() else "indices differ"


def _differ(case: ColumnCase, found: Any, expected: Any) -> str:
    """What is wrong with items that should be those at the expected places."""
    for name, items in case.items.items():
        column = found if name == "" else found[name]
        column = column if isinstance(column, ColumnArray) else ColumnArray(column)
        wanted = raw_items(items)
        if items_of(column) != [wanted[at] for at in expected.tolist()]:
            return f"items of column {name!r} differ"
    return ""


def put_by(module: Any) -> Put:
    """Puts arrays and columns into the memory of a module; None for host memory."""

    def put(given: Any) -> Any:
        if module is None:
            return given
        if isinstance(given, ColumnArray):
            arrays = [given.values, given.offsets, given.valid]
            moved = [None if each is None else there(module, each) for each in arrays]
            return ColumnArray(*moved, given.nulls, given.binary)
        return there(module, given)

    return put


def case_of(seed: int, backend: str) -> Callable[[int, Callable[[str], None]], tuple[Sequence[str], str]]:
    """Runs a case (see apart.Case)."""

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        module = None
        if backend == "gpu":
            import cupy as module  # type: ignore[no-redef]
        elif backend == "stand-in":
            module = _stand_in()
        made, wrong = run_case(np.random.default_rng([seed, number]), put_by(module))
        tell(made.describe())
        return made.counts, wrong and f"{made.describe()}\n  {wrong}"

    return case


_MADE: list[Any] = []


def _stand_in() -> Any:
    if not _MADE:
        _MADE.append(installed(pytest.MonkeyPatch()))
    return _MADE[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case is wrong."""
    compared = "columns of the {backend}, against the ranks of their items"
    return run_numbered("tests.fuzz_columns", str(__doc__), case_of, ("cpu", "gpu", "stand-in"), compared, arguments)


if __name__ == "__main__":
    raise SystemExit(main())

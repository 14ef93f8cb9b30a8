"""Diffs pass stretches that both inputs hold with the same bytes at once. They give what a walk item by item gives."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.native import joins, sources, specs
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.joins import Joins, JoinWorker
from gpumerge_cli.native.library import load_library
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.record_joins import RecordJoin, as_records
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu import libraries
from tests.cpu.test_joins import _Held
from tests.line_orders import LINE_ORDERS
from tests.linekeys import key_of

ROUNDS = 1 if os.environ.get("GPUMERGE_TEST_FEW") else 3
_DIFF, _UNIQUE, _EACH = 16, 32, 128
_CSV = [
    LineOrder((LineKey(end_field=0),), b","),
    LineOrder((LineKey(end_field=0),), b",", quoted=True),
    LineOrder((LineKey(start_field=1, end_field=1, reverse=True), LineKey("numeric", end_field=0)), b",", quoted=True),
    LineOrder((LineKey("hex", end_field=0, invalid="last"),), b",", quoted=True),
]
_MARKS = (b"-\t", b"+\t", b"<\t", b">\t")
_WORDS = (
    "", "1", "2", "07", "-3.5", "0x1f", "jan", "Dec", "a", "Ab", "ab c", "v1.10", "v1.9", "10K", "NA", "x" * 15,
    "x" * 16, "x" * 17, "\1", "a\0", "a\1b",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _library_under_test() -> Iterator[None]:
    """Diffs use the library that is tested, which may be one that a sanitizer watches."""
    path = libraries.path()
    loaded = load_library(path.parent, path.stem.removeprefix("gpumerge-"))
    with pytest.MonkeyPatch.context() as patched:
        for module in (joins, sources, specs):
            patched.setattr(module, "library", lambda: loaded)
        yield


def outcome(diff: Diff, held: Sequence[_Held], ranges: Sequence[tuple[int, int]], capacity: int, *, check: bool) -> Any:
    """The bytes and counts of a diff, or its error."""
    worker = JoinWorker(Joins(held, diff, check=check), capacity)
    try:
        worker.run(ranges, 0, 0)
        return b"".join(bytes(part) for part in worker.outputs()), worker.counts, worker.dropped, worker.changed
    except Disordered as found:
        return "disorder", found.source
    except InputError as error:
        return str(error)
    finally:
        worker.close()


def check_diff(chance: random.Random, diff: Diff, data: Sequence[bytes], *, starts: Sequence[Sequence[int]]) -> None:
    """Both ways give the same. starts: of items in each input, from which the ranges may begin."""
    held = [_Held([], one) for one in data]
    ranges = [(chance.choice([0, 0, chance.choice(some)]), one.size) for some, one in zip(starts, held, strict=True)]
    if chance.random() < 0.5:
        ranges = [(0, one.size) for one in held]
    words = (ranges, chance.choice([0, 1 << 20]))
    check = chance.random() < 0.7
    shows = _DIFF + _UNIQUE * (chance.random() < 0.3)
    slow = outcome(replace(diff, shows=shows + _EACH), held, *words, check=check)
    assert outcome(replace(diff, shows=shows), held, *words, check=check) == slow


def line(chance: random.Random, order: LineOrder) -> bytes:
    separator = (order.separator or b" ").decode()
    fields = [chance.choice(_WORDS) if chance.random() < 0.5 else str(chance.randrange(3000)) for _ in range(3)]
    if order.quoted:
        fields = [f'"{field}"' if chance.random() < 0.3 else field for field in fields]
    fields.append("long " * chance.choice([0, 1, 1, 30, 1500 * (chance.random() < 0.02)]))
    return separator.join(fields).encode() + b"\r" * (order.quoted and chance.random() < 0.2)


def starts_of(items: Sequence[bytes]) -> list[int]:
    return [0, *np.cumsum([len(item) for item in items]).tolist()]


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(120, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("number", range(len(LINE_ORDERS) + len(_CSV)))
def test_lines(number: int, rounds: int, seed: int) -> None:
    order = replace([*LINE_ORDERS, *_CSV][number], stable=True)
    for case in range(rounds):
        chance = random.Random(f"{seed} {number} {case}")
        end = bytes([order.terminator])
        old = [line(chance, order) for _ in range(chance.choice([0, 1, 20, 600]))]
        key = key_of(replace(order, quoted=False)) if not order.quoted else key_of_fields(order)
        old.sort(key=key)
        new = list(old)
        for _ in range(chance.choice([0, 1, 5, 100])):
            at = chance.randrange(len(new) + 1)
            new[at : at + chance.choice([0, 1, 1])] = [line(chance, order)] * chance.choice([0, 1, 1])
        if chance.random() < 0.7:
            new.sort(key=key)
        if chance.random() < 0.3 and len(old) > 1:
            for one in (old, new):
                at = min(len(one) - 1, len(old) // 2)
                one[at : at + 1] = []
                one.append(old[0])
        sides = [[item + end for item in items] for items in (old, new)]
        its = Order.lines(order)
        diff = Diff(0, (its, its), _MARKS, chance.choice([(), (1,)]) if order.separator else ())
        data = [b"".join(items) for items in sides]
        check_diff(chance, diff, data, starts=list(map(starts_of, sides)))


def key_of_fields(order: LineOrder) -> Any:
    """An approximate key of lines of CSV, which is enough: the walk also meets lines that are not in order."""

    def key(item: bytes) -> Any:
        fields = [field.strip(b'"\r') for field in item.split(b",")]
        return [fields[one.start_field] for one in order.keys]

    return key


@pytest.mark.parametrize("rounds", [5 * ROUNDS, pytest.param(1000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("key", [Key(fields=("b",)), Key(fields=("c", "a")), Key(fields=("s",))])
def test_records(key: Key, rounds: int, seed: int) -> None:
    dtype = np.dtype([("a", ">i2"), ("b", "<f4"), ("c", "u1"), ("s", "S3")])
    for case in range(rounds):
        chance = random.Random(f"{seed} {key.fields} {case}")
        made = np.zeros(chance.choice([0, 1, 30, 900]), dtype)
        for name, top in (("a", 3000), ("b", 3000), ("c", 4), ("s", 900)):
            made[name] = [chance.randrange(top) for _ in range(len(made))]
        made.sort(order=list(key.fields))
        other = made[[row for row in range(len(made)) if chance.random() < 0.98]].copy()
        for row in range(len(other)):
            if chance.random() < chance.choice([0.0, 0.02]):
                other[row][chance.choice(dtype.names or ())] = 1
        order = as_records(order_of(dtype, key, descending=False))
        by_key = RecordJoin(orders=(order, order))
        marks = tuple(mark[:1] for mark in _MARKS)
        diff = Diff(0, (order, order), marks, places=by_key.tables, by_key=by_key.compared)
        starts = [list(range(len(one) + 1)) for one in (made, other)]
        starts = [[at * dtype.itemsize for at in one] for one in starts]
        check_diff(chance, diff, [made.tobytes(), other.tobytes()], starts=starts)

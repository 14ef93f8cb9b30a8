"""The library's sets of keys and of lines: every rule against the plain one; several threads, and unsorted items."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import cmp_to_key
from itertools import chain, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.native.declarations import parse
from gpumerge_cli.native.library import entries_file
from gpumerge_cli.native.specs import margin_spec
from gpumerge_cli.order import equals as rules
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu import keys_library as lib
from tests.cpu.keys_library import Array
from tests.cpu.rows_library import PATH, RADIX, Launch, Rows, loaded
from tests.cpu.test_keys import ROUNDS, chance, keys, order, runs_of  # noqa: F401

SETS = [one for one in Equals if one.is_set]
WORDS = [b"", b"a", b"a\tb", b"b", b"bb", b"same start 1", b"same start 2", b"same start 2 and more of it", b"7", b"07"]


def by_rule(runs: Sequence[Sequence[Any]], key: Any, equals: Equals) -> list[Any]:
    """The items that go out by the plain rule."""
    found: list[Any] = []
    numbered = sorted(((item, at) for at, run in enumerate(runs) for item in run), key=lambda one: key(one[0]))
    for _, group in groupby(numbered, lambda one: key(one[0])):
        each: list[list[Any]] = [[] for _ in runs]
        for item, at in group:
            each[at].append(item)
        ranges = equals.kept(list(map(len, each)))
        found += chain.from_iterable(some[low:high] for some, (low, high) in zip(each, ranges, strict=True))
    return found


def combined(order: Order, runs: list[Array], equals: Equals, threads: int, tile: int) -> Array:  # noqa: F811
    with lib.workspace(order, runs, threads) as opened:
        assert lib.library().gm_merge(opened, lib.launch(tile=tile), equals.value) == 0
        nbytes, items = np.zeros(1, np.int64), np.zeros(1, np.int64)
        address = lib.library().gm_result(opened, nbytes.ctypes.data, items.ctypes.data)
        data = lib.ctypes.string_at(address, int(nbytes[0])) if nbytes[0] else b""
    assert len(data) == items[0] * order.width
    return np.frombuffer(data, order.dtype)


def test_bits_are_those_of_the_kernels() -> None:
    header = (Path(entries_file()).parents[1] / "equals.h").read_text("utf-8")
    assert parse(header).constants == {"KEEP_ALL": Equals.ALL.value} | {
        name: getattr(rules, name)
        for name in (
            *("EQUAL", "ONLY_A", "ONLY_B", "SET", "DISTINCT", "SINGLE", "LAST_OF", "FIRST_OF", "INNER"),
            *("CONTINUED", "FOLLOWED", "FIRST", "BY_PLACE"),
        )
    }


@pytest.mark.parametrize("bits", [rules.ONLY_B, rules.EQUAL | rules.ONLY_B, rules.EQUAL | rules.ONLY_A, 0])
def test_rules_without_a_name(bits: int, chance: random.Random) -> None:  # noqa: F811
    """The kernels carry out any sum of bits, those of rules that are not there yet included."""
    bytes_ = Order.of("uint8")
    for _ in range(ROUNDS):
        runs = [np.sort(keys(bytes_, chance.choice([0, 0, 3, 200]), chance)) for _ in range(chance.randint(1, 4))]
        expected = Counter(runs[0].tolist())
        for run in runs[1:]:
            other = Counter(run.tolist())
            both, only_a, only_b = expected & other, expected - other, other - expected
            expected = Counter()
            for bit, part in ((rules.EQUAL, both), (rules.ONLY_A, only_a), (rules.ONLY_B, only_b)):
                expected += part if bits & bit else Counter()
        found = combined(bytes_, runs, SimpleNamespace(value=rules.SET | bits), 1, 64)  # type: ignore[arg-type]
        assert found.tolist() == sorted(expected.elements())


@pytest.mark.parametrize("equals", SETS)
def test_keys(order: Order, equals: Equals, chance: random.Random) -> None:  # noqa: F811
    for _ in range(ROUNDS // 3 + 1):
        runs = runs_of(order, chance.randint(0, 5), 900, chance)
        found = combined(order, runs, equals, 1, chance.choice([2, 64, 200, 65536]))
        split = [[(image, item) for image, item in zip(order.image(run).tolist(), run, strict=True)] for run in runs]
        wanted = [item for _, item in by_rule(split, lambda one: one[0], equals)]
        assert found.tobytes() == b"".join(item.tobytes() for item in wanted), [len(run) for run in runs]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("equals", SETS)
def test_keys_by_threads(equals: Equals, chance: random.Random) -> None:  # noqa: F811
    """Pieces of threads are cut inside groups of equal items, also of very long ones."""
    order = Order.of("int32")  # noqa: F811
    draw = np.random.default_rng(chance.randrange(1 << 62))
    for values in (1, 3, 40_000):
        runs = [np.sort(draw.integers(0, values, 90_000).astype(np.int32)) for _ in range(3)]
        one, several = (combined(order, runs, equals, threads, 4096) for threads in (1, 4))
        assert one.tobytes() == several.tobytes()
        counts = np.array([np.bincount(run, minlength=values) for run in runs])
        kept = [sum(high - low for low, high in equals.kept(group.tolist())) for group in counts.T]
        assert np.array_equal(np.bincount(one, minlength=values), kept)


@pytest.mark.parametrize("equals", SETS)
def test_unsorted_keys_touch_no_other_memory(equals: Equals, chance: random.Random) -> None:  # noqa: F811
    """The sanitizers see that; here the result is not longer than the input."""
    for name in ("int8", "int32", "float64"):
        order = Order.of(name)  # noqa: F811
        for _ in range(ROUNDS):
            runs = [keys(order, chance.choice([0, 5, 3000]), chance) for _ in range(chance.randint(1, 4))]
            found = combined(order, runs, equals, chance.choice([1, 3]), chance.choice([2, 64, 500]))
            assert len(found) <= sum(map(len, runs))


@pytest.mark.parametrize("rules", [LineOrder(stable=True), LineOrder((LineKey("numeric"),), stable=True)])
@pytest.mark.parametrize("equals", SETS)
def test_lines(equals: Equals, rules: LineOrder, chance: random.Random) -> None:  # noqa: F811
    library, order = loaded(), Order.lines(rules)  # noqa: F811
    key = (lambda line: line) if not rules.keys else cmp_to_key(lambda x, y: _number(x) - _number(y))
    for _ in range(ROUNDS):
        sizes = [chance.choice([0, 1, 40, 900]) for _ in range(chance.randint(1, 4))]
        runs = [sorted(chance.choices(WORDS, k=size), key=key) for size in sizes]
        rows = Rows(library, order, [b"".join(line + b"\n" for line in run) for run in runs], chance.choice([1, 3]))
        try:
            found = rows.run("gm_merge", equals, Launch(PATH, 1, 0, chance.choice([2, 64, 1 << 14]), RADIX, 1))
            assert found == b"".join(line + b"\n" for line in by_rule(runs, key, equals)), sizes
        finally:
            rows.close()


@pytest.mark.parametrize("kind", ["COLUMNS", "COUNT_AHEAD", "COUNT_AFTER"])
def test_margins(kind: str, chance: random.Random) -> None:  # noqa: F811
    """Texts of every length, lines that are left out, and results that are received in parts."""
    library, order = loaded(), Order.lines(LineOrder(stable=True))  # noqa: F811
    for _ in range(3 * ROUNDS):
        texts = [chance.choice([None, b"", b"\t", b"x" * 31, b"y" * 40]) for _ in range(3)]
        runs = [sorted(chance.choices([*WORDS, b"z" * 2000], k=chance.choice([0, 1, 40, 900]))) for _ in range(2)]
        rows = Rows(library, order, [b"".join(line + b"\n" for line in run) for run in runs], chance.choice([1, 3]))
        try:
            text = b"".join(one or b"" for one in texts)
            lengths = [-1 if one is None else len(one) for one in texts]
            columns = kind == "COLUMNS"
            margin = lib.library().Margin(getattr(lib.library(), kind), *(lengths if columns else [0, 0, 0]))
            kept = lib.ctypes.create_string_buffer(text)
            margin.text = lib.ctypes.addressof(kept)
            library.gm_margin(rows._room, lib.ctypes.byref(margin))
            found = rows.run("gm_merge", Equals.UNION if columns else Equals.FIRST)
            assert found == _beside(runs, texts, kind)
            position = chance.randrange(len(found) + 1)
            some = chance.randrange(len(found) - position + 1)
            assert rows.receive(position, some) == found[position : position + some]
        finally:
            rows.close()


@pytest.mark.parametrize("entry", ["gm_merge", "gm_sort"])
def test_names_of_runs(entry: str, chance: random.Random) -> None:  # noqa: F811
    """Names of every length ahead of the lines of their runs, few of which or many are there."""
    library, order = loaded(), Order.lines(LineOrder(stable=True))  # noqa: F811
    for _ in range(ROUNDS):
        count = chance.choice([1, 2, 8, 9, 20])
        names = [chance.choice([b"", b"a\t", b"n" * 32, b"n" * 33, b"m" * 300]) for _ in range(count)]
        runs = [chance.choices([*WORDS, b"z" * 2000], k=chance.choice([0, 1, 40, 300])) for _ in names]
        runs = runs if entry == "gm_sort" else list(map(sorted, runs))
        rows = Rows(library, order, [b"".join(line + b"\n" for line in run) for run in runs], chance.choice([1, 3]))
        try:
            margin = margin_spec(Margin(title="source", names=tuple(names)))
            library.gm_margin(rows._room, lib.ctypes.byref(margin))
            found = rows.run(entry, Equals.ALL)
            named = sorted(
                ((name, line) for name, run in zip(names, runs, strict=True) for line in run), key=lambda one: one[1]
            )
            assert found == b"".join(name + line + b"\n" for name, line in named)
            position = chance.randrange(len(found) + 1)
            some = chance.randrange(len(found) - position + 1)
            assert rows.receive(position, some) == found[position : position + some]
        finally:
            rows.close()


@pytest.mark.parametrize("entry", ["gm_merge", "gm_sort"])
@pytest.mark.parametrize("in_order", [True, False])
def test_counts_apart(order: Order, entry: str, in_order: bool, chance: random.Random) -> None:  # noqa: F811
    """Keys by any rule: an item for each group of equal neighbours, whose sizes add up to what a merge gives."""
    library = lib.library()
    margin = library.Margin(kind=library.COUNT_APART)
    for _ in range(ROUNDS // 4 + 1):
        if in_order:
            runs = runs_of(order, chance.randint(1, 5), 900, chance)
        else:
            runs = [keys(order, chance.choice([0, 5, 900]), chance) for _ in range(chance.randint(1, 4))]
        among = [Equals.FIRST] if entry == "gm_sort" else [Equals.FIRST, Equals.UNION, Equals.SYMMETRIC]
        equals = chance.choice(among).value
        with lib.workspace(order, runs, chance.choice([1, 3])) as opened:
            assert getattr(library, entry)(opened, lib.launch(tile=64), equals & ~rules.FIRST) == 0
            whole = order.image(lib.result(opened, order.dtype))
            library.gm_margin(opened, lib.ctypes.byref(margin))
            assert getattr(library, entry)(opened, lib.launch(tile=64), equals) == 0
            found = order.image(lib.result(opened, order.dtype))
            counts = np.frombuffer(lib.ctypes.string_at(library.gm_equals(opened), 8 * len(found)), np.int64)
        assert (counts > 0).all()
        assert counts.sum() == len(whole)
        if in_order or entry == "gm_sort":
            assert np.array_equal(np.repeat(found, counts), whole)


def _beside(runs: list[list[bytes]], texts: list[bytes | None], kind: str) -> bytes:
    """The lines with their margins, made the plain way."""
    counts, found = [Counter(run) for run in runs], []
    for line in sorted(counts[0] | counts[1]):
        first, second = (count[line] for count in counts)
        if kind == "COLUMNS":
            both = min(first, second)
            for text, times in zip(texts, (both, first - both, second - both), strict=True):
                found += [text + line] * times if text is not None else []
        else:
            total = first + second
            found.append(b"%7d %s" % (total, line) if kind == "COUNT_AHEAD" else b"%s\t%d" % (line, total))
    return b"".join(line + b"\n" for line in found)


def _number(line: bytes) -> int:
    return int(line) if line.isdigit() else 0

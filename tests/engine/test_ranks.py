"""Ranks of files: every co-rank equals that of a plain merge, and little is read."""

from __future__ import annotations

import bisect
import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.engine import ranks as engine_ranks
from gpumerge_cli.engine.inputs import Inputs, open_inputs
from gpumerge_cli.engine.job import Job, Operation, Questions, StatedItem
from gpumerge_cli.engine.ranks import Ranks, ends_in, merge_ranks
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError, InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.native.cuts import Cuts
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.linekeys import item_key
from tests.strategies import Records, key_runs, record_runs, special_values

ORDERS = {
    "bytewise": LineOrder(),
    "numeric": LineOrder((LineKey("numeric"),)),
    "reverse": LineOrder((LineKey("numeric", reverse=True),), reverse=True),
    "stable by a field": LineOrder((LineKey("bytes", start_field=1, end_field=1),), stable=True),
}


def all_cuts(order: Order, runs: Sequence[Sequence[bytes]]) -> list[list[int]]:
    """The co-ranks of every rank, by sorting all (key, input, position). The items have no ends."""
    triples = [(item_key(order, item), run, at) for run, items in enumerate(runs) for at, item in enumerate(items)]
    cuts, taken = [[0] * len(runs)], [0] * len(runs)
    for _, run, _ in sorted(triples):
        taken[run] += 1
        cuts.append(taken.copy())
    return cuts


def write(folder: Path, runs: Sequence[Sequence[bytes]], suffix: str, end: bytes = b"") -> list[str]:
    names = [str(folder / f"{number}{suffix}") for number in range(len(runs))]
    for name, run in zip(names, runs, strict=True):
        Path(name).write_bytes(b"".join(item + end for item in run))
    return names


def check_ranks(inputs: Inputs, runs: Sequence[Sequence[bytes]], wanted: Sequence[int]) -> None:
    """Compare cuts of ranks, from the start and from the end, with those of a plain merge."""
    cuts = all_cuts(inputs.order, runs)
    total, trim = len(cuts) - 1, len(inputs.order.end)
    starts = [np.cumsum([0, *(len(item) + trim for item in run)]) for run in runs]

    def row(counts: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(of_run[count]) for of_run, count in zip(starts, counts, strict=True))

    ranks = merge_ranks(inputs)
    for rank in wanted:
        cut = ranks.cut(rank)
        expected = cuts[min(rank, total)]
        assert cut == (row(expected), tuple(expected)), rank
        assert ranks.from_end(rank) == row(cuts[max(0, total - rank)]), rank
    fresh: Ranks = merge_ranks(inputs)
    assert fresh.all().counts == tuple(len(run) for run in runs)
    for rank in wanted:  # between cuts that are known already
        assert fresh.cut(rank).counts == tuple(cuts[min(rank, total)])


@settings(max_examples=60)
@given(key_runs(most_runs=5), st.randoms(use_true_random=False))
def test_ranks_of_keys(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[Any], bool], random_: random.Random
) -> None:
    runs, descending = drawn
    dtype = runs[0].dtype
    items = [[key.tobytes() for key in run] for run in runs]
    names = write(tmp_path_factory.mktemp("keys"), items, ".bin")
    with open_inputs(names, Items(dtype=dtype.name, reverse=descending)) as inputs:
        total = sum(map(len, runs))
        check_ranks(inputs, items, sorted({0, 1, total, total + 3, *(random_.randint(0, total) for _ in range(8))}))


def draw_lines(random_: random.Random, order: LineOrder, runs: int, most: int, longest: int) -> list[list[bytes]]:
    found = []
    for _ in range(runs):
        lines = [
            b"%d %s" % (random_.randint(0, 30), random_.choice([b"x", b"yy", b"z" * int(longest ** random_.random())]))
            for _ in range(random_.randint(0, most))
        ]
        found.append(sorted(lines, key=lambda line: item_key(Order.lines(order), line)))
    return found


@pytest.mark.one_of_each
@pytest.mark.parametrize("few", [0, 3, 256])
@pytest.mark.parametrize("name", ORDERS)
def test_ranks_of_lines(
    tmp_path: Path, name: str, few: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(engine_ranks, "_FEW", few)
    monkeypatch.setattr(engine_ranks, "_LEAST_BEYOND", 16)
    random_ = random.Random(int(rng.integers(1 << 32)))
    for number, (runs, most, longest) in enumerate(((1, 60, 5), (2, 40, 30), (3, 40, 9), (5, 8, 5000), (30, 3, 9))):
        items = draw_lines(random_, ORDERS[name], runs, most, longest)
        folder = tmp_path / str(number)
        folder.mkdir()
        names = write(folder, items, ".txt", b"\n")
        if items[0]:
            Path(names[0]).write_bytes(b"\n".join(items[0]))  # the last line lacks its end
        with open_inputs(names, Items(lines=ORDERS[name])) as inputs:
            total = sum(map(len, items))
            check_ranks(inputs, items, sorted({0, 1, total, total + 9, *random_.choices(range(total + 1), k=6)}))


def test_a_line_much_longer_than_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_ranks, "_FEW", 4)
    small = [b"%05d" % n for n in range(3000)]
    for place in (0, 1500, 3000):
        long = (small[place - 1] if place else b"") + b"m" * 400_000
        items = [small[::2], sorted([*small[1::2], long if place else b"0" * 300_000])]
        names = write(tmp_path, items, ".txt", b"\n")
        with open_inputs(names, Items()) as inputs:
            check_ranks(inputs, items, [0, 1, 2, 7, 1499, 1500, 1501, 1502, 2990, 3000, 3001])


@pytest.mark.parametrize("threads", [1, 3])
def test_lines_are_counted_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(engine_ranks, "_PIECE", 100)
    monkeypatch.setattr(engine_ranks, "_SMALL", 20)
    monkeypatch.setattr(engine_ranks, "_BLOCK", 7)
    items = [[b"%d" % n for n in range(10, 99)], [b"%d" % n for n in range(100, 700)], []]
    items[1].sort()
    with open_inputs(write(tmp_path, items, ".txt", b"\n"), Items()) as inputs:
        assert merge_ranks(inputs, threads).all().counts == (89, 600, 0)
        source = inputs.sources[0]
        assert isinstance(source, LineSource)
        assert ends_in(source, 3, 3, 10) == 0
        assert ends_in(source, 0, 4, 10) == 1


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts the bytes that Python and the library ask files for."""
    asked = [0]
    read, read_into = SeekableInput.read, SeekableInput.read_into

    def counting_read(self: SeekableInput, position: int, count: int) -> bytes:
        asked[0] += count
        return read(self, position, count)

    def counting_read_into(self: SeekableInput, position: int, out: Any) -> None:
        asked[0] += len(out)
        read_into(self, position, out)

    monkeypatch.setattr(SeekableInput, "read", counting_read)
    monkeypatch.setattr(SeekableInput, "read_into", counting_read_into)
    monkeypatch.setattr(SeekableInput, "extent", lambda *_: None)  # so that the library reads by Python
    return lambda: asked[0]


def sparse(folder: Path, number: int, size: int) -> list[str]:
    """Files of so many zero bytes, which take no room, with a few greater int32 at their ends."""
    names = [str(folder / f"{each}.i32") for each in range(number)]
    for each, name in enumerate(names):
        with open(name, "wb") as file:
            file.truncate(size - 8)
            file.seek(size - 8)
            file.write(np.array([each, 1000 + each], np.int32).tobytes())
    return names


def rank_job(names: list[str], questions: Questions) -> Job:
    return Job(tuple(names), operation=Operation("rank", questions=questions))


def test_ranks_of_large_files_read_few_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, number = 1 << 32, 20
    names = sparse(tmp_path, number, size)
    total, zeros = number * size // 4, number * (size // 4 - 2) + 1
    read = counted(monkeypatch)
    answers = run_job(
        rank_job(
            names,
            Questions((zeros + number - 1, total - 1), ("0.5",), (StatedItem("0", "--of"), StatedItem("1003", "--of"))),
        )
    )
    assert [one.item for one in answers.ranks] == ["1000", "1019", "0"]
    assert answers.total == total
    assert sum(answers.ranks[2].counts) == (total + 1) // 2 - 1
    zero, other = answers.items
    assert (zero.lower, zero.upper) == (0, zeros)
    assert (other.lower, other.upper) == (zeros + number - 1 + 3, zeros + number - 1 + 4)
    per_cut = 64 * number * 2 * 4096  # pivots by the logarithm of all items, each with some looks into each file
    assert read() < 5 * per_cut
    before = read()
    run_job(rank_job(names, Questions(split=7)))
    assert read() - before < 6 * per_cut


def test_the_first_and_the_last_lines_take_little_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [[b"%08d" % n for n in range(start, 800_000, 4)] for start in range(4)]
    names = write(tmp_path, items, ".txt", b"\n")
    size = sum(map(os.path.getsize, names))
    read = counted(monkeypatch)
    with open_inputs(names, Items()) as inputs:
        for count in (10, 5000):
            before = read()
            ranks = merge_ranks(inputs)
            assert ranks.chunk(0, count).nbytes == 9 * count
            assert ranks.chunk(-count, None).nbytes == 9 * count
            assert read() - before < size // 8


def test_disorder_next_to_a_cut_is_told(tmp_path: Path) -> None:
    np.array([9, 8, 7, 6, 5, 4, 3, 2, 1], np.int32).tofile(tmp_path / "a.i32")
    with pytest.raises((DisorderError, InputError), match=r"a\.i32@|gpumerge check"):
        run_job(rank_job([str(tmp_path / "a.i32")], Questions((4,))))


@pytest.mark.parametrize("kind", ["int32", "lines"])
def test_ranks_of_what_is_not_sorted_come_to_an_end(tmp_path: Path, kind: str, rng: np.random.Generator) -> None:
    for number in range(20):
        runs = [rng.integers(0, 99, int(rng.integers(0, 2000))).astype(np.int32) for _ in range(3)]
        names = [str(tmp_path / f"{number}-{each}{'.i32' if kind == 'int32' else '.txt'}") for each in range(3)]
        for name, run in zip(names, runs, strict=True):
            Path(name).write_bytes(run.tobytes() if kind == "int32" else b"".join(b"%d\n" % key for key in run))
        with open_inputs(names, Items()) as inputs:
            total = sum(map(len, runs))
            for rank in rng.integers(0, total + 1, 5).tolist():
                with suppress(InputError):
                    assert merge_ranks(inputs).cut(rank).rank == rank


def check_bounds(inputs: Inputs, runs: Sequence[Sequence[bytes]], items: Sequence[bytes]) -> None:
    """Compare the ranks of items with bisections of all keys."""
    order = inputs.order
    keys = [[item_key(order, item) for item in run] for run in runs]
    for item in items:
        key = item_key(order, item)
        low, high = map(merge_ranks(inputs).counted, Cuts(inputs.sources, order).bounds(item))
        assert low.counts == tuple(bisect.bisect_left(run, key) for run in keys), item
        assert high.counts == tuple(bisect.bisect_right(run, key) for run in keys), item


@settings(max_examples=40)
@given(key_runs(most_runs=4))
def test_bounds_of_keys(tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[Any], bool]) -> None:
    runs, descending = drawn
    items = [[key.tobytes() for key in run] for run in runs]
    names = write(tmp_path_factory.mktemp("keys"), items, ".bin")
    some = [key.tobytes() for key in special_values(runs[0].dtype)]
    with open_inputs(names, Items(dtype=runs[0].dtype.name, reverse=descending)) as inputs:
        check_bounds(inputs, items, [*some, *(item for run in items for item in run[:9])])


@pytest.mark.parametrize("name", ORDERS)
def test_bounds_of_lines(tmp_path: Path, name: str, rng: np.random.Generator) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    items = draw_lines(random_, ORDERS[name], 3, 300, 200)
    with open_inputs(write(tmp_path, items, ".txt", b"\n"), Items(lines=ORDERS[name])) as inputs:
        some = [b"", b"x", b"0", b"31 x", *(b"%d x" % random_.randint(-5, 40) for _ in range(20))]
        check_bounds(inputs, items, [*some, *(line for run in items for line in run[::20])])


@settings(max_examples=30)
@given(record_runs(most_runs=3, sizes=(3, 8, 16, 100, 4097)))
def test_ranks_of_records(tmp_path_factory: pytest.TempPathFactory, drawn: Records) -> None:
    names = write(tmp_path_factory.mktemp("records"), drawn.runs, ".bin")
    key, width = drawn.key, None
    if isinstance(key, int):
        key, width = None, key
    request = RecordRequest(drawn.size, drawn.offset, width)
    dtype = None if key is None else key.str
    with open_inputs(names, Items(dtype=dtype, reverse=drawn.descending, records=request)) as inputs:
        total = len(drawn.all)
        check_ranks(inputs, drawn.runs, sorted({0, 1, total // 3, total // 2, total}))
        check_bounds(inputs, drawn.runs, [*drawn.all[:6], bytes(drawn.size), b"\xff" * drawn.size])

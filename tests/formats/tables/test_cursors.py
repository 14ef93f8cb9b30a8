"""Threads take rows from cursors, in any memory: each gets the rows that it asks for."""

from __future__ import annotations

import io
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.formats.tables import cursor, item_spans, kept_memory, row_sources
from gpumerge_cli.formats.tables.parquet_table import ParquetTable
from tests.formats.tables.random_tables import Drawn
from tests.formats.tables.test_spooled import table_in, write
from tests.formats.tables.test_tables import by
from tests.jobs_of import merge_job

SECONDS = 60


def asked(rng: random.Random, rows: int) -> list[Any]:
    """Rows in pieces that ascend, as the tasks of a merge take them: ranges, and some of the rows of others."""
    pieces: list[Any] = []
    at = rng.choice([0, 0, rng.randrange(rows)])
    while at < rows:
        stop = min(rows, at + rng.choice([1, 5, 60, 400]))
        some = [row for row in range(at, stop) if rng.random() < 0.5]
        pieces.append(np.array(some) if some and rng.random() < 0.4 else range(at, stop))
        at = stop + rng.choice([0, 0, 0, 3, 500])
    return pieces


@pytest.mark.parametrize("cases", [5, pytest.param(50, marks=pytest.mark.thorough)])
def test_random_threads(cases: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    for case in range(cases):
        rows, suffix = rng.choice([1, 50, 3000]), rng.choice([".parquet", ".parquet", ".arrow", ".arrows"])
        name = str(tmp_path / f"{case}{suffix}")
        made = pa.table({"id": range(rows), "x": [str(row) * (row % 7) for row in range(rows)]})
        group = rng.choice([1, 9, 100, 1000, 5000])
        if suffix == ".parquet":
            pq.write_table(made, name, row_group_size=group)
        else:
            write(name, pa.Table.from_batches(made.to_batches(group)))
        _, table = table_in(name)
        monkeypatch.setattr(kept_memory, "_LEAST_BATCH", rng.choice([100, 1000, 1 << 14]))
        memory = kept_memory.KeptMemory(rng.choice([1, 3000, 40_000, 1 << 20]), 1, None)
        unasked = rng.choice([None, frozenset[int](), frozenset({1, 2})])
        taker = cursor.Cursor(table, memory, again=rng.random() < 0.3, unasked=unasked)
        wrong = taken_by_threads(taker, made, asked(rng, rows), rng.choice([1, 2, 5]))
        assert not wrong, (case, rows, group, suffix, wrong)


def taken_by_threads(taker: cursor.Cursor, rows: Any, pieces: list[Any], number: int) -> list[Any]:
    """Take pieces of the rows of a table by so many threads. Returns errors, and pieces with other rows."""
    left, lock = iter(pieces), threading.Lock()
    wrong: list[Any] = []

    def take() -> None:
        while True:
            with lock:
                piece = next(left, None)
            if piece is None:
                return
            try:
                found = pa.Table.from_batches(taker.taken(piece))
                if not found.equals(rows.take(pa.array(np.asarray(piece))).cast(found.schema)):
                    wrong.append(piece)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        if thread.is_alive():
            wrong.append("a thread waits for ever")
    return wrong


def test_groups_are_decoded_ahead(tmp_path: Path) -> None:
    """A thread whose rows another one decodes goes on with a later group, but for one that nobody asks for."""
    name = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": range(4000)}), name, row_group_size=1000)
    memory = kept_memory.KeptMemory(1 << 20, 1, None)
    taker = cursor.Cursor(ParquetTable(open_input(name)), memory, unasked=frozenset({1}))
    with taker._changed:
        busy = taker._lane_to(0)
        busy.is_busy = True
        taker._rows = 100
        ahead = taker._lane_ahead(busy)
        assert ahead is not None
        assert (ahead.start, busy.stop) == (2000, 2000)
        taker._decoded(ahead, reserved=True)
        busy.is_busy = False
    assert [len(batch) for batch in taker.taken(range(2000, 2100))] == [100]
    assert sum(map(len, taker.taken(range(2000)))) == 2000
    assert sum(map(len, taker.taken(range(2100, 4000)))) == 1900
    assert memory._open == 0


def test_no_room_ahead(tmp_path: Path) -> None:
    name = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": range(4000)}), name, row_group_size=1000)
    taker = cursor.Cursor(ParquetTable(open_input(name)), kept_memory.KeptMemory(1, 1, None), unasked=frozenset())
    with taker._changed:
        busy = taker._lane_to(0)
        taker._rows = 100
        assert taker._lane_ahead(busy) is None


def through_parquet(table: pa.Table) -> pa.Table:
    """The rows as a file gives them back. Of date64 beyond date32 pyarrow writes other values."""
    if "date64" not in str(table.schema):
        return table
    with io.BytesIO() as file:
        pq.write_table(table, file)
        return pq.read_table(file)


@pytest.mark.parametrize("cases", [2, pytest.param(15, marks=pytest.mark.thorough)])
def test_spans_make_the_same_items(cases: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that several threads decode give the output of those that one decodes."""
    rng = random.Random(seed)
    used: list[Any] = []
    write = item_spans.write_spans

    def counted(*args: Any) -> int:
        used.append(args)
        return write(*args)

    monkeypatch.setattr(row_sources.os, "cpu_count", lambda: 8)
    for case in range(cases + 30):
        if case >= cases and used:
            break
        drawn = Drawn(rng, ".parquet")
        # Spans are written where there are many rows, items of one size, and groups that overlap.
        tables = [
            drawn.ordered(through_parquet(drawn.table(rng.choice([0, 30, 500]) if case else 500))) for _ in range(2)
        ]
        names = []
        for number, table in enumerate(tables):
            names.append(str(tmp_path / f"{case}{number}.parquet"))
            pq.write_table(table, names[-1], row_group_size=rng.choice([1, 10, 200]) if case else 200)
        outs = [str(tmp_path / f"{case}-{number}.parquet") for number in range(2)]
        run(merge_job(names, outs[0], by(drawn.fields), backend="cpu"))
        with monkeypatch.context() as patched:
            patched.setattr(item_spans, "_LEAST", 20)
            patched.setattr(item_spans, "write_spans", counted)
            run(merge_job(names, outs[1], by(drawn.fields), backend="cpu"))
        assert Path(outs[0]).read_bytes() == Path(outs[1]).read_bytes()
    assert used
    table, low, high = ParquetTable(open_input(names[0])), 0, 0
    for span in item_spans.spans_of(table, 4):
        low, high = high, span.stop
        assert span.start == low
    assert high == table.rows


def test_a_file_that_ends_too_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": range(100)}), name, row_group_size=10)
    table = ParquetTable(open_input(name))
    table.group_rows = [10] * 9 + [15]
    taker = cursor.Cursor(table, kept_memory.KeptMemory(1 << 20, 1, None))
    with pytest.raises(InputError, match="ends at row 100, and says that it has 105"):
        taker.taken(range(105))

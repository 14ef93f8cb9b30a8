"""Rows that take much more memory than their pages, or than the rows ahead of them: memory stays bounded."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.engine.run import run
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.formats.tables import cursor, gather, parquet_dictionaries, sink
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory
from gpumerge_cli.formats.tables.parquet_table import ParquetTable
from tests.formats.tables.random_tables import Drawn, read, texts
from tests.formats.tables.test_tables import by
from tests.jobs_of import merge_job, sort_job

MEASURED = """
import sys
from gpumerge_cli.cli.app import invoke
import gpumerge_cli.formats.tables  # chooses Arrow's allocator
import pyarrow as pa
assert invoke(sys.argv[1:]) == 0
print(pa.default_memory_pool().max_memory())
"""


def lists_of_nulls(rows: int, lengths: Any) -> Any:
    """A column of lists of so many nulls, which take hardly any bytes of a file."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.nulls(int(ends[-1]), pa.int64()))


def behind_empty_ones(name: str, first: int) -> None:
    """64 MB of lists that hold 1,000 nulls, behind 2,000 that are empty."""
    lengths = np.full(10_000, 1000)
    lengths[:2000] = 0
    values = lists_of_nulls(len(lengths), lengths)
    pq.write_table(pa.table({"id": np.arange(len(lengths)) * 2 + first, "x": values}), name)


def among_empty_ones(name: str, first: int) -> None:
    """64 MB of lists in 160 rows in the midst of others."""
    lengths = np.zeros(60_000, np.int64)
    lengths[30_000:30_160] = 50_000
    values = lists_of_nulls(len(lengths), lengths)
    pq.write_table(pa.table({"id": np.arange(len(lengths)) * 2 + first, "x": values}), name)


def in_a_dictionary(name: str, first: int) -> None:
    """100 MB of texts of 20 kB, of which there are 50."""
    which = np.random.default_rng(first).integers(0, 50, 5000, dtype=np.int32)
    values = pa.array([f"{number:020000}" for number in range(50)])
    column = pa.DictionaryArray.from_arrays(pa.array(which), values)
    schema = pa.schema([("id", pa.int64()), ("x", column.type)])
    table = pa.Table.from_arrays([pa.array(np.arange(5000) * 2 + first), column], schema=schema)
    pq.write_table(table, name, store_schema=False, dictionary_pagesize_limit=1 << 30)


def long_texts(name: str, first: int) -> None:
    """80 MB of texts in 400 rows in the midst of short ones."""
    values = ["ab"] * 40_000
    values[20_000:20_400] = ["x" * 200_000] * 400
    table = pa.table({"id": np.arange(len(values)) * 2 + first, "x": values})
    pq.write_table(table, name, use_dictionary=False, write_batch_size=16)


MADE = (behind_empty_ones, among_empty_ones, in_a_dictionary, long_texts)


@pytest.mark.parametrize(
    ("command", "make"),
    [
        ("merge", long_texts),
        *(pytest.param("merge", make, marks=pytest.mark.thorough) for make in MADE if make is not long_texts),
        *(pytest.param("sort", make, marks=pytest.mark.thorough) for make in MADE),
    ],
)
def test_memory_is_bounded(command: str, make: Any, tmp_path: Path) -> None:
    names = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    for number, name in enumerate(names):
        make(name, number)
    out = str(tmp_path / "out.parquet")
    args = [command, "-q" if command == "merge" else "-s", "-S", "48M", "--field", "id", *names, "-o", out]
    done = subprocess.run([sys.executable, "-c", MEASURED, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 100 << 20
    rows = sum(pq.read_metadata(name).num_rows for name in names)
    assert pq.read_table(out, columns=["id"]).column("id").to_pylist() == list(range(rows))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("make", MADE)
def test_batches_are_small(make: Any, tmp_path: Path) -> None:
    name = str(tmp_path / "a.parquet")
    make(name, 0)
    table, expected = ParquetTable(open_input(name)), pq.read_table(name)
    assert table.bytes_of_rows(None) == pytest.approx(expected.nbytes, rel=0.2)
    rows = max(1, (1 << 20) * table.rows // table.bytes_of_rows(None))
    found = list(table.batches(None, 0, rows))
    largest = max(batch.slice(at, 1).nbytes for batch in found for at in range(0, batch.num_rows, 50))
    assert max(map(bytes_in_memory, found)) <= max(2 << 20, 64 * largest)
    batches = [batch.column(1) for batch in found]
    plain = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in batches]
    assert pa.chunked_array(plain).equals(expected.column("x"))


@pytest.mark.parametrize("cases", [5, pytest.param(60, marks=pytest.mark.thorough)])
def test_sizes_are_known(cases: int, tmp_path: Path, seed: int) -> None:
    """The bytes of random tables by their footers are about those in memory."""
    rng = random.Random(seed)
    for case in range(cases):
        drawn = Drawn(rng, ".parquet")
        name = drawn.write(drawn.table(rng.choice([1, 200, 2000])), tmp_path / str(case))
        table = ParquetTable(open_input(name))
        found = sum(bytes_in_memory(batch) for batch in table.batches(None, 0, 1 << 20))
        assert table.bytes_of_rows(None) >= found / 2 - 1000 * len(table.schema), drawn.fields


@pytest.mark.parametrize("cases", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_few_rows_at_a_time_make_the_same_output(
    cases: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that end by their bytes have the rows of those that end by their numbers, for any number of threads."""
    rng = random.Random(seed)
    for case in range(cases):
        drawn = Drawn(rng, ".parquet")
        sizes = [rng.choice([0, 1, 300, 900]) for _ in range(3)]
        names = [
            drawn.write(
                drawn.ordered(read(drawn.write(drawn.table(size), tmp_path / "u"))), tmp_path / f"{case}{number}"
            )
            for number, size in enumerate(sizes)
        ]
        outs = [str(tmp_path / f"{case}-{number}.parquet") for number in range(4)]
        run(merge_job(names, outs[0], by(drawn.fields), backend="cpu"))
        with monkeypatch.context() as patched:
            patched.setattr(gather.Gather, "is_uneven", lambda self, *, plain: True)
            patched.setattr(sink, "_FEW", rng.choice([1, 7, 64]))
            run(merge_job(names, outs[1], by(drawn.fields), backend="cpu", memory=1, threads=1))
            run(merge_job(names, outs[2], by(drawn.fields), backend="cpu", memory=1, threads=3))
            run(sort_job(names, outs[3], by(drawn.fields), backend="cpu", memory=1))
        assert texts(read(outs[0])) == texts(read(outs[1])) == texts(read(outs[3]))
        assert Path(outs[1]).read_bytes() == Path(outs[2]).read_bytes()


def test_a_small_dictionary_of_long_texts_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow copies it for each batch; those that are large all together come as plain values of few rows."""
    texts = pa.array([letter * (1 << 16) for letter in "abcdefgh"])
    column = pa.DictionaryArray.from_arrays(pa.array([row % 8 for row in range(400)], pa.int32()), texts)
    name = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": range(400), "t": column}), name, dictionary_pagesize_limit=1 << 30)
    counts = []
    for most in (64 << 20, 1 << 16):
        monkeypatch.setattr(parquet_dictionaries, "_MOST_HELD", most)
        monkeypatch.setattr(parquet_dictionaries, "_LARGE", most)
        table = ParquetTable(open_input(name))
        rows = cursor.batch_rows(table, ["id", "t"], 1 << 20)
        batches = list(table.batches(None, 0, rows))
        column = pa.chunked_array([batch.column(1) for batch in batches])
        assert column.cast(pa.string()).equals(pq.read_table(name).column(1).cast(pa.string()))
        counts.append(len(batches))
    assert counts[0] == 1
    assert counts[1] > 10

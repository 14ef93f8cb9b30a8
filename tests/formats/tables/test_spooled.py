"""Tables whose readers hold too much are copied to temporary files first, and give the same rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.run import run
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.formats.tables import cursor, kept_memory, runs
from gpumerge_cli.formats.tables.arrow_table import arrow_table
from gpumerge_cli.formats.tables.parquet_table import ParquetTable
from gpumerge_cli.formats.tables.spooled import spooled
from gpumerge_cli.formats.tables.table import Table
from tests.formats.tables.random_tables import SUFFIXES, Drawn, read, texts
from tests.formats.tables.test_tables import by
from tests.jobs_of import merge_job, sort_job

CASES = 4


def write(name: str, table: Any) -> None:
    if name.endswith(".parquet"):
        pq.write_table(table, name)
        return
    make = pa.ipc.new_file if name.endswith(".arrow") else pa.ipc.new_stream
    with make(name, table.schema) as out:
        out.write_table(table)


def table_in(name: str) -> tuple[Any, Table]:
    file = open_input(name)
    return file, ParquetTable(file) if name.endswith(".parquet") else arrow_table(file)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_tables(suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for case in range(4 * CASES):
        drawn = Drawn(rng, suffix)
        name = drawn.write(drawn.table(rng.choice([0, 1, 30, 200])), tmp_path / str(case))
        file, table = table_in(name)
        rows = rng.choice([1, 7, 50, 1000])
        copy = spooled(table, file.beside, rng.choice([0, 1000, 1 << 40]), rows)
        found = list(copy.batches(None, 0, rows))
        assert [batch.num_rows for batch in found] == list(copy.group_rows)
        assert all(batch.num_rows == rows for batch in found[:-1])
        # Columns of a file may be read as dictionaries.
        assert texts(pa.Table.from_batches(found, found[0].schema if found else copy.schema)) == texts(read(name))
        later = list(copy.batches(None, len(found) // 2, rows))
        assert sum(batch.num_rows for batch in later) == table.rows - copy.starts[len(found) // 2]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sorts_and_merges(suffix: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[Any] = []

    def watched(*args: Any) -> Table:
        copied.append(args)
        return spooled(*args)

    for module in (kept_memory, runs):
        monkeypatch.setattr(module, "LEAST_OPEN", 0)
        monkeypatch.setattr(module, "spooled", watched)
    rng = random.Random(seed)
    for case in range(CASES):
        drawn = Drawn(rng, suffix)
        unsorted = [read(drawn.write(drawn.table(rng.choice([1, 60, 300])), tmp_path / f"{at}u")) for at in "ab"]
        one, other = (
            drawn.write(drawn.ordered(table), tmp_path / at) for table, at in zip(unsorted, "ab", strict=True)
        )
        expected = drawn.ordered(pa.concat_tables([read(one), read(other)]).combine_chunks())
        for make in (merge_job, sort_job):
            out = str(tmp_path / f"o{suffix}")
            del copied[:]
            run(make((one, other), out, by(drawn.fields), backend="cpu", memory=1))
            assert texts(read(out)) == texts(expected), (case, drawn.fields)
            assert copied


def test_readers_count_until_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files one behind the other are read as they are; those that overlap are copied beyond the memory."""
    monkeypatch.setattr(kept_memory, "LEAST_OPEN", 0)
    tables = []
    for number in range(3):
        pq.write_table(pa.table({"id": range(100_000), "x": range(100_000)}), tmp_path / f"{number}.parquet")
        tables.append(table_in(str(tmp_path / f"{number}.parquet")))
    keep, each = tables[0][0].beside, tables[0][1].open_bytes(None)
    memory = kept_memory.KeptMemory(2 * each, 3, keep)
    readers = [cursor.Cursor(table, memory) for _, table in tables]
    for number, reader in enumerate(readers):
        assert sum(len(batch) for batch in reader.taken(range(50))) == 50
        assert isinstance(reader._table, ParquetTable) == (number < 2)
    for reader in readers:
        reader.taken(range(50, 100_000))
    assert memory._open == 0


def test_pages_are_looked_at(tmp_path: Path) -> None:
    """A reader holds a page of each column, as large as the writer made it."""
    table = pa.table({"id": pa.array(random.Random(1).choices(range(1 << 60), k=400_000)), "x": ["ab"] * 400_000})
    found = {}
    for size in (1 << 16, 1 << 30):
        name = str(tmp_path / f"{size}.parquet")
        pq.write_table(
            table, name, use_dictionary=False, data_page_size=size, max_rows_per_page=size, compression="none"
        )
        _, found[size] = table_in(name)
    assert found[1 << 16].open_bytes(["id"]) < 3 << 20 < 6_400_000 < found[1 << 30].open_bytes(["id"]) < 9_000_000
    assert found[1 << 30].open_bytes(["x"]) < found[1 << 30].open_bytes(None)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_that_files_lack(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are nulls in the copies, too, however columns are shared out."""
    names, rows = [], []
    for name, table in (("a", {"id": [1, 3], "x": ["p", "q"]}), ("b", {"y": [7, 8], "id": [2, 4]})):
        names.append(str(tmp_path / f"{name}{suffix}"))
        write(names[-1], pa.table(table))
        rows += pa.table(table).to_pylist()
    monkeypatch.setattr(kept_memory, "LEAST_OPEN", 0)
    out = str(tmp_path / f"o{suffix}")
    assert invoke(["merge", "--schema", "union", "--field", "id", "-S", "1", *names, "-o", out, "-q"]) == 0
    wanted = [{"id": None, "x": None, "y": None, **row} for row in sorted(rows, key=lambda row: row["id"])]
    assert read(out).to_pylist() == wanted

"""Rows that compiled code gathers, and keys that items state, are those that pyarrow finds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import items, parquet_table, runs  # noqa: E402
from gpumerge_cli.formats.tables.images import has_values, uint64_images, values_of_uint64  # noqa: E402
from gpumerge_cli.formats.tables.interleaving import RowStretch, interleaved  # noqa: E402
from gpumerge_cli.formats.tables.key_columns import KeyColumn  # noqa: E402
from gpumerge_cli.formats.tables.references import references  # noqa: E402
from gpumerge_cli.formats.tables.taking import rows_at  # noqa: E402
from gpumerge_cli.native.row_gather import RowChunk, RowRange, gather, row_ranges  # noqa: E402
from tests.formats.tables.random_arrays import INTEGERS, TIMES, TYPES, drawn_array  # noqa: E402

# Indices of 8 bits cannot count the values of several dictionaries.
KINDS = [*(type for type in TYPES if "int8, ordered" not in str(type)), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("case", range(60))
def test_interleaved_rows_are_those_of_a_take(case: int, seed: int) -> None:
    rng = random.Random(f"{seed} {case}")
    inputs = sorted(rng.sample(range(2000), rng.choice([1, 2, 5])))
    types = [rng.choice(KINDS) for _ in range(3)]
    nulls = rng.choice([0.0, 0.0, 0.3])
    stretches, batches, wanted = [], [], []
    for number in inputs:
        at = rng.choice([0, 7, 1 << 33])
        for rows in rng.choices([0, 1, 10, 300], k=rng.randrange(1, 4)):
            stretches.append(RowStretch(number, at, rows))
            batches.append([drawn_array(rng, type, rows, nulls=nulls) for type in types])
            wanted.append(references(number, at, rows))
            at += rows
    columns = [pa.chunked_array([batch[at] for batch in batches], types[at]) for at in range(3)]
    table = pa.table(columns, ["a", "b", "c"]).unify_dictionaries()
    every = np.concatenate(wanted)
    index = np.array(rng.choices(range(len(every)), k=rng.choice([0, 1, 700])) if len(every) else [], np.int64)
    if rng.random() < 0.5:
        index = np.sort(index)
    found = every[index]
    if rng.random() < 0.5:  # as they lie in items
        words = np.zeros((len(found), 3), np.uint64)
        words[:, 2] = found
        found = words[:, 2]
    made = interleaved(found, stretches, table)
    made.validate(full=True)
    taken = rows_at(table, index)
    assert made.schema == table.schema
    for name in table.column_names:  # Arrow's text: NaN equals NaN there, and all instants have one
        assert made.column(name).to_string(window=1000) == taken.column(name).to_string(window=1000)


def test_rows_that_are_in_no_chunk_are_not_read() -> None:
    values = np.arange(4, dtype=np.uint64)
    address = values.__array_interface__["data"][0]
    out = np.zeros(1, np.uint64)
    chunk = [RowChunk(1, 10, 4, address)]
    assert gather(references(1, 13, 1), 8, chunk, out)
    assert out[0] == 3
    for number, row in ((1, 9), (1, 14), (0, 10), (2, 10)):
        assert not gather(references(number, row, 1), 8, chunk, out)
    assert row_ranges(np.concatenate([references(1, 5, 2), references(1, 9, 1)]), 2) == {1: RowRange(5, 10, 3)}
    assert row_ranges(references(2, 5, 1), 2) is None
    assert row_ranges(references(0, 0, 0), 2) == {}


@pytest.mark.parametrize("type", [*INTEGERS, *TIMES], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_native_integers_say_their_values(type: Any, reverse: bool, seed: int) -> None:
    assert has_values(type)
    column = KeyColumn(("k",), type, reverse, "last")
    array = drawn_array(random.Random(seed), type, 50, nulls=0)
    assert values_of_uint64(column, uint64_images(column, array)).equals(array)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", range(20))
def test_keys_that_items_state_are_those_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: int, seed: int
) -> None:
    rng = random.Random(f"{seed} {case}")
    type = rng.choice([*INTEGERS, pa.date32(), pa.timestamp("us", "UTC"), pa.time64("us")])
    reverse = rng.random() < 0.5
    names = []
    for number in range(3):
        keys = drawn_array(rng, type, rng.choice([0, 1, 500]), nulls=0)
        texts = pa.array([rng.choice(["a", "bb", None]) for _ in range(len(keys))], pa.string())
        table = pa.table({"v": texts, "k": keys, "row": pa.array(range(len(keys)), pa.int32())})
        table = table.sort_by([("k", "descending" if reverse else "ascending")])
        names.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(table, names[-1], row_group_size=rng.choice([3, 100, 1000]))
    command, *options = rng.choice([["merge"], ["merge", "--unique"], ["sort"], ["sort", "-S", "64K"], ["union"]])
    words = [command, *options, "-q", "--field", "k:r" if reverse else "k", *names, "-o"]
    assert invoke([*words, str(tmp_path / "stated.parquet")]) == 0
    monkeypatch.setattr(items, "has_values", lambda type: False)
    assert invoke([*words, str(tmp_path / "read.parquet")]) == 0
    stated, read = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("stated", "read"))
    assert stated.schema.equals(read.schema, check_metadata=True)
    assert stated.equals(read)


def test_a_short_last_group_leaves_a_column_its_dictionary(tmp_path: Path) -> None:
    from gpumerge_cli.formats.input import SeekableInput

    texts = pa.array([f"service-{number % 100:04d}" for number in range(20_010)])
    pq.write_table(pa.table({"s": texts}), tmp_path / "a.parquet", row_group_size=10_000)
    table = parquet_table.ParquetTable(SeekableInput(str(tmp_path / "a.parquet")))
    (batch, *_) = table.batches(None, 0, 100)
    assert pa.types.is_dictionary(batch.column(0).type)


def test_runs_of_a_sort_do_not_hold_keys_that_items_state() -> None:
    rows = pa.table({"k": pa.array([3, 1], pa.int32()), "v": ["a", "b"]})
    key = KeyColumn(("k",), pa.int32(), False, "last")
    assert runs._without_key(rows, items.Form.of([key], [False])).column_names == ["v"]
    assert runs._without_key(rows, items.Form.of([key], [True])).column_names == ["k", "v"]

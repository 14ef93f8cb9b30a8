"""Files of tables are merged, sorted and checked: random schemas, against Python's order."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from gpumerge_cli.engine.job import Job, Operation, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from tests.formats.tables.random_tables import SUFFIXES, Drawn, read, texts
from tests.jobs_of import merge_job, sort_job

CASES = 4


def by(fields: tuple[str, ...]) -> Items:
    return Items(records=RecordRequest(fields=fields))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sorts_and_merges(suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for case in range(CASES):
        drawn = Drawn(rng, suffix)
        names, tables = [], []
        for number in range(rng.choice([1, 2, 2, 3, 5])):
            table = drawn.table(rng.choice([0, 1, 7, 60, 300]))
            unsorted = drawn.write(table, tmp_path / f"{case}-{number}u")
            expected = drawn.ordered(read(unsorted))
            out = str(tmp_path / f"{case}-{number}s{suffix}")
            on = Resources("cpu", always_spill=rng.random() < 0.5)
            run(sort_job((unsorted,), out, by(drawn.fields), on))
            assert texts(read(out)) == texts(expected), (case, drawn.fields)
            assert read(out).schema.equals(expected.schema)
            names.append(drawn.write(expected, tmp_path / f"{case}-{number}"))
            tables.append(expected)
            assert run(Job((names[-1],), by(drawn.fields), Operation("check"))).items == table.num_rows
        expected = drawn.ordered(pa.concat_tables(tables).combine_chunks())
        out = str(tmp_path / f"{case}{suffix}")
        run(merge_job(tuple(names), out, by(drawn.fields), backend="cpu"))
        assert texts(read(out)) == texts(expected), (case, drawn.fields)

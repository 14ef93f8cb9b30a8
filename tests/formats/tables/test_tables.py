"""Files of tables are merged, sorted and checked: random schemas, against Python's order."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.job import Job, Operation, RankRange, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError, OutputError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals
from tests.formats.tables.random_tables import SUFFIXES, Drawn, read, texts
from tests.jobs_of import merge_job, sort_job

CASES = 4


def by(fields: tuple[str, ...]) -> Items:
    return Items(records=RecordRequest(fields=fields))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sorts_and_merges(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr("gpumerge_cli.formats.tables.runs._MOST_CANDIDATES", 50)
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
            count = rng.choice([1, 5, 40, 400])
            ranks = rng.choice([RankRange(0, count), RankRange(-count)])
            run(sort_job((unsorted,), out, by(drawn.fields), on, ranks=ranks))
            some = expected.slice(0, count) if ranks.stop else expected.slice(max(0, expected.num_rows - count))
            assert texts(read(out)) == texts(some), (case, drawn.fields, ranks)
            names.append(drawn.write(expected, tmp_path / f"{case}-{number}"))
            tables.append(expected)
            assert run(Job((names[-1],), by(drawn.fields), Operation("check"))).items == table.num_rows
        expected = drawn.ordered(pa.concat_tables(tables).combine_chunks())
        out = str(tmp_path / f"{case}{suffix}")
        run(merge_job(tuple(names), out, by(drawn.fields), backend="cpu"))
        assert texts(read(out)) == texts(expected), (case, drawn.fields)


SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("row", pa.int32())])


def put(path: Path, ids: Sequence[int | None], first: int = 0, names: Sequence[str | None] = ("x",)) -> str:
    """A file with these ids, and names in turn."""
    rows = range(first, first + len(ids))
    columns = [list(ids), [names[row % len(names)] for row in range(len(ids))], list(rows)]
    pq.write_table(pa.table(columns, SCHEMA), path, row_group_size=7)
    return str(path)


def ids_of(path: str) -> list[int | None]:
    found: list[int | None] = pq.read_table(path).column("id").to_pylist()
    return found


@pytest.fixture
def two(tmp_path: Path, seed: int) -> tuple[str, str]:
    rng = random.Random(seed)
    one, other = (sorted(rng.choices(range(40), k=50)) for _ in range(2))
    return put(tmp_path / "a.parquet", one), put(tmp_path / "b.parquet", other, 100)


@pytest.mark.parametrize("command", ["union", "intersect", "difference", "symmetric"])
def test_sets(command: str, two: tuple[str, str], tmp_path: Path) -> None:
    a, b, out = *two, str(tmp_path / "o.parquet")
    assert invoke([command, "--field", "id", a, b, "-o", out]) == 0
    one, other = Counter(ids_of(a)), Counter(ids_of(b))
    expected = {"union": one | other, "intersect": one & other, "difference": one - other,
                "symmetric": (one - other) + (other - one)}[command]  # fmt: skip
    assert ids_of(out) == sorted(expected.elements(), key=lambda value: value or 0)


@pytest.mark.parametrize("field", ["id", "name"])
def test_counts_are_a_column(field: str, two: tuple[str, str], tmp_path: Path) -> None:
    """The first of equal rows stays, and the column comes last."""
    out = str(tmp_path / "o.parquet")
    assert invoke(["sort", "-u", "--count", "--field", field, *two, "-o", out]) == 0
    rows = [row for name in two for row in pq.read_table(name).to_pylist()]
    counts = Counter(row[field] for row in rows)
    firsts = {row[field]: row for row in reversed(rows)}
    found = pq.read_table(out)
    assert found.schema == SCHEMA.append(pa.field("count", pa.int64()))
    assert found.to_pylist() == [{**firsts[key], "count": counts[key]} for key in sorted(counts)]
    assert invoke(["merge", "--count", "--field", "id", out, "-o", str(tmp_path / "p.parquet")]) == 2


def test_parts_heads_and_unique(two: tuple[str, str], tmp_path: Path) -> None:
    everything = sorted([*ids_of(two[0]), *ids_of(two[1])], key=lambda value: value or 0)
    run(merge_job(two, str(tmp_path / "p{part}.parquet"), by(("id",)), parts=3, backend="cpu"))
    parts = [ids_of(str(tmp_path / f"p{number}.parquet")) for number in range(3)]
    assert [one for part in parts for one in part] == everything
    assert all(30 < len(part) < 37 for part in parts)
    out = str(tmp_path / "o.parquet")
    run(merge_job(two, out, by(("id",)), ranks=RankRange(-30, -10), backend="cpu"))
    assert ids_of(out) == everything[-30:-10]
    run(merge_job(two, out, by(("id",)), equals=Equals.FIRST, backend="cpu"))
    assert ids_of(out) == sorted(set(everything), key=lambda value: value or 0)


def test_pipes(two: tuple[str, str]) -> None:
    program = [sys.executable, "-m", "gpumerge_cli"]
    words = [*program, "merge", "--format", "parquet", "--field", "id", "-", two[1]]
    done = subprocess.run(words, input=Path(two[0]).read_bytes(), capture_output=True, check=True)
    found = pq.read_table(pa.BufferReader(done.stdout)).column("id").to_pylist()
    assert found == sorted([*ids_of(two[0]), *ids_of(two[1])])


def test_compressed_inputs_and_other_kinds(two: tuple[str, str], tmp_path: Path) -> None:
    packed = tmp_path / "a.parquet.gz"
    packed.write_bytes(gzip.compress(Path(two[0]).read_bytes()))
    run(merge_job((str(packed), two[1]), str(tmp_path / "o.arrows"), by(("id",)), backend="cpu"))
    run(merge_job((str(tmp_path / "o.arrows"),), str(tmp_path / "o.parquet"), by(("id",)), backend="cpu"))
    assert ids_of(str(tmp_path / "o.parquet")) == sorted([*ids_of(two[0]), *ids_of(two[1])])


@pytest.mark.thorough
def test_a_wide_table_under_little_memory(tmp_path: Path) -> None:
    table = pa.table({f"c{number}": list(range(3000)) for number in range(200)})
    name, out = str(tmp_path / "a.parquet"), str(tmp_path / "o.parquet")
    pq.write_table(table, name)
    run(sort_job((name,), out, by(("c7:r",)), Resources("cpu", memory=8 << 20)))
    run(merge_job((out, out), name, by(("c7:r",)), backend="cpu", memory=8 << 20))
    assert pq.read_table(name).column("c199").to_pylist() == [row for row in range(2999, -1, -1) for _ in range(2)]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda data: data[:-9], "no footer of Parquet at its end; copy it again"),
        (lambda data: data[:40], "no footer of Parquet at its end; copy it again"),
        (lambda data: b"", "it is empty: it has no schema"),
        (lambda data: data[:-4] + b"PARE", "encrypted"),
    ],
)
def test_what_is_no_table(damage: Any, told: str, two: tuple[str, str], tmp_path: Path) -> None:
    Path(two[1]).write_bytes(damage(Path(two[1]).read_bytes()))
    with pytest.raises(InputError) as caught:
        run(merge_job(two, str(tmp_path / "o.parquet"), by(("id",)), backend="cpu"))
    assert str(caught.value).startswith(two[1])
    assert told in str(caught.value)
    assert not (tmp_path / "o.parquet").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.drop_columns(["name"]), "row int32 differs from name string"),
        (lambda table: table.set_column(0, "id", table["id"].cast(pa.int32())), "id int32 differs from id int64"),
        (lambda table: table.append_column("more", table["id"]), "more int64"),
        (lambda table: table.rename_columns(["id", "names", "row"]), "names string differs from name string"),
    ],
)
def test_columns_that_differ(change: Any, told: str, two: tuple[str, str], tmp_path: Path) -> None:
    pq.write_table(change(pq.read_table(two[1])), two[1])
    with pytest.raises(InputError, match="give all files the same columns") as caught:
        run(merge_job(two, str(tmp_path / "o.parquet"), by(("id",)), backend="cpu"))
    assert told in str(caught.value)
    assert two[0] in str(caught.value)
    assert not (tmp_path / "o.parquet").exists()


def test_without_pyarrow(two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"need pyarrow, which is not installed; pip install 'gpumerge\[tables\]'"):
        run(merge_job(two, str(tmp_path / "o.parquet"), by(("id",)), backend="cpu"))


@pytest.mark.parametrize("cases", [60, pytest.param(2000, marks=pytest.mark.thorough)])
def test_damaged_files_give_a_line(cases: int, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed if cases > 60 else 1)  # the usual cases are the same each time: a fault ends the process
    for case in range(cases):
        if case % 20 == 0:
            drawn = Drawn(rng, rng.choice(SUFFIXES))
            name = drawn.write(drawn.ordered(drawn.table(rng.choice([5, 60, 200]))), tmp_path / "x")
            whole = Path(name).read_bytes()
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 5])):
            place = rng.randrange(max(0, len(data) - rng.choice([200, len(data)])), len(data))
            data[place] = rng.randrange(256)
        Path(name).write_bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data))])])
        make = rng.choice([merge_job, sort_job])
        with suppress(InputError, OutputError):
            run(make((name,), str(tmp_path / f"o{drawn.suffix}"), by(drawn.fields), backend="cpu"))


@pytest.mark.parametrize("name", [b"outer_name", b"inner_name"])
def test_names_that_are_no_text(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.arrows"
    inner = pa.StructArray.from_arrays([pa.array([1])], ["inner_name"])
    table = pa.table({"id": [1], "outer_name": inner})
    with pa.ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)
    path.write_bytes(path.read_bytes().replace(name, b"\xdf" + name[1:]))
    with pytest.raises(InputError, match="the name of a column is not UTF-8"):
        run(merge_job((str(path),), str(tmp_path / "o.arrows"), by(("name",)), backend="cpu"))

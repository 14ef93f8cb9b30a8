"""gpumerge join of tables: random schemas against Python, and usual ones against DuckDB, polars and pandas."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.tables import join_gather
from gpumerge_cli.formats.tables.references import joined_rows
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRED_A, PAIRS
from tests.formats.tables.random_arrays import order_keys
from tests.formats.tables.random_tables import SUFFIXES, Drawn, plain_values, read, texts

CASES = 3
Places = list[tuple[int | None, int | None]]


def joined_places(a: Sequence[Any], b: Sequence[Any], shows: int) -> Places:
    """The rows of A and of B that go out beside each other. a, b: their keys in order; None for one with a null."""
    found: Places = []
    groups: dict[int, list[int]] = {}
    of_a = [key for key, _ in a]
    for at, (key, is_null) in enumerate(b):
        if not is_null and key in of_a:
            groups.setdefault(of_a.index(key), []).append(at)
    paired = {at for group in groups.values() for at in group}
    lone = [at for at in range(len(b)) if at not in paired] if shows & ONLY_B else []
    for at, (key, is_null) in enumerate(a):
        while lone and b[lone[0]][0] < key:
            found.append((None, lone.pop(0)))
        partners = [] if is_null else groups.get(of_a.index(key), [])
        if partners and shows & PAIRS:
            found += [(at, partner) for partner in partners]
        if shows & (PAIRED_A if partners else ONLY_A):
            found.append((at, None))
    return found + [(None, at) for at in lone]


def keys_of(drawn: Drawn, table: pa.Table, side: int) -> list[tuple[list[Any], bool]]:
    """(what compares, whether there is a null in it) for each row. side: 0 for A, whose nulls go first."""
    keys = drawn.key_arrays(table)
    nulls = np.zeros(table.num_rows, bool)
    for key in keys:
        nulls |= np.array([_is_null(item) for item in key], bool)
    made = [order_keys(key, reverse=turned) for key, turned in zip(keys, drawn.reverse, strict=True)]
    rows = zip(*made, strict=True)
    return [
        ([(2, side) if one[0] == 2 else one for one in row], bool(null)) for row, null in zip(rows, nulls, strict=True)
    ]


@pytest.mark.one_of_each
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_all_types_of_keys(kind: str, suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for case in range(CASES):
        drawn = Drawn(rng, suffix)
        count = rng.choice([0, 2, 30, 120])
        whole = drawn.table(count)
        sides = [rows_at(whole, [row for row in range(count) if rng.random() < share]) for share in (0.7, 0.6)]
        # Parquet cuts dates off.
        kept = [read(drawn.write(side, tmp_path / f"{case}-{at}")) for at, side in enumerate(sides)]
        tables = [drawn.ordered(side) for side in kept]
        names = [drawn.write(table, tmp_path / f"{case}{side}") for side, table in zip("ab", tables, strict=True)]
        tables = [read(name) for name in names]
        out = str(tmp_path / f"{case}{suffix}")
        fields = [word for field in drawn.fields for word in ("--field", field)]
        assert invoke(["join", "-q", "--type", kind, "-S", "1M", *fields, *names, "--output", out]) == 0
        places = joined_places(*(keys_of(drawn, *pair) for pair in zip(tables, (0, 1), strict=True)), JOIN_TYPES[kind])
        expected = expected_columns(drawn, tables, places, kind)
        found = read(out)
        assert found.schema.names == [name for name, _ in expected], (case, drawn.fields)
        rows = [repr(row) for row in zip(*(column for _, column in expected), strict=True)]
        shown = [[row.replace("'None'", "None") for row in one] for one in (texts(found), rows)]
        assert shown[0] == shown[1], (case, drawn.fields)


def rows_at(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    from gpumerge_cli.formats.tables.taking import rows_at

    return rows_at(table, np.array(rows, np.int64))


def expected_columns(
    drawn: Drawn, tables: Sequence[pa.Table], places: Places, kind: str
) -> list[tuple[str, Sequence[Any]]]:
    """The names and values of the output's columns."""
    values = [{name: plain_values(table.column(name)) for name in table.schema.names} for table in tables]
    if kind in ("anti", "semi"):
        return [(name, [values[0][name][a] for a, _ in places if a is not None]) for name in values[0]]
    keys = [[plain_values(key) for key in drawn.key_arrays(table)] for table in tables]
    names = [field.removesuffix(":r") for field in drawn.fields]
    found: list[tuple[str, Sequence[Any]]] = []
    for number, name in enumerate(names):
        found.append((name, [keys[0][number][a] if a is not None else keys[1][number][b or 0] for a, b in places]))
    taken = [name for name in names if "." not in name]
    for side in (0, 1):
        for name, column in values[side].items():
            if name not in taken:
                missing = plain_values(pa.nulls(1, tables[side].schema.field(name).type))[0]
                own = [column[row] if (row := place[side]) is not None else missing for place in places]
                found.append((name + "_2" * side, own))
    return found


def _is_null(item: Any) -> bool:
    return not item.is_valid or (pa.types.is_dictionary(item.type) and not item.value.is_valid)


def tables_of_people(rng: random.Random, rows: int) -> tuple[pa.Table, pa.Table]:
    """Two tables with keys of several types, sorted by (n, t, w), nulls last."""
    made = []
    for side, count in enumerate((rows, rows // 2)):
        n = [rng.choice([None, *range(rows // 6)]) for _ in range(count)]
        t = [rng.choice([None, "", "a", "ab", "b\0", "é"]) for _ in range(count)]
        w = [rng.choice([None, 5, 6, 10**6]) for _ in range(count)]
        keys = [[(value is None, value or type()) for value in one] for one, type in ((n, int), (t, str), (w, int))]
        order = sorted(range(count), key=lambda at: [its[at] for its in keys])
        columns = {
            "n": pa.array([n[at] for at in order], pa.int32() if side else pa.int64()),
            "t": pa.array([t[at] for at in order], pa.large_string() if side else pa.string()),
            "w": pa.array([w[at] for at in order], pa.timestamp("ms") if side else pa.timestamp("us")),
            f"row{side}": pa.array(range(count), pa.int32()),
        }
        made.append(pa.table(columns))
    return made[0], made[1]


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_as_other_programs_join(kind: str, tmp_path: Path, seed: int) -> None:
    """DuckDB, polars and pandas leave nulls without a partner, too, or are told to."""
    import duckdb
    import polars as pl

    rng = random.Random(seed)
    a, b = tables_of_people(rng, 200)
    keys = ["n", "t", "w"][: rng.choice([1, 2, 3])]
    names = [str(tmp_path / "a.parquet"), str(tmp_path / "b.arrow")]
    pq.write_table(a, names[0], row_group_size=50)
    with pa.ipc.new_file(names[1], b.schema) as out:
        out.write_table(b, max_chunksize=30)
    out_name = str(tmp_path / "o.parquet")
    assert invoke(["join", "-q", "--on", ",".join(keys), "--type", kind, *names, "--output", out_name]) == 0
    found = pq.read_table(out_name)
    joins = {"outer": "full"}.get(kind, kind)
    using = f"{joins} join b using ({', '.join(keys)})"
    by_duckdb = duckdb.sql(f"select * from a {using}").to_arrow_table()
    rows = ["row0"] if kind in ("anti", "semi") else ["row0", "row1"]
    places = sorted(zip(*(found.column(name).to_pylist() for name in rows), strict=True), key=str)
    assert places == sorted(zip(*(by_duckdb.column(name).to_pylist() for name in rows), strict=True), key=str)
    for key in keys:
        own, theirs = (sorted(map(str, one.column(key).to_pylist())) for one in (found, by_duckdb))
        assert own == theirs
    casts = {"n": pl.Int64, "w": pl.Datetime("us")}
    frames = [pl.from_arrow(a), pl.from_arrow(b).with_columns(pl.col(name).cast(to) for name, to in casts.items())]
    by_polars = frames[0].join(
        frames[1], on=keys, how=joins, coalesce=True if kind in ("left", "right", "outer") else None
    )
    assert places == sorted(by_polars.select(rows).rows(), key=str)
    if kind not in ("anti", "semi"):
        sides = [one.to_pandas().dropna(subset=keys) for one in (a, b)]
        by_pandas = sides[0].merge(sides[1], on=keys)
        pairs = [pair for pair in places if None not in pair]
        assert pairs == sorted(by_pandas[rows].itertuples(index=False, name=None), key=str)
    metadata = pq.read_metadata(out_name)
    sorting = metadata.row_group(0).sorting_columns if len(found) else ()
    by = (len(keys) if kind != "outer" else 1) if len(found) else 0
    assert [one.column_index for one in sorting] == list(range(by))


A = {"id": [1, 2, 2, 4], "name": ["a", "b", "c", "d"], "note": ["x"] * 4}
B = {"town": ["o", "p", "q"], "id": [2, 2, 3], "note": ["z"] * 3}


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    for name, columns in (("a", A), ("b", B)):
        pq.write_table(
            pa.table(columns).replace_schema_metadata({"pandas": "{}", "own": name}), tmp_path / f"{name}.parquet"
        )
    return str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")


def test_columns_are_chosen(two: tuple[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "o.parquet")
    assert invoke(["join", "-q", "-j", "id", *two, "--output", out]) == 0
    assert pq.read_table(out).schema.names == ["id", "name", "note", "town", "note_2"]
    assert pq.read_schema(out).metadata == {b"own": b"a"}
    chosen = ["--type", "left", "-o", "town,0,1.note,2.note"]
    assert invoke(["join", "-q", "-j", "id", *chosen, *two, "--output", out]) == 0
    found = pq.read_table(out)
    assert found.schema.names == ["town", "id", "note", "note_2"]
    assert found.to_pylist()[0] == {"town": None, "id": 1, "note": "x", "note_2": None}
    assert invoke(["join", "-q", "-j", "id", "-v", "2", *two, "--output", out]) == 0
    assert pq.read_table(out).to_pylist() == [{"town": "q", "id": 3, "note": "z"}]
    assert pq.read_schema(out).metadata == {b"own": b"b"}
    assert invoke(["join", "-q", "-j", "id", "-a", "1", "-v", "2", *two, "--output", out]) == 0
    assert pq.read_table(out).column("id").to_pylist() == [1, 3, 4]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".arrow", ".arrows", ".parquet"])
def test_outputs_of_any_format(suffix: str, two: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / f"o{suffix}"
    assert invoke(["join", "-q", "--on", "id", "--type", "right", *two, "--output", str(out)]) == 0
    expected = [
        {"id": number, "name": name, "note": note, "town": town, "note_2": "z"}
        for number, name, note, town in [
            (2, "b", "x", "o"), (2, "b", "x", "p"), (2, "c", "x", "o"), (2, "c", "x", "p"), (3, None, None, "q"),
        ]
    ]  # fmt: skip
    if suffix == ".csv":
        assert out.read_text().splitlines()[1:] == ["2,b,x,o,z", "2,b,x,p,z", "2,c,x,o,z", "2,c,x,p,z", "3,,,q,z"]
    elif suffix == ".jsonl":
        import json

        assert [json.loads(line) for line in out.read_text().splitlines()] == expected
    else:
        assert read(str(out)).to_pylist() == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-j", "nid"], "a.parquet: -j nid: there is no column 'nid'; did you mean id?"),
        (["-1", "id", "-2", "town"], "b.parquet: its key, town string, has another type than the key of"),
        (["-1", "id", "-2", "id,town"], "a key of A has 1 column, and one of B has 2 columns"),
        ([], "rows need a key; name one of their columns as the key (--field): id, name, note"),
        (["-j", "id", "-e", "x"], "-e x: missing values of a table are null; leave it out"),
        (["-j", "id", "-t", ","], "--field-separator: it is for text, and the files are tables; leave it out"),
        (["-j", "id", "-n"], "--numeric-sort: it is for text, and the files are tables"),
        (["-j", "id", "-o", "note"], "-o note: both files have a field 'note'; write 1.note or 2.note"),
        (["-j", "id", "-o", "1.9"], "-o 1.9: the header of A has 3 fields"),
        (["-j", "id:r"], "b.parquet: row group 0, row 2: disorder: 3 comes after 2 by --field id:r; sort it first"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], told: str, two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["join", *arguments, *two, "--output", str(tmp_path / "o.parquet")]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "o.parquet").exists()


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl", "c.txt"])
def test_a_table_beside_another_file(
    name: str, two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text('{"id":1}\n')
    for files in ((two[0], str(tmp_path / name)), (str(tmp_path / name), two[0])):
        assert invoke(["join", "--field", "id", *files]) == 2
        assert "a.parquet is a table, and " in capfd.readouterr().err


def test_pipes_and_an_input_that_is_the_output(two: tuple[str, str], tmp_path: Path) -> None:
    with open(two[0], "rb") as given:
        command = [sys.executable, "-m", "gpumerge_cli", "join", "-q", "--format", "parquet", "-j", "id", "-", two[1]]
        made = subprocess.run(command, stdin=given, stdout=subprocess.PIPE, check=True).stdout
    assert pq.read_table(pa.BufferReader(made)).column("town").to_pylist() == ["o", "p"] * 2
    assert invoke(["join", "-q", "-j", "id", *two, "--output", two[0]]) == 0
    assert pq.read_table(two[0]).num_rows == 4


@pytest.mark.thorough
def test_many_equal_keys_and_large_values_take_bounded_memory(tmp_path: Path) -> None:
    """Pairs of 100 x 2,000 rows, and one row of 2 MB that has 300 partners: 600 MB of values."""
    group, large = 100, "x" * (2 << 20)
    a = pa.table({"k": [1] * group + [2], "text": ["y"] * group + [large]})
    b = pa.table({"k": [1] * 2000 + [2] * 300, "n": range(2300)})
    names = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    for name, table in zip(names, (a, b), strict=True):
        pq.write_table(table, name, row_group_size=700)
    out = str(tmp_path / "o.parquet")
    command = ["join", "-q", "-j", "k", "-S", "64M", "--compression", "zstd", *names, "--output", out]
    program = (
        "import sys; from gpumerge_cli.cli.app import invoke; from gpumerge_cli.engine.resources import peak_memory; "
        "assert invoke(sys.argv[1:]) == 0; print(peak_memory())"
    )
    told = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 400 << 20
    found = pq.ParquetFile(out)
    assert found.metadata.num_rows == group * 2000 + 300
    numbers = found.read(["k", "n"])
    assert numbers.column("n").to_pylist() == [*range(2000)] * group + [*range(2000, 2300)]


def test_rows_of_joined_items(seed: int) -> None:
    """Each row is taken once, whether rows follow each other, repeat, come in any order or are missing."""
    draw = random.Random(seed)
    for _ in range(200):
        count, start = draw.randrange(20), draw.randrange(1 << 40)
        rows = draw.choice([
            [start + at for at in range(count)],
            sorted(start + draw.randrange(9) for _ in range(count)),
            [start + draw.randrange(9) for _ in range(count)],
        ])  # fmt: skip
        if draw.random() < 0.4:
            rows = [-1 if draw.random() < 0.3 else row for row in rows]
        once, index = join_gather._once(np.array(rows, np.int64))
        assert [-1 if at < 0 else list(once)[at] for at in index.tolist()] == rows, seed
        assert list(once) == sorted({row for row in rows if row >= 0}), seed


@pytest.mark.parametrize("key_bytes", [3, 8, 16])
@pytest.mark.parametrize("sides", [1, 2])
def test_references_of_joined_items(key_bytes: int, sides: int, seed: int) -> None:
    draw = random.Random(seed)
    pairs = [[draw.choice([-1, 0, draw.randrange(1 << 40)]) for _ in range(sides)] for _ in range(50)]
    words = [[(1 << 64) - 1 if row < 0 else side << 40 | row for side, row in enumerate(pair)] for pair in pairs]
    items = b"".join(draw.randbytes(key_bytes) + np.array(one, np.uint64).tobytes() for one in words)
    assert joined_rows(items, key_bytes, sides).tolist() == pairs

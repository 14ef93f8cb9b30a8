"""Row groups that no rows of other inputs fall into are copied as bytes; statistics that lie do no harm."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats import rows as rows_of_formats  # noqa: E402
from gpumerge_cli.formats.tables import parquet_writer, thrift  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import chunks_of, column_metadata  # noqa: E402
from gpumerge_cli.formats.tables.parquet_footer import composed, split  # noqa: E402
from gpumerge_cli.formats.tables.thrift import BINARY, Field  # noqa: E402


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)


def write(path: Path, table: Any, rows: int, **settings: Any) -> str:
    pq.write_table(table, path, row_group_size=rows, **{"compression": "zstd", "write_page_index": True, **settings})
    return str(path)


def data_of(path: str | Path) -> list[bytes]:
    """The data of each row group, as the file has it."""
    return [bytes(group.data) for group in split(Path(path).read_bytes())[1]]


def merged(tmp_path: Path, *words: str) -> Path:
    out = tmp_path / "out.parquet"
    assert invoke(["merge", *words, "-q", "-o", str(out)]) == 0
    return out


def table_of(keys: Sequence[Any], kind: Any = None) -> Any:
    return pa.table({"key": pa.array(keys, kind or pa.int64()), "row": pa.array(range(len(keys)), pa.int64())})


def test_files_that_follow_each_other_are_copied(tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", table_of(range(100)), 30)
    b = write(tmp_path / "b.parquet", table_of(range(100, 250)), 50)
    out = merged(tmp_path, "--field", "key", b, a)
    assert data_of(out) == data_of(a) + data_of(b)
    assert pq.read_table(out).column("key").to_pylist() == list(range(250))
    groups = pq.read_metadata(out)
    assert [groups.row_group(number).sorting_columns for number in range(7)] == [(pq.SortingColumn(0),)] * 7


def test_groups_that_overlap_are_merged(tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", table_of([*range(40), *range(100, 140)]), 20)
    b = write(tmp_path / "b.parquet", table_of([*range(30, 60), *range(200, 230)]), 30)
    out = merged(tmp_path, "--field", "key", a, b)
    first, overlapping, third, fourth = data_of(a)
    found = data_of(out)
    assert found[0] == first
    assert found[-3:] == [third, fourth, data_of(b)[1]]
    assert overlapping not in found
    assert pq.read_table(out).column("key").to_pylist() == sorted(
        [*range(40), *range(100, 140), *range(30, 60), *range(200, 230)]
    )


def test_groups_that_touch_stay_in_the_order_of_the_inputs(tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", pa.table({"key": [1, 2, 2], "of": ["a"] * 3}), 10)
    b = write(tmp_path / "b.parquet", pa.table({"key": [2, 2, 3], "of": ["b"] * 3}), 10)
    for files, order in (((a, b), "aaabbb"), ((b, a), "abbaab")):
        found = pq.read_table(merged(tmp_path, "--field", "key", *files))
        assert "".join(found.column("of").to_pylist()) == order


@pytest.mark.parametrize(
    ("words", "is_copied"),
    [
        ((), True),
        (("--compression", "zstd"), True),
        (("--compression", "snappy"), False),
        (("--compression-level", "3"), False),
        (("--row-group-size", "50"), True),
        (("--row-group-size", "200"), False),
        (("--row-group-size", "20"), False),
        (("--unique",), False),
        (("--head", "60"), False),
        (("--no-check",), True),
    ],
)
def test_settings_that_agree(words: tuple[str, ...], is_copied: bool, tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", table_of(range(50)), 50)
    b = write(tmp_path / "b.parquet", table_of(range(50, 100)), 50)
    out = merged(tmp_path, "--field", "key", a, b, *words)
    assert (data_of(out) == data_of(a) + data_of(b)) == is_copied
    column = pq.read_metadata(out).row_group(0).column(0)
    assert column.compression == ("SNAPPY" if "snappy" in words else "ZSTD")
    assert pq.read_table(out).column("key").to_pylist() == list(range(60 if "--head" in words else 100))


def test_files_of_other_writers_are_copied(tmp_path: Path) -> None:
    polars, duckdb = library("polars"), library("duckdb")
    a, b = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    polars.DataFrame({"key": range(50), "text": [str(number) for number in range(50)]}).write_parquet(a)
    polars.DataFrame({"key": range(50, 90), "text": [str(number) for number in range(40)]}).write_parquet(b)
    out = merged(tmp_path, "--field", "key", a, b)
    assert data_of(out) == data_of(a) + data_of(b)
    assert polars.read_parquet(out).equals(polars.concat([polars.read_parquet(a), polars.read_parquet(b)]))
    for low, name in ((0, a), (50, b)):
        duckdb.sql(f"copy (select i as key, i::varchar as text from range({low}, {low + 50}) t(i)) to '{name}'")
    out = merged(tmp_path, "--field", "key", a, b)
    assert data_of(out) == data_of(a) + data_of(b)
    assert duckdb.sql(f"select count(*), sum(key), min(text), max(text) from '{out}'").fetchall() == [
        (100, 4950, "0", "99")
    ]


KINDS = {
    "int64": (pa.int64(), lambda rng, at: at + rng.randrange(30)),
    "float": (pa.float64(), lambda rng, at: rng.choice([float("nan"), at + rng.random() * 30])),
    "string": (pa.string(), lambda rng, at: f"{at + rng.randrange(30):04d}" + rng.choice(["", "\0", "\1\2", "é"])),
    "decimal": (pa.decimal128(9, 1), lambda rng, at: at + rng.randrange(30)),
    "timestamp": (pa.timestamp("ns"), lambda rng, at: at + rng.randrange(30)),
}


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", ["", ":r", "nulls", ",row", ",row:r"])
def test_random_files(kind: str, options: str, seed: int, tmp_path: Path) -> None:
    """Merges of files in which some groups are apart equal the stable sort of all rows."""
    rng = random.Random(seed)
    type, draw = KINDS[kind]
    nulls = ["--nulls", "first"] if options == "nulls" else []
    field = "key" + options.removeprefix("nulls")
    names, tables = [], []
    for number in range(rng.randrange(1, 5)):
        keys = [draw(rng, 20 * rng.randrange(30)) for _ in range(rng.randrange(60))]
        if options == "nulls":
            keys = [None if rng.random() < 0.1 else key for key in keys]
        table = table_of(keys, type)
        path = write(tmp_path / f"{number}.parquet", table, 1000)
        sorted_path = str(tmp_path / f"sorted{number}.parquet")
        assert invoke(["sort", path, "--field", field, *nulls, "-q", "-o", sorted_path]) == 0
        tables.append(pq.read_table(sorted_path))
        names.append(write(tmp_path / f"{number}.parquet", tables[-1], rng.choice([1, 3, 10, 100])))
    whole = write(tmp_path / "whole.parquet", pa.concat_tables(tables), 1000)
    expected = str(tmp_path / "expected.parquet")
    assert invoke(["sort", whole, "--field", field, *nulls, "-q", "-o", expected]) == 0
    found = pq.read_table(merged(tmp_path, "--field", field, *nulls, *names))
    assert repr(found.to_pylist()) == repr(pq.read_table(expected).to_pylist())


def with_statistics(path: str, group: int, change: dict[int, Field | None]) -> str:
    """Change the fields of the statistics of a group's first column. None leaves one out."""
    file = Path(path).read_bytes()
    footer, groups = split(file)
    placed, data = [], bytearray(b"PAR1")
    for number, one in enumerate(groups):
        facts = one.facts
        if number == group:
            struct = thrift.read(facts.description)
            statistics = column_metadata(chunks_of(struct)[0])[12].value
            for id, field in change.items():
                statistics.pop(id, None)
                if field is not None:
                    statistics[id] = field
            facts = type(facts)(
                facts.rows, facts.size, thrift.written(struct), facts.column_indexes, facts.offset_indexes
            )
        placed.append((len(data), facts))
        data += one.data
    Path(path).write_bytes(bytes(data) + composed(footer, placed, len(data)))
    return path


def lying(path: str, group: int, least: int, greatest: int) -> str:
    ends = [Field(BINARY, value.to_bytes(8, "little", signed=True)) for value in (greatest, least)]
    return with_statistics(path, group, {1: ends[0], 2: ends[1], 5: ends[0], 6: ends[1]})


@pytest.mark.parametrize(("group", "least", "greatest"), [(0, 500, 600), (1, 0, 1), (1, 40, 41), (2, -5, -1)])
def test_statistics_that_lie(group: int, least: int, greatest: int, tmp_path: Path) -> None:
    a = lying(write(tmp_path / "a.parquet", table_of(range(0, 120, 2)), 20), group, least, greatest)
    b = write(tmp_path / "b.parquet", table_of(range(1, 121, 2)), 30)
    c = write(tmp_path / "c.parquet", table_of(range(500, 600)), 30)
    found = pq.read_table(merged(tmp_path, "--field", "key", a, b, c))
    assert found.column("key").to_pylist() == [*range(120), *range(500, 600)]


@pytest.mark.parametrize("keys", [[*range(40), 3, *range(41, 60)], [*range(40), *range(38, 60)]])
def test_disorder_is_found(keys: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a group, and between two of them."""
    a = write(tmp_path / "a.parquet", table_of(keys), 20)
    b = write(tmp_path / "b.parquet", table_of(range(100, 200)), 20)
    assert invoke(["merge", "--field", "key", a, b, "-o", str(tmp_path / "out.parquet")]) == 2
    assert f"{a}: row group 2, row 0" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


def test_no_check_reads_no_keys_of_copied_groups(tmp_path: Path) -> None:
    """Their statistics alone give them their places; other groups are merged."""
    a = write(tmp_path / "a.parquet", table_of([*range(40), 3, *range(41, 60), *range(100, 120)]), 20)
    b = write(tmp_path / "b.parquet", table_of([*range(90, 130), *range(200, 240)]), 20)
    for field in ("key", "key,row"):
        found = pq.read_table(merged(tmp_path, "--field", field, "--no-check", a, b)).column("key").to_pylist()
        assert len(found) == 160
        if field == "key":
            keys = [*range(40), 3, *range(41, 60), *sorted([*range(90, 130), *range(100, 120)]), *range(200, 240)]
            assert found == keys


NOT_SAID, FLAG_OFF, NO_NANS = {3: None}, {7: Field(thrift.FALSE, False)}, {9: Field(thrift.I64, 0)}


@pytest.mark.parametrize(
    ("kind", "change", "reads"),
    [
        (pa.int64(), {}, False),
        (pa.int64(), {7: None, 8: None}, False),
        (pa.int64(), FLAG_OFF, True),
        (pa.int64(), NOT_SAID, True),
        (pa.int64(), {5: None, 6: None}, True),
        (pa.decimal128(30, 0), {}, False),
        (pa.decimal128(30, 0), {7: None, 8: None}, True),
        (pa.float64(), {}, True),
        (pa.float32(), NO_NANS, False),
        (pa.float64(), {9: Field(thrift.I64, 1)}, True),
        (pa.float64(), {**NO_NANS, **FLAG_OFF}, True),
    ],
)
def test_no_check_trusts_exact_statistics_alone(kind: Any, change: Any, reads: bool, tmp_path: Path) -> None:
    """Disorder in a group whose keys are not read stays; where they are read, the group is merged."""
    a = with_statistics(write(tmp_path / "a.parquet", table_of([0, 30, 10, 39], kind), 4), 0, change)
    b = write(tmp_path / "b.parquet", table_of([50, 60], kind), 4)
    is_copied = data_of(merged(tmp_path, "--field", "key", "--no-check", a, b)) == data_of(a) + data_of(b)
    assert is_copied != reads


NAN = float("nan")


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    ("order", "low", "high"),
    [
        ("", [-1, 0, 1, NAN], [2, 3, 4, 5]),
        (":r", [1, 0, -1, -2], [NAN, 5, 4, 3]),
        (":r", [NAN, 1, 0, -1], [5, 4, 3, 2]),
        ("", [-1, 0, 1, None], [2, 3, 4, 5]),
        (":r", [1, 0, -1, None], [5, 4, 3, 2]),
    ],
)
def test_no_check_with_nans_and_nulls(order: str, low: Any, high: Any, kind: Any, tmp_path: Path) -> None:
    """Statistics leave them out, wherever they lie in a group."""
    a, b = (write(tmp_path / f"{name}.parquet", table_of(keys, kind), 4) for name, keys in (("a", low), ("b", high)))
    found = pq.read_table(merged(tmp_path, "--field", f"key{order}", "--no-check", a, b)).column("key").to_pylist()
    numbers = sorted((key for key in (*low, *high) if key is not None), key=lambda key: (key != key, key))
    numbers = numbers[::-1] if order else numbers
    assert [*map(str, found)] == [*map(str, map(kind.to_pandas_dtype(), numbers)), *["None"] * (8 - len(numbers))]


def test_groups_without_rows(tmp_path: Path) -> None:
    a = tmp_path / "a.parquet"
    table = table_of(range(40))
    with pq.ParquetWriter(a, table.schema, compression="zstd") as writer:
        for low, high in ((0, 0), (0, 20), (20, 20), (20, 40), (40, 40)):
            writer.write_table(table.slice(low, high - low))
    b = write(tmp_path / "b.parquet", table_of(range(40, 50)), 20)
    for words in ((), ("--no-check",)):
        out = merged(tmp_path, "--field", "key", *words, str(a), b)
        assert pq.read_table(out).column("key").to_pylist() == list(range(50))
        assert data_of(out) == data_of(a) + data_of(b)


def test_the_report_counts_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", table_of(range(100)), 30)
    assert invoke(["merge", "--field", "key", a, "-o", str(tmp_path / "out.parquet")]) == 0
    assert "merged 100 items" in capsys.readouterr().err


def test_a_group_is_copied_a_few_bytes_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "_COPIED_AT_ONCE", 7)
    a = write(tmp_path / "a.parquet", table_of(range(100)), 30)
    assert data_of(merged(tmp_path, "--field", "key", a)) == data_of(a)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", range(25))
def test_a_check_by_groups_says_what_one_by_rows_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], case: int, seed: int
) -> None:
    rng = random.Random(f"{seed} {case}")
    rows = rng.choice([0, 1, 7, 300])
    keys = sorted(rng.choices(range(rng.choice([3, 1000])), k=rows))
    for _ in range(rng.choice([0, 0, 1, 3]) if rows else 0):
        keys[rng.randrange(rows)] = rng.randrange(1000)
    kind = rng.choice([pa.int64(), pa.float64(), pa.int16(), pa.string()])
    table = table_of([f"{key:04}" for key in keys] if kind == pa.string() else keys, kind)
    name = write(tmp_path / "a.parquet", table, rng.choice([1, 3, 100]), write_statistics=rng.random() < 0.8)
    command = ["check", "--field", "key", *rng.choice([[], [], ["--unique"]]), name]
    capfd.readouterr()  # the seed
    by_groups = invoke(command), capfd.readouterr()
    monkeypatch.setattr(rows_of_formats, "_any", lambda table, group: False)
    assert (invoke(command), capfd.readouterr()) == by_groups
